//! For whom a call is made.

use std::sync::Arc;

use tonic::metadata::MetadataMap;

use crate::material::Issuer;
use crate::reload::Reloaded;
use crate::{Peer, PeerCertificate, Refusals, Tenant, Tenants};

/// Standard header of a token.
const AUTHORIZATION: &str = "authorization";

/// Who makes a call; an extension of each request.
#[derive(Clone, Debug)]
pub struct Caller {
    /// For which tenant; `None`: a member of the pool that speaks for none.
    pub tenant: Option<Arc<Tenant>>,
}

/// Why nobody is known to make a call. Says nothing of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// There is neither token nor certificate.
    #[error("the call has neither a token nor a client certificate that names a tenant")]
    Nothing,
    /// The token is nobody's.
    #[error("the token is not one of a tenant's")]
    Token,
    /// The certificate is nobody's.
    #[error("the client certificate names no tenant, or two")]
    Certificate,
    /// The header is not one of a token.
    #[error("the authorization header is not \"Bearer\" and a token")]
    Header,
}

/// Knows the tenants. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Access {
    tenants: Option<Arc<Reloaded<Tenants>>>,
    refusals: Refusals,
}

impl Access {
    pub(crate) fn new(tenants: Option<Reloaded<Tenants>>, refusals: Refusals) -> Self {
        Self {
            tenants: tenants.map(Arc::new),
            refusals,
        }
    }

    /// Who makes the call with these headers on a connection of `peer`.
    ///
    /// # Errors
    /// When it is nobody. That was logged.
    pub fn caller(&self, peer: Option<&Peer>, headers: &MetadataMap) -> Result<Caller, Denied> {
        let certificate = peer.and_then(|peer| peer.certificate.as_deref());
        self.find(certificate, headers).inspect_err(|denied| {
            self.refusals
                .call(peer.map(|peer| peer.address.ip()), &denied.to_string());
        })
    }

    fn find(&self, certificate: Option<&PeerCertificate>, headers: &MetadataMap) -> Result<Caller, Denied> {
        let Some(tenants) = &self.tenants else {
            // Who may connect is decided in the handshake.
            let tenant = Some(Tenant::default_tenant());
            return Ok(Caller { tenant });
        };
        let tenants = tenants.get();
        let tenant = match (token(headers)?, certificate) {
            (Some(token), _) => Some(tenants.by_token(token).ok_or(Denied::Token)?),
            (None, Some(of)) if of.issuer == Issuer::Pool => None,
            (None, Some(of)) => Some(tenants.by_names(&of.names).ok_or(Denied::Certificate)?),
            (None, None) => return Err(Denied::Nothing),
        };
        Ok(Caller { tenant })
    }

    pub(crate) fn look(&self) {
        if let Some(tenants) = &self.tenants {
            tenants.look();
        }
    }
}

/// The token of a call.
fn token(headers: &MetadataMap) -> Result<Option<&str>, Denied> {
    let Some(header) = headers.get(AUTHORIZATION) else {
        return Ok(None);
    };
    let header = header.to_str().map_err(|_| Denied::Header)?;
    let (scheme, token) = header.split_once(' ').ok_or(Denied::Header)?;
    match scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() {
        true => Ok(Some(token.trim())),
        false => Err(Denied::Header),
    }
}
