//! Which attempt's output a location of Ballista's means: the one number that Ballista hands from a task's status to its readers as `file_id`.

use std::fmt;

/// In the place of a job, in Ballista's call to remove the data of one.
const OUTPUTS_OF: &str = "outputs-of:";
const STAGES_OF: &str = "stages-of:";

/// What executors are asked to remove. Travels in the place of a job's id. A namespace has no colon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal<'a> {
    /// Everything that is stored in `namespace`: each executor what it has written, and `lister` (an executor's id), which looks for it, what
    /// executors have left that are gone.
    Outputs {
        /// Of the query.
        namespace: &'a str,
        /// Who looks.
        lister: Option<&'a str>,
    },
    /// The rows of stages that nobody reads any more: each executor those that it has written.
    Stages {
        /// Of the query.
        namespace: &'a str,
        /// Their numbers.
        stages: Vec<u32>,
    },
}

impl<'a> Removal<'a> {
    /// What the id of a "job" asks for. `None` for a job of Ballista.
    #[must_use]
    pub fn parse(job: &'a str) -> Option<Self> {
        if let Some(stages) = job.strip_prefix(STAGES_OF) {
            let (namespace, stages) = stages.split_once(':')?;
            let stages = stages.split(',').map(str::parse).collect::<Result<_, _>>();
            return Some(Self::Stages {
                namespace,
                stages: stages.ok()?,
            });
        }
        let outputs = job.strip_prefix(OUTPUTS_OF)?;
        let (namespace, lister) = match outputs.split_once(':') {
            Some((namespace, lister)) => (namespace, Some(lister)),
            None => (outputs, None),
        };
        Some(Self::Outputs { namespace, lister })
    }
}

impl fmt::Display for Removal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outputs { namespace, lister } => {
                write!(f, "{OUTPUTS_OF}{namespace}")?;
                lister.map_or(Ok(()), |lister| write!(f, ":{lister}"))
            }
            Self::Stages { namespace, stages } => {
                let stages: Vec<_> = stages.iter().map(u32::to_string).collect();
                write!(f, "{STAGES_OF}{namespace}:{}", stages.join(","))
            }
        }
    }
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
    fn removals_survive_the_way_ballista_sends_them() {
        let namespace = "query-1_a";
        for sent in [
            Removal::Outputs {
                namespace,
                lister: None,
            },
            Removal::Outputs {
                namespace,
                lister: Some("0b54f0cc-2f67"),
            },
            Removal::Stages {
                namespace,
                stages: vec![1, 12],
            },
        ] {
            assert_eq!(Removal::parse(&sent.to_string()), Some(sent));
        }
        for job in ["query-1_a", "stages-of:query-1_a", "stages-of:query-1_a:1,x"] {
            assert_eq!(Removal::parse(job), None);
        }
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
