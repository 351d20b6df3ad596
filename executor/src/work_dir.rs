//! The directory of one process for spilled data and kept outputs.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use crate::ExecutorError;

/// Locked as long as the process lives, also by others' sight: process ids say nothing across containers, where each executor is number 1.
const LOCK: &str = ".lock";

/// A directory that goes with the process.
pub(crate) struct WorkDir {
    directory: tempfile::TempDir,
    _lock: File,
}

impl WorkDir {
    /// A directory of this process alone below `root`. What dead processes left there is removed.
    pub(crate) fn fresh(root: &Path) -> Result<Self, ExecutorError> {
        Self::try_fresh(root).map_err(|source| ExecutorError::WorkDir {
            path: root.to_path_buf(),
            source,
        })
    }

    fn try_fresh(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        for entry in fs::read_dir(root)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let owner = name
                .strip_prefix("tasks-")
                .and_then(|rest| rest.split_once('-'))
                .and_then(|(pid, _)| pid.parse::<u32>().ok());
            if owner.is_some_and(|pid| is_left(&entry.path(), pid)) {
                remove(&entry.path())?;
            }
        }
        let directory = tempfile::Builder::new()
            .prefix(&format!("tasks-{}-", std::process::id()))
            .tempdir_in(root)?;
        let lock = File::create_new(directory.path().join(LOCK))?;
        lock.lock()?;
        Ok(Self {
            directory,
            _lock: lock,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Two processes that start at the same time may remove the same.
fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Whether nobody uses the directory any more.
fn is_left(directory: &Path, pid: u32) -> bool {
    match File::open(directory.join(LOCK)) {
        Ok(lock) => match lock.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        },
        // It may just be made: its process tells.
        Err(_) => pid != std::process::id() && !Path::new(&format!("/proc/{pid}")).exists(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_left_goes_and_what_the_living_have_stays() {
        let root = tempfile::tempdir().unwrap();
        let alive = WorkDir::fresh(root.path()).unwrap();
        // As a container leaves it that was killed: the same process id, and a lock that nobody holds.
        let left = root.path().join(format!("tasks-{}-killed", std::process::id()));
        fs::create_dir_all(left.join("outputs")).unwrap();
        File::create(left.join(LOCK)).unwrap();
        let foreign = root.path().join("lost+found");
        fs::create_dir(&foreign).unwrap();
        let second = WorkDir::fresh(root.path()).unwrap();
        assert!(alive.path().exists() && second.path().exists() && foreign.exists());
        assert!(!left.exists());
        let path = second.path().to_path_buf();
        drop(second);
        assert!(!path.exists());
    }
}
