use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::codegen::Service;
use tonic::codegen::http::Uri;

use crate::{Io, Transport, TransportError};

/// Why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The address has no host or port.
    #[error("{0} names no host and port")]
    Address(Uri),
    /// The host's name cannot be in a certificate.
    #[error("the certificate cannot be checked")]
    Name(#[from] TransportError),
    /// There is no connection.
    #[error("cannot connect to {address}")]
    Tcp {
        /// Host and port.
        address: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The other side was refused, or refuses.
    #[error("no TLS with {address}")]
    Tls {
        /// Host and port.
        address: String,
        /// The reason.
        #[source]
        source: io::Error,
    },
}

/// Opens connections to members of the pool, as tonic asks for it.
#[derive(Clone, Debug)]
pub struct Connector(Transport);

impl Connector {
    pub(crate) fn new(transport: Transport) -> Self {
        Self(transport)
    }

    /// Opens one. Under TLS the server's certificate has been checked; whether the server takes ours is known when it sends something.
    ///
    /// # Errors
    /// When nobody listens, or it is not a member of the pool.
    pub async fn open(&self, host: &str, port: u16) -> Result<Io, ConnectError> {
        let address = || format!("{host}:{port}");
        let tcp = |source| ConnectError::Tcp {
            address: address(),
            source,
        };
        let stream = TcpStream::connect((host.trim_matches(['[', ']']), port))
            .await
            .map_err(tcp)?;
        stream.set_nodelay(true).map_err(tcp)?;
        let Some(material) = self.0.material() else {
            return Ok(Io::Plain(stream));
        };
        let name = self.0.name_of(host)?;
        let connector = TlsConnector::from(material.client.clone());
        let stream = connector.connect(name, stream).await;
        let stream = stream.map_err(|source| ConnectError::Tls {
            address: address(),
            source,
        })?;
        Ok(Io::Tls(Box::new(stream.into())))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Io>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            match (uri.host(), uri.port_u16()) {
                (Some(host), Some(port)) => connector.open(host, port).await.map(TokioIo::new),
                _ => Err(ConnectError::Address(uri.clone())),
            }
        })
    }
}
