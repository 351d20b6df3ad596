//! The session of a query: Ballista's and DataFusion's settings as the pool needs them, and our own options beside them.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet, HashMap},
    str::FromStr,
    sync::LazyLock,
};

use ballista_core::extension::{SessionConfigExt, SessionConfigHelperExt};
use ballista_core::serde::protobuf::KeyValuePair;
use datafusion::{
    config::{ConfigEntry, ConfigExtension, ExtensionOptions},
    error::{DataFusionError, Result},
    prelude::SessionConfig,
};
use serde::de::DeserializeOwned;

/// Largest gRPC message between scheduler and executors, in bytes. A launch message carries every new task of one executor; Ballista
/// removes an executor to which it could not be sent.
pub const GRPC_MESSAGE_BYTES: usize = 256 << 20;

/// The session's setting of how many rows a batch has at most.
pub const BATCH_SIZE: &str = "spark.comet.batchSize";

/// A value of [`BATCH_SIZE`], in rows; `None` for what is no size of a batch.
#[must_use]
pub fn batch_size(text: &str) -> Option<usize> {
    text.parse().ok().filter(|rows| (1..=1 << 20).contains(rows))
}

/// When the output of a task counts as committed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is on its executor's disk.
    Local,
    /// When it is on its executor's disk; it goes into the store behind.
    WriteBehind,
    /// When it is in the store.
    #[default]
    Store,
}

impl Durability {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::WriteBehind => "write-behind",
            Self::Store => "store",
        }
    }
}

impl FromStr for Durability {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let all = [Self::Local, Self::WriteBehind, Self::Store];
        all.into_iter().find(|one| one.as_str() == text).ok_or(())
    }
}

/// What every task of a query has to know. Travels in Ballista's task properties under the prefix `comet.`.
///
/// Written by hand: the entries of DataFusion's `extensions_options!` carry no prefix, and Ballista would drop them on the way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryOptions {
    /// The driver's id of the query (UUID).
    pub query_id: String,
    /// W3C trace context of the query's span; may be empty.
    pub traceparent: String,
    /// Settings of the Spark session that an execution may read, by key.
    pub config: BTreeMap<String, String>,
    /// Where the outputs of the query's tasks are stored: the same for every job that computes the same query in the same way.
    pub namespace: String,
    /// How often the query has started again.
    pub generation: u32,
    /// Attempts of the job's tasks are numbered from here on, so that they differ from those of the query's other jobs, also of those that a
    /// scheduler before this one has run.
    pub first_attempt: u32,
    /// An earlier run of the query may have committed outputs: each task looks first.
    pub look_first: bool,
    /// Outputs (stage, map partition) that were found missing or damaged, and count for nothing wherever they are found.
    pub lost: BTreeSet<(u32, u32)>,
    /// When the outputs of the query's tasks count as committed.
    pub durability: Durability,
}

impl QueryOptions {
    /// The options of the query that `config` belongs to; the defaults when it carries none.
    pub fn of(config: &SessionConfig) -> Self {
        config
            .options()
            .extensions
            .get::<Self>()
            .cloned()
            .unwrap_or_default()
    }

    /// Sets these options on a session, and what they say of DataFusion's own.
    pub fn apply_to(self, config: SessionConfig) -> SessionConfig {
        let batch_size = self.config.get(BATCH_SIZE).and_then(|text| batch_size(text));
        let config = match batch_size {
            Some(rows) => config.with_batch_size(rows),
            None => config,
        };
        config.with_option_extension(self)
    }
}

impl ConfigExtension for QueryOptions {
    const PREFIX: &'static str = "comet";
}

impl ExtensionOptions for QueryOptions {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "query_id" => self.query_id = value.to_owned(),
            "traceparent" => self.traceparent = value.to_owned(),
            "namespace" => self.namespace = value.to_owned(),
            "generation" => self.generation = parse(key, value)?,
            "first_attempt" => self.first_attempt = parse(key, value)?,
            "look_first" => self.look_first = parse(key, value)?,
            "durability" => self.durability = parse(key, value)?,
            "lost" if value.is_empty() => self.lost.clear(),
            "lost" => self.lost = json(value)?,
            "config" if value.is_empty() => self.config.clear(),
            "config" => self.config = json(value)?,
            _ => {
                return Err(DataFusionError::Configuration(format!(
                    "no such option: comet.{key}"
                )));
            }
        }
        Ok(())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        // Maps of strings and lists of numbers always serialize.
        let config = serde_json::to_string(&self.config).unwrap_or_default();
        let lost = serde_json::to_string(&self.lost).unwrap_or_default();
        [
            ("query_id", self.query_id.clone()),
            ("traceparent", self.traceparent.clone()),
            ("config", config),
            ("namespace", self.namespace.clone()),
            ("generation", self.generation.to_string()),
            ("first_attempt", self.first_attempt.to_string()),
            ("look_first", self.look_first.to_string()),
            ("lost", lost),
            ("durability", self.durability.as_str().to_owned()),
        ]
        .into_iter()
        .map(|(key, value)| ConfigEntry {
            key: format!("{}.{key}", Self::PREFIX),
            value: Some(value),
            description: "set by comet-scheduler for each query",
        })
        .collect()
    }
}

