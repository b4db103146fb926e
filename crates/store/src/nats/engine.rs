//! Requests to the engine, and their outcomes.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, HeaderMap, Message, Request, RequestErrorKind, StatusCode};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use whimbrel_platform::limits;

use super::ConnectError;
use super::address::Address;
use super::breaks::{Breaks, Unbroken};

/// The subject's last message is not the one that was expected.
pub(crate) const WRONG_LAST_SEQUENCE: u32 = 10_071;
/// The subject's last message is unknown for now: another message that expects one is on its way.
pub(crate) const IN_PROCESS: u32 = 10_164;
/// The servers have no leader yet.
pub(crate) const NO_LEADER: u32 = 10_008;
/// There is no such message.
const NO_MESSAGE: u32 = 10_037;
/// There is no such stream.
pub(crate) const NO_STREAM: u32 = 10_059;

const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
const EXPECTED_SUBJECT: &str = "Nats-Expected-Last-Subject-Sequence-Subject";
const MESSAGE_ID: &str = "Nats-Msg-Id";
const ROLL_UP: &str = "Nats-Rollup";

/// Error of a request to the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// No server took the request.
    NotTaken(String),
    /// No answer came: the request may have been carried out.
    NoAnswer(String),
    /// The request was not carried out.
    Refused { code: u32, why: String },
    /// The answer cannot be understood.
    Nonsense(String),
}

impl RequestError {
    pub(crate) fn code(&self) -> Option<u32> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Returns true if another try may help.
    pub(crate) fn may_pass(&self) -> bool {
        !matches!(self, Self::Nonsense(_))
    }
}

impl std::fmt::Display for RequestError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotTaken(why) | Self::NoAnswer(why) | Self::Nonsense(why) => out.write_str(why),
            Self::Refused { code, why } => write!(out, "{why} ({code})"),
        }
    }
}

/// A message of a stream.
#[derive(Clone, Debug)]
pub(crate) struct StoredMessage {
    pub subject: String,
    pub sequence: u64,
    pub headers: String,
    pub payload: Vec<u8>,
}

/// A message to be stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct NatsMessage {
    headers: HeaderMap,
    payload: Bytes,
}

impl NatsMessage {
    pub(crate) fn new(payload: impl Into<Bytes>) -> Self {
        Self { headers: HeaderMap::new(), payload: payload.into() }
    }

    /// Requires that this is the last message of `subject` (0: there is none).
    pub(crate) fn expecting(mut self, sequence: u64, subject: &str) -> Self {
        self.headers.insert(EXPECTED, sequence.to_string());
        self.headers.insert(EXPECTED_SUBJECT, subject);
        self
    }

    /// Returns the size of the message, as it is stored.
    fn bytes(&self) -> usize {
        let headers = self.headers.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
        // `NATS/1.0`, and a line's end after each line.
        let lines = headers.map(|(name, value)| AsRef::<[u8]>::as_ref(name).len() + value.as_str().len() + 3);
        self.payload.len() + lines.sum::<usize>() + 12
    }

    /// Lets the engine take the message once only, by this identifier.
    pub(crate) fn once(mut self, id: &str) -> Self {
        self.headers.insert(MESSAGE_ID, id);
        self
    }

    /// Lets the message replace all others of its subject.
    pub(crate) fn instead(mut self) -> Self {
        self.headers.insert(ROLL_UP, "sub");
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name, value);
        self
    }
}

/// The answer to a message that was to be stored.
#[derive(Deserialize)]
struct Stamp {
    #[serde(default)]
    seq: u64,
    error: Option<EngineRefusal>,
}

#[derive(Deserialize)]
struct EngineRefusal {
    #[serde(default)]
    code: u32,
    #[serde(default)]
    err_code: u32,
    #[serde(default)]
    description: String,
}

impl From<EngineRefusal> for RequestError {
    fn from(refusal: EngineRefusal) -> Self {
        let code = if refusal.err_code == 0 { refusal.code } else { refusal.err_code };
        Self::Refused { code, why: refusal.description }
    }
}

#[derive(Deserialize)]
struct Got {
    message: Option<GotMessage>,
    error: Option<EngineRefusal>,
}

#[derive(Deserialize)]
struct GotMessage {
    subject: String,
    seq: u64,
    #[serde(default)]
    hdrs: String,
    #[serde(default)]
    data: String,
}

/// A connection to the engine, which comes back by itself.
#[derive(Debug)]
pub(crate) struct NatsEngine {
    pub(crate) client: Client,
    pub(crate) timeout: Duration,
    breaks: Arc<Breaks>,
    answered: Mutex<Instant>,
    leaving: AtomicBool,
    written: AtomicU64,
}

