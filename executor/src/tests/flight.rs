use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_flight::FlightClient;
use arrow_flight::Ticket;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::FlightServiceServer;
use bytes::Bytes;
use cne_proto::v1::{ErrorDetail, ResultTicket};
use cne_task::reports::ResultPartition;
use cne_task::ticket::TicketKeys;
use cne_transport::Transport;
use futures::TryStreamExt;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};

use super::*;
use crate::flight::ResultService;

const KEY: &str = "k:000102030405060708090a0b0c0d0e0f";

fn ticket(job: &str) -> ResultTicket {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    ResultTicket {
        namespace: job.into(),
        stage_id: 1,
        partition: 0,
        expires_at: now + 60,
        audience: "pool".into(),
        query_id: "query".into(),
        tenant: String::new(),
        generation: 0,
        attempt: 0,
        holder: String::new(),
    }
}

fn sign(ticket: &ResultTicket) -> Bytes {
    TicketKeys::parse(KEY).unwrap().sign(ticket)
}

/// A client of a service that serves `store`.
async fn client(store: &ShuffleStore) -> FlightClient {
    serve(store).await.0
}

/// The same, and what is read to its end.
async fn serve(store: &ShuffleStore) -> (FlightClient, mpsc::UnboundedReceiver<ResultPartition>) {
    serve_secured(store, Transport::plaintext()).await
}

async fn serve_secured(
    store: &ShuffleStore,
    transport: Transport,
) -> (FlightClient, mpsc::UnboundedReceiver<ResultPartition>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let keys = Arc::new(TicketKeys::parse(KEY).unwrap());
    let totals = Arc::new(Totals::default());
    let (reads, read) = mpsc::unbounded_channel();
    let service = ResultService::new(
        store.clone(),
        keys,
        "pool".into(),
        "executor".into(),
        2,
        totals,
        reads,
    )
    .secured_by(transport);
    let service = FlightServiceServer::new(service);
    tokio::spawn(
        Server::builder()
            .add_service(service)
            .serve_with_incoming(TcpIncoming::from(listener)),
    );
    let channel = Channel::from_shared(address).unwrap().connect().await.unwrap();
    (FlightClient::new(channel), read)
}

async fn refusal(client: &mut FlightClient, ticket: Bytes) -> (tonic::Code, String) {
    let Err(FlightError::Tonic(status)) = client.do_get(Ticket { ticket }).await else {
        panic!("not refused")
    };
    let detail = status
        .metadata()
        .get_bin("cne-error-bin")
        .unwrap()
        .to_bytes()
        .unwrap();
    (status.code(), ErrorDetail::decode(detail).unwrap().code)
}

#[tokio::test]
async fn rows_are_served_again_and_again() {
    let store = store();
    let plan = result_stage("job", 1, memory(vec![batch(0, 20_000), batch(20_000, 30_000)]));
    run(&engine(&store), "job", 1, 0, 0, plan).await.unwrap();
    let (mut client, mut read) = serve(&store).await;
    for _ in 0..2 {
        assert!(read.try_recv().is_err(), "it is told at the end only");
        let stream = client
            .do_get(Ticket {
                ticket: sign(&ticket("job")),
            })
            .await
            .unwrap();
        let found: Vec<_> = stream.try_collect().await.unwrap();
        assert_eq!(keys(&found), keys(&[batch(0, 30_000)]));
        let read = read.recv().await.unwrap();
        assert_eq!((read.namespace.as_str(), read.partition), ("job", 0));
    }
}

#[tokio::test]
async fn a_reader_goes_on_behind_the_rows_that_it_has() {
    let store = store();
    let plan = result_stage("job", 1, memory(vec![batch(0, 9_000), batch(9_000, 12_000)]));
    run(&engine(&store), "job", 1, 0, 0, plan).await.unwrap();
    let client = client(&store).await;
    for given in ["0", "1", "8999", "9000", "11999", "12000", "99999"] {
        let mut client = FlightClient::new_from_inner(client.inner().clone());
        client.add_header("cne-skip-rows", given).unwrap();
        let ticket = Ticket {
            ticket: sign(&ticket("job")),
        };
        let rest: Vec<_> = client.do_get(ticket).await.unwrap().try_collect().await.unwrap();
        let from = given.parse::<i64>().unwrap().min(12_000);
        assert_eq!(keys(&rest), keys(&[batch(from, 12_000)]), "behind {given}");
    }
    let mut client = FlightClient::new_from_inner(client.inner().clone());
    client.add_header("cne-skip-rows", "-1").unwrap();
    let refused = refusal(&mut client, sign(&ticket("job"))).await;
    assert_eq!(refused, (tonic::Code::InvalidArgument, "CNE-1008".into()));
}

