//! One device: a program with a session over WebSocket and one agent, whose state the node keeps.

use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative};
use whimbrel_platform::session::{
    AckFrame, Create, ErrorCode, FrameReader, FrameWriter, Framing, HelloFrame, Keep, MessageFrame, OnLeave,
    SESSION_VERSION, Save, SessionFrame,
};

use super::load::{DeviceLoad, DeviceSlot, DeviceTask, LoadOperation};
use super::{ORACLE, TOKEN};

/// Devices that come from one address: fewer than may have sessions with one token there, and than it has ports.
const EACH_ADDRESS: u32 = 4_000;
/// Time that a session outlives its connection...
const LEASE_MS: u64 = 300_000;
/// ...and how often a device shows that it is there: often enough.
const BEAT: Duration = Duration::from_secs(90);
/// Longest time for anything before a device tries again.
const PATIENCE: Duration = Duration::from_secs(30);
/// Shortest and longest pause of a device after its connection broke: not all are to come at once.
const PAUSE_MS: (u64, u64) = (50, 500);
/// Longest time to find out the fate of its state: the node may have to restart for that.
const RETURN_PATIENCE: Duration = Duration::from_secs(180);
/// Longest pause between two attempts.
const REST_MAX: Duration = Duration::from_secs(15);
/// Maximum number of redirections before a device pauses.
const SENDINGS_MAX: u32 = 3;
/// Bytes of the longest frame.
const FRAME_BYTES_MAX: usize = 64 << 10;
/// Frames after which an acknowledgement is due.
const ACK_EVERY: u64 = 32;
/// Code name with which states are written.
const CODE: &str = "ts:bench";

/// Lives until all is over, then sees what became of its state.
pub async fn live(load: Rc<DeviceLoad>, index: usize) {
    let Some(slot) = load.slots.get(index) else { return };
    let mut rest = pause(index);
    while !load.is_over.get() {
        let began = Instant::now();
        if let Err(error) = visit(&load, slot, index).await {
            load.note_trouble(|| format!("device {}: {error:#}", load.first + index as u32));
        }
        load.note_away(slot);
        if !load.is_over.get() {
            tokio::time::sleep(rest).await;
            rest = if began.elapsed() > PATIENCE { pause(index) } else { (2 * rest).min(REST_MAX) };
        }
    }
    let until = Instant::now() + RETURN_PATIENCE;
    let (mut rest, mut why) = (pause(index), String::new());
    while Instant::now() < until {
        match DeviceConnection::begin(&load, slot, index).await {
            Ok(mut visit) => {
                load.verified.set(load.verified.get() + 1);
                let _ = visit.write(&SessionFrame::Bye).await;
                return;
            }
            Err(error) => {
                why = format!("{error:#}");
                // Thousands that try again at once would only keep each other out.
                tokio::time::sleep(rest).await;
                rest = (2 * rest).min(REST_MAX);
            }
        }
    }
    load.note_trouble(|| format!("device {} could not come back: {why}", load.first + index as u32));
}

/// Returns a random time between the least and the most, another one for each device and try.
fn pause(index: usize) -> Duration {
    let (least, most) = PAUSE_MS;
    let mixed = (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    Duration::from_millis(least + mixed % (most - least))
}

/// A connection of a device, with its agent.
struct DeviceConnection<'a> {
    load: &'a DeviceLoad,
    slot: &'a DeviceSlot,
    device: u32,
    socket: WebSocketStream<TcpStream>,
    reader: FrameReader,
    writer: FrameWriter,
    number: u64,
    received: u64,
    acknowledged: u64,
    /// The number of the last message that came.
    upto: u64,
    /// Operation under way: its start, the number of its frame, and that of the state if it writes one.
    under_way: Option<(LoadOperation, u64, u64)>,
}

