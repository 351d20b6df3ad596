//! A value that is made of files, and made again when they change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::TransportError;

/// Content of the files, in the order of their paths.
pub(crate) type Contents = Vec<Vec<u8>>;
type Make<T> = dyn Fn(&[Vec<u8>]) -> Result<T, TransportError> + Send + Sync;

/// The newest usable value. A broken change is logged once, and the value before it stays.
pub(crate) struct Reloaded<T> {
    what: &'static str,
    paths: Vec<PathBuf>,
    make: Box<Make<T>>,
    value: ArcSwap<T>,
    seen: Mutex<Seen>,
}

/// What was found when it was last looked.
struct Seen {
    used: [u8; 32],
    /// A change that cannot be used, and whether that was said.
    broken: Option<(String, bool)>,
}

impl<T> std::fmt::Debug for Reloaded<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reloaded")
            .field("what", &self.what)
            .field("paths", &self.paths)
            .finish_non_exhaustive()
    }
}

impl<T> Reloaded<T> {
    /// Reads the files; blocking. `what` is for the log.
    pub(crate) fn open(
        what: &'static str,
        paths: Vec<PathBuf>,
        make: impl Fn(&[Vec<u8>]) -> Result<T, TransportError> + Send + Sync + 'static,
    ) -> Result<Self, TransportError> {
        let contents = read(&paths)?;
        Ok(Self {
            what,
            value: ArcSwap::from_pointee(make(&contents)?),
            seen: Mutex::new(Seen {
                used: digest(&contents),
                broken: None,
            }),
            paths,
            make: Box::new(make),
        })
    }

    pub(crate) fn get(&self) -> Arc<T> {
        self.value.load_full()
    }

    /// Reads the files again; blocking. Says whether they have changed. What cannot be used twice in a row in the same way is logged once: files that change one after the other
    /// do not fit together for a moment.
    pub(crate) fn look(&self) -> bool {
        let made = read(&self.paths).and_then(|contents| {
            let digest = digest(&contents);
            if self.seen.lock().used == digest {
                return Ok(None);
            }
            (self.make)(&contents).map(|value| Some((digest, value)))
        });
        let mut seen = self.seen.lock();
        match made {
            Ok(None) => {
                seen.broken = None;
                false
            }
            Ok(Some((digest, value))) => {
                self.value.store(Arc::new(value));
                *seen = Seen {
                    used: digest,
                    broken: None,
                };
                tracing::info!(what = self.what, "files have changed and are used from now on");
                true
            }
            Err(error) => {
                let text = causes(&error);
                match &mut seen.broken {
                    Some((known, said)) if *known == text => {
                        if !std::mem::replace(said, true) {
                            tracing::error!(what = self.what, error = %text, "changed files cannot be used; what was read before stays");
                        }
                    }
                    broken => *broken = Some((text, false)),
                }
                false
            }
        }
    }
}

fn causes(error: &TransportError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

fn read(paths: &[PathBuf]) -> Result<Contents, TransportError> {
    let one = |path: &PathBuf| read_one(path);
    paths.iter().map(one).collect()
}

fn read_one(path: &Path) -> Result<Vec<u8>, TransportError> {
    std::fs::read(path).map_err(|source| TransportError::Read {
        path: path.to_path_buf(),
        source,
    })
}

fn digest(contents: &[Vec<u8>]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for content in contents {
        digest.update((content.len() as u64).to_le_bytes());
        digest.update(content);
    }
    digest.finalize().into()
}
