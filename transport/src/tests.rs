//! Real connections on loopback, with certificates that are made here.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cne_settings::Security;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tonic::metadata::MetadataMap;
use tonic::transport::Server;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use super::*;

type Ca = CertifiedIssuer<'static, KeyPair>;
/// Greeting of a client of HTTP/2, with empty settings.
const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

fn ca(name: &str) -> Ca {
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Certificate and key as PEM.
struct Pair(String, String);

fn pair(ca: &Ca, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Pair {
    let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, ca).unwrap();
    Pair(certificate.pem(), key.serialize_pem())
}

fn same(_: &mut CertificateParams) {}

fn expired(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2021, 1, 1);
}

fn write(folder: &Path, own: &Pair) {
    std::fs::write(folder.join("cert.pem"), &own.0).unwrap();
    std::fs::write(folder.join("key.pem"), &own.1).unwrap();
}

/// Settings of a member whose files are in `folder`.
fn member(folder: &Path, pool: &Ca, drivers: Option<&Ca>, own: &Pair) -> Security {
    write(folder, own);
    std::fs::write(folder.join("ca.pem"), pool.pem()).unwrap();
    if let Some(drivers) = drivers {
        std::fs::write(folder.join("drivers.pem"), drivers.pem()).unwrap();
    }
    Security {
        cert: Some(folder.join("cert.pem")),
        key: Some(folder.join("key.pem")),
        ca: Some(folder.join("ca.pem")),
        client_ca: drivers.map(|_| folder.join("drivers.pem")),
        server_name: Some("pool.internal".into()),
        tenants_file: None,
    }
}

async fn serve(transport: &Transport, clients: Clients) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_, health) = tonic_health::server::health_reporter();
    let incoming = transport.incoming(listener, clients, "test");
    tokio::spawn(
        Server::builder()
            .add_service(health)
            .serve_with_incoming(incoming),
    );
    address
}

/// What a client gets of a server that it trusts: the settings frame of HTTP/2, or nothing.
async fn answer(address: SocketAddr, pool: &Ca, own: Option<&Pair>) -> Result<Vec<u8>, String> {
    let mut roots = RootCertStore::empty();
    roots.add(pool.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match own {
        Some(Pair(certificate, key)) => builder
            .with_client_auth_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap(),
        None => builder.with_no_client_auth(),
    };
    let tcp = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("pool.internal").unwrap();
    let exchange = async {
        let mut tls = tokio_rustls::TlsConnector::from(Arc::new(config))
            .connect(name, tcp)
            .await?;
        tls.write_all(GREETING).await?;
        let mut bytes = vec![0; 9];
        tls.read_exact(&mut bytes).await?;
        Ok::<_, std::io::Error>(bytes)
    };
    exchange.await.map_err(|error| error.to_string())
}

fn refused(transport: &Transport) -> u64 {
    transport.refusals().counters().0.get()
}

async fn check(from: &Transport, address: SocketAddr) -> Result<(), tonic::Status> {
    let channel = from.channel(&address.to_string(), |endpoint| endpoint).unwrap();
    let request = HealthCheckRequest::default();
    HealthClient::new(channel).check(request).await.map(drop)
}

#[tokio::test]
async fn the_members_port_takes_members_and_nobody_else() {
    let (pool, drivers, foreign) = (ca("pool"), ca("drivers"), ca("foreign"));
    let folder = tempfile::tempdir().unwrap();
    let own = pair(&pool, &["pool.internal"], same);
    let security = member(folder.path(), &pool, Some(&drivers), &own);
    let transport = Transport::open(&security).unwrap();
    let address = serve(&transport, Clients::Members).await;

    check(&transport, address).await.unwrap();
    assert!(answer(address, &pool, Some(&own)).await.is_ok());
    assert_eq!(refused(&transport), 0);

    let bad = [
        None,
        Some(pair(&drivers, &["pool.internal"], same)),
        Some(pair(&foreign, &["pool.internal"], same)),
        Some(pair(&pool, &["pool.internal"], expired)),
        Some(pair(&pool, &["pool.internal"], |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        })),
    ];
    for (at, own) in bad.iter().enumerate() {
        let got = answer(address, &pool, own.as_ref()).await;
        assert!(got.is_err(), "client {at} got {got:?}");
        assert_eq!(refused(&transport), at as u64 + 1);
    }
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(GREETING).await.unwrap();
    let mut got = vec![];
    // An alert, or a reset.
    let _ = plain.read_to_end(&mut got).await;
    assert!(!got.starts_with(b"\0\0"), "{got:?}");
    assert_eq!(refused(&transport), bad.len() as u64 + 1);
    assert!(check(&Transport::plaintext(), address).await.is_err());
}

