//! Connections to a port, after their handshakes.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use rustls::{CertificateError, Error};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::{Accepted, Clients, Io, Peer, Transport};

/// Longest handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Handshakes at one time; further connections wait in the system's queue.
const HANDSHAKES: usize = 1024;
/// Pause after the system could not accept, e.g. for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// The connections to a port.
pub struct Incoming(mpsc::Receiver<Accepted>);

impl std::fmt::Debug for Incoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming").finish_non_exhaustive()
    }
}

impl Stream for Incoming {
    type Item = io::Result<Accepted>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|accepted| accepted.map(Ok))
    }
}

pub(crate) fn start(
    transport: Transport,
    listener: TcpListener,
    clients: Clients,
    port: &'static str,
) -> Incoming {
    let (sender, receiver) = mpsc::channel(64);
    tokio::spawn(accept(transport, listener, clients, port, sender));
    Incoming(receiver)
}

async fn accept(
    transport: Transport,
    listener: TcpListener,
    clients: Clients,
    port: &'static str,
    sender: mpsc::Sender<Accepted>,
) {
    let places = Arc::new(Semaphore::new(HANDSHAKES));
    loop {
        let accepted = tokio::select! {
            () = sender.closed() => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(port, %error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let (transport, sender) = (transport.clone(), sender.clone());
        tokio::spawn(async move {
            let accepted = handshake(&transport, stream, address, clients).await;
            drop(place);
            match accepted {
                // Nobody takes it when the server stops.
                Ok(accepted) => drop(sender.send(accepted).await),
                Err(Some(reason)) => transport.refusals().connection(port, address.ip(), &reason),
                Err(None) => {
                    tracing::debug!(port, peer = %address, "a connection ended before its handshake")
                }
            }
        });
    }
}

/// The reason of a refusal; none when the peer has just gone.
async fn handshake(
    transport: &Transport,
    stream: TcpStream,
    address: SocketAddr,
    clients: Clients,
) -> Result<Accepted, Option<String>> {
    // Slower, not wrong, without it.
    let _ = stream.set_nodelay(true);
    let mut peer = Peer {
        address,
        certificate: None,
    };
    let Some(material) = transport.material() else {
        return Ok(Accepted {
            io: Io::Plain(stream),
            peer,
        });
    };
    let acceptor = TlsAcceptor::from(material.server(clients));
    let stream = match timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(reason(&error)),
        Err(_) => return Err(Some("the handshake took too long".into())),
    };
    if let Some(chain) = stream.get_ref().1.peer_certificates() {
        let certificate = material.peer(chain);
        let certificate = certificate.ok_or_else(|| Some("the certificate has just expired".to_owned()))?;
        peer.certificate = Some(Arc::new(certificate));
    }
    Ok(Accepted {
        io: Io::Tls(Box::new(stream.into())),
        peer,
    })
}

/// Why a handshake failed, in words of this side.
fn reason(error: &io::Error) -> Option<String> {
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else {
        return match error.kind() {
            // Port scanners and probes of load balancers.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => None,
            _ => Some(error.to_string()),
        };
    };
    Some(match tls {
        Error::InvalidMessage(_) => "the client does not speak TLS (plaintext?)".into(),
        Error::NoCertificatesPresented => "the client has shown no certificate".into(),
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "the client's certificate is not of a CA that may use this port".into()
        }
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "the client's certificate has expired".into()
        }
        Error::AlertReceived(alert) => format!("the client refuses this process: {alert:?}"),
        other => other.to_string(),
    })
}
