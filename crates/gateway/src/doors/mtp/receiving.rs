//! Posts of other platforms: connections, limits, and the answer before anybody handles the message.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustc_hash::FxHashMap;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use whimbrel_acl::{NameAllowance, Symbol};
use whimbrel_interop::mtp::{ArrivedPost, PostRefusal, platform_description, read_post};
use whimbrel_platform::audit::{RefusalReason, Refused};
use whimbrel_platform::connection_limit::{ConnectionLimit, household};
use whimbrel_platform::limits::{
    HTTP_BUFFER_BYTES_MAX, HTTP_HEAD_BYTES_MAX, HTTP_HEADERS_MAX, HTTP_WRITE_PATIENCE_MS, MTP_BODY_PATIENCE_MS,
    MTP_CONNECTIONS_EACH_MAX, MTP_CONNECTIONS_MAX, MTP_IDLE_MS, MTP_NAME_BYTES_EACH_MAX, MTP_NAME_BYTES_MAX,
    MTP_POST_BYTES_MAX, MTP_STRANGERS_MAX,
};

use super::MtpState;
use crate::patient::WriteTimeout;
use crate::server::closed;

const WRITE_PATIENCE: Duration = Duration::from_millis(HTTP_WRITE_PATIENCE_MS);
const BODY_PATIENCE: Duration = Duration::from_millis(MTP_BODY_PATIENCE_MS);
/// Longest time between two posts of one connection.
const IDLE: Duration = Duration::from_millis(MTP_IDLE_MS);
/// Pause after a failed accept.
const REST: Duration = Duration::from_millis(100);
/// Interval at which a post waits for room in the node.
const ROOM_EVERY: Duration = Duration::from_millis(2);

/// Bytes of names that strangers have made the process keep: in all, and by address.
#[derive(Default)]
pub(super) struct StrangerNames {
    all: u64,
    by_address: FxHashMap<IpAddr, u64>,
}

impl StrangerNames {
    /// Returns the bytes of names that a stranger at this address may still add.
    fn left(&self, from: IpAddr) -> u64 {
        let each = self.by_address.get(&self.account(from)).copied().unwrap_or_default();
        MTP_NAME_BYTES_MAX.saturating_sub(self.all).min(MTP_NAME_BYTES_EACH_MAX.saturating_sub(each))
    }

    fn add(&mut self, from: IpAddr, bytes: u64) {
        if bytes > 0 {
            self.all += bytes;
            *self.by_address.entry(self.account(from)).or_default() += bytes;
        }
    }

    /// Returns the address under which names are counted: strangers beyond the limit share one.
    fn account(&self, from: IpAddr) -> IpAddr {
        let address = household(from);
        let is_counted = self.by_address.contains_key(&address) || self.by_address.len() < MTP_STRANGERS_MAX;
        if is_counted { address } else { IpAddr::from([0, 0, 0, 0]) }
    }
}

/// Accepts connections until the transport closes.
pub(super) async fn accept(state: Arc<MtpState>, listener: std::net::TcpListener) {
    let Ok(listener) = TcpListener::from_std(listener) else {
        return state.warn("message transport: its port cannot be used: no message of another platform arrives");
    };
    let (places, mut closing) =
        (ConnectionLimit::of(MTP_CONNECTIONS_MAX, MTP_CONNECTIONS_EACH_MAX), state.closing.subscribe());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = closed(&mut closing) => return,
        };
        let Ok((socket, from)) = accepted else {
            // The process has no more file descriptors, most likely: wait until some are closed.
            sleep(REST).await;
            continue;
        };
        let Some(place) = places.enter(from.ip()) else {
            state.refuse(RefusalReason::TooMany, from.ip(), "message transport: too many connections");
            continue;
        };
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let _place = place;
            serve(state, socket, from).await;
        });
    }
}

