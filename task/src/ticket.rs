//! Result tickets: opaque to the client, signed by the scheduler, checked by every executor.
//!
//! A ticket names a job's partition and nothing else: no path, host or port that somebody could replace. The signature covers the key's
//! name too, so that a ticket cannot be moved to another key.

use std::fmt;

use bytes::Bytes;
use cne_proto::{
    decode::{Limits, decode_strict},
    v1,
};
use hmac::{Hmac, KeyInit, Mac};
use prost::Message;
use sha2::Sha256;

/// Fewer bytes could be guessed.
const MIN_KEY_BYTES: usize = 16;
/// A ticket is a few dozen bytes of identifiers; more is not a ticket.
const LIMITS: Limits = Limits {
    bytes: 4096,
    depth: 2,
    values: 16,
};

/// An executor may ask for many outputs at once.
const PEER_LIMITS: Limits = Limits {
    bytes: 1 << 20,
    depth: 3,
    values: 100_000,
};
/// A result ticket is signed as it is.
const RESULT: &[u8] = b"";
/// No serialized message begins with a zero byte: what is signed for one purpose is never taken for the other.
const PEER: &[u8] = b"\0peer\0";

/// Why a ticket is not honoured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    #[error("the ticket is malformed")]
    Malformed,
    #[error("the ticket is signed with a key that is not known here")]
    UnknownKey,
    #[error("the ticket's signature is wrong")]
    BadSignature,
    #[error("the ticket has expired")]
    Expired,
    #[error("the ticket is for another pool")]
    WrongAudience,
}

/// Why the text of the ticket keys cannot be used. Never repeats the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("a ticket key is written id:hex, several are separated by commas")]
    Syntax,
    #[error("a ticket key has at least {MIN_KEY_BYTES} bytes, {} hexadecimal digits", 2 * MIN_KEY_BYTES)]
    TooShort,
    #[error("two ticket keys have the same id")]
    Duplicate,
}

/// The key that signs, and those that are still accepted.
#[derive(Clone)]
pub struct TicketKeys {
    current: Key,
    older: Vec<Key>,
}

#[derive(Clone)]
struct Key {
    id: String,
    /// Keyed, with nothing hashed yet.
    mac: Hmac<Sha256>,
}

impl TicketKeys {
    /// Reads `id:hex[,id:hex...]`: the first key signs, all are accepted. To rotate, put the new key behind the old one everywhere, then
    /// before it, then drop the old one when its last ticket has expired.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let mut keys = Vec::<Key>::new();
        for item in text.split(',') {
            let key = Key::parse(item.trim())?;
            if keys.iter().any(|other| other.id == key.id) {
                return Err(KeyError::Duplicate);
            }
            keys.push(key);
        }
        let mut keys = keys.into_iter();
        let current = keys.next().ok_or(KeyError::Syntax)?;
        Ok(Self {
            current,
            older: keys.collect(),
        })
    }

    /// Signs a ticket with the current key; gives what travels as the Flight ticket.
    pub fn sign(&self, ticket: &v1::ResultTicket) -> Bytes {
        self.sign_bytes(RESULT, ticket.encode_to_vec())
    }

    /// Signs what one executor asks of another.
    pub fn sign_peer(&self, ask: &v1::PeerAsk) -> Bytes {
        self.sign_bytes(PEER, ask.encode_to_vec())
    }

    fn sign_bytes(&self, purpose: &[u8], ticket: Vec<u8>) -> Bytes {
        let mac = self.current.mac(purpose, &ticket);
        let signed = v1::SignedTicket {
            signature: mac.finalize().into_bytes().to_vec(),
            ticket,
            key_id: self.current.id.clone(),
        };
        signed.encode_to_vec().into()
    }

    /// Gives the content of a ticket that one of the keys signed for `audience` and that is valid at `now` (seconds since the epoch).
    ///
    /// Nothing of the content is read before the signature is known to be right; signatures are compared in constant time.
    pub fn verify(&self, bytes: &[u8], audience: &str, now: u64) -> Result<v1::ResultTicket, TicketError> {
        let ticket = self.signed(RESULT, bytes, &LIMITS)?;
        let ticket: v1::ResultTicket = decode(&ticket, "cne.v1.ResultTicket", &LIMITS)?;
        check(&ticket.audience, ticket.expires_at, audience, now)?;
        Ok(ticket)
    }

    /// Gives what another executor of the pool `audience` asks at `now`. A ticket that a client has is none of these.
    pub fn verify_peer(&self, bytes: &[u8], audience: &str, now: u64) -> Result<v1::PeerAsk, TicketError> {
        let ask = self.signed(PEER, bytes, &PEER_LIMITS)?;
        let ask: v1::PeerAsk = decode(&ask, "cne.v1.PeerAsk", &PEER_LIMITS)?;
        check(&ask.audience, ask.expires_at, audience, now)?;
        Ok(ask)
    }

    fn signed(&self, purpose: &[u8], bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, TicketError> {
        let signed: v1::SignedTicket = decode(bytes, "cne.v1.SignedTicket", limits)?;
        let mut keys = std::iter::once(&self.current).chain(&self.older);
        let key = keys
            .find(|key| key.id == signed.key_id)
            .ok_or(TicketError::UnknownKey)?;
        key.mac(purpose, &signed.ticket)
            .verify_slice(&signed.signature)
            .map_err(|_| TicketError::BadSignature)?;
        Ok(signed.ticket)
    }
}

