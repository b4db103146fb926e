//! Live socket: requests, watches and acts of a console over one WebSocket (docs/design/gateway.md).
//!
//! Each watch is a task of its own that puts messages into a queue; the task of the socket writes the queue out. When
//! the client does not read, the queue fills, the watches pause, and each event is counted at its source. Neither the
//! platform nor memory suffers.

mod changes;
mod pulse;
mod said;
mod watches;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures_util::{SinkExt, StreamExt};
use rustc_hash::FxHashMap;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::limits::{
    HTTP_HELLO_PATIENCE_MS, HTTP_WAIT_MS_MAX, LIVE_AGENTS_MAX, LIVE_ASKS_MAX, LIVE_WAITING_MAX, LIVE_WATCHES_MAX,
    LIVE_WRITE_PATIENCE_MS,
};

use self::said::{ClientFrame, NodeFrame, WatchSubject};
use crate::access::Role;
use crate::routes::Admin;
use crate::server::closed;
use crate::shared::GatewayState;
use crate::sockets::WebSocket;
use crate::visitors::VisitorPlace;
use whimbrel_operator::{Answer, Reason, Refusal, Request};

/// Subprotocol name of the live socket.
pub const SUBPROTOCOL: &str = "whimbrel.live.v1";
/// Features of this node that a console may use.
const FEATURES: &[&str] = &[
    "devices",
    "subscriptions",
    "totals",
    "upkeep",
    "certificates",
    "audit",
    "conversations",
    "at",
    "log",
    "traffic",
    "health",
    "mobility",
    "security",
    "mind",
    "answer",
    "clone",
    "spawn",
    "output",
    "events",
    "programs",
    "line_breakpoints",
    "activity",
    "query",
];
const HELLO_PATIENCE: Duration = Duration::from_millis(HTTP_HELLO_PATIENCE_MS);
const WRITE_PATIENCE: Duration = Duration::from_millis(LIVE_WRITE_PATIENCE_MS);

/// Queue of JSON texts for a client.
pub(crate) type Outbox = mpsc::Sender<Utf8Bytes>;

/// Serves a live socket until it ends.
pub(crate) async fn serve(shared: Arc<GatewayState>, mut socket: WebSocket, from: IpAddr, visit: VisitorPlace) {
    let greeted = tokio::select! {
        greeted = timeout(HELLO_PATIENCE, greet(&shared, &mut socket, from)) => greeted.ok().flatten(),
        () = visit.sent_away() => return,
    };
    let role = match greeted {
        Some(Greeting::Known(role)) => role,
        greeted => {
            if greeted.is_some() {
                tokio::select! {
                    () = tokio::time::sleep(shared.wait_of_wrong_token(from)) => {}
                    () = visit.sent_away() => return,
                }
                let text = "unknown token";
                say(&mut socket, &NodeFrame::Error(Refusal::new(Reason::Unauthorised, text))).await;
            }
            let _ = timeout(HELLO_PATIENCE, socket.close(None)).await;
            return;
        }
    };
    drop(visit);
    let Some(_counted) = shared.live_socket(role) else {
        let text = "this node has its maximum of consoles: close one";
        shared.refuse(RefusalReason::TooMany, from, text);
        say(&mut socket, &NodeFrame::Error(Refusal::new(Reason::Busy, text))).await;
        let _ = timeout(HELLO_PATIENCE, socket.close(None)).await;
        return;
    };
    socket.get_mut().release();
    let Answer::Node(node) = shared.answer(Request::Node).await else { return };
    let features: Vec<&str> = FEATURES.to_vec();
    if !say(&mut socket, &NodeFrame::Welcome { role, node, features }).await {
        return;
    }
    let (outbox, waiting) = mpsc::channel(LIVE_WAITING_MAX);
    let asks = Arc::new(tokio::sync::Semaphore::new(LIVE_ASKS_MAX));
    LiveClient { shared, role, from, outbox, asks, watches: FxHashMap::default() }.converse(socket, waiting).await;
}

/// First frame of a live socket.
enum Greeting {
    Known(Role),
    /// An unknown token.
    Wrong,
}

