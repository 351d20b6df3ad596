//! Where the outputs of a query are stored, and how they are found again by a scheduler that has not heard of the query before.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::graph::Sizing;

/// What a scheduler has to be told to plan a query as the one before it did: the driver keeps it as opaque text (`QueryProgress.resume`, and
/// the answer to `comet.prepare`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resume {
    /// Slots that the pool had when the query was planned.
    pub slots: u32,
    /// How often the query had started again.
    pub generation: u32,
}

impl Resume {
    /// Reads what a driver sends; `None` for anything that no scheduler of this version wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let (slots, generation) = text.strip_prefix("1:")?.split_once(':')?;
        Some(Self {
            slots: slots.parse().ok()?,
            generation: generation.parse().ok()?,
        })
    }
}

impl fmt::Display for Resume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1:{}:{}", self.slots, self.generation)
    }
}

/// What a driver tells with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Nothing: the query is planned for the slots that are there.
    Nothing,
    /// How to plan it. Nobody has run it before.
    First(Resume),
    /// How to plan it. Another scheduler may have run it before.
    Again(Resume),
}

/// Where the outputs of a query are: one place for everything that is computed from the same request in the same way. `request` is the SHA-256
/// of its bytes. Tenants share no place. Two plans with other partitions never share a place, so no output of the one can be taken for one of the other.
pub(super) fn namespace(tenant: &str, query_id: &str, request: &[u8], sizing: &Sizing) -> String {
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update((tenant.len() as u64).to_le_bytes());
    hash.update(tenant);
    hash.update(request);
    hash.update(sizing.slots.to_le_bytes());
    hash.update(sizing.smallest_bytes.to_le_bytes());
    hash.update(sizing.target_bytes.to_le_bytes());
    format!("{query_id}-{}", hex::encode(&hash.finalize()[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_driver_kept_is_read_again_and_nothing_else() {
        let resume = Resume {
            slots: 7,
            generation: 2,
        };
        assert_eq!(Resume::parse(&resume.to_string()), Some(resume));
        for bad in ["", "1:", "1:2", "2:1:0", "1:x:0", "1:1:-1", "1:1:0:0"] {
            assert_eq!(Resume::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn another_plan_has_another_place() {
        let sizing = Sizing {
            slots: 4,
            smallest_bytes: 1,
            target_bytes: 2,
        };
        let one = namespace("t", "q", b"request", &sizing);
        assert_eq!(one, namespace("t", "q", b"request", &sizing));
        assert_ne!(
            one,
            namespace("t", "q", b"request", &Sizing { slots: 5, ..sizing })
        );
        assert_ne!(one, namespace("t", "q", b"another", &sizing));
        assert_ne!(one, namespace("u", "q", b"request", &sizing));
    }
}