/// Connects, does what it is told, and comes back when all is over or something is wrong.
async fn visit(load: &DeviceLoad, slot: &DeviceSlot, index: usize) -> anyhow::Result<()> {
    let mut visit = DeviceConnection::begin(load, slot, index).await?;
    load.note_free(slot, index);
    loop {
        let begins = visit.under_way.is_none();
        tokio::select! {
            frame = visit.read() => {
                if visit.hear(&frame?)? {
                    load.note_free(slot, index);
                }
            }
            () = slot.wake.notified(), if begins => {
                if let Some(operation) = slot.operation.take() {
                    visit.act(operation).await?;
                } else if load.is_over.get() {
                    visit.write(&SessionFrame::Bye).await?;
                    visit.socket.close(None).await?;
                    return Ok(());
                }
            }
            () = tokio::time::sleep(PATIENCE), if !begins => {
                visit.write(&SessionFrame::Bye).await?;
                bail!("an operation was not done in {} s", PATIENCE.as_secs());
            }
            () = tokio::time::sleep(BEAT) => visit.acknowledge().await?,
        }
        if visit.received >= visit.acknowledged + ACK_EVERY {
            visit.acknowledge().await?;
        }
    }
}

/// Outcomes of a request for an agent.
enum AgentGrant {
    There,
    /// The agent is at another node, at this address for clients.
    Elsewhere(String),
}

impl<'a> DeviceConnection<'a> {
    /// Connects, and has the agent; with the node that has it, if another one says so.
    async fn begin(load: &'a DeviceLoad, slot: &'a DeviceSlot, index: usize) -> anyhow::Result<Self> {
        let _one_of_some = load.connecting.acquire().await?;
        for _ in 0..SENDINGS_MAX {
            let mut visit = Self::connect(load, slot, index).await?;
            let welcomed = timeout(PATIENCE, visit.welcome()).await.context("it takes too long to have an agent");
            match welcomed.and_then(|welcomed| welcomed) {
                Ok(AgentGrant::There) => return Ok(visit),
                Ok(AgentGrant::Elsewhere(at)) => {
                    // It begins nothing here.
                    let _ = visit.write(&SessionFrame::Bye).await;
                    slot.redirect.set(Some(address_at(&at, load.node)?));
                }
                Err(error) => {
                    // Without a good-bye, the session keeps the agent until its lease is over, and no other session can
                    // have it.
                    let _ = visit.write(&SessionFrame::Bye).await;
                    return Err(error);
                }
            }
        }
        bail!("it was sent from node to node {SENDINGS_MAX} times")
    }

    /// Connects, and asks for the agent.
    async fn connect(load: &'a DeviceLoad, slot: &'a DeviceSlot, index: usize) -> anyhow::Result<Self> {
        let device = load.first + index as u32;
        // Should that node be gone, any other says which one is in its place.
        let node = slot.redirect.take().unwrap_or(load.node);
        let socket = timeout(PATIENCE, connect(node, device)).await.context("it takes too long to connect")??;
        slot.redirect.set((node != load.node).then_some(node));
        let mut visit = Self {
            load,
            slot,
            device,
            socket,
            reader: FrameReader::new(Framing::Compact, 0),
            writer: FrameWriter::new(Framing::Compact, 0, FRAME_BYTES_MAX),
            number: 2,
            received: 0,
            acknowledged: 0,
            upto: 0,
            under_way: None,
        };
        let token = Some(TOKEN.to_owned());
        let (versions, lease_ms) = (vec![SESSION_VERSION], Some(LEASE_MS));
        let hello = HelloFrame { versions, token, lease_ms, follows: true, ..HelloFrame::default() };
        visit.write(&SessionFrame::Hello(hello)).await?;
        visit.write(&SessionFrame::Create(Create { number: 1, agent: 0, name: format!("device-{device}") })).await?;
        visit.write(&SessionFrame::Keep(Keep { number: 2, agent: 0, policy: OnLeave::Wait, holds: false })).await?;
        Ok(visit)
    }

