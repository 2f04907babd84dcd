use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full as Whole};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;

use super::*;
use crate::{
    config::{self, Environment, Sources},
    trace::otlp::{serve::PATH, wire},
};

/// Keeps what is reported, or has no room.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) spans: Mutex<Vec<Span>>,
    pub(super) is_full: std::sync::atomic::AtomicBool,
}

impl Sink for Kept {
    fn report(&self, spans: Vec<Packed>) -> Result<(), Full> {
        if self.is_full.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Full);
        }
        self.spans.lock().unwrap().extend(spans.iter().map(Packed::span));
        Ok(())
    }

    fn has_room(&self) -> bool {
        !self.is_full.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl Kept {
    fn take(&self) -> Vec<Span> {
        std::mem::take(&mut *self.spans.lock().unwrap())
    }
}

fn config(text: &str) -> config::Checked {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("aqueduct.toml");
    std::fs::write(&file, text).unwrap();
    let environment = Environment::new([("HOME", "/home/a")]).in_directory(directory.path());
    config::load(Sources { file: Some(file), environment, ..Sources::default() }).unwrap()
}

pub(super) async fn open(more: &str) -> (Receivers, Arc<Kept>, SocketAddr, SocketAddr) {
    let kept = Arc::new(Kept::default());
    let text = format!("[inspector]\notlp_http = '127.0.0.1:0'\notlp_grpc = '127.0.0.1:0'\n{more}");
    let receivers = listen(&config(&text), true, Arc::<Kept>::clone(&kept)).await;
    let addresses: Vec<_> = receivers.addresses().map(|(_, address)| address).collect();
    (receivers, kept, addresses[0], addresses[1])
}

fn recent() -> Span {
    let now = i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap();
    Span { started: now - 1000, ended: Some(now), ..some_span() }
}

fn pack(body: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(body).unwrap();
    packer.finish().unwrap()
}

/// Sends one request by HTTP/1.1 and gives status, headers and body.
async fn post(address: SocketAddr, headers: &[(&str, &str)], body: Vec<u8>) -> http::Response<Bytes> {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut request = Request::post(PATH);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", address.to_string());
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = sender.send_request(request.body(Whole::new(Bytes::from(body))).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    http::Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
}

const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");
const JSON: (&str, &str) = ("content-type", "application/json; charset=utf-8");
const GZIP: (&str, &str) = ("content-encoding", "gzip");

#[tokio::test]
async fn traces_are_taken_over_http_in_every_form() {
    let (receivers, kept, http, _) = open("").await;
    let span = recent();
    let spans = std::slice::from_ref(&span);
    let (protobuf, json) = (write::protobuf(spans), write::json(spans).unwrap());
    for (headers, body) in [
        (vec![PROTOBUF], protobuf.clone()),
        (vec![PROTOBUF, GZIP], pack(&protobuf)),
        (vec![JSON], json.clone()),
        (vec![JSON, GZIP], pack(&json)),
        (vec![JSON, ("content-encoding", "identity")], json),
    ] {
        let answer = post(http, &headers, body).await;
        assert_eq!(answer.status(), StatusCode::OK, "{headers:?}");
        let kind = answer.headers()["content-type"].to_str().unwrap();
        assert!(headers[0].1.starts_with(kind), "answered in the same form: {kind}");
        let expected: &[u8] = if kind == "application/json" { b"{}" } else { b"" };
        assert_eq!(answer.body(), expected);
        assert_eq!(kept.take(), spans);
    }
    receivers.close().await;
}

#[tokio::test]
async fn what_is_not_taken_is_told_in_the_form_of_the_request() {
    let (receivers, kept, http, _) = open("").await;
    let zero = Span { id: crate::trace::SpanId([0; 8]), ..recent() };
    let both = [recent(), zero];
    let answer = post(http, &[PROTOBUF], write::protobuf(&both)).await;
    let told = wire::Response::decode(answer.body().clone()).unwrap().partial_success.unwrap();
    assert_eq!((answer.status(), told.rejected_spans), (StatusCode::OK, 1));
    assert!(told.error_message.contains("span id"), "{}", told.error_message);
    let answer = post(http, &[JSON], write::json(&both).unwrap()).await;
    let told: Value = serde_json::from_slice(answer.body()).unwrap();
    assert_eq!(told["partialSuccess"]["rejectedSpans"], "1");
    assert_eq!(kept.take().len(), 2, "the others are taken");

    let long = vec![b' '; BODY_BYTES_MAX + 1];
    for (headers, body, status) in [
        (vec![PROTOBUF], b"\xff\xff".to_vec(), StatusCode::BAD_REQUEST),
        (vec![JSON], b"{".to_vec(), StatusCode::BAD_REQUEST),
        (vec![JSON, GZIP], b"{}".to_vec(), StatusCode::BAD_REQUEST),
        (vec![JSON], long, StatusCode::PAYLOAD_TOO_LARGE),
        (vec![PROTOBUF, GZIP], pack(&vec![0; UNPACKED_BYTES_MAX + 1]), StatusCode::PAYLOAD_TOO_LARGE),
        (vec![("content-type", "text/plain")], b"{}".to_vec(), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        (vec![], b"{}".to_vec(), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        (vec![JSON, ("content-encoding", "br")], b"{}".to_vec(), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        // Pages may not report, wherever they come from.
        (vec![JSON, ("origin", "https://evil.example")], b"{}".to_vec(), StatusCode::FORBIDDEN),
        (vec![JSON, ("origin", "http://localhost:3000")], b"{}".to_vec(), StatusCode::FORBIDDEN),
        (vec![PROTOBUF, ("origin", "http://127.0.0.1")], Vec::new(), StatusCode::FORBIDDEN),
        (vec![JSON, ("origin", "null")], b"{}".to_vec(), StatusCode::FORBIDDEN),
        // What a page may send without asking first.
        (
            vec![("content-type", "application/x-www-form-urlencoded")],
            b"{}".to_vec(),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        (
            vec![("content-type", "multipart/form-data; boundary=application/json")],
            b"{}".to_vec(),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        (
            vec![("content-type", "text/plain; application/json")],
            b"{}".to_vec(),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        (vec![JSON, ("host", "evil.example")], b"{}".to_vec(), StatusCode::FORBIDDEN),
    ] {
        let answer = post(http, &headers, body).await;
        assert_eq!(answer.status(), status, "{headers:?}");
        if headers.contains(&JSON) && status != StatusCode::FORBIDDEN {
            let told: Value = serde_json::from_slice(answer.body()).unwrap();
            assert!(told["code"] == 3 && !told["message"].as_str().unwrap().contains(" at "), "{told}");
        }
    }
    assert_eq!(kept.take(), []);
    receivers.close().await;
}

#[tokio::test]
async fn a_full_sink_asks_to_come_again() {
    let (receivers, kept, http, grpc) = open("").await;
    kept.is_full.store(true, std::sync::atomic::Ordering::Relaxed);
    let body = write::protobuf(&[recent()]);
    let answer = post(http, &[PROTOBUF], body.clone()).await;
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.headers()["retry-after"], "1");
    assert_eq!(wire::Failure::decode(answer.body().clone()).unwrap().code, 8);
    assert_eq!(call(grpc, EXPORT, &[], frame(0, &body)).await.0, "14", "UNAVAILABLE is sent again");
    // Whoever waits is taken once there is room, and nothing was read before.
    let broken = post(http, &[PROTOBUF], vec![0xff]);
    assert_eq!(broken.await.status(), StatusCode::TOO_MANY_REQUESTS);
    let soon = async {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        kept.is_full.store(false, std::sync::atomic::Ordering::Relaxed);
    };
    let (waiting, ()) = tokio::join!(post(http, &[PROTOBUF], body), soon);
    assert_eq!(waiting.status(), StatusCode::OK);
    assert_eq!(kept.take().len(), 1);
    receivers.close().await;
}

#[tokio::test]
async fn tokens_are_asked_for_where_they_are_configured() {
    use sha2::{Digest, Sha256};
    let hash: String = Sha256::digest("t0ken").iter().map(|byte| format!("{byte:02x}")).collect();
    let (receivers, kept, http, grpc) =
        open(&format!("[[auth.tokens]]\nprincipal = 'agent'\nsha256 = '{hash}'")).await;
    let body = write::protobuf(&[recent()]);
    let bearer = ("authorization", "Bearer t0ken");
    assert_eq!(post(http, &[PROTOBUF], body.clone()).await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(post(http, &[PROTOBUF, bearer], body.clone()).await.status(), StatusCode::OK);
    assert_eq!(call(grpc, EXPORT, &[], frame(0, &body)).await.0, "401");
    assert_eq!(call(grpc, EXPORT, &[bearer], frame(0, &body)).await.0, "0");
    assert_eq!(kept.take().len(), 2);
    receivers.close().await;
}

const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// A message with its length before it, as gRPC has them.
fn frame(packed: u8, message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[packed][..], &length, message].concat()
}

/// Calls a method over HTTP/2; gives its status, or that of HTTP, and what was answered.
async fn call(address: SocketAddr, path: &str, more: &[(&str, &str)], body: Vec<u8>) -> (String, Bytes) {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let mut request = Request::post(format!("http://{address}{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in more {
        request = request.header(*name, *value);
    }
    let response = sender.send_request(request.body(Whole::new(Bytes::from(body))).unwrap()).await.unwrap();
    if response.status() != StatusCode::OK {
        return (response.status().as_u16().to_string(), Bytes::new());
    }
    let early = response.headers().get("grpc-status").cloned();
    let answer = response.into_body().collect().await.unwrap();
    let late = answer.trailers().and_then(|trailers| trailers.get("grpc-status").cloned());
    let status = late.or(early).unwrap().to_str().unwrap().to_owned();
    (status, answer.to_bytes())
}

#[tokio::test]
async fn traces_are_taken_over_grpc() {
    let (receivers, kept, _, grpc) = open("").await;
    let span = recent();
    let body = write::protobuf(std::slice::from_ref(&span));
    assert_eq!(call(grpc, EXPORT, &[], frame(0, &body)).await, ("0".to_owned(), Bytes::from(frame(0, b""))));
    let gzip = ("grpc-encoding", "gzip");
    assert_eq!(call(grpc, EXPORT, &[gzip], frame(1, &pack(&body))).await.0, "0");
    assert_eq!(kept.take(), [span.clone(), span]);

    let zero = write::protobuf(&[Span { id: crate::trace::SpanId([0; 8]), ..recent() }]);
    let (status, answer) = call(grpc, EXPORT, &[], frame(0, &zero)).await;
    let told = wire::Response::decode(answer.slice(5..)).unwrap().partial_success.unwrap();
    assert_eq!((status.as_str(), told.rejected_spans), ("0", 1));
    for (path, headers, body, status) in [
        (EXPORT, vec![], frame(0, b"\xff\xff"), "3"),
        (EXPORT, vec![gzip], frame(1, b"no gzip"), "13"),
        // Nothing that unpacks to more is kept.
        (EXPORT, vec![gzip], frame(1, &pack(&vec![0; BODY_BYTES_MAX + 1])), "8"),
        (EXPORT, vec![("grpc-encoding", "br")], frame(1, b""), "12"),
        ("/opentelemetry.proto.collector.logs.v1.LogsService/Export", vec![], frame(0, b""), "12"),
    ] {
        assert_eq!(call(grpc, path, &headers, body).await.0, status, "{path} {headers:?}");
    }
    assert_eq!(kept.take(), []);
    receivers.close().await;
}

#[tokio::test]
async fn what_cannot_be_opened_is_told_and_nothing_else_fails() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let text = format!("[inspector]\notlp_http = '{address}'\notlp_grpc = 'off'");
    let receivers = listen(&config(&text), false, Arc::new(Kept::default())).await;
    assert_eq!((&receivers.http, &receivers.grpc), (&Opened::Taken { address }, &Opened::Off));
    receivers.close().await;
    let text = "[inspector]\notlp_http = '127.255.255.254:1'\notlp_grpc = 'off'";
    let receivers = listen(&config(text), false, Arc::new(Kept::default())).await;
    // Root may bind to any port.
    assert!(matches!(receivers.http, Opened::Refused(_) | Opened::Here { .. }), "{:?}", receivers.http);
    receivers.close().await;
    let receivers = listen(&config(""), true, Arc::new(Kept::default())).await;
    assert_eq!((&receivers.http, &receivers.grpc), (&Opened::Off, &Opened::Off), "no fixed port on stdio");
    receivers.close().await;
}

#[tokio::test]
async fn a_page_may_report_where_the_operator_names_it() {
    let (receivers, kept, http, _) = open("[server]\nallowed_origins = ['https://app.example']").await;
    let body = write::protobuf(&[recent()]);
    for (origin, status) in
        [("https://app.example", StatusCode::OK), ("https://other.example", StatusCode::FORBIDDEN)]
    {
        let answer = post(http, &[PROTOBUF, ("origin", origin)], body.clone()).await;
        assert_eq!(answer.status(), status, "{origin}");
    }
    assert_eq!(kept.take().len(), 1);
    receivers.close().await;
}

/// Many begin to send and never end, over both ways. Others are taken meanwhile.
#[tokio::test]
async fn slow_senders_keep_nobody_from_reporting() {
    use tokio::io::AsyncWriteExt;
    let (receivers, kept, http, grpc) = open("").await;
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut stream = tokio::net::TcpStream::connect(http).await.unwrap();
        let head = format!(
            "POST {PATH} HTTP/1.1\r\nhost: {http}\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    let mut calls = Vec::new();
    for _ in 0..20 {
        let stream = tokio::net::TcpStream::connect(grpc).await.unwrap();
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        let never = futures_util::stream::pending::<Result<hyper::body::Frame<Bytes>, std::io::Error>>();
        let request = Request::post(format!("http://{grpc}{EXPORT}"))
            .header("content-type", "application/grpc")
            .body(http_body_util::StreamBody::new(never))
            .unwrap();
        calls.push(tokio::spawn(async move { sender.send_request(request).await }));
    }
    tokio::task::yield_now().await;
    let body = write::protobuf(&[recent()]);
    for _ in 0..20 {
        assert_eq!(post(http, &[PROTOBUF], body.clone()).await.status(), StatusCode::OK);
        assert_eq!(call(grpc, EXPORT, &[], frame(0, &body)).await.0, "0");
    }
    assert_eq!(kept.take().len(), 40);
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    receivers.close().await;
}

/// Who sends slowly is cut off, also where something keeps coming.
#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let intake = crate::trace::otlp::serve::Intake::new(Arc::new(Kept::default()));
    let time = std::time::Duration::from_millis(60);
    let never = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
    let refused = intake.whole_within(time, axum::body::Body::from_stream(never), BODY_BYTES_MAX).await;
    assert!(refused.is_err_and(|refused| refused.to_string().contains("end")));
    let drops = futures_util::stream::unfold((), async |()| {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), ()))
    });
    let drops = axum::body::Body::from_stream(Box::pin(drops));
    assert!(intake.whole_within(time, drops, BODY_BYTES_MAX).await.is_err());
    let whole = intake.whole_within(time, axum::body::Body::from(vec![7; 100_000]), BODY_BYTES_MAX);
    assert_eq!(whole.await.unwrap().bytes.len(), 100_000);
    let long = intake.whole_within(time, axum::body::Body::from(vec![7; 101]), 100).await;
    assert!(long.is_err_and(|refused| refused.to_string().contains("longer")));
}
