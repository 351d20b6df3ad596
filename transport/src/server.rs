//! Which clients a port of this process takes.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// Who may connect to a port under TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// Members of the pool: a certificate of the pool's CA.
    Members,
    /// Drivers, and members: a certificate of the drivers' CA or the pool's. Without one only where calls have a token, or where drivers have no CA.
    Drivers,
    /// Everybody.
    Anyone,
}

/// Takes certificates of the pool's CA and of the drivers' CA.
#[derive(Debug)]
pub(crate) struct EitherCa {
    pool: Arc<dyn ClientCertVerifier>,
    drivers: Option<Arc<dyn ClientCertVerifier>>,
    mandatory: bool,
    hints: Vec<DistinguishedName>,
}

impl EitherCa {
    pub(crate) fn new(
        pool: Arc<dyn ClientCertVerifier>,
        drivers: Option<Arc<dyn ClientCertVerifier>>,
        mandatory: bool,
    ) -> Self {
        let of_drivers = drivers.iter().flat_map(|drivers| drivers.root_hint_subjects());
        let hints = pool
            .root_hint_subjects()
            .iter()
            .chain(of_drivers)
            .cloned()
            .collect();
        Self {
            pool,
            drivers,
            mandatory,
            hints,
        }
    }
}

impl ClientCertVerifier for EitherCa {
    fn client_auth_mandatory(&self) -> bool {
        self.mandatory
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let pool = self.pool.verify_client_cert(end_entity, intermediates, now);
        match (&self.drivers, &pool) {
            // Any other error is about a certificate of the pool.
            (Some(drivers), Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))) => {
                drivers.verify_client_cert(end_entity, intermediates, now)
            }
            _ => pool,
        }
    }

    // Both verifiers check signatures in the same way.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.pool.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.pool.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.pool.supported_verify_schemes()
    }
}