    /// Waits until the agent is there; its state comes before.
    async fn welcome(&mut self) -> anyhow::Result<AgentGrant> {
        let (device, mut kept) = (self.device, None);
        loop {
            let frame = self.read().await?;
            match &frame {
                SessionFrame::State(state) => kept = Some(state.state.clone()),
                SessionFrame::Refused(refused) if refused.code == ErrorCode::Elsewhere => {
                    return Ok(AgentGrant::Elsewhere(refused.text.clone()));
                }
                SessionFrame::Refused(refused) if matches!(refused.code, ErrorCode::NameTaken | ErrorCode::NotYet) => {
                    bail!("its agent is not to be had yet: {}", refused.text)
                }
                _ => {}
            }
            self.hear(&frame)?;
            if matches!(frame, SessionFrame::Created(_)) {
                break;
            }
        }
        let (safe, written) = (self.slot.safe.get(), self.slot.written.get());
        let found = match kept.as_deref().map(|state| number_in(state, device)) {
            Some(Some(number)) => number,
            None => 0,
            Some(None) => {
                self.load.note_lost(format!("device {device} has a state that it never wrote"));
                return Ok(AgentGrant::There);
            }
        };
        if found < safe || found > written {
            self.load.note_lost(format!("device {device} has state {found}: {safe} was safe, {written} written"));
        }
        // What was under way when the connection broke is safe if it is there.
        self.slot.safe.set(found);
        self.slot.written.set(found.max(written));
        Ok(AgentGrant::There)
    }

    async fn write(&mut self, frame: &SessionFrame) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        self.writer.write(frame, &mut bytes)?;
        timeout(PATIENCE, self.socket.send(Message::Binary(bytes.into()))).await.context("nobody reads")??;
        Ok(())
    }

    /// Returns the next frame. Nothing is lost if it is not waited for.
    async fn read(&mut self) -> anyhow::Result<SessionFrame> {
        loop {
            match self.socket.next().await.context("the connection is closed")?? {
                Message::Binary(bytes) => return Ok(self.reader.read(&bytes)?),
                Message::Close(_) => bail!("the connection is closed"),
                _ => {}
            }
        }
    }

    async fn acknowledge(&mut self) -> anyhow::Result<()> {
        self.acknowledged = self.received;
        self.write(&SessionFrame::Ack(AckFrame { received: self.received, credit: None })).await
    }

    async fn act(&mut self, operation: LoadOperation) -> anyhow::Result<()> {
        self.number += 1;
        let number = self.number;
        let mut state = 0;
        let frame = match operation.kind {
            DeviceTask::Write => {
                state = self.slot.written.get() + 1;
                self.slot.written.set(state);
                let bytes = state_of(state, self.device, self.load.what.bytes as usize);
                SessionFrame::Save(Save {
                    number,
                    agent: 0,
                    upto: self.upto,
                    code: CODE.to_owned(),
                    state: bytes,
                    also: Vec::new(),
                    from: None,
                    to: None,
                })
            }
            DeviceTask::Read => {
                let oracle = Aid::local(ORACLE);
                let question = AclMessage::new(Performative::Request, Aid::NOBODY, oracle, "fortune");
                SessionFrame::Message(MessageFrame {
                    number,
                    agent: 0,
                    message: MessageBody::Owned(Box::new(question)),
                })
            }
        };
        self.under_way = Some((operation, number, state));
        self.write(&frame).await
    }

    /// Takes a frame in; whether what was under way is done by it.
    fn hear(&mut self, frame: &SessionFrame) -> anyhow::Result<bool> {
        let under_way = self.under_way;
        match frame {
            SessionFrame::Created(created) => self.received = created.number,
            SessionFrame::State(state) => self.received = state.number,
            SessionFrame::Saved(saved) => {
                self.received = saved.number;
                if let Some((operation, number, state)) = under_way
                    && operation.kind == DeviceTask::Write
                    && saved.of >= number
                {
                    self.slot.safe.set(state);
                    return Ok(self.done(operation));
                }
            }
            SessionFrame::Message(message) => {
                (self.received, self.upto) = (message.number, message.number);
                if let Some((operation, ..)) = under_way
                    && operation.kind == DeviceTask::Read
                {
                    return Ok(self.done(operation));
                }
            }
            SessionFrame::Refused(refused) => bail!("refused: {}", refused.text),
            SessionFrame::Error(fault) => bail!("closed: {}", fault.text),
            SessionFrame::Ended(ended) => bail!("the agent ended: {}", ended.reason),
            _ => {}
        }
        Ok(false)
    }

    fn done(&mut self, operation: LoadOperation) -> bool {
        self.under_way = None;
        self.load.tally.borrow_mut().note(Instant::now().saturating_duration_since(operation.due));
        true
    }
}