#[tokio::test]
async fn a_member_checks_whom_it_reaches() {
    let (pool, foreign) = (ca("pool"), ca("foreign"));
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let own = pair(&pool, &["pool.internal"], same);
    let transport = Transport::open(&member(here.path(), &pool, None, &own)).unwrap();

    let other = member(
        there.path(),
        &foreign,
        None,
        &pair(&foreign, &["pool.internal"], same),
    );
    let address = serve(&Transport::open(&other).unwrap(), Clients::Anyone).await;
    assert!(check(&transport, address).await.is_err(), "of another CA");

    let named = member(there.path(), &pool, None, &pair(&pool, &["elsewhere"], same));
    let address = serve(&Transport::open(&named).unwrap(), Clients::Members).await;
    assert!(check(&transport, address).await.is_err(), "of another name");

    // Without a common name it is the address that counts.
    let addressed = member(there.path(), &pool, None, &pair(&pool, &["127.0.0.1"], same));
    let addressed = Security {
        server_name: None,
        ..addressed
    };
    let addressed = Transport::open(&addressed).unwrap();
    let address = serve(&addressed, Clients::Members).await;
    check(&addressed, address).await.unwrap();
    assert!(check(&transport, address).await.is_err());
    let plain = serve(&Transport::plaintext(), Clients::Members).await;
    assert!(check(&transport, plain).await.is_err(), "without TLS");

    // The way in which Ballista connects.
    let endpoint = tonic::transport::Endpoint::from_shared(format!("https://{address}")).unwrap();
    let channel = addressed
        .secured(endpoint.clone())
        .unwrap()
        .connect()
        .await
        .unwrap();
    HealthClient::new(channel)
        .check(HealthCheckRequest::default())
        .await
        .unwrap();
    assert!(transport.secured(endpoint).unwrap().connect().await.is_err());
}

#[tokio::test]
async fn drivers_are_told_from_members() {
    let (pool, drivers) = (ca("pool"), ca("drivers"));
    let folder = tempfile::tempdir().unwrap();
    let own = pair(&pool, &["pool.internal"], same);
    let mut security = member(folder.path(), &pool, Some(&drivers), &own);
    let address = serve(&Transport::open(&security).unwrap(), Clients::Drivers).await;
    let spark = pair(&drivers, &[], |params| {
        params.distinguished_name.push(DnType::CommonName, "spark")
    });
    assert!(answer(address, &pool, Some(&spark)).await.is_ok());
    assert!(answer(address, &pool, Some(&own)).await.is_ok());
    assert!(
        answer(address, &pool, None).await.is_err(),
        "without tenants a certificate is needed"
    );

    let tenants = folder.path().join("tenants.toml");
    std::fs::write(&tenants, "[[tenant]]\nname = \"a\"\ncertificates = [\"spark\"]").unwrap();
    security.tenants_file = Some(tenants);
    let transport = Transport::open(&security).unwrap();
    let material = transport.material().unwrap();
    let peer_of = |of: &Pair| {
        let certificate = CertificateDer::from_pem_slice(of.0.as_bytes()).unwrap();
        material.peer(&[certificate]).unwrap()
    };
    let peer = |certificate: Option<PeerCertificate>| Peer {
        address: SocketAddr::from(([127, 0, 0, 1], 1)),
        certificate: certificate.map(Arc::new),
    };
    let none = MetadataMap::new();
    let find =
        |certificate: Option<PeerCertificate>| transport.access().caller(Some(&peer(certificate)), &none);

    let caller = find(Some(peer_of(&spark))).unwrap();
    assert_eq!(caller.tenant.unwrap().name, "a");
    let caller = find(Some(peer_of(&own))).unwrap();
    assert!(caller.tenant.is_none());
    assert!(peer(Some(peer_of(&own))).is_member() && !peer(Some(peer_of(&spark))).is_member());
    assert_eq!(find(None).unwrap_err(), Denied::Nothing);
    let named = pair(&drivers, &["other"], |params| {
        params.distinguished_name.push(DnType::CommonName, "spark")
    });
    assert_eq!(find(Some(peer_of(&named))).unwrap_err(), Denied::Certificate);
    // The same name in a certificate of the pool makes nobody a tenant.
    let of_pool = pair(&pool, &["spark"], same);
    assert!(find(Some(peer_of(&of_pool))).unwrap().tenant.is_none());
    for (header, denied) in [
        ("Bearer x", Denied::Token),
        ("Basic x", Denied::Header),
        ("Bearer ", Denied::Header),
    ] {
        let mut headers = MetadataMap::new();
        headers.insert("authorization", header.parse().unwrap());
        let found = transport
            .access()
            .caller(Some(&peer(Some(peer_of(&spark)))), &headers);
        assert_eq!(found.unwrap_err(), denied, "{header}");
    }
}

