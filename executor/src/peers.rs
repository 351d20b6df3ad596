//! What executors ask each other: the outputs that one of them keeps on its disk. Each ask is signed with the pool's ticket key.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arrow_flight::Action;
use arrow_flight::flight_service_client::FlightServiceClient;
use bytes::{Bytes, BytesMut};
use cne_proto::v1::peer_ask::Ask;
use cne_proto::v1::{KeptOutput, KeptOutputs, KeptPublication, KeptPublications, KeptRange, PeerAsk};
use cne_storage::{MapOutput, MapOutputId, OutputVersion, PeerError, Peers, Publication, ShuffleStore};
use cne_task::GRPC_MESSAGE_BYTES;
use cne_task::ticket::TicketKeys;
use cne_transport::Transport;
use futures::TryStreamExt;
use futures::stream::{BoxStream, StreamExt};
use parking_lot::Mutex;
use prost::Message;
use tonic::transport::Channel;

/// Asks an executor for outputs that it keeps. The body is a signed `PeerAsk`.
pub(crate) const KEPT: &str = "comet.kept";
const CONNECT: Duration = Duration::from_secs(2);
/// Longest time for a whole answer. An executor that is paused answers nothing.
const ANSWER: Duration = Duration::from_secs(8);
/// How long an ask is valid. Clocks of a pool differ by less.
const VALID: Duration = Duration::from_secs(300);
/// Outputs that are named in one ask.
const OUTPUTS_PER_ASK: usize = 5000;
/// Bytes per message of an answer.
const PIECE: usize = 1 << 20;
/// Most bytes of an object that are asked for at once.
const LONGEST_RANGE: u64 = 64 << 20;
/// Connections that are kept.
const CONNECTIONS: usize = 1000;

/// The other executors of the pool.
#[derive(Debug)]
pub(crate) struct FlightPeers {
    keys: Arc<TicketKeys>,
    pool_name: String,
    transport: Transport,
    channels: Mutex<HashMap<String, Channel>>,
}

pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

impl FlightPeers {
    pub(crate) fn new(keys: Arc<TicketKeys>, pool_name: String, transport: Transport) -> Self {
        Self {
            keys,
            pool_name,
            transport,
            channels: Mutex::default(),
        }
    }

    fn channel(&self, holder: &str) -> Result<Channel, PeerError> {
        let mut channels = self.channels.lock();
        if let Some(channel) = channels.get(holder) {
            return Ok(channel.clone());
        }
        let channel = self
            .transport
            .channel(holder, |endpoint| endpoint.connect_timeout(CONNECT))?;
        if channels.len() >= CONNECTIONS {
            // Executors come and go; those that are still there are connected again.
            channels.clear();
        }
        channels.insert(holder.to_string(), channel.clone());
        Ok(channel)
    }

    /// The messages of an answer.
    async fn ask(&self, holder: &str, ask: Ask) -> Result<Vec<Bytes>, PeerError> {
        let ask = PeerAsk {
            ask: Some(ask),
            expires_at: now() + VALID.as_secs(),
            audience: self.pool_name.clone(),
        };
        let action = Action {
            r#type: KEPT.to_string(),
            body: self.keys.sign_peer(&ask),
        };
        let mut client = FlightServiceClient::new(self.channel(holder)?)
            .max_decoding_message_size(GRPC_MESSAGE_BYTES)
            .max_encoding_message_size(GRPC_MESSAGE_BYTES);
        let answer = async {
            let stream = client.do_action(action).await?.into_inner();
            stream.map_ok(|message| message.body).try_collect().await
        };
        let answer: Result<Result<Vec<Bytes>, tonic::Status>, _> = tokio::time::timeout(ANSWER, answer).await;
        Ok(answer??)
    }
}

fn to_wire(output: &MapOutput) -> KeptOutput {
    KeptOutput {
        namespace: output.id.namespace.clone(),
        stage_id: output.id.stage_id,
        map_partition: output.id.map_partition,
        generation: output.version.generation,
        attempt: output.version.attempt,
    }
}

fn from_wire(output: KeptOutput) -> MapOutput {
    let version = OutputVersion {
        generation: output.generation,
        attempt: output.attempt,
    };
    MapOutputId::new(output.namespace, output.stage_id, output.map_partition).written_by(version)
}

#[async_trait::async_trait]
impl Peers for FlightPeers {
    async fn record(&self, holder: &str, output: &MapOutput) -> Result<Option<Bytes>, PeerError> {
        let answer = self.ask(holder, Ask::Record(to_wire(output))).await?;
        Ok(answer.into_iter().next())
    }

    async fn range(&self, holder: &str, key: &str, range: Range<u64>) -> Result<Option<Bytes>, PeerError> {
        let ask = KeptRange {
            data_key: key.to_string(),
            from: range.start,
            to: range.end,
        };
        let pieces = self.ask(holder, Ask::Range(ask)).await?;
        if pieces.is_empty() {
            return Ok(None);
        }
        let mut bytes = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
        pieces.iter().for_each(|piece| bytes.extend_from_slice(piece));
        Ok(Some(bytes.freeze()))
    }

    async fn publications(
        &self,
        holder: &str,
        outputs: &[MapOutput],
    ) -> Result<Vec<Option<Publication>>, PeerError> {
        let mut found = Vec::with_capacity(outputs.len());
        for outputs in outputs.chunks(OUTPUTS_PER_ASK) {
            let ask = KeptOutputs {
                outputs: outputs.iter().map(to_wire).collect(),
            };
            let answer = self.ask(holder, Ask::Publications(ask)).await?;
            let answer = KeptPublications::decode(answer.concat().as_slice())?;
            if answer.publications.len() != outputs.len() {
                return Err("an answer for other outputs than were asked for".into());
            }
            found.extend(answer.publications().map(|publication| match publication {
                KeptPublication::Unspecified => None,
                KeptPublication::Local => Some(Publication::Local),
                KeptPublication::Waiting => Some(Publication::Waiting),
                KeptPublication::Published => Some(Publication::Published),
                KeptPublication::Refused => Some(Publication::Refused),
            }));
        }
        Ok(found)
    }
}

/// The answer to another executor: the messages.
pub(crate) async fn answer(store: &ShuffleStore, ask: PeerAsk) -> BoxStream<'static, Bytes> {
    let bytes = match ask.ask {
        Some(Ask::Record(output)) => store.kept_record(&from_wire(output)),
        Some(Ask::Range(range)) => {
            let wanted = range.from..range.to;
            match wanted.end.checked_sub(wanted.start) {
                Some(1..=LONGEST_RANGE) => store.kept_range(&range.data_key, wanted).await,
                _ => None,
            }
        }
        Some(Ask::Publications(outputs)) => {
            let of = |output| match store.want_publication(&from_wire(output)) {
                None => KeptPublication::Unspecified,
                Some(Publication::Local) => KeptPublication::Local,
                Some(Publication::Waiting) => KeptPublication::Waiting,
                Some(Publication::Published) => KeptPublication::Published,
                Some(Publication::Refused) => KeptPublication::Refused,
            };
            let publications = outputs.outputs.into_iter().map(|output| of(output).into());
            let answer = KeptPublications {
                publications: publications.collect(),
            };
            Some(answer.encode_to_vec().into())
        }
        None => None,
    };
    let mut rest = bytes.unwrap_or_default();
    let pieces = std::iter::from_fn(move || {
        let piece = rest.split_to(rest.len().min(PIECE));
        (!piece.is_empty()).then_some(piece)
    });
    futures::stream::iter(pieces).boxed()
}
