use std::net::SocketAddr;
use std::sync::Arc;

use crate::material::Issuer;

/// The other end of a connection; an extension of each request.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// Its certificate, which was verified. `None` without TLS, or when it has shown none.
    pub certificate: Option<Arc<PeerCertificate>>,
}

/// What is known of a certificate that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCertificate {
    /// Whose CA has issued it.
    pub issuer: Issuer,
    /// DNS names and URIs of the subject; its common names where it has neither.
    pub names: Vec<String>,
}

impl Peer {
    /// The peer of a request that came in by [`crate::Incoming`].
    pub fn of<T>(request: &tonic::Request<T>) -> Option<&Self> {
        request.extensions().get()
    }

    /// Whether it has shown a certificate of the pool.
    pub fn is_member(&self) -> bool {
        let certificate = self.certificate.as_ref();
        certificate.is_some_and(|certificate| certificate.issuer == Issuer::Pool)
    }
}
