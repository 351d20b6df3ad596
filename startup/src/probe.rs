//! `<binary> health`: one request to the process that listens on the probes' address, for the health check of a container without any
//! other program.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use cne_settings::Address;

/// Container engines give a health check some seconds; on loopback an answer takes milliseconds.
const CONNECT: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(3);
/// The reason of a process that is not healthy is one line.
const LONGEST_ANSWER: u64 = 4096;

/// Why a process does not count as healthy.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Nothing answers there.
    #[error("no answer from {address}")]
    NoAnswer {
        /// Where was asked.
        address: String,
        /// The cause.
        #[source]
        source: Error,
    },
    /// It says itself that it is not healthy.
    #[error("{address} is not healthy: {reason}")]
    Unhealthy {
        /// Where was asked.
        address: String,
        /// What it says.
        reason: String,
    },
    /// Something else than this process answers there.
    #[error("what answers at {address} does not know /healthz: {answer:?}")]
    NotOurs {
        /// Where was asked.
        address: String,
        /// The first line of its answer.
        answer: String,
    },
}

/// Asks for `/healthz`. Every interface (`0.0.0.0`) is asked by loopback.
///
/// # Errors
/// Nobody answers within five seconds, or the answer is not 200.
pub(crate) fn probe(address: &Address) -> Result<(), ProbeError> {
    let (head, body) = ask(address).map_err(|source| ProbeError::NoAnswer {
        address: address.to_string(),
        source,
    })?;
    let mut words = head.split_whitespace();
    let http = words.next().is_some_and(|word| word.starts_with("HTTP/1."));
    match words.next() {
        Some("200") if http => Ok(()),
        Some("503") if http => Err(ProbeError::Unhealthy {
            address: address.to_string(),
            reason: body.trim().to_owned(),
        }),
        _ => Err(ProbeError::NotOurs {
            address: address.to_string(),
            answer: head,
        }),
    }
}

/// The first line of the answer, and its body.
fn ask(address: &Address) -> std::io::Result<(String, String)> {
    let mut stream = TcpStream::connect_timeout(&reached(address)?, CONNECT)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let head = answer.lines().next().unwrap_or_default().to_owned();
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    Ok((head, body.unwrap_or_default()))
}

fn reached(address: &Address) -> std::io::Result<SocketAddr> {
    let found = (address.host.as_str(), address.port).to_socket_addrs()?.next();
    let mut found = found.ok_or_else(|| Error::new(ErrorKind::NotFound, "the name has no address"))?;
    match found.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => found.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => found.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::{Status, serve_http};

    fn address(host: &str, port: u16) -> Address {
        Address {
            host: host.into(),
            port,
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_process_is_asked_and_its_reason_is_told() {
        let status = Status::new();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(serve_http(listener, status.clone()));
        for host in ["127.0.0.1", "0.0.0.0", "localhost"] {
            let asked = address(host, port);
            // Not ready is healthy all the same.
            tokio::task::spawn_blocking(move || probe(&asked))
                .await
                .unwrap()
                .unwrap();
        }
        let _pulse = status.watch_loop("heartbeats", Duration::ZERO);
        tokio::time::sleep(Duration::from_millis(5)).await;
        let error = tokio::task::spawn_blocking(move || probe(&address("127.0.0.1", port)))
            .await
            .unwrap()
            .unwrap_err();
        assert!(
            matches!(&error, ProbeError::Unhealthy { reason, .. } if reason.contains("heartbeats")),
            "{error}"
        );
    }

    #[test]
    fn a_closed_port_and_a_stranger_are_not_healthy() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 512]).unwrap();
            stream.write_all(b"220 smtp.example.org\r\n").unwrap();
        });
        let stranger = probe(&address("127.0.0.1", port)).unwrap_err();
        assert!(matches!(stranger, ProbeError::NotOurs { .. }), "{stranger}");
        answering.join().unwrap();
        let closed = probe(&address("127.0.0.1", port)).unwrap_err();
        assert!(matches!(closed, ProbeError::NoAnswer { .. }), "{closed}");
    }
}
