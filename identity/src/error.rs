use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

/// Why there is no credential. Cheap to clone: everybody who waited for one request hears the same.
#[derive(Clone, Debug, thiserror::Error)]
pub enum IdentityError {
    /// What the environment, a profile or the buckets file says cannot be used.
    #[error("the executor's identity is not usable as it is configured: {what}")]
    Configuration {
        /// What, and what to do.
        what: String,
    },
    /// The file with the token of a web identity or of Pod Identity.
    #[error("the token file {path:?} of the executor's identity ({identity}) cannot be used: {what}")]
    TokenFile {
        /// Which identity.
        identity: String,
        /// The file.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// The service that issues credentials said no. Nothing else is tried.
    #[error("the executor's identity ({identity}) was refused with {code}: {reason}")]
    Refused {
        /// Which identity.
        identity: String,
        /// The service's own code: `AccessDenied`, `ExpiredTokenException`, `InvalidIdentityToken` and so on.
        code: String,
        /// The service's own words.
        reason: String,
    },
    /// Throttled, a server error, or no answer, again and again.
    #[error(
        "the executor's identity ({identity}) cannot be had for the moment, after {attempts} attempts: {what}"
    )]
    Unavailable {
        /// Which identity.
        identity: String,
        /// Requests without a success, all in a row.
        attempts: u32,
        /// The last answer.
        what: String,
        /// Its cause, where there is one.
        #[source]
        source: Option<Arc<dyn Error + Send + Sync>>,
    },
}

/// Refusals that another token, which is on its way already, puts right.
const PASSING: [&str; 4] = [
    "ExpiredToken",
    "ExpiredTokenException",
    "RequestExpired",
    "RequestTimeTooSkewed",
];

impl IdentityError {
    /// Whether the same task, tried again, may get a credential: the service was busy or away, or the token was about to be replaced.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Unavailable { .. } => true,
            Self::Refused { code, .. } => PASSING.contains(&code.as_str()),
            Self::Configuration { .. } | Self::TokenFile { .. } => false,
        }
    }

    /// The service's own code, where it has answered with one.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    /// The identity error inside another one, if there is one.
    pub fn find<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        chain(error).find_map(|cause| cause.downcast_ref())
    }
}

/// An error and its causes.
pub(crate) fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let this = next?;
        next = this.source();
        Some(this)
    })
}

impl From<IdentityError> for object_store::Error {
    fn from(error: IdentityError) -> Self {
        let source = Box::new(error.clone());
        match error.retryable() {
            true => Self::Generic { store: "S3", source },
            false => Self::Unauthenticated {
                path: "credentials".into(),
                source,
            },
        }
    }
}