fn check(found: &str, expires_at: u64, audience: &str, now: u64) -> Result<(), TicketError> {
    if found != audience {
        return Err(TicketError::WrongAudience);
    }
    if now > expires_at {
        return Err(TicketError::Expired);
    }
    Ok(())
}

impl fmt::Debug for TicketKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let older: Vec<_> = self.older.iter().map(|key| &key.id).collect();
        f.debug_struct("TicketKeys")
            .field("current", &self.current.id)
            .field("older", &older)
            .finish()
    }
}

impl Key {
    fn parse(text: &str) -> Result<Self, KeyError> {
        let (id, digits) = text.split_once(':').ok_or(KeyError::Syntax)?;
        let is_id = !id.is_empty()
            && id
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if !is_id {
            return Err(KeyError::Syntax);
        }
        let secret = hex::decode(digits).map_err(|_| KeyError::Syntax)?;
        if secret.len() < MIN_KEY_BYTES {
            return Err(KeyError::TooShort);
        }
        let mac = Hmac::new_from_slice(&secret).map_err(|_| KeyError::TooShort)?;
        Ok(Self {
            id: id.to_owned(),
            mac,
        })
    }

    /// HMAC-SHA-256 over the key's id, a zero byte (ids have none), the purpose and the ticket.
    fn mac(&self, purpose: &[u8], ticket: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.mac.clone();
        mac.update(self.id.as_bytes());
        mac.update(&[0]);
        mac.update(purpose);
        mac.update(ticket);
        mac
    }
}

