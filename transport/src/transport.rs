use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cne_settings::Security;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use rustls::pki_types::ServerName;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint, Identity};

use crate::connector::Connector;
use crate::current::Current;
use crate::incoming::{self, Incoming};
use crate::material::{Material, Paths};
use crate::reload::Reloaded;
use crate::{Access, Clients, Refusals, Tenants, TransportError};

/// Between two looks at the files.
const LOOK: Duration = Duration::from_secs(1);
/// A certificate of which less than this part of its life is left should have been replaced: usual tools do it when a third is left.
const DUE: u32 = 5;

/// How this process connects and is connected to. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Transport {
    tls: Option<Arc<Tls>>,
    access: Access,
    refusals: Refusals,
}

#[derive(Debug)]
struct Tls {
    material: Reloaded<Material>,
    /// The name in every member's certificate, if they have one in common.
    server_name: Option<ServerName<'static>>,
    expires: Gauge,
    changes: watch::Sender<u64>,
}

impl Transport {
    /// Nothing is encrypted, and everybody is one tenant.
    pub fn plaintext() -> Self {
        let refusals = Refusals::default();
        Self {
            tls: None,
            access: Access::new(None, refusals.clone()),
            refusals,
        }
    }

    /// What the settings ask for. Reads files, blocking.
    ///
    /// # Errors
    /// Files that cannot be read or do not fit together, with their names.
    pub fn open(security: &Security) -> Result<Self, TransportError> {
        let refusals = Refusals::default();
        let tenants = match &security.tenants_file {
            Some(path) => Some(Tenants::open(path)?),
            None => None,
        };
        let paths = match (&security.cert, &security.key, &security.ca) {
            (Some(cert), Some(key), Some(ca)) => Some(Paths {
                cert: cert.clone(),
                key: key.clone(),
                ca: ca.clone(),
                client_ca: security.client_ca.clone(),
            }),
            (None, None, None) => None,
            _ => return Err(TransportError::Incomplete),
        };
        let tls = match paths {
            Some(paths) => {
                // With tenants a token will do.
                let mandatory = paths.client_ca.is_some() && tenants.is_none();
                let all = paths.all();
                let make = move |contents: &[Vec<u8>]| Material::new(&paths, mandatory, contents);
                let server_name = security.server_name.as_deref().map(server_name).transpose()?;
                Some(Arc::new(Tls {
                    material: Reloaded::open("certificates", all, make)?,
                    server_name,
                    expires: Gauge::default(),
                    changes: watch::Sender::new(0),
                }))
            }
            None => None,
        };
        Ok(Self {
            tls,
            access: Access::new(tenants, refusals.clone()),
            refusals,
        })
    }