fn parse<T: FromStr>(key: &str, value: &str) -> Result<T> {
    value
        .parse()
        .map_err(|_| DataFusionError::Configuration(format!("comet.{key} cannot be {value:?}")))
}

fn json<T: DeserializeOwned>(value: &str) -> Result<T> {
    serde_json::from_str(value).map_err(|e| DataFusionError::External(Box::new(e)))
}

/// The session every query starts from, on the scheduler and (as Ballista's config producer) on the executors.
pub fn session_config() -> SessionConfig {
    SessionConfig::new_with_ballista()
        .with_option_extension(QueryOptions::default())
        .with_batch_size(8192)
        // A fragment has one partition; what is partitioned is decided by the stage graph alone.
        .with_target_partitions(1)
        .with_round_robin_repartition(false)
        .with_information_schema(false)
        .with_collect_statistics(false)
        // One partition per task, as in Spark: a retry repeats one partition.
        .set_str("ballista.scheduler.max_partitions_per_task", "1")
        .set_str(
            "ballista.client.grpc_max_message_size",
            &GRPC_MESSAGE_BYTES.to_string(),
        )
        .set_str("ballista.planner.adaptive.enabled", "false")
}

/// Those of a session's settings, as Ballista sends them, that an executor does not have already: it starts from [`session_config`] too. About two
/// hundred are the same for every task.
#[must_use]
pub fn changed_settings(settings: Vec<KeyValuePair>) -> Vec<KeyValuePair> {
    static COMMON: LazyLock<HashMap<String, Option<String>>> = LazyLock::new(|| {
        let pairs = session_config().to_key_value_pairs().into_iter();
        pairs.map(|pair| (pair.key, pair.value)).collect()
    });
    let changed = |pair: &KeyValuePair| COMMON.get(&pair.key) != Some(&pair.value);
    settings.into_iter().filter(changed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_survive_the_way_ballista_sends_them() {
        let config = BTreeMap::from([("spark.sql.ansi.enabled".to_owned(), "a=\"b\"\n".to_owned())]);
        let sent = QueryOptions {
            query_id: "q".into(),
            traceparent: "00-1-2-01".into(),
            config,
            namespace: "n".into(),
            generation: 2,
            first_attempt: 77,
            look_first: true,
            lost: BTreeSet::from([(1, 2), (3, 4)]),
            durability: Durability::WriteBehind,
        };
        let pairs = sent.clone().apply_to(session_config());
        let mut received = session_config();
        for pair in pairs.to_key_value_pairs() {
            received = received.update_from_key_value_pair(&[pair]);
        }
        assert_eq!(QueryOptions::of(&received), sent);
    }

    #[test]
    fn a_session_has_its_batch_size() {
        let sized = |text: &str| {
            let config = BTreeMap::from([(BATCH_SIZE.to_owned(), text.to_owned())]);
            let query = QueryOptions {
                config,
                ..Default::default()
            };
            query.apply_to(session_config()).batch_size()
        };
        assert_eq!((sized("2"), sized("8192")), (2, 8192));
        for text in ["", "0", "-1", "1048577", "many"] {
            assert_eq!(batch_size(text), None, "{text}");
        }
    }

    #[test]
    fn only_what_a_query_changes_is_sent() {
        let query = QueryOptions {
            query_id: "q".into(),
            ..Default::default()
        };
        let config = query.apply_to(session_config()).with_batch_size(17);
        let all = config.to_key_value_pairs();
        let changed = changed_settings(all.clone());
        let keys: Vec<_> = changed.iter().map(|pair| pair.key.as_str()).collect();
        assert_eq!(keys, ["datafusion.execution.batch_size", "comet.query_id"]);
        let received = session_config().update_from_key_value_pair(&changed);
        assert_eq!(received.to_key_value_pairs(), all);
        let bytes = |pairs: &[KeyValuePair]| pairs.iter().map(prost::Message::encoded_len).sum::<usize>();
        assert!(bytes(&changed) * 100 < bytes(&all));
    }

    #[test]
    fn one_partition_per_task() {
        let pairs = session_config().to_key_value_pairs();
        let of = |key: &str| pairs.iter().find(|p| p.key == key).and_then(|p| p.value.clone());
        assert_eq!(
            of("ballista.scheduler.max_partitions_per_task").as_deref(),
            Some("1")
        );
        assert_eq!(
            of("datafusion.optimizer.enable_round_robin_repartition").as_deref(),
            Some("false")
        );
    }
}