/// Returns the address for clients of a node, as another node of this address gives it: at a port of the same host, if
/// it names none.
fn address_at(text: &str, known: SocketAddr) -> anyhow::Result<SocketAddr> {
    let at = match text.strip_prefix(':') {
        Some(port) => SocketAddr::new(known.ip(), port.parse().context("no port")?),
        None => text.parse().with_context(|| format!("its agent is elsewhere, and nobody knows where: {text:?}"))?,
    };
    Ok(at)
}

/// Returns a WebSocket of the node, with small buffers: there are many of them.
async fn connect(node: SocketAddr, device: u32) -> anyhow::Result<WebSocketStream<TcpStream>> {
    let socket = if node.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Devices of a study come from many addresses; all of 127/8 are this machine's (RFC 1122 3.2.1.3).
    if node.ip() == Ipv4Addr::LOCALHOST && cfg!(target_os = "linux") {
        let group = u8::try_from(device / EACH_ADDRESS).context("too many devices")?;
        socket.bind((Ipv4Addr::new(127, 0, 1, 1 + group), 0).into())?;
    }
    let stream = socket.connect(node).await.context("cannot connect")?;
    stream.set_nodelay(true)?;
    let mut request = format!("ws://{node}/session").into_client_request()?;
    request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("whimbrel.v1"));
    let config = WebSocketConfig::default().read_buffer_size(2 << 10).write_buffer_size(0);
    let connecting = tokio_tungstenite::client_async_with_config(request, stream, Some(config));
    Ok(connecting.await.context("no WebSocket")?.0)
}

/// Makes a state of its number, its device, and bytes unlike those of other states.
fn state_of(number: u64, device: u32, bytes: usize) -> Vec<u8> {
    let mut state = [&number.to_le_bytes()[..], &device.to_le_bytes()[..]].concat();
    // Neighbours are to have nothing in common: the golden ratio spreads them. It must not be 0.
    let mut mixed = (number ^ (u64::from(device) << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while state.len() < bytes {
        // Marsaglia 2003, xorshift.
        mixed ^= mixed << 13;
        mixed ^= mixed >> 7;
        mixed ^= mixed << 17;
        state.extend_from_slice(&mixed.to_le_bytes());
    }
    state.truncate(bytes.max(HEAD_BYTES));
    state
}

/// Bytes of a state's number and device.
const HEAD_BYTES: usize = 12;

/// Returns the number of a state, if it is whole and this device's.
fn number_in(state: &[u8], device: u32) -> Option<u64> {
    let number = u64::from_le_bytes(*state.first_chunk()?);
    (state == state_of(number, device, state.len())).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_yields_node_address() {
        let known = "127.0.0.1:8420".parse().unwrap();
        let at = |text| address_at(text, known).map(|at| at.to_string()).ok();
        assert_eq!((at(":40001"), at("10.0.0.2:80")), (Some("127.0.0.1:40001".into()), Some("10.0.0.2:80".into())));
        assert_eq!((at(""), at(":"), at("nowhere")), (None, None, None));
    }

    #[test]
    fn state_is_recognised_exactly() {
        let state = state_of(7, 3, 256);
        assert_eq!((state.len(), number_in(&state, 3)), (256, Some(7)));
        assert_eq!(number_in(&state, 4), None, "another device's");
        assert!((0..256).all(|at| {
            let mut changed = state.clone();
            changed[at] ^= 1;
            number_in(&changed, 3).is_none()
        }));
        assert_eq!((number_in(&state[..100], 3), number_in(&[], 3)), (Some(7), None));
    }
}