    /// Whether connections are encrypted.
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Scheme of the URL of a Flight service of the pool.
    pub fn flight_scheme(&self) -> &'static str {
        match self.tls {
            Some(_) => "grpc+tls",
            None => "grpc",
        }
    }

    /// For whom calls are made.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Where refusals are said.
    pub fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// The connections to a port that take part in a server of tonic; `port` names it in the log. Dropping the stream closes the port.
    pub fn incoming(&self, listener: TcpListener, clients: Clients, port: &'static str) -> Incoming {
        incoming::start(self.clone(), listener, clients, port)
    }

    /// A way to `address` (host:port) that connects when it is first used and again when the connection is lost, each time with the certificates
    /// of that moment. `settings` adds time limits.
    ///
    /// # Errors
    /// When `address` is none.
    pub fn channel(
        &self,
        address: &str,
        settings: impl FnOnce(Endpoint) -> Endpoint,
    ) -> Result<Channel, tonic::transport::Error> {
        // The scheme is for tonic's own TLS, which is not used.
        let endpoint = settings(Endpoint::from_shared(format!("http://{address}"))?);
        Ok(endpoint.connect_with_connector_lazy(self.connector()))
    }

    /// Opens single connections.
    pub fn connector(&self) -> Connector {
        Connector::new(self.clone())
    }

    /// The state of the certificates now; `None` without TLS.
    pub(crate) fn material(&self) -> Option<Arc<Material>> {
        self.tls.as_ref().map(|tls| tls.material.get())
    }

    /// The name in every member's certificate, if they have one in common.
    pub(crate) fn common_name(&self) -> Option<ServerName<'static>> {
        self.tls.as_ref().and_then(|tls| tls.server_name.clone())
    }

    /// The name that the certificate of the server at `host` has to have.
    pub(crate) fn name_of(&self, host: &str) -> Result<ServerName<'static>, TransportError> {
        match self.common_name() {
            Some(name) => Ok(name),
            None => server_name(host),
        }
    }

    /// TLS for a client that makes its connections itself. It checks servers by the files of each moment; the own certificate is that of now.
    /// Without TLS the endpoint stays as it is.
    ///
    /// # Errors
    /// When the endpoint's URL is not `https://`.
    pub fn secured(&self, endpoint: Endpoint) -> Result<Endpoint, tonic::transport::Error> {
        let Some(material) = self.material() else {
            return Ok(endpoint);
        };
        let (certificate, key) = &material.identity;
        let config = ClientTlsConfig::new().identity(Identity::from_pem(certificate, key));
        endpoint.tls_config_with_verifier(config, Arc::new(Current(self.clone())))
    }

    /// Tells when there are other certificates; `None` without TLS.
    pub fn changes(&self) -> Option<watch::Receiver<u64>> {
        self.tls.as_ref().map(|tls| tls.changes.subscribe())
    }

    /// Adds counters of refusals and the end of the own certificate to the metrics.
    pub fn register(&self, registry: &mut Registry) {
        let (connections, calls) = self.refusals.counters();
        registry.register(
            "connections_refused",
            "Connections refused in the TLS handshake",
            connections,
        );
        registry.register(
            "calls_refused",
            "Calls refused for want of a valid token or certificate",
            calls,
        );
        if let Some(tls) = &self.tls {
            registry.register(
                "certificate_expires_seconds",
                "End of the certificate in seconds since the epoch",
                tls.expires.clone(),
            );
        }
    }

    /// Reads files again when they have changed; blocking.
    fn look(&self, said: &mut Option<(SystemTime, bool)>) {
        if let Some(tls) = &self.tls {
            if tls.material.look() {
                tls.changes.send_modify(|count| *count += 1);
            }
            if let Some(valid) = tls.material.get().valid {
                let seconds = valid.1.duration_since(SystemTime::UNIX_EPOCH);
                tls.expires
                    .set(seconds.map_or(0, |s| i64::try_from(s.as_secs()).unwrap_or(i64::MAX)));
                warn_of_the_end(valid, SystemTime::now(), said);
            }
        }
        self.access.look();
    }
}

/// Follows the files of `transport` until `stop`.
pub fn spawn_watch(transport: &Transport, stop: CancellationToken) {
    let transport = transport.clone();
    tokio::spawn(async move {
        let mut said = None;
        loop {
            let looking = transport.clone();
            let looked = tokio::task::spawn_blocking(move || {
                looking.look(&mut said);
                said
            });
            match looked.await {
                Ok(now) => said = now,
                Err(error) => {
                    tracing::error!(%error, "the files of certificates and tenants are not read any more")
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    });
}

/// Says once per certificate that it should have been replaced, and once that it has expired.
fn warn_of_the_end(
    (from, to): (SystemTime, SystemTime),
    now: SystemTime,
    said: &mut Option<(SystemTime, bool)>,
) {
    let left = to.duration_since(now).ok();
    let life = to.duration_since(from).unwrap_or_default();
    let due = left.is_none_or(|left| left < life / DUE);
    let state = due.then_some((to, left.is_none()));
    if state.is_none() || state == *said {
        *said = state;
        return;
    }
    match left {
        Some(left) => {
            tracing::warn!(left = ?Duration::from_secs(left.as_secs()), "the certificate ends soon and was not replaced")
        }
        None => tracing::error!("the certificate has expired: other members of the pool refuse it"),
    }
    *said = state;
}

fn server_name(host: &str) -> Result<ServerName<'static>, TransportError> {
    let bare = host.trim_matches(['[', ']']).to_owned();
    ServerName::try_from(bare.clone()).map_err(|_| TransportError::Name(bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_was_not_replaced_is_said_once_and_its_end_once() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let mut said = None;
        let mut look = |now| {
            let before = said;
            warn_of_the_end((at(0), at(100)), at(now), &mut said);
            (
                said != before && said.is_some(),
                said.is_some_and(|(_, over)| over),
            )
        };
        assert_eq!(look(50), (false, false));
        assert_eq!(look(81), (true, false));
        assert_eq!(look(90), (false, false));
        assert_eq!(look(101), (true, true));
        assert_eq!(look(102), (false, true));
    }
}
