//! A check of servers' certificates that follows the files.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

use crate::Transport;
use crate::material::Material;

/// Checks by the pool's CA of the moment, and by the pool's name where it has one.
#[derive(Debug)]
pub(crate) struct Current(pub(crate) Transport);

impl Current {
    fn material(&self) -> Result<std::sync::Arc<Material>, Error> {
        self.0
            .material()
            .ok_or_else(|| Error::General("there is no CA".into()))
    }
}

impl ServerCertVerifier for Current {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let common = self.0.common_name();
        let name = common.as_ref().unwrap_or(server_name);
        let verifier = &self.material()?.server_verifier;
        verifier.verify_server_cert(end_entity, intermediates, name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let verifier = &self.material()?.server_verifier;
        verifier.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let verifier = &self.material()?.server_verifier;
        verifier.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.material()
            .map(|material| material.server_verifier.supported_verify_schemes())
            .unwrap_or_default()
    }
}
