//! OTLP over gRPC: one method, over HTTP/2 without TLS.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    middleware,
    response::Response,
    routing::post,
};
use bytes::{Buf, Bytes};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use prost::Message;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tonic::{
    Status,
    codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder},
    server::{Grpc, UnaryService},
};

use super::{
    BODY_BYTES_MAX,
    read::Unreadable,
    serve::{Door, Form, Intake, Refused, admit},
    wire,
};

const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// Who reports at once; further ones wait until somebody is done.
const CONNECTIONS_MAX: usize = 256;
const STREAMS_MAX: u32 = 16;
/// What stands before a message.
const FRAME_BYTES: usize = 5;
/// How often a silent client is asked whether it is still there.
const ASKED_EVERY: Duration = Duration::from_mins(1);
/// How much of a request may be under way before it is read.
const WINDOW_BYTES: u32 = 1024 * 1024;

pub(super) fn router(intake: Arc<Intake>, door: Door) -> Router {
    Router::new()
        .route(EXPORT, post(export))
        .with_state(intake)
        .fallback(nothing)
        .layer(middleware::from_fn_with_state(Arc::new(door), admit))
}

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, router: Router) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut running = tokio::task::JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                running.spawn(async move {
                    connection(stream, router).await;
                    drop(permit);
                });
            }
            // Out of files, or a client that left at once.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
        while running.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, router: Router) {
    let served = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(ASKED_EVERY)
        .max_concurrent_streams(STREAMS_MAX)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(2 * WINDOW_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection that reported by gRPC ended");
    }
}

async fn nothing() -> Response {
    Status::unimplemented("only traces are taken here, by TraceService/Export").into_http::<Body>()
}

async fn export(State(intake): State<Arc<Intake>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    // The whole message first: who begins one and never ends it must not keep others from their turn.
    let body = match intake.whole(body, BODY_BYTES_MAX + FRAME_BYTES).await {
        Ok(body) => body,
        Err(refused) => return status(&refused).into_http::<Body>(),
    };
    let turn = match intake.turn().await {
        Ok(turn) => turn,
        Err(refused) => return status(&refused).into_http::<Body>(),
    };
    let request = Request::from_parts(parts, Body::from(body.bytes.clone()));
    let mut grpc = Grpc::new(Raw)
        .accept_compressed(CompressionEncoding::Gzip)
        .send_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(BODY_BYTES_MAX);
    let response = grpc.unary(Export(Arc::clone(&intake)), request).await;
    drop((turn, body));
    response.map(Body::new)
}

struct Export(Arc<Intake>);

impl UnaryService<Bytes> for Export {
    type Response = wire::Response;
    type Future = Pin<Box<dyn Future<Output = Result<tonic::Response<wire::Response>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let intake = Arc::clone(&self.0);
        Box::pin(async move {
            let taken = intake.take(request.into_inner(), Form::Protobuf, false).await;
            taken.map(tonic::Response::new).map_err(|refused| status(&refused))
        })
    }
}

/// Only what is unavailable is sent again.
fn status(refused: &Refused) -> Status {
    let message = refused.to_string();
    match refused {
        Refused::Full(_) | Refused::Busy => Status::unavailable(message),
        Refused::Unreadable(Unreadable::TooLong) | Refused::TooLong => Status::resource_exhausted(message),
        Refused::Unreadable(Unreadable::Malformed(_)) | Refused::Unsupported | Refused::CutOff => {
            Status::invalid_argument(message)
        }
        Refused::Failed => Status::internal(message),
    }
}

/// The message as bytes: it is read as one over HTTP is, with the same limits.
#[derive(Debug, Clone, Copy)]
struct Raw;

impl Codec for Raw {
    type Encode = wire::Response;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = wire::Response;
    type Error = Status;

    fn encode(&mut self, answer: wire::Response, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        answer.encode(buffer).map_err(|error| Status::internal(error.to_string()))
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
