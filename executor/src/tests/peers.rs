//! Outputs that one executor keeps and others read, over real connections.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::flight_service_server::FlightServiceServer;
use arrow_flight::{Action, FlightClient, Ticket};
use cne_proto::v1::ResultTicket;
use cne_storage::{
    Durability, LocalParts, MapOutput, MapOutputId, OutputVersion, Peers, Publication, TaskAttempt,
    WriterOptions,
};
use cne_task::ticket::TicketKeys;
use cne_transport::Transport;
use futures::TryStreamExt;
use object_store::memory::InMemory;
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};

use super::*;
use crate::flight::ResultService;
use crate::peers::{FlightPeers, KEPT};

const KEY: &str = "k:000102030405060708090a0b0c0d0e0f";
const OTHER_KEY: &str = "k:f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

struct Executor {
    store: ShuffleStore,
    address: String,
    _directory: tempfile::TempDir,
}

impl Executor {
    async fn start(shared: &Arc<InMemory>, key: &str) -> Self {
        let keys = Arc::new(TicketKeys::parse(key).unwrap());
        let directory = tempfile::tempdir().unwrap();
        let local = LocalParts::open(directory.path().to_path_buf(), 1 << 30).unwrap();
        let peers = Arc::new(FlightPeers::new(
            Arc::clone(&keys),
            "pool".into(),
            Transport::plaintext(),
        ));
        let store = ShuffleStore::new(shared.clone(), object_store::path::Path::default())
            .with_local(local, 1 << 20)
            .with_peers(peers, tokio::runtime::Handle::current());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let totals = Arc::new(Totals::default());
        let service = ResultService::new(
            store.clone(),
            keys,
            "pool".into(),
            address.clone(),
            2,
            totals,
            tokio::sync::mpsc::unbounded_channel().0,
        );
        tokio::spawn(
            Server::builder()
                .add_service(FlightServiceServer::new(service))
                .serve_with_incoming(TcpIncoming::from(listener)),
        );
        Self {
            store,
            address,
            _directory: directory,
        }
    }

    /// Rows 0..n in one bucket.
    async fn write(&self, partition: u32, rows: i64, durability: Durability) -> MapOutput {
        let id = MapOutputId::new("query", 1, partition);
        let version = OutputVersion::default();
        let attempt = TaskAttempt {
            version,
            executor_id: self.address.clone(),
        };
        let options = WriterOptions {
            durability,
            ..WriterOptions::default()
        };
        let context = TaskContext::default();
        let mut writer = self
            .store
            .writer(id.clone(), attempt, schema(), 1, &context, options)
            .unwrap();
        writer.write(0, batch(0, rows)).await.unwrap();
        assert!(writer.finish(vec![]).await.unwrap().won);
        id.written_by(version)
    }

    async fn channel(&self) -> Channel {
        let endpoint = Channel::from_shared(format!("http://{}", self.address)).unwrap();
        endpoint.connect().await.unwrap()
    }
}

fn ticket(output: &MapOutput, holder: &str) -> ResultTicket {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    ResultTicket {
        namespace: output.id.namespace.clone(),
        stage_id: output.id.stage_id,
        partition: output.id.map_partition,
        expires_at: now + 60,
        audience: "pool".into(),
        query_id: "query".into(),
        generation: output.version.generation,
        attempt: output.version.attempt,
        holder: holder.into(),
        tenant: String::new(),
    }
}

#[tokio::test]
async fn a_result_that_one_executor_keeps_is_served_by_another() {
    let shared = Arc::new(InMemory::new());
    let (keeper, server) = (
        Executor::start(&shared, KEY).await,
        Executor::start(&shared, KEY).await,
    );
    let keys = TicketKeys::parse(KEY).unwrap();
    // The second has several pieces and blocks.
    for (partition, rows) in [(0, 100), (1, 2_000_000)] {
        let output = keeper.write(partition, rows, Durability::Local).await;
        let ticket = keys.sign(&ticket(&output, &keeper.address));
        let mut client = FlightClient::new(server.channel().await);
        let rows_served: Vec<_> = client
            .do_get(Ticket { ticket })
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        let served: usize = rows_served.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(served as i64, rows);
    }
}

#[tokio::test]
async fn executors_tell_each_other_what_is_published_and_nobody_else() {
    let shared = Arc::new(InMemory::new());
    let keeper = Executor::start(&shared, KEY).await;
    let local = keeper.write(0, 10, Durability::Local).await;
    let unknown = MapOutputId::new("query", 1, 7).written_by(OutputVersion::default());
    let asked = [local.clone(), unknown];
    let friend = FlightPeers::new(
        Arc::new(TicketKeys::parse(KEY).unwrap()),
        "pool".into(),
        Transport::plaintext(),
    );
    let answer = friend.publications(&keeper.address, &asked).await.unwrap();
    assert_eq!(answer, [Some(Publication::Waiting), None], "it is wanted now");
    tokio::time::timeout(Duration::from_secs(20), keeper.store.flush())
        .await
        .unwrap();
    let answer = friend.publications(&keeper.address, &asked).await.unwrap();
    assert_eq!(answer, [Some(Publication::Published), None]);
    assert!(friend.record(&keeper.address, &local).await.unwrap().is_some());
    assert!(friend.record(&keeper.address, &asked[1]).await.unwrap().is_none());

    // Another key, another pool, a result ticket, nobody there.
    for (key, pool) in [(OTHER_KEY, "pool"), (KEY, "other")] {
        let stranger = FlightPeers::new(
            Arc::new(TicketKeys::parse(key).unwrap()),
            pool.into(),
            Transport::plaintext(),
        );
        let error = stranger.record(&keeper.address, &local).await.unwrap_err();
        assert!(error.to_string().contains("ticket"), "{error}");
    }
    let signed = TicketKeys::parse(KEY).unwrap().sign(&ticket(&local, ""));
    let action = Action {
        r#type: KEPT.into(),
        body: signed,
    };
    let refused = FlightServiceClient::new(keeper.channel().await)
        .do_action(action)
        .await;
    assert_eq!(refused.unwrap_err().code(), tonic::Code::Unauthenticated);
    assert!(friend.record("127.0.0.1:1", &local).await.is_err());
}
