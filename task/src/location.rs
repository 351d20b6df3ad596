//! Which attempt's output a location of Ballista's means: the one number that Ballista hands from a task's status to its readers as `file_id`.

/// In the place of a job, in Ballista's call to remove the data of one.
const OUTPUTS_OF: &str = "outputs-of:";

/// The "job" by which executors are asked to remove what is stored in `namespace`: each what it has written, and `lister` (an executor's id),
/// which looks for it, what executors have left that are gone.
#[must_use]
pub fn removal_of(namespace: &str, lister: Option<&str>) -> String {
    match lister {
        Some(lister) => format!("{OUTPUTS_OF}{namespace}:{lister}"),
        None => format!("{OUTPUTS_OF}{namespace}"),
    }
}

/// The inverse of [`removal_of`]: namespace and lister. `None` for a job of Ballista.
#[must_use]
pub fn namespace_to_remove(job: &str) -> Option<(&str, Option<&str>)> {
    let removal = job.strip_prefix(OUTPUTS_OF)?;
    // A namespace has no colon.
    Some(match removal.split_once(':') {
        Some((namespace, lister)) => (namespace, Some(lister)),
        None => (removal, None),
    })
}

/// Attempts are numbered modulo this.
pub const ATTEMPTS: u32 = 1 << 24;
/// Generations are numbered modulo this.
pub const GENERATIONS: u32 = 1 << 8;

/// What one attempt of a map task wrote, without the stage and the namespace, which the location has beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutputLocation {
    /// Global partition of the producing stage.
    pub map_partition: u32,
    /// How often the query had started again.
    pub generation: u32,
    /// Number of the attempt.
    pub attempt: u32,
}

impl OutputLocation {
    /// As Ballista carries it: 8 bits of generation, 24 of attempt, 32 of map partition.
    #[must_use]
    pub fn file_id(self) -> u64 {
        u64::from(self.generation % GENERATIONS) << 56
            | u64::from(self.attempt % ATTEMPTS) << 32
            | u64::from(self.map_partition)
    }

    /// The inverse of [`Self::file_id`].
    #[must_use]
    pub fn of_file_id(file_id: u64) -> Self {
        Self {
            map_partition: file_id as u32,
            generation: (file_id >> 56) as u32,
            attempt: (file_id >> 32) as u32 % ATTEMPTS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_names_who_lists() {
        for lister in [None, Some("0b54f0cc-2f67")] {
            let removal = removal_of("query-1_a", lister);
            assert_eq!(namespace_to_remove(&removal), Some(("query-1_a", lister)));
        }
        assert_eq!(namespace_to_remove("query-1_a"), None);
    }

    #[test]
    fn locations_keep_their_three_numbers() {
        for location in [(0, 0, 0), (u32::MAX, 255, ATTEMPTS - 1), (7, 1, 5)] {
            let (map_partition, generation, attempt) = location;
            let location = OutputLocation {
                map_partition,
                generation,
                attempt,
            };
            assert_eq!(OutputLocation::of_file_id(location.file_id()), location);
        }
    }
}
