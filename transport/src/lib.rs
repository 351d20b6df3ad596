//! Who talks to whom, and how it is known: mutual TLS between drivers, scheduler and executors, and the tenants that drivers stand for.
//!
//! A process has one [`Transport`]. What it listens on becomes a stream of connections by [`Transport::incoming`], what it connects to by
//! [`Transport::channel`]; both take the certificates of the moment, so files that change are taken over without a restart. A connection's
//! [`Peer`] travels with each of its calls, and [`Access`] says by it, and by the call's token, for which tenant the call is made.
//!
//! Members of the pool (scheduler and executors) have certificates of the pool's CA, drivers those of another one, or a token. The two are never
//! taken for each other: see [`Clients`].

mod access;
mod connector;
mod current;
mod error;
mod incoming;
mod io;
mod material;
mod names;
mod peer;
mod refusals;
mod reload;
mod server;
mod tenants;
mod transport;

pub use access::{Access, Caller, Denied};
pub use connector::{ConnectError, Connector};
pub use error::TransportError;
pub use incoming::Incoming;
pub use io::{Accepted, Io};
pub use material::Issuer;
pub use peer::{Peer, PeerCertificate};
pub use refusals::Refusals;
pub use server::Clients;
pub use tenants::{Tenant, Tenants, ticket_owner};
pub use transport::{Transport, spawn_watch};

#[cfg(test)]
mod tests;