fn decode<M: Message + Default>(bytes: &[u8], name: &str, limits: &Limits) -> Result<M, TicketError> {
    decode_strict(bytes, name, limits).map_err(|_| TicketError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "2025:000102030405060708090a0b0c0d0e0f";
    const NEW: &str = "2026:f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

    fn keys(text: &str) -> TicketKeys {
        TicketKeys::parse(text).unwrap()
    }

    fn ticket() -> v1::ResultTicket {
        v1::ResultTicket {
            namespace: "namespace".into(),
            generation: 1,
            attempt: 9,
            holder: String::new(),
            stage_id: 4,
            partition: 7,
            expires_at: 1000,
            audience: "pool".into(),
            query_id: "query".into(),
            tenant: String::new(),
        }
    }

    #[test]
    fn a_signed_ticket_is_valid_until_it_expires_in_its_pool() {
        let keys = keys(NEW);
        let signed = keys.sign(&ticket());
        assert_eq!(keys.verify(&signed, "pool", 1000), Ok(ticket()));
        assert_eq!(keys.verify(&signed, "pool", 1001), Err(TicketError::Expired));
        assert_eq!(
            keys.verify(&signed, "other", 1000),
            Err(TicketError::WrongAudience)
        );
    }

    #[test]
    fn keys_rotate() {
        let signed = keys(OLD).sign(&ticket());
        assert_eq!(
            keys(&format!("{NEW}, {OLD}")).verify(&signed, "pool", 0),
            Ok(ticket())
        );
        assert_eq!(keys(NEW).verify(&signed, "pool", 0), Err(TicketError::UnknownKey));
    }

    #[test]
    fn no_byte_of_a_ticket_can_be_changed_added_or_removed() {
        let keys = keys(&format!("{NEW},{OLD}"));
        let signed = keys.sign(&ticket());
        for at in 0..signed.len() {
            for bit in 0..8 {
                let mut forged = signed.to_vec();
                forged[at] ^= 1 << bit;
                assert!(keys.verify(&forged, "pool", 0).is_err(), "byte {at}, bit {bit}");
            }
            assert!(keys.verify(&signed[..at], "pool", 0).is_err(), "cut at {at}");
        }
        let mut longer = signed.to_vec();
        longer.push(0);
        assert_eq!(keys.verify(&longer, "pool", 0), Err(TicketError::Malformed));
    }

    #[test]
    fn a_ticket_is_bound_to_its_key_and_to_a_whole_signature() {
        let both = keys(&format!("{NEW},{OLD}"));
        let mut signed = v1::SignedTicket::decode(both.sign(&ticket())).unwrap();
        signed.key_id = "2025".into();
        let moved = both.verify(&signed.encode_to_vec(), "pool", 0);
        assert_eq!(moved, Err(TicketError::BadSignature));
        signed.key_id = "2026".into();
        signed.signature.truncate(8);
        let short = both.verify(&signed.encode_to_vec(), "pool", 0);
        assert_eq!(short, Err(TicketError::BadSignature));
        signed.signature.clear();
        let none = both.verify(&signed.encode_to_vec(), "pool", 0);
        assert_eq!(none, Err(TicketError::BadSignature));
    }

    #[test]
    fn a_result_ticket_is_not_an_executors_ask_and_the_other_way_round() {
        let keys = keys(NEW);
        let ask = v1::PeerAsk {
            audience: "pool".into(),
            expires_at: 1000,
            ask: None,
        };
        assert_eq!(
            keys.verify_peer(&keys.sign_peer(&ask), "pool", 0),
            Ok(ask.clone())
        );
        let late = keys.verify_peer(&keys.sign_peer(&ask), "pool", 1001);
        assert_eq!(late, Err(TicketError::Expired));
        let ticket = keys.verify_peer(&keys.sign(&ticket()), "pool", 0);
        assert_eq!(ticket, Err(TicketError::BadSignature));
        let ask = keys.verify(&keys.sign_peer(&ask), "pool", 0);
        assert_eq!(ask, Err(TicketError::BadSignature));
    }

    #[test]
    fn the_signature_is_the_one_that_is_documented() {
        // HMAC-SHA-256 of "k", a zero byte and "x" under sixteen bytes of 0x0b; from Python's hmac module.
        let keys = keys("k:0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b");
        let mac = keys.current.mac(RESULT, b"x").finalize().into_bytes();
        assert_eq!(
            hex::encode(mac),
            "ceed97bf8aaefea57baa348ba31fb3331d1e2c2f9f988f30ca07a5b854e8e9b1"
        );
    }

    #[test]
    fn keys_are_read_strictly_and_never_shown() {
        assert!(matches!(TicketKeys::parse("a:00ff"), Err(KeyError::TooShort)));
        for wrong in [
            "",
            "a",
            ":00",
            "a b:000102030405060708090a0b0c0d0e0f",
            "a:zz",
            &format!("{NEW},"),
        ] {
            assert!(
                matches!(TicketKeys::parse(wrong), Err(KeyError::Syntax)),
                "{wrong}"
            );
        }
        assert!(matches!(
            TicketKeys::parse(&format!("{NEW},{NEW}")),
            Err(KeyError::Duplicate)
        ));
        let shown = format!("{:?}", keys(NEW));
        assert!(shown.contains("2026") && !shown.contains("f0"), "{shown}");
    }
}