/// Reads the client's greeting; `None` if its first message is no hello.
async fn greet(shared: &GatewayState, socket: &mut WebSocket, from: IpAddr) -> Option<Greeting> {
    let said = match socket.next().await?.ok()? {
        Message::Text(text) => serde_json::from_str::<ClientFrame>(&text).ok(),
        _ => None,
    };
    let Some(ClientFrame::Hello { token }) = said else {
        shared.refuse(RefusalReason::Malformed, from, "no hello");
        say(socket, &NodeFrame::Error(Refusal::new(Reason::BadRequest, "the first message must be a hello"))).await;
        return None;
    };
    Some(shared.access.role(&token).map_or_else(
        || {
            shared.refuse(RefusalReason::BadToken, from, "live socket");
            Greeting::Wrong
        },
        Greeting::Known,
    ))
}

/// Writes a message at once; false if the connection is broken.
async fn say(socket: &mut WebSocket, told: &NodeFrame<'_>) -> bool {
    matches!(timeout(WRITE_PATIENCE, socket.send(Message::Text(told.text()))).await, Ok(Ok(())))
}

/// Client of a live socket.
struct LiveClient {
    shared: Arc<GatewayState>,
    role: Role,
    from: IpAddr,
    outbox: Outbox,
    asks: Arc<tokio::sync::Semaphore>,
    watches: FxHashMap<u64, watches::LiveWatch>,
}

impl LiveClient {
    async fn converse(mut self, mut socket: WebSocket, mut waiting: mpsc::Receiver<Utf8Bytes>) {
        let mut closing = self.shared.closing.subscribe();
        let ended = loop {
            tokio::select! {
                came = socket.next() => match came {
                    Some(Ok(Message::Text(text))) => {
                        if let Some(told) = self.hear(&text)
                            && !say(&mut socket, &told).await
                        {
                            return;
                        }
                    }
                    Some(Ok(Message::Binary(bytes))) => {
                        let refusal = Refusal::new(Reason::BadRequest, "binary message: this socket takes JSON as text");
                        self.refuse_bytes(&bytes);
                        if !say(&mut socket, &NodeFrame::Refused { id: None, refusal }).await {
                            return;
                        }
                    }
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                    None | Some(Err(_) | Ok(Message::Close(_))) => break None,
                },
                Some(text) = waiting.recv() => {
                    if !matches!(timeout(WRITE_PATIENCE, socket.send(Message::Text(text))).await, Ok(Ok(()))) {
                        return;
                    }
                }
                () = closed(&mut closing) => {
                    // A page cannot tell a node that stops from a broken connection by the frame of the end.
                    say(&mut socket, &NodeFrame::Ended { text: "the node stops" }).await;
                    let reason = Utf8Bytes::from_static("the node stops");
                    break Some(CloseFrame { code: CloseCode::Away, reason });
                }
            }
        };
        let _ = timeout(HELLO_PATIENCE, socket.close(ended)).await;
    }

    fn refuse_bytes(&self, bytes: &Bytes) {
        self.shared.refuse(RefusalReason::Malformed, self.from, &format!("binary message of {} bytes", bytes.len()));
    }