impl NatsEngine {
    pub(crate) async fn connect(address: &Address) -> Result<Self, ConnectError> {
        let options = &address.options;
        let breaks = Arc::new(Breaks::default());
        let counted = breaks.clone();
        let mut connect = ConnectOptions::new()
            .name(format!("whimbrel store {}", options.name))
            .ping_interval(Duration::from_millis(limits::STORE_NATS_PING_MS))
            .connection_timeout(Duration::from_millis(limits::STORE_NATS_CONNECT_MS))
            .request_timeout(Some(options.request_timeout))
            .reconnect_delay_callback(|tries| Duration::from_millis((tries as u64).saturating_mul(50).min(500)))
            .subscription_capacity(limits::STORE_NATS_WATCH_EVENTS_MAX)
            .event_callback(move |event| {
                counted.count(&event);
                async {}
            });
        if address.tls {
            connect = connect.require_tls(true);
        }
        if let Some((user, password)) = &address.user {
            connect = connect.user_and_password(user.clone(), password.clone());
        }
        if let Some(ca) = &options.ca {
            connect = connect.add_root_certificates(ca.clone());
        }
        if let Some((certificate, key)) = &options.certificate {
            connect = connect.add_client_certificate(certificate.clone(), key.clone());
        }
        let unreachable = |error: async_nats::ConnectError| ConnectError::Unreachable {
            servers: address.servers.join(", "),
            why: error.to_string(),
        };
        let client = connect.connect(&address.servers).await.map_err(unreachable)?;
        Ok(Self {
            client,
            timeout: options.request_timeout,
            breaks,
            answered: Mutex::new(Instant::now()),
            leaving: AtomicBool::new(false),
            written: AtomicU64::new(0),
        })
    }

    /// Bytes of the messages that were stored, each once.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Returns the connection that is there, or comes next.
    pub(crate) fn connection(&self) -> Unbroken {
        self.breaks.connection()
    }

    /// Stores a message; its place in the stream.
    pub(crate) async fn publish(&self, subject: &str, post: &NatsMessage) -> Result<u64, RequestError> {
        let request = Request::new().headers(post.headers.clone()).payload(post.payload.clone());
        let message = self.request(subject, request).await?;
        let stamp: Stamp = understood(&message)?;
        match stamp {
            Stamp { error: Some(refusal), .. } => Err(refusal.into()),
            Stamp { seq: 0, .. } => Err(RequestError::Nonsense("acknowledgement without a sequence".into())),
            Stamp { seq, .. } => {
                self.written.fetch_add((subject.len() + post.bytes()) as u64, Ordering::Relaxed);
                Ok(seq)
            }
        }
    }

    /// Publishes as `publish` does, and repeats until `deadline` while the expectation cannot be checked.
    pub(crate) async fn publish_settled(
        &self,
        subject: &str,
        post: &NatsMessage,
        deadline: Instant,
    ) -> Result<u64, RequestError> {
        let mut pause = Pause::default();
        loop {
            match self.publish(subject, post).await {
                Err(trouble) if trouble.code() == Some(IN_PROCESS) && Instant::now() < deadline => pause.wait().await,
                done => return done,
            }
        }
    }

    /// Sends a request to the engine's administration.
    pub(crate) async fn ask(&self, what: &str, request: &Value) -> Result<Value, RequestError> {
        let payload = if request.is_null() { Vec::new() } else { request.to_string().into_bytes() };
        let subject = format!("$JS.API.{what}");
        let message = self.request(&subject, Request::new().payload(payload.into())).await?;
        let mut answer: Value = understood(&message)?;
        match answer.get_mut("error").map(Value::take) {
            None | Some(Value::Null) => Ok(answer),
            Some(error) => {
                let refusal: EngineRefusal =
                    serde_json::from_value(error).map_err(|e| RequestError::Nonsense(e.to_string()))?;
                Err(refusal.into())
            }
        }
    }

    /// Returns the last message of a subject, as the stream's leader knows it.
    pub(crate) async fn last(&self, stream: &str, subject: &str) -> Result<Option<StoredMessage>, RequestError> {
        self.fetch(stream, &json!({ "last_by_subj": subject })).await
    }

    /// Returns the first message of a subject (which may be several) from a sequence on, as the stream's leader knows
    /// it.
    pub(crate) async fn next(
        &self,
        stream: &str,
        subject: &str,
        from: u64,
    ) -> Result<Option<StoredMessage>, RequestError> {
        self.fetch(stream, &json!({ "seq": from, "next_by_subj": subject })).await
    }

