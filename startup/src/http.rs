use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::prometheus_text;
use tokio::net::TcpListener;

use crate::Status;

/// Answers `GET /healthz`, `/readyz` and `/metrics` until the process ends.
///
/// # Errors
/// None that is known: a connection that fails is given up alone.
pub async fn serve_http(listener: TcpListener, status: Status) -> std::io::Result<()> {
    let routes = Router::new()
        .route("/healthz", get(health))
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics))
        .with_state(status);
    axum::serve(listener, routes).await
}

/// 503 with the reason, or 200.
fn answer(wrong: Option<&str>) -> Response {
    match wrong {
        Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
        None => "ok\n".into_response(),
    }
}

async fn health(State(status): State<Status>) -> Response {
    answer(status.stuck().as_deref())
}

async fn readiness(State(status): State<Status>) -> Response {
    let reason = status.readiness().borrow().clone();
    answer(reason.as_deref())
}

async fn metrics(State(status): State<Status>) -> Response {
    let mut text = String::new();
    let encoded = status.metrics(|registry| prometheus_text::encode(&mut text, registry));
    match encoded {
        Ok(()) => ([(header::CONTENT_TYPE, prometheus_text::CONTENT_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "the metrics cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_client::metrics::counter::Counter;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    async fn ask(address: std::net::SocketAddr, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_string(), body.to_string())
    }

    #[tokio::test]
    async fn probes_follow_the_status() {
        let status = Status::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve_http(listener, status.clone()));
        let unavailable = "HTTP/1.1 503 Service Unavailable".to_string();
        let fine = ("HTTP/1.1 200 OK".to_string(), "ok\n".to_string());

        assert_eq!(ask(address, "/healthz").await, fine);
        assert_eq!(
            ask(address, "/readyz").await,
            (unavailable.clone(), "starting\n".into())
        );
        status.set_ready();
        assert_eq!(ask(address, "/readyz").await, fine);
        status.set_unready("draining");
        assert_eq!(ask(address, "/readyz").await.1, "draining\n");

        let _pulse = status.watch_loop("heartbeats", Duration::ZERO);
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(ask(address, "/healthz").await.0, unavailable);
    }

    #[tokio::test]
    async fn metrics_are_prometheus_text() {
        let status = Status::new();
        let tasks = Counter::<u64>::default();
        status.metrics(|registry| registry.register("tasks", "Tasks", tasks.clone()));
        tasks.inc_by(3);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve_http(listener, status));
        let (_, text) = ask(address, "/metrics").await;
        assert!(
            text.contains("# TYPE comet_tasks_total counter\ncomet_tasks_total 3\n"),
            "{text}"
        );
    }
}
