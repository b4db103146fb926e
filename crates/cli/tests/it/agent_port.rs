//! An agent port of a running platform, and clients that behave badly: sockets, no program.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_net::LinkSecurity;
use whimbrel_net::agent_port::{AgentPort, AgentPortConfig};
use whimbrel_platform::audit::{Act, Auditor, RefusalReason, Refused};
use whimbrel_platform::limits::{SESSION_HELLO_BYTES_MAX, SESSION_NAME_BYTES_MAX};
use whimbrel_platform::session::{
    AckFrame, Create, ErrorCode, FrameReader, FrameWriter, Framing, HelloFrame, MessageFrame, Resume, SessionFrame,
    SessionGrant, Welcome,
};
use whimbrel_runtime::{Agent, Context, Platform, PlatformBuilder};

const PATIENCE: Duration = Duration::from_secs(180);

fn open(builder: PlatformBuilder) -> (Platform, AgentPort) {
    open_audited(builder, None)
}

fn open_audited(builder: PlatformBuilder, auditor: Option<Arc<dyn Auditor>>) -> (Platform, AgentPort) {
    let platform = builder.name("home").workers(2).build();
    let port = AgentPort::open(config(auditor), platform.host(), "127.0.0.1:0").expect("a free port");
    (platform, port)
}

fn config(auditor: Option<Arc<dyn Auditor>>) -> AgentPortConfig {
    AgentPortConfig {
        level: LinkSecurity::Open,
        credentials: None,
        links: None,
        session_ports: None,
        authorise: Box::new(|claim| Some(SessionGrant::new(claim.token?, vec!["*".into()]))),
        auditor,
        log: Box::new(|_| ()),
    }
}

/// A client of which nothing is hidden.
pub struct Client {
    socket: TcpStream,
    reader: FrameReader,
    writer: FrameWriter,
    welcome: Welcome,
}

impl Client {
    /// Connects and is welcomed; `None` if it is not.
    fn begin(port: &AgentPort, framing: Framing, hello: &HelloFrame) -> Option<Self> {
        Self::at(port.address(), framing, hello)
    }

    /// The same, at an address.
    pub fn at(address: &str, framing: Framing, hello: &HelloFrame) -> Option<Self> {
        Self::over(TcpStream::connect(address).expect("the port is open"), framing, hello)
    }

    fn over(socket: TcpStream, framing: Framing, hello: &HelloFrame) -> Option<Self> {
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let (reader, writer) = (FrameReader::new(framing, 64), FrameWriter::new(framing, 64, 2 << 20));
        let mut client = Self { socket, reader, writer, welcome: Welcome::default() };
        client.write(&SessionFrame::Hello(hello.clone()));
        match client.read()? {
            SessionFrame::Welcome(welcome) => Some(Self { welcome, ..client }),
            _ => None,
        }
    }

    /// With an agent of this name.
    pub fn with_agent(port: &AgentPort, framing: Framing, name: &str) -> Self {
        let mut client = Self::begin(port, framing, &hello()).expect("a welcome");
        client.write(&SessionFrame::Create(Create { number: 1, agent: 0, name: name.into() }));
        while !matches!(client.read(), Some(SessionFrame::Created(_))) {}
        client
    }

    pub fn write(&mut self, frame: &SessionFrame) {
        let mut bytes = vec![0; 4];
        self.writer.write(frame, &mut bytes).expect("it can be written");
        let length = (bytes.len() as u32 - 4).to_be_bytes();
        bytes[..4].copy_from_slice(&length);
        // The node may have closed the connection: reading tells.
        let _ = self.socket.write_all(&bytes);
    }

    fn send(&mut self, number: u64, content: Value) {
        let message = AclMessage::new(Performative::Inform, Aid::NOBODY, Aid::local("amy"), content);
        let message = MessageBody::Owned(Box::new(message));
        self.write(&SessionFrame::Message(MessageFrame { number, agent: 0, message }));
    }

    /// The next frame; `None` when the connection is closed.
    fn read(&mut self) -> Option<SessionFrame> {
        let mut length = [0; 4];
        self.socket.read_exact(&mut length).ok()?;
        let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
        self.socket.read_exact(&mut bytes).ok()?;
        Some(self.reader.read(&bytes).expect("the node writes frames"))
    }