    async fn fetch(&self, stream: &str, which: &Value) -> Result<Option<StoredMessage>, RequestError> {
        let subject = format!("$JS.API.STREAM.MSG.GET.{stream}");
        let message = self.request(&subject, Request::new().payload(which.to_string().into())).await?;
        let message = match understood::<Got>(&message)? {
            Got { error: Some(refusal), .. } if refusal.err_code == NO_MESSAGE => return Ok(None),
            Got { error: Some(refusal), .. } => return Err(refusal.into()),
            Got { message: None, .. } => return Err(RequestError::Nonsense("neither a message nor an error".into())),
            Got { message: Some(message), .. } => message,
        };
        let plain =
            |text: &str| BASE64_STANDARD.decode(text).map_err(|error| RequestError::Nonsense(error.to_string()));
        Ok(Some(StoredMessage {
            headers: String::from_utf8_lossy(&plain(&message.hdrs)?).into_owned(),
            payload: plain(&message.data)?,
            subject: message.subject,
            sequence: message.seq,
        }))
    }

    /// Returns the last message of a subject with certainty. A deposed leader may not know yet that it is deposed,
    /// and return an old one. So a mark is stored, which the stream takes only if that message is the last.
    pub(crate) async fn last_proven(
        &self,
        stream: &str,
        subject: &str,
        mark: &str,
        deadline: Instant,
    ) -> Result<Option<StoredMessage>, RequestError> {
        let mut pause = Pause::default();
        loop {
            let last = self.last(stream, subject).await?;
            let sequence = last.as_ref().map_or(0, |last| last.sequence);
            let post = NatsMessage::new(Bytes::new()).expecting(sequence, subject).instead();
            match self.publish_settled(mark, &post, deadline).await {
                Ok(_) => return Ok(last),
                Err(trouble) if trouble.code() == Some(WRONG_LAST_SEQUENCE) && Instant::now() < deadline => {
                    pause.wait().await;
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// Forgets the messages of a subject before a sequence.
    pub(crate) async fn purge(&self, stream: &str, subject: &str, before: u64) -> Result<(), RequestError> {
        self.ask(&format!("STREAM.PURGE.{stream}"), &json!({ "filter": subject, "seq": before })).await.map(drop)
    }

    /// Forgets all messages of a subject.
    pub(crate) async fn purge_all(&self, stream: &str, subject: &str) -> Result<(), RequestError> {
        self.ask(&format!("STREAM.PURGE.{stream}"), &json!({ "filter": subject })).await.map(drop)
    }

    async fn request(&self, subject: &str, request: Request) -> Result<Message, RequestError> {
        let mut connection = self.connection();
        let answer = tokio::select! {
            answer = self.client.send_request(subject.to_owned(), request) => answer,
            // No answer comes over a broken connection. To wait for the timeout could take longer than other nodes
            // wait for a sign of life of this node.
            () = connection.broke() => return Err(RequestError::NoAnswer("the connection was lost".into())),
        };
        match answer {
            Ok(message) if message.status.is_none_or(|status| status == StatusCode::OK) => {
                *lock(&self.answered) = Instant::now();
                Ok(message)
            }
            Ok(message) => Err(RequestError::NoAnswer(format!("{:?}", message.status))),
            Err(error) => match error.kind() {
                RequestErrorKind::NoResponders => Err(RequestError::NotTaken("no server answers for it now".into())),
                RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => {
                    Err(RequestError::Refused { code: 0, why: error.to_string() })
                }
                _ => {
                    self.leave_mute_server().await;
                    Err(RequestError::NoAnswer(error.to_string()))
                }
            },
        }
    }

    /// Reconnects after a while without any answer, to another server if there is one. A server that is cut off from
    /// the others keeps its clients without serving them.
    async fn leave_mute_server(&self) {
        let silent = lock(&self.answered).elapsed() >= self.timeout * limits::STORE_NATS_TIMEOUTS_MAX;
        if silent && !self.leaving.swap(true, Ordering::AcqRel) {
            *lock(&self.answered) = Instant::now();
            // If the client is closed there is nothing to be left.
            drop(self.client.force_reconnect().await);
            self.leaving.store(false, Ordering::Release);
        }
    }
}

fn understood<T: serde::de::DeserializeOwned>(message: &Message) -> Result<T, RequestError> {
    serde_json::from_slice(&message.payload)
        .map_err(|error| RequestError::Nonsense(format!("the engine's answer: {error}")))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Pause between tries: longer each time, and never the same for two nodes that try the same.
#[derive(Debug)]
pub(crate) struct Pause {
    ms: u64,
    random: RandomState,
}

impl Default for Pause {
    fn default() -> Self {
        Self { ms: 1, random: RandomState::new() }
    }
}

impl Pause {
    pub(crate) async fn wait(&mut self) {
        let most_us = self.ms * 1_000;
        let us = most_us / 2 + self.random.hash_one(Instant::now()) % (most_us / 2 + 1);
        self.ms = (self.ms * 2).min(limits::STORE_NATS_PAUSE_MS_MAX);
        tokio::time::sleep(Duration::from_micros(us)).await;
    }
}

/// Description of a server by itself, if the account may ask for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// True if the server keeps streams.
    pub jetstream: bool,
    /// True if the server flushes before it acknowledges.
    pub sync_always: bool,
    /// Interval of flushes otherwise.
    pub sync_interval: Duration,
    /// Bytes that its streams have on disk.
    pub storage_bytes: u64,
    /// Time for which the server runs, as the server writes it.
    pub uptime: String,
}

/// Asks all servers for their descriptions; none if this account may not ask.
pub(crate) async fn servers(client: &Client) -> Vec<ServerInfo> {
    use futures_util::StreamExt;
    let inbox = client.new_inbox();
    let Ok(mut answers) = client.subscribe(inbox.clone()).await else { return Vec::new() };
    if client.publish_with_reply("$SYS.REQ.SERVER.PING.VARZ", inbox, Bytes::new()).await.is_err() {
        return Vec::new();
    }
    let mut servers = HashMap::new();
    let patience = |first| Duration::from_millis(if first { 1_000 } else { limits::STORE_NATS_SERVERS_WAIT_MS });
    while let Ok(Some(message)) = tokio::time::timeout(patience(servers.is_empty()), answers.next()).await {
        if message.status.is_some_and(|status| status != StatusCode::OK) {
            break;
        }
        let Ok(answer) = serde_json::from_slice::<Value>(&message.payload) else { continue };
        let server = server_of(answer.get("data").unwrap_or(&Value::Null));
        servers.insert(server.name.clone(), server);
    }
    let mut servers: Vec<ServerInfo> = servers.into_values().collect();
    servers.sort_by(|a, b| a.name.cmp(&b.name));
    servers
}

fn server_of(varz: &Value) -> ServerInfo {
    let text = |pointer: &str| varz.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |pointer: &str| varz.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    ServerInfo {
        name: text("/server_name"),
        version: text("/version"),
        jetstream: varz.pointer("/jetstream/config").is_some(),
        sync_always: varz.pointer("/jetstream/config/sync_always").and_then(Value::as_bool).unwrap_or_default(),
        sync_interval: Duration::from_nanos(number("/jetstream/config/sync_interval")),
        storage_bytes: number("/jetstream/stats/storage"),
        uptime: text("/uptime"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;
    use crate::nats::EngineOptions;

    /// A server that lets one client in, and hangs up when it is asked something.
    fn hang_up_when_asked(listener: &TcpListener) {
        let (mut socket, _) = listener.accept().unwrap();
        socket
            .write_all(
                b"INFO {\"server_id\":\"S\",\"version\":\"2.15.0\",\"headers\":true,\"max_payload\":1048576}\r\n",
            )
            .unwrap();
        let lines = BufReader::new(socket.try_clone().unwrap()).lines().map_while(Result::ok);
        for line in lines.take_while(|line| !line.starts_with("PUB")).filter(|line| line.starts_with("PING")) {
            assert_eq!(line, "PING");
            socket.write_all(b"PONG\r\n").unwrap();
        }
    }

    #[test]
    fn message_size_includes_headers() {
        let message = NatsMessage::new(&b"payload"[..]).once("p.1.7").instead();
        let written = format!("NATS/1.0\r\n{MESSAGE_ID}:p.1.7\r\n{ROLL_UP}:sub\r\n\r\npayload");
        assert_eq!(message.bytes(), written.len());
    }

    #[test]
    fn request_fails_when_connection_breaks() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("nats://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || hang_up_when_asked(&listener));
        let minute = Duration::from_secs(60);
        let address =
            Address::parse(&server, EngineOptions { request_timeout: minute, ..EngineOptions::default() }).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let trouble = runtime.block_on(async {
            let engine = NatsEngine::connect(&address).await.unwrap();
            engine.ask("INFO", &Value::Null).await.unwrap_err()
        });
        assert_eq!(trouble, RequestError::NoAnswer("the connection was lost".into()));
    }
}
