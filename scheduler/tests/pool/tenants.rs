//! Two tenants in one pool: neither sees the other's queries.

use cne_proto::v1::ResultTicket;
use cne_settings::Security;
use cne_transport::Transport;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tonic::Code;

use super::*;

fn two_tenants(folder: &std::path::Path) -> Options {
    let entry = |name: &str| {
        let digest = hex::encode(Sha256::digest(format!("token of {name}")));
        format!("[[tenant]]\nname = {name:?}\ntoken_sha256 = [{digest:?}]\n")
    };
    let path = folder.join("tenants.toml");
    std::fs::write(&path, entry("a") + &entry("b")).unwrap();
    let security = Security {
        tenants_file: Some(path),
        ..Security::default()
    };
    Options {
        transport: Transport::open(&security).unwrap(),
        ..options()
    }
}

fn called<T>(by: &str, message: T) -> Request<T> {
    let mut call = Request::new(message);
    if !by.is_empty() {
        let token = format!("Bearer token of {by}");
        call.metadata_mut()
            .insert("authorization", token.parse().unwrap());
    }
    call
}

fn code_of(status: &Status) -> (Code, String) {
    let detail = status.metadata().get_bin(ERROR_TRAILER).unwrap().to_bytes();
    (status.code(), ErrorDetail::decode(detail.unwrap()).unwrap().code)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_of_another_tenant_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = cluster(two_tenants(folder.path())).await;
    let (client, query) = (&cluster.client, request(vec![rows(1)]));
    let poll = |by: &'static str, descriptor: FlightDescriptor| {
        let mut client = client.clone();
        async move {
            let answer = client.poll_flight_info(called(by, descriptor)).await;
            answer.map(tonic::Response::into_inner)
        }
    };
    let submission = || FlightDescriptor::new_cmd(bytes(&query));
    let act = |by: &'static str, kind: &str, body: Vec<u8>| {
        let action = Action {
            r#type: kind.into(),
            body: body.into(),
        };
        let mut client = client.clone();
        async move {
            let mut answers = client.do_action(called(by, action)).await?.into_inner();
            answers.next().await.unwrap().map(|answer| answer.body)
        }
    };
    for stranger in ["", "c"] {
        let refused = poll(stranger, submission()).await.unwrap_err();
        assert_eq!(code_of(&refused), (Code::Unauthenticated, "CNE-4005".into()));
        assert!(act(stranger, "comet.health", vec![]).await.is_err());
    }
    let accepted = poll("a", submission()).await.unwrap();
    let named = accepted.flight_descriptor.unwrap();
    let unknown = (Code::NotFound, "CNE-1014".to_string());

    let refused = poll("b", named.clone()).await.unwrap_err();
    assert_eq!(code_of(&refused), unknown);
    let cancel = CancelFlightInfoRequest::new(FlightInfo::new().with_descriptor(named.clone()));
    let refused = act("b", "CancelFlightInfo", cancel.encode_to_vec()).await;
    assert_eq!(code_of(&refused.unwrap_err()), unknown);
    let ticket = ResultTicket {
        audience: "default".into(),
        expires_at: u64::MAX / 2,
        query_id: query.query_id.clone(),
        tenant: "a".into(),
        ..Default::default()
    };
    let endpoint = FlightEndpoint::new().with_ticket(arrow_flight::Ticket {
        ticket: options().ticket_keys.sign(&ticket),
    });
    let renew = RenewFlightEndpointRequest::new(endpoint).encode_to_vec();
    act("a", "RenewFlightEndpoint", renew.clone()).await.unwrap();
    let refused = act("b", "RenewFlightEndpoint", renew).await;
    assert_eq!(code_of(&refused.unwrap_err()), unknown);

    // The same id is another query for another tenant, and each sees its own.
    poll("b", submission()).await.unwrap();
    for tenant in ["a", "b"] {
        let listed = act(tenant, "comet.queries", vec![]).await.unwrap();
        let listed: Value = serde_json::from_slice(&listed).unwrap();
        let of: Vec<_> = listed.as_array().unwrap().iter().map(|q| &q["tenant"]).collect();
        assert_eq!(of, [tenant]);
    }
    act("a", "CancelFlightInfo", cancel.encode_to_vec())
        .await
        .unwrap();
    let ended = poll("a", named.clone()).await.unwrap_err();
    assert_eq!(code_of(&ended).1, "CNE-3001");
    let still = poll("b", named).await.unwrap();
    assert!(still.flight_descriptor.is_some(), "b's query was cancelled too");
    cluster.drain.cancel();
}
