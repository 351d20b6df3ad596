//! Certificates as they are used: read from PEM, checked, and made into configurations of TLS.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConfig, RootCertStore, ServerConfig};

use crate::names::{names, validity};
use crate::server::{Clients, EitherCa};
use crate::{PeerCertificate, TransportError};

/// Whose CA has issued a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issuer {
    /// The pool's: its holder is a member.
    Pool,
    /// The drivers'.
    Drivers,
}

/// Where certificates are.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) ca: PathBuf,
    pub(crate) client_ca: Option<PathBuf>,
}

impl Paths {
    /// In the order in which [`Material::new`] takes their content.
    pub(crate) fn all(&self) -> Vec<PathBuf> {
        let three = [&self.cert, &self.key, &self.ca];
        three.into_iter().chain(&self.client_ca).cloned().collect()
    }
}

/// Everything that connections are made with, of one state of the files.
#[derive(Debug)]
pub(crate) struct Material {
    /// The own certificate and key as PEM.
    pub(crate) identity: (Vec<u8>, Vec<u8>),
    /// From when to when the own certificate is valid.
    pub(crate) valid: Option<(SystemTime, SystemTime)>,
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server_verifier: Arc<WebPkiServerVerifier>,
    pool: Arc<dyn ClientCertVerifier>,
    drivers: Option<Arc<dyn ClientCertVerifier>>,
    members_only: Arc<ServerConfig>,
    with_drivers: Arc<ServerConfig>,
    anyone: Arc<ServerConfig>,
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TransportError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|source| TransportError::Pem {
        path: path.to_path_buf(),
        source,
    })?;
    match found.is_empty() {
        true => Err(TransportError::NoCertificate {
            path: path.to_path_buf(),
        }),
        false => Ok(found),
    }
}

fn roots(path: &Path, found: &[CertificateDer<'static>]) -> Result<Arc<RootCertStore>, TransportError> {
    let mut roots = RootCertStore::empty();
    for certificate in found {
        roots
            .add(certificate.clone())
            .map_err(|source| TransportError::Root {
                path: path.to_path_buf(),
                source: Box::new(source),
            })?;
    }
    Ok(Arc::new(roots))
}

fn verifier(roots: &Arc<RootCertStore>) -> Result<Arc<dyn ClientCertVerifier>, TransportError> {
    Ok(WebPkiClientVerifier::builder_with_provider(Arc::clone(roots), provider()).build()?)
}

fn hint(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. },
        ) => " (it needs the extended key usages serverAuth and clientAuth)",
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            " (it is not of that CA, or an intermediate certificate is missing)"
        }
        _ => "",
    }
}

impl Material {
    /// From the content of `paths.all()`. `mandatory`: drivers have to have a certificate.
    ///
    /// # Errors
    /// What is not PEM, does not fit together, or would be refused by the other members.
    pub(crate) fn new(paths: &Paths, mandatory: bool, contents: &[Vec<u8>]) -> Result<Self, TransportError> {
        let [cert_pem, key_pem, ca_pem, rest @ ..] = contents else {
            return Err(TransportError::Incomplete);
        };
        let chain = certificates(&paths.cert, cert_pem)?;
        let key = PrivateKeyDer::from_pem_slice(key_pem).map_err(|source| TransportError::Pem {
            path: paths.key.clone(),
            source,
        })?;
        let ca = certificates(&paths.ca, ca_pem)?;
        let pool_roots = roots(&paths.ca, &ca)?;
        let pool = verifier(&pool_roots)?;
        let drivers = match (&paths.client_ca, rest.first()) {
            (Some(path), Some(pem)) => {
                let client_ca = certificates(path, pem)?;
                if client_ca.iter().any(|of_drivers| ca.contains(of_drivers)) {
                    return Err(TransportError::SameCa {
                        ca: paths.ca.clone(),
                        client_ca: path.clone(),
                    });
                }
                Some(verifier(&roots(path, &client_ca)?)?)
            }
            _ => None,
        };
        if let Some((own, intermediates)) = chain.split_first() {
            let accepted = pool.verify_client_cert(own, intermediates, UnixTime::now());
            accepted.map_err(|source| TransportError::NotOfThePool {
                cert: paths.cert.clone(),
                ca: paths.ca.clone(),
                hint: hint(&source),
                source: Box::new(source),
            })?;
        }
        let unusable = |source| TransportError::Key {
            cert: paths.cert.clone(),
            key: paths.key.clone(),
            source: Box::new(source),
        };
        let server = |clients: Option<Arc<dyn ClientCertVerifier>>| {
            let builder =
                ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13])?;
            let builder = match clients {
                Some(clients) => builder.with_client_cert_verifier(clients),
                None => builder.with_no_client_auth(),
            };
            let mut config = builder
                .with_single_cert(chain.clone(), key.clone_key())
                .map_err(unusable)?;
            config.alpn_protocols = vec![b"h2".to_vec()];
            // A session that is taken up again is not verified again: a certificate would outlive its end.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
            Ok::<_, TransportError>(Arc::new(config))
        };
        let client = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13])?;
        let mut client = client
            .with_root_certificates(Arc::clone(&pool_roots))
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(unusable)?;
        client.alpn_protocols = vec![b"h2".to_vec()];
        client.resumption = Resumption::disabled();
        let either = EitherCa::new(Arc::clone(&pool), drivers.clone(), mandatory);
        Ok(Self {
            identity: (cert_pem.clone(), key_pem.clone()),
            valid: chain.first().and_then(|own| validity(own)),
            client: Arc::new(client),
            server_verifier: WebPkiServerVerifier::builder_with_provider(pool_roots, provider()).build()?,
            members_only: server(Some(Arc::clone(&pool)))?,
            with_drivers: server(Some(Arc::new(either)))?,
            anyone: server(None)?,
            pool,
            drivers,
        })
    }

    /// How a port is served.
    pub(crate) fn server(&self, clients: Clients) -> Arc<ServerConfig> {
        Arc::clone(match clients {
            Clients::Members => &self.members_only,
            Clients::Drivers => &self.with_drivers,
            Clients::Anyone => &self.anyone,
        })
    }

    /// Whose a certificate is that a client has shown in a handshake with one of the configurations of this state.
    pub(crate) fn peer(&self, chain: &[CertificateDer<'_>]) -> Option<PeerCertificate> {
        let (own, intermediates) = chain.split_first()?;
        let now = UnixTime::now();
        let of = |verifier: &Arc<dyn ClientCertVerifier>| {
            verifier.verify_client_cert(own, intermediates, now).is_ok()
        };
        let issuer = match (of(&self.pool), &self.drivers) {
            (true, _) => Issuer::Pool,
            (false, Some(drivers)) if of(drivers) => Issuer::Drivers,
            _ => return None,
        };
        Some(PeerCertificate {
            issuer,
            names: names(own),
        })
    }
}