    /// The next frame of which this is so.
    pub fn read_until(&mut self, so: impl Fn(&SessionFrame) -> bool) -> SessionFrame {
        loop {
            let frame = self.read().expect("the connection is open");
            if so(&frame) {
                return frame;
            }
        }
    }

    fn last_error(&mut self) -> Option<ErrorCode> {
        let mut last = None;
        while let Some(frame) = self.read() {
            if let SessionFrame::Error(fault) = frame {
                last = Some(fault.code);
            }
        }
        last
    }
}

fn hello() -> HelloFrame {
    HelloFrame {
        versions: vec![1],
        token: Some("token".into()),
        lease_ms: Some(60_000),
        remember: 64,
        ..HelloFrame::default()
    }
}

/// Returns true if the node closes a connection on which these bytes were written.
fn is_closed_after(port: &AgentPort, bytes: &[u8]) -> bool {
    let mut socket = TcpStream::connect(port.address()).expect("the port is open");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let _ = socket.write_all(bytes);
    let begun = Instant::now();
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest);
    begun.elapsed() < PATIENCE
}

fn wait_until(happened: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !happened() {
        assert!(Instant::now() < until, "it did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Names of reported agents.
#[derive(Default)]
struct ReportedNames(Mutex<Vec<String>>);

impl Auditor for ReportedNames {
    fn refused(&self, what: &Refused<'_>) {
        self.0.lock().unwrap().push(what.who.to_string());
    }

    fn allowed(&self, _what: &Act<'_>) {}
}

/// Programs that connect before the society has begun find its agents.
#[test]
fn early_client_waits_for_admission() {
    let platform = Platform::builder().name("home").workers(2).build();
    let port = AgentPort::bind(config(None), platform.host(), "127.0.0.1:0").expect("a free port");
    let address = port.address().to_owned();
    let (tell, told) = mpsc::channel();
    let client = std::thread::spawn(move || {
        let socket = TcpStream::connect(&address).expect("the port is there");
        tell.send(()).expect("somebody waits");
        let mut client = Client::over(socket, Framing::Json, &hello()).expect("a welcome");
        client.write(&SessionFrame::Create(Create { number: 1, agent: 0, name: "early".into() }));
        client.send(2, Value::from("anybody there?"));
        client
    });
    told.recv().expect("it connects");
    let (hears, heard) = mpsc::channel();
    platform.spawn("amy", ContentForwarder(hears)).expect("a free name");
    assert_eq!(port.sessions(), 0);
    port.admit();
    assert_eq!(heard.recv_timeout(PATIENCE), Ok(Value::from("anybody there?")));
    drop(client.join().expect("it is welcome"));
    platform.stop();
    port.close(Duration::from_secs(1));
}

#[test]
fn refusals_record_policy_names() {
    let names = Arc::<ReportedNames>::default();
    let (platform, port) = open_audited(Platform::builder(), Some(Arc::clone(&names) as Arc<dyn Auditor>));
    let mut eve = Client::with_agent(&port, Framing::Json, "eve");
    let message = AclMessage::new(Performative::Inform, Aid::local("amy"), Aid::local("bob"), Value::Int(1));
    let message = MessageBody::Owned(Box::new(message));
    eve.write(&SessionFrame::Message(MessageFrame { number: 2, agent: 0, message }));
    wait_until(|| port.refusals().of(RefusalReason::Forged) == 1);
    let mut nobody = Client::begin(&port, Framing::Json, &hello()).expect("a welcome");
    for client in [&mut eve, &mut nobody] {
        client.socket.write_all(&[0, 0, 0, 2, b'{', b'}']).expect("it is open");
        assert_eq!(client.last_error(), Some(ErrorCode::Protocol));
    }
    assert_eq!(*names.0.lock().unwrap(), ["session:eve of node:n1", "session:eve of node:n1", "127.0.0.1"]);
    platform.stop();
    port.close(Duration::from_secs(1));
}

#[test]
fn hostile_bytes_close_only_their_connection() {
    let (platform, port) = open(Platform::builder());
    let mut good = Client::with_agent(&port, Framing::Compact, "good");
    let long_hello = [&(SESSION_HELLO_BYTES_MAX as u32 + 1).to_be_bytes()[..], &[b'{'; 100]].concat();
    for bytes in [
        &b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"[..],
        &[0xff; 64],
        &[0, 0, 0, 0],
        &[0, 0, 0, 1, 99],
        &[0, 0, 0, 2, b'{', b'}'],
        &long_hello,
        &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3],
    ] {
        assert!(is_closed_after(&port, bytes), "{bytes:?}");
    }
    wait_until(|| port.refusals().of(RefusalReason::Malformed) == 7);
    for (code, bad) in [
        (ErrorCode::Protocol, &[0, 0, 0, 1, 99][..]),
        (ErrorCode::Protocol, &[0, 0, 0, 2, b'{', b'}']),
        (ErrorCode::Protocol, &[0, 0, 0, 5, 8, 1, 0, 0xff, 0xff]),
        (ErrorCode::TooLong, &[0x7f, 0xff, 0xff, 0xff]),
    ] {
        let mut client = Client::begin(&port, Framing::Compact, &hello()).expect("a welcome");
        client.socket.write_all(bad).expect("it can be written");
        assert_eq!(client.last_error(), Some(code), "{bad:?}");
    }
    good.send(2, Value::from("still here"));
    let answered = std::iter::from_fn(|| good.read()).any(
        |frame| matches!(frame, SessionFrame::Message(frame) if frame.message.performative == Performative::Failure),
    );
    assert!(answered, "there is no amy, and the good one hears of it");
    platform.stop();
    port.close(Duration::from_secs(1));
}

#[test]
fn unknown_names_close_their_connection() {
    let (platform, port) = open(Platform::builder());
    let mut client = Client::with_agent(&port, Framing::Json, "inventor");
    // Written by hand: what this process has a name for is not new to it.
    let bytes = 500_000;
    for number in 2..3 + SESSION_NAME_BYTES_MAX / bytes {
        let message = format!(
            r#"{{"performative":"inform","receivers":["df"],"content":{{"atom":"{number}{}"}}}}"#,
            "n".repeat(bytes as usize)
        );
        let frame = format!(r#"{{"type":"message","number":{number},"agent":0,"message":{message}}}"#);
        let _ = client.socket.write_all(&[&(frame.len() as u32).to_be_bytes()[..], frame.as_bytes()].concat());
    }
    assert_eq!(client.last_error(), Some(ErrorCode::TooManyNames));
    assert!(Client::begin(&port, Framing::Json, &hello()).is_some(), "who says nothing new may come again");
    platform.stop();
    port.close(Duration::from_secs(1));
}

/// Sends numbers to an agent, a few in each turn, as long as it is let.
struct Fountain {
    to: Aid,
    next: i64,
    last: i64,
    bytes: usize,
}

impl Agent for Fountain {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        ctx.tell(ctx.aid(), Performative::Request, "more");
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        if message.performative != Performative::Request || self.next == self.last {
            return;
        }
        ctx.tell(self.to, Performative::Inform, Value::from(format!("{:1$}", self.next, self.bytes)));
        self.next += 1;
        ctx.tell(ctx.aid(), Performative::Request, "more");
    }
}

#[test]
fn slow_client_slows_senders_without_loss() {
    const MESSAGES: i64 = 3_000;
    let (platform, port) = open(Platform::builder().mailbox_limits(100, 100_000));
    let mut client = Client::with_agent(&port, Framing::Compact, "slow");
    let fountain = Fountain { to: Aid::local("slow"), next: 0, last: MESSAGES, bytes: 1000 };
    platform.spawn("fountain", fountain).expect("a free name");
    wait_until(|| platform.counters().queued > 100);
    std::thread::sleep(Duration::from_secs(1));
    let waiting = platform.counters().queued;
    assert!(waiting < 500, "{waiting} wait: the mailbox, and little more");
    let mut due = 0;
    let mut acknowledged = 1;
    while due < MESSAGES {
        match client.read().expect("a frame") {
            SessionFrame::Message(frame) => {
                assert_eq!(frame.message.content, Value::from(format!("{due:1000}")));
                due += 1;
                if frame.number >= acknowledged + 100 || due == MESSAGES {
                    acknowledged = frame.number;
                    client.write(&SessionFrame::Ack(AckFrame { received: acknowledged, credit: None }));
                }
            }
            SessionFrame::Ack(_) => {}
            other => panic!("{other:?}"),
        }
    }
    platform.stop();
    port.close(Duration::from_secs(1));
}

/// A client that does not read, whose connection and window are full.
fn stuck(platform: &Platform, port: &AgentPort, lease_ms: u64) -> Client {
    let mut client =
        Client::begin(port, Framing::Compact, &HelloFrame { lease_ms: Some(lease_ms), ..hello() }).unwrap();
    client.write(&SessionFrame::Create(Create { number: 1, agent: 0, name: "deaf".into() }));
    let fountain = Fountain { to: Aid::local("deaf"), next: 0, last: 2_000, bytes: 60_000 };
    wait_until(|| port.status().iter().any(|session| !session.agents.is_empty()));
    platform.spawn("fountain", fountain).expect("a free name");
    wait_until(|| platform.counters().queued > 100);
    client
}

#[test]
fn ended_session_closes_despite_unread_frames() {
    let (platform, port) = open(Platform::builder().mailbox_limits(200, 1_000));
    let client = stuck(&platform, &port, 3_000);
    wait_until(|| port.status().is_empty());
    drop(client);
    platform.stop();
    port.close(Duration::from_secs(1));
}

#[test]
fn stuck_connection_delays_no_other() {
    let (platform, port) = open(Platform::builder().mailbox_limits(200, 1_000));
    let old = stuck(&platform, &port, 60_000);
    let Welcome { session, secret, .. } = old.welcome.clone();
    let begun = Instant::now();
    for _ in 0..3 {
        let resume = Resume { session: session.clone(), secret: secret.clone(), received: 0 };
        let new = Client::begin(&port, Framing::Compact, &HelloFrame { resume: Some(resume), ..hello() });
        assert!(new.is_some(), "a welcome");
    }
    // The one before is stuck for as long as its client does not read: for ever.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    platform.stop();
    port.close(Duration::from_secs(1));
}

#[test]
fn excess_strangers_are_counted() {
    let (platform, port) = open(Platform::builder());
    let strangers: Vec<TcpStream> = (0..300).map_while(|_| TcpStream::connect(port.address()).ok()).collect();
    wait_until(|| port.refusals().of(RefusalReason::TooMany) == strangers.len() as u64 - 256);
    drop(strangers);
    wait_until(|| Client::begin(&port, Framing::Json, &hello()).is_some());
    platform.stop();
    port.close(Duration::from_secs(1));
}

/// Tells how many messages came, slowly.
struct Snail(mpsc::Sender<Value>);

impl Agent for Snail {
    fn on_message(&mut self, _ctx: &mut Context<'_, '_>, message: MessageBody) {
        std::thread::sleep(Duration::from_millis(2));
        let _ = self.0.send(message.content.clone());
    }
}

#[test]
fn credit_slows_sender_to_slow_receiver() {
    let (platform, port) = open(Platform::builder().mailbox_limits(20, 100_000));
    let (told, hears) = mpsc::channel();
    platform.spawn("amy", Snail(told)).expect("a free name");
    let mut client = Client::with_agent(&port, Framing::Compact, "keen");
    let (mut number, mut credit) = (1, client.welcome.credit);
    let begun = Instant::now();
    while number < 1_500 {
        while number < credit.min(1_500) {
            number += 1;
            client.send(number, Value::Int(number as i64));
        }
        if number < 1_500
            && let Some(SessionFrame::Ack(ack)) = client.read()
        {
            credit = ack.credit.unwrap_or(credit);
        }
    }
    assert!(begun.elapsed() > Duration::from_secs(1), "it had to wait: {:?}", begun.elapsed());
    for due in 2..=1_500 {
        assert_eq!(hears.recv_timeout(PATIENCE), Ok(Value::Int(due)));
    }
    platform.stop();
    port.close(Duration::from_secs(1));
}

/// Agent that forwards each content that it receives.
struct ContentForwarder(mpsc::Sender<Value>);

impl Agent for ContentForwarder {
    fn on_message(&mut self, _ctx: &mut Context<'_, '_>, message: MessageBody) {
        let _ = self.0.send(message.content.clone());
    }
}

#[test]
fn burst_beyond_credit_is_read_later() {
    const LAST: u64 = 3_000;
    for framing in [Framing::Json, Framing::Compact] {
        let (platform, port) = open(Platform::builder());
        let (told, hears) = mpsc::channel();
        platform.spawn("amy", ContentForwarder(told)).expect("a free name");
        let mut client = Client::with_agent(&port, framing, "keen");
        // All messages are sent before any answer is read.
        (2..=LAST).for_each(|number| client.send(number, Value::Int(number as i64)));
        for due in 2..=LAST {
            assert_eq!(hears.recv_timeout(PATIENCE), Ok(Value::Int(due as i64)));
        }
        client.read_until(|frame| matches!(frame, SessionFrame::Ack(ack) if ack.received == LAST));
        platform.stop();
        port.close(Duration::from_secs(1));
    }
}

#[test]
fn credit_and_crowding_are_per_receiver() {
    const NAMES: usize = 40;
    let (platform, port) = open(Platform::builder().mailbox_limits(10, 100_000));
    let (told, hears) = mpsc::channel();
    for number in 0..NAMES {
        platform.spawn(format!("amy{number}").as_str(), Snail(told.clone())).expect("a free name");
    }
    let mut client = Client::with_agent(&port, Framing::Compact, "keen");
    // Each named often: each gets it once.
    let receivers = (0..NAMES * 5).map(|number| Aid::local(format!("amy{}", number % NAMES).as_str())).collect();
    let message = AclMessage { receivers, ..AclMessage::new(Performative::Inform, Aid::NOBODY, Aid::NOBODY, 1) };
    let (mut number, mut credit, mut sent) = (1, client.welcome.credit, 0);
    while sent < 100 {
        while number < credit && sent < 100 {
            (number, sent) = (number + 1, sent + 1);
            let message = MessageBody::Owned(Box::new(message.clone()));
            client.write(&SessionFrame::Message(MessageFrame { number, agent: 0, message }));
        }
        let waiting = platform.counters().queued;
        assert!(waiting < NAMES as u64 * 40, "{waiting} wait");
        if let Some(SessionFrame::Ack(ack)) = client.read() {
            credit = ack.credit.unwrap_or(credit);
        }
    }
    for _ in 0..NAMES * 100 {
        hears.recv_timeout(PATIENCE).expect("each gets each");
    }
    wait_until(|| platform.counters().queued == 0);
    assert!(hears.try_recv().is_err(), "and once");
    platform.stop();
    port.close(Duration::from_secs(1));
}

#[test]
fn newer_connection_takes_over_session() {
    let (platform, port) = open(Platform::builder());
    let mut old = Client::with_agent(&port, Framing::Json, "bob");
    let Welcome { session, secret, .. } = old.welcome.clone();
    let resume = Resume { session, secret, received: 1 };
    // In the other form: each connection has its own.
    let mut new =
        Client::begin(&port, Framing::Compact, &HelloFrame { resume: Some(resume), ..hello() }).expect("a welcome");
    assert_eq!(old.last_error(), Some(ErrorCode::TakenOver));
    new.send(2, Value::from("hello"));
    assert!(std::iter::from_fn(|| new.read()).any(|frame| matches!(frame, SessionFrame::Message(_))), "an answer");
    assert_eq!(port.status().iter().map(|session| session.agents.clone()).collect::<Vec<_>>(), [["bob"]]);
    platform.stop();
    port.close(Duration::from_secs(1));
}

#[test]
fn a_node_that_stops_says_so() {
    let (platform, port) = open(Platform::builder());
    let mut client = Client::with_agent(&port, Framing::Json, "bob");
    let listening = std::thread::spawn(move || {
        let frames: Vec<SessionFrame> = std::iter::from_fn(|| client.read()).collect();
        frames
            .iter()
            .filter(|frame| !matches!(frame, SessionFrame::Ack(_)))
            .map(|frame| format!("{frame:?}"))
            .collect::<Vec<_>>()
    });
    platform.stop();
    port.close(Duration::from_secs(2));
    let heard = listening.join().expect("it ends");
    assert!(heard.first().is_some_and(|frame| frame.contains("killed")), "{heard:?}");
    assert!(heard.last().is_some_and(|frame| frame.contains("Stopping")), "{heard:?}");
}