    /// Carries out a client's message, and returns the answer that is ready at once.
    fn hear(&mut self, text: &str) -> Option<NodeFrame<'static>> {
        match serde_json::from_str::<ClientFrame>(text) {
            Ok(ClientFrame::Hello { .. }) => {
                Some(NodeFrame::Refused { id: None, refusal: Refusal::new(Reason::BadRequest, "repeated hello") })
            }
            Ok(ClientFrame::Ask { id, request }) => self.ask(id, *request),
            Ok(ClientFrame::Watch { id, every_ms, what }) => self.watch(id, every_ms, *what),
            Ok(ClientFrame::Unwatch { id }) => {
                self.watches.remove(&id);
                None
            }
            Err(error) => {
                self.shared.refuse(RefusalReason::Malformed, self.from, "live socket");
                let id = said::id_of(text);
                Some(NodeFrame::Refused { id, refusal: Refusal::new(Reason::BadRequest, error.to_string()) })
            }
        }
    }

    fn ask(&self, id: u64, request: Request) -> Option<NodeFrame<'static>> {
        if let Err(refusal) = self.permits(&request) {
            return Some(NodeFrame::Answer { id, answer: Box::new(Answer::Error(refusal)) });
        }
        let Ok(permit) = Arc::clone(&self.asks).try_acquire_owned() else {
            let refusal = Refusal::new(
                Reason::Busy,
                format!("this socket has {LIVE_ASKS_MAX} requests in progress: wait for an answer"),
            );
            return Some(NodeFrame::Answer { id, answer: Box::new(Answer::Error(refusal)) });
        };
        let (shared, outbox, from) = (Arc::clone(&self.shared), self.outbox.clone(), self.from);
        tokio::spawn(async move {
            let answering = async {
                let request = bounded(request);
                let answer = match request.only_looks() {
                    true => shared.answer(request).await,
                    // Viewers' sockets refuse such requests before this.
                    false => shared.act(Admin(from), request).await,
                };
                let answer = Box::new(answer);
                let _ = outbox.send(NodeFrame::Answer { id, answer }.text()).await;
            };
            tokio::select! {
                () = answering => {}
                // If the connection is gone, nobody needs the answer.
                () = outbox.closed() => {}
            }
            drop(permit);
        });
        None
    }

    fn permits(&self, request: &Request) -> Result<(), Refusal> {
        if self.role < Role::Admin && !request.only_looks() {
            self.shared.refuse_viewer(self.from, "live socket: viewer's token: acts need an administrator's");
            return Err(Refusal::new(Reason::NotAllowed, "viewer's token: acts need an administrator's"));
        }
        let asked = if let Request::At { ask, .. } = request { ask } else { request };
        if matches!(asked, Request::Sniff(_) | Request::Log(_) | Request::Stop { .. }) {
            return Err(Refusal::new(Reason::BadRequest, "no single answer: watch events, or the log"));
        }
        Ok(())
    }

    fn watch(&mut self, id: u64, every_ms: Option<u64>, what: WatchSubject) -> Option<NodeFrame<'static>> {
        // A second watch of one id replaces the first.
        self.watches.remove(&id);
        let refused = |refusal| Some(NodeFrame::Refused { id: Some(id), refusal });
        if self.watches.len() >= LIVE_WATCHES_MAX {
            return refused(Refusal::new(Reason::Busy, format!("{LIVE_WATCHES_MAX} watches are the maximum: end one")));
        }
        if let WatchSubject::Answer { request } = &what
            && let Err(refusal) = self.permits(request).and_then(|()| only_looks(request))
        {
            return refused(refusal);
        }
        let what = match what {
            WatchSubject::Answer { request } => WatchSubject::Answer { request: bounded(request) },
            what => what,
        };
        match watches::begin(&self.shared, &self.outbox, id, every_ms, what) {
            Ok(watch) => {
                self.watches.insert(id, watch);
                None
            }
            Err(refusal) => refused(refusal),
        }
    }
}

fn only_looks(request: &Request) -> Result<(), Refusal> {
    if request.only_looks() && !request.takes_long() {
        return Ok(());
    }
    Err(Refusal::new(Reason::BadRequest, "this request cannot be watched"))
}

/// Limits the time and the number of results that a request may ask for.
fn bounded(mut request: Request) -> Request {
    match &mut request {
        Request::Send(sending) => sending.wait_ms = sending.wait_ms.map(|wait| wait.min(HTTP_WAIT_MS_MAX)),
        Request::Perform { wait_ms, .. } => *wait_ms = (*wait_ms).min(HTTP_WAIT_MS_MAX),
        Request::At { node, ask } => {
            let ask = Box::new(bounded(std::mem::replace(ask, Request::Node)));
            request = Request::At { node: std::mem::take(node), ask };
        }
        Request::Agents(wanted) => wanted.limit = wanted.limit.min(LIVE_AGENTS_MAX),
        Request::DeadLetters { limit, .. }
        | Request::Devices { limit }
        | Request::Quotas { limit }
        | Request::Subscriptions { limit }
        | Request::Refusals { limit }
        | Request::Audit { limit, .. }
        | Request::Output { limit, .. }
        | Request::Conversations { limit, .. } => *limit = (*limit).min(LIVE_AGENTS_MAX),
        _ => {}
    }
    request
}