/// Serves a connection until it ends.
async fn serve(state: Arc<MtpState>, socket: TcpStream, from: SocketAddr) {
    let _ = socket.set_nodelay(true);
    let mut closing = state.closing.subscribe();
    let serving = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(state.respond(request, from.ip()).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .title_case_headers(true)
        .max_headers(HTTP_HEADERS_MAX)
        .max_header_size(HTTP_HEAD_BYTES_MAX)
        .max_buf_size(HTTP_BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(WriteTimeout::new(socket, WRITE_PATIENCE)), serving);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = closed(&mut closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Makes an answer. JADE takes 200 for success, and nothing else.
fn answer(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

impl MtpState {
    async fn respond(&self, request: Request<Incoming>, from: IpAddr) -> Response<Body> {
        match *request.method() {
            Method::POST => {}
            Method::GET | Method::HEAD => return answer(StatusCode::OK, platform_description(&self.home)),
            _ => return answer(StatusCode::METHOD_NOT_ALLOWED, "POST messages, GET the description\n".to_owned()),
        }
        let content_type = request.headers().get(CONTENT_TYPE).and_then(|text| text.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let length = request.headers().get(CONTENT_LENGTH).and_then(|text| text.to_str().ok()?.parse::<usize>().ok());
        let is_long = length.is_some_and(|length| length > MTP_POST_BYTES_MAX);
        let body = if is_long { None } else { read_body(request.into_body()).await };
        let Some(body) = body else {
            let text = format!("a post has {MTP_POST_BYTES_MAX} bytes at most, and comes within {BODY_PATIENCE:?}");
            self.refuse(RefusalReason::Malformed, from, &format!("message transport: {text}"));
            return answer(StatusCode::PAYLOAD_TOO_LARGE, text);
        };
        while !self.node.has_room() {
            sleep(ROOM_EVERY).await;
        }
        match self.read(&content_type, &body, from) {
            Ok(arrived) => {
                self.take_in(arrived);
                answer(StatusCode::OK, String::new())
            }
            Err(refusal) => {
                self.refuse(reason_of(&refusal), from, &format!("message transport: {refusal}"));
                answer(StatusCode::NOT_ACCEPTABLE, refusal.to_string())
            }
        }
    }

    /// Reads a post within the allowance of its sender's address.
    fn read(&self, content_type: &str, body: &[u8], from: IpAddr) -> Result<ArrivedPost, PostRefusal> {
        let names = || self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let allowance = NameAllowance::new(names().left(from));
        let before = Symbol::bytes_made_here();
        let date_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let arrived = read_post(&self.home, content_type, body, date_ms);
        drop(allowance);
        names().add(from, Symbol::bytes_made_here() - before);
        arrived
    }

    fn take_in(&self, arrived: ArrivedPost) {
        let mut outgoing = self.outgoing();
        for agent in arrived.correspondents {
            outgoing.contacts.learn(agent, arrived.encoding);
        }
        drop(outgoing);
        arrived.messages.into_iter().for_each(|message| self.node.take_in(message));
    }

    fn refuse(&self, reason: RefusalReason, from: IpAddr, detail: &str) {
        self.node.services().audit(&Refused::stranger(reason, from, detail));
    }
}

fn reason_of(refusal: &PostRefusal) -> RefusalReason {
    match refusal {
        PostRefusal::Forged(_) => RefusalReason::Forged,
        PostRefusal::Names | PostRefusal::Receivers(_) => RefusalReason::TooMany,
        PostRefusal::Loop(_) => RefusalReason::Replayed,
        PostRefusal::NotOurs { .. } => RefusalReason::WrongAddress,
        _ => RefusalReason::Malformed,
    }
}

/// Reads a body; `None` if it is too long, too slow or cut off.
async fn read_body(body: Incoming) -> Option<Bytes> {
    let mut body = std::pin::pin!(body);
    let reading = async {
        let mut bytes = Vec::new();
        while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            let Ok(data) = frame.ok()?.into_data() else { continue };
            if bytes.len() + data.len() > MTP_POST_BYTES_MAX {
                return None;
            }
            bytes.extend_from_slice(&data);
        }
        Some(Bytes::from(bytes))
    };
    timeout(BODY_PATIENCE, reading).await.ok().flatten()
}