#[tokio::test]
async fn changed_files_are_used_and_broken_ones_are_not() {
    let (pool, next) = (ca("pool"), ca("next"));
    let folder = tempfile::tempdir().unwrap();
    let first = pair(&pool, &["pool.internal"], same);
    let security = member(folder.path(), &pool, None, &first);
    let transport = Transport::open(&security).unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    spawn_watch(&transport, stop.clone());
    let address = serve(&transport, Clients::Members).await;
    let open = transport
        .channel(&address.to_string(), |endpoint| endpoint)
        .unwrap();
    let ask = |channel: &tonic::transport::Channel| {
        let mut client = HealthClient::new(channel.clone());
        async move { client.check(HealthCheckRequest::default()).await.map(drop) }
    };
    ask(&open).await.unwrap();

    // A key that does not fit.
    std::fs::write(folder.path().join("key.pem"), pair(&pool, &[], same).1).unwrap();
    tokio::time::sleep(Duration::from_millis(2500)).await;
    check(&transport, address).await.unwrap();
    assert!(answer(address, &pool, Some(&first)).await.is_ok());

    // Another CA, and a certificate of it.
    let second = pair(&next, &["pool.internal"], same);
    write(folder.path(), &second);
    std::fs::write(folder.path().join("ca.pem"), next.pem()).unwrap();
    let changed = async {
        while answer(address, &next, Some(&second)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), changed)
        .await
        .unwrap();
    check(&transport, address).await.unwrap();
    assert!(answer(address, &next, Some(&first)).await.is_err());
    ask(&open).await.unwrap();
    stop.cancel();
}

#[test]
fn files_that_would_not_work_are_named_at_the_start() {
    let (pool, drivers) = (ca("pool"), ca("drivers"));
    let folder = tempfile::tempdir().unwrap();
    let open = |security: &Security| {
        let error = Transport::open(security).unwrap_err();
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        format!("{error}: {}", cause.unwrap_or_default())
    };
    let good = pair(&pool, &["pool.internal"], same);
    let at = folder.path();
    assert!(open(&member(at, &pool, None, &pair(&drivers, &["x"], same))).contains("not of that CA"));
    assert!(open(&member(at, &pool, None, &pair(&pool, &["x"], expired))).contains("expired"));
    let server_only = pair(&pool, &["x"], |params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    });
    assert!(open(&member(at, &pool, None, &server_only)).contains("clientAuth"));
    let mixed = Pair(good.0.clone(), pair(&pool, &[], same).1);
    assert!(open(&member(at, &pool, None, &mixed)).contains("key.pem"));
    assert!(open(&member(at, &pool, Some(&pool), &good)).contains("drivers need another CA"));
    let mut security = member(at, &pool, None, &good);
    security.server_name = Some("not a name".into());
    assert!(open(&security).contains("not a name"));
    security.server_name = None;
    std::fs::remove_file(at.join("ca.pem")).unwrap();
    assert!(open(&security).contains("ca.pem"));
}