#[tokio::test]
async fn a_result_without_rows_has_its_schema() {
    let store = store();
    run(
        &engine(&store),
        "job",
        1,
        0,
        0,
        result_stage("job", 1, memory(vec![])),
    )
    .await
    .unwrap();
    let mut client = client(&store).await;
    let mut stream = client
        .do_get(Ticket {
            ticket: sign(&ticket("job")),
        })
        .await
        .unwrap();
    assert_eq!(stream.try_next().await.unwrap(), None);
    assert_eq!(
        stream.schema().map(|found| found.fields()),
        Some(schema().fields())
    );
}

#[tokio::test]
async fn forged_expired_and_foreign_tickets_are_refused_and_lost_results_named() {
    let store = store();
    run(
        &engine(&store),
        "job",
        1,
        0,
        0,
        result_stage("job", 1, memory(vec![batch(0, 3)])),
    )
    .await
    .unwrap();
    let mut client = client(&store).await;
    let refused = |code: &str| (tonic::Code::Unauthenticated, code.to_string());
    let mut forged = sign(&ticket("job")).to_vec();
    forged[5] ^= 1;
    assert_eq!(refusal(&mut client, forged.into()).await, refused("CNE-4001"));
    let other = TicketKeys::parse("k:ff0102030405060708090a0b0c0d0e0f").unwrap();
    assert_eq!(
        refusal(&mut client, other.sign(&ticket("job"))).await,
        refused("CNE-4001")
    );
    let expired = ResultTicket {
        expires_at: 1,
        ..ticket("job")
    };
    assert_eq!(refusal(&mut client, sign(&expired)).await, refused("CNE-4002"));
    let foreign = ResultTicket {
        audience: "another pool".into(),
        ..ticket("job")
    };
    assert_eq!(refusal(&mut client, sign(&foreign)).await, refused("CNE-4003"));
    let lost = ResultTicket {
        partition: 1,
        ..ticket("job")
    };
    assert_eq!(
        refusal(&mut client, sign(&lost)).await,
        (tonic::Code::NotFound, "CNE-4004".into())
    );
}

#[tokio::test]
async fn a_tenant_reads_its_own_results_only() {
    let store = store();
    let plan = result_stage("job", 1, memory(vec![batch(0, 3)]));
    run(&engine(&store), "job", 1, 0, 0, plan).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tenants.toml");
    // printf %s token | sha256sum
    let digest = "3c469e9d6c5875d37a43f353d4f88e61fcf812c66eee3457465a40b0da4153e0";
    let tenants = format!("[[tenant]]\nname = \"a\"\ntoken_sha256 = [\"{digest}\"]");
    std::fs::write(&path, tenants).unwrap();
    let security = cne_settings::Security {
        tenants_file: Some(path),
        ..Default::default()
    };
    let (mut client, _read) = serve_secured(&store, Transport::open(&security).unwrap()).await;
    let of = |tenant: &str| {
        sign(&ResultTicket {
            tenant: tenant.into(),
            ..ticket("job")
        })
    };
    let nobody = (tonic::Code::Unauthenticated, "CNE-4005".to_string());
    assert_eq!(refusal(&mut client, of("a")).await, nobody);
    client.add_header("authorization", "Bearer other").unwrap();
    assert_eq!(refusal(&mut client, of("a")).await, nobody);

    let mut client = FlightClient::new_from_inner(client.into_inner());
    client.add_header("authorization", "Bearer token").unwrap();
    let foreign = (tonic::Code::PermissionDenied, "CNE-4006".to_string());
    for tenant in ["b", "default", ""] {
        assert_eq!(refusal(&mut client, of(tenant)).await, foreign, "{tenant}");
    }
    let rows = client.do_get(Ticket { ticket: of("a") }).await.unwrap();
    let rows: Vec<_> = rows.try_collect().await.unwrap();
    assert_eq!(keys(&rows), keys(&[batch(0, 3)]));
}
