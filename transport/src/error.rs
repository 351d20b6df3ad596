use std::path::PathBuf;

/// Why certificates or tenants cannot be used. Names files, never their content.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// A file cannot be read.
    #[error("{path:?} cannot be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// A file is not PEM.
    #[error("{path:?} is not PEM as expected")]
    Pem {
        /// The file.
        path: PathBuf,
        /// What was found.
        #[source]
        source: rustls::pki_types::pem::Error,
    },
    /// A file has no certificate.
    #[error("there is no certificate in {path:?}")]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// A certificate cannot be a CA's.
    #[error("{path:?} has a certificate that no CA can have")]
    Root {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: Box<rustls::Error>,
    },
    /// Certificate and key do not fit.
    #[error("the certificate in {cert:?} cannot be used with the key in {key:?}")]
    Key {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The reason.
        #[source]
        source: Box<rustls::Error>,
    },
    /// The own certificate would be refused by the other members of the pool.
    #[error("members of the pool, whose CA is in {ca:?}, would refuse the certificate in {cert:?}{hint}")]
    NotOfThePool {
        /// The certificate's file.
        cert: PathBuf,
        /// The CA's file.
        ca: PathBuf,
        /// What to do, if that is known.
        hint: &'static str,
        /// The reason.
        #[source]
        source: Box<rustls::Error>,
    },
    /// Drivers would be members of the pool.
    #[error(
        "{client_ca:?} has a certificate of {ca:?}: drivers need another CA than the pool, or they would be members of it"
    )]
    SameCa {
        /// The pool's CA.
        ca: PathBuf,
        /// The drivers' CA.
        client_ca: PathBuf,
    },
    /// The verifiers cannot be made.
    #[error("the verifier of clients' certificates cannot be made")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
    /// A name cannot be one of a server.
    #[error("{0:?} is neither a host name nor an IP address")]
    Name(String),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
    /// The file of the tenants is not one, or a tenant makes no sense.
    #[error("the tenants in {path:?} cannot be used: {reason}")]
    Tenants {
        /// The file.
        path: PathBuf,
        /// Which tenant, and why.
        reason: String,
    },
    /// Only some of the settings are there.
    #[error("a certificate, its key and the pool's CA belong together")]
    Incomplete,
}
