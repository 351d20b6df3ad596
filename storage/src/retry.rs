use std::future::Future;
use std::time::{Duration, Instant};

use cne_identity::IdentityError;
use object_store::Error;
use object_store::path::Path;

use crate::StoreError;

/// How often and how patiently a request that may succeed later is repeated. The S3 client repeats by itself what may be repeated blindly
/// ([`crate::ClientOptions`]); this is for what it hands through (a creation whose answer was lost) and for local directories.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// Requests in total.
    pub attempts: u32,
    /// Upper bound of the first pause; doubles each time.
    pub base: Duration,
    /// Upper bound of a pause.
    pub max: Duration,
    /// After this time no further try is begun.
    pub give_up: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 3,
            base: Duration::from_millis(50),
            max: Duration::from_secs(2),
            give_up: Duration::from_secs(60),
        }
    }
}

/// Whether the store may answer otherwise next time.
pub(crate) fn is_transient(error: &Error) -> bool {
    // Credentials have a patience of their own.
    IdentityError::find(error).is_none() && matches!(error, Error::Generic { .. } | Error::JoinError { .. })
}

impl RetryPolicy {
    /// Runs a request until it is answered; what is neither a success nor transient is returned at once, in the inner result.
    pub(crate) async fn run<T, F, R>(
        &self,
        operation: &'static str,
        path: &Path,
        mut request: F,
    ) -> Result<Result<T, Error>, StoreError>
    where
        F: FnMut() -> R,
        R: Future<Output = Result<T, Error>>,
    {
        let mut attempt = 1;
        let begun = Instant::now();
        loop {
            match request().await {
                Err(source) if is_transient(&source) => {
                    if attempt >= self.attempts || begun.elapsed() >= self.give_up {
                        return Err(StoreError::Transient {
                            operation,
                            key: path.to_string(),
                            attempts: attempt,
                            source,
                        });
                    }
                    tracing::debug!(operation, key = %path, attempt, error = %source, "store request is repeated");
                    tokio::time::sleep(self.pause(attempt)).await;
                    attempt += 1;
                }
                answer => return Ok(answer),
            }
        }
    }

    /// Full jitter, so that many tasks that failed together do not come back together.
    pub(crate) fn pause(&self, attempt: u32) -> Duration {
        let bound = self.base.saturating_mul(1 << (attempt - 1).min(16)).min(self.max);
        bound.mul_f64(rand::random::<f64>())
    }
}

/// For answers that only a success may have.
pub(crate) fn refused(operation: &'static str, path: &Path, source: Error) -> StoreError {
    StoreError::Refused {
        operation,
        key: path.to_string(),
        source,
    }
}
