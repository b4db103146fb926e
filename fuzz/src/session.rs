//! Properties of a session's frames and of a node's end of a session, for any bytes. The fuzz target looks for
//! violations; a test of `whimbrel-platform` replays those that were found.
#![allow(dead_code, reason = "the target uses one of these")]

use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_platform::Time;
use whimbrel_platform::session::{
    AckFrame, Create, EndFrame, FrameReader, FrameWriter, Framing, HelloFrame, Keep, Lacks, MessageFrame, OfferFrame,
    OnLeave, Opening, Resume, Save, Session, SessionEvent, SessionFrame, SessionGrant, Stays, Yield,
};

const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Splits the input into frames. Its first byte sets the codec's memory, its second the window of unacknowledged
/// items. Frames follow, each after two bytes of length; the first is a hello.
pub fn session_frames(bytes: &[u8]) {
    let Some((&[remember, window], mut rest)) = bytes.split_first_chunk::<2>() else { return };
    let mut frames = Vec::new();
    while let Some((length, more)) = rest.split_first_chunk::<2>() {
        let (frame, more) = more.split_at(usize::from(u16::from_be_bytes(*length)).min(more.len()));
        frames.push(frame);
        rest = more;
    }
    let Some((first, frames)) = frames.split_first() else { return };
    let Ok((framing, hello)) = FrameReader::read_hello(first) else { return };
    comes_back(framing, 0, &SessionFrame::Hello(hello.clone()));
    let remember = u32::from(remember);
    read_and_written(framing, remember, frames);
    conversation(framing, remember, u32::from(window), &hello, frames);
}

/// Checks that a decoded frame is the same after another round.
fn read_and_written(framing: Framing, remember: u32, frames: &[&[u8]]) {
    let mut reader = FrameReader::new(framing, remember);
    let (mut writer, mut echo) =
        (FrameWriter::new(framing, remember, MESSAGE_BYTES_MAX), FrameReader::new(framing, remember));
    for bytes in frames {
        let Ok(frame) = reader.read(bytes) else { return };
        let other = if framing == Framing::Json { Framing::Compact } else { Framing::Json };
        comes_back(other, 0, &frame);
        let mut written = Vec::new();
        if writer.write(&frame, &mut written).is_ok() {
            let read = echo.read(&written).expect("what is written can be read");
            assert_eq!(alone(&read), alone(&frame));
        } else {
            assert!(written.is_empty() && matches!(frame, SessionFrame::Message(_) | SessionFrame::Unreadable { .. }));
        }
    }
}

fn comes_back(framing: Framing, remember: u32, frame: &SessionFrame) {
    let mut written = Vec::new();
    if FrameWriter::new(framing, remember, MESSAGE_BYTES_MAX).write(frame, &mut written).is_ok() {
        let read = FrameReader::new(framing, remember).read(&written).expect("what is written can be read");
        assert_eq!(alone(&read), alone(frame));
    }
}

/// A frame as text: equal if they say the same, to the last digit and address.
fn alone(frame: &SessionFrame) -> String {
    let mut json = Vec::new();
    match FrameWriter::new(Framing::Json, 0, usize::MAX).write(frame, &mut json) {
        Ok(()) => String::from_utf8(json).expect("JSON is text"),
        Err(error) => format!("{error}"),
    }
}

/// A node's end takes anything: it answers, or ends the connection; its agents end at last.
fn conversation(framing: Framing, remember: u32, window: u32, hello: &HelloFrame, frames: &[&[u8]]) {
    let grant = SessionGrant { window: window.max(1), agents: 4, ..SessionGrant::new("fuzz", vec!["*".into()]) };
    let (session, secret, platform) = ("s".into(), "x".into(), "home".into());
    let opening = Opening { session, secret, platform, grant: grant.narrowed(hello), kept_agents: Arc::default() };
    let mut session = Session::new(opening, Time::ZERO);
    let hello = HelloFrame { resume: None, ..hello.clone() };
    if session.handle_hello(Time::ZERO, &hello).is_err() {
        return;
    }
    let mut reader = FrameReader::new(framing, remember);
    let mut writer = FrameWriter::new(framing, remember, MESSAGE_BYTES_MAX);
    let (mut now, mut unacknowledged) = (Time::ZERO, 0u64);
    for bytes in frames {
        now = now + std::time::Duration::from_millis(bytes.len() as u64);
        let Ok(frame) = reader.read(bytes) else { break };
        if session.handle_frame(now, frame, bytes.len()).is_err() {
            assert!(!session.is_connected());
            break;
        }
        if session.poll_timeout() <= now {
            session.handle_timeout(now);
        }
        while let Some(event) = session.poll_event() {
            if let SessionEvent::Create { agent, name } = event {
                session.handle_created(agent, Ok(Aid::local(name)));
            }
        }
        let mut written = Vec::new();
        while let Some(frame) = session.poll_frame(now) {
            written.clear();
            if let SessionFrame::Created(_)
            | SessionFrame::Ended(_)
            | SessionFrame::Refused(_)
            | SessionFrame::Message(_) = frame
            {
                unacknowledged += 1;
            }
            writer.write(&frame, &mut written).expect("there are no messages");
        }
        assert!(unacknowledged <= frames.len() as u64, "each frame has one answer at most");
    }
    let lease_ms = session.grant().lease_ms;
    session.handle_disconnected();
    session.handle_timeout(now + std::time::Duration::from_millis(2 * lease_ms));
    assert!(!session.has_room(now) || session.poll_timeout() == Time::NEVER, "it is over");
}

/// Sequences of frames to start from.
pub fn seeds() -> Vec<Vec<u8>> {
    let content =
        Value::term("at", [Value::Int(7), Value::from("a text"), Value::list([Value::Num(0.5), Value::Null])]);
    let message = AclMessage::new(Performative::Inform, Aid::local("bob"), Aid::new("amy", "home"), content)
        .in_conversation("c1")
        .with_protocol("fipa-request");
    let message = |number| {
        let message = MessageBody::Owned(Box::new(message.clone()));
        SessionFrame::Message(MessageFrame { number, agent: 0, message })
    };
    let resume = Resume { session: "s".into(), secret: "x".into(), received: 3 };
    let hello = HelloFrame {
        versions: vec![1],
        token: Some("a token".into()),
        lease_ms: Some(5_000),
        window: Some(9),
        message_bytes: Some(1_000),
        remember: 16,
        ..HelloFrame::default()
    };
    let resuming = HelloFrame { resume: Some(resume), ..hello.clone() };
    let sequences = [
        vec![SessionFrame::Hello(resuming)],
        moving(&hello),
        vec![
            SessionFrame::Hello(hello.clone()),
            SessionFrame::Offer(OfferFrame { number: 1, name: "bob".into(), code: CODE.into() }),
        ],
        vec![
            SessionFrame::Hello(hello.clone()),
            create(1, 0, "bob"),
            message(2),
            message(3),
            ack(1),
            SessionFrame::Bye,
        ],
        vec![
            SessionFrame::Hello(hello),
            create(1, 0, "bob"),
            create(2, 0, "ann"),
            create(3, 1, "a@b"),
            message(4),
            SessionFrame::End(EndFrame { number: 5, agent: 0 }),
            message(6),
            ack(4),
            ack(40),
        ],
    ];
    let mut all = Vec::new();
    for framing in [Framing::Json, Framing::Compact] {
        for remember in [0, 16] {
            for frames in &sequences {
                let mut writer = FrameWriter::new(framing, u32::from(remember), MESSAGE_BYTES_MAX);
                let mut seed = vec![remember, 8];
                for frame in frames {
                    let mut written = Vec::new();
                    writer.write(frame, &mut written).expect("it can be written");
                    seed.extend((written.len() as u16).to_be_bytes());
                    seed.extend(written);
                }
                all.push(seed);
            }
        }
    }
    all
}

const CODE: &str = "asl:0000000000000000000000000000000000000000000000000000000000000000/bob.asl";

/// An agent that is to leave its client.
fn moving(hello: &HelloFrame) -> Vec<SessionFrame> {
    let save = |number, to: Option<&str>| {
        let (code, state, to) = (CODE.to_owned(), vec![1, 2, 3], to.map(str::to_owned));
        SessionFrame::Save(Save { number, agent: 0, upto: 0, code, state, to, also: vec![], from: None })
    };
    vec![
        SessionFrame::Hello(HelloFrame { moves: true, ..hello.clone() }),
        create(1, 0, "bob"),
        SessionFrame::Keep(Keep { number: 2, agent: 0, policy: OnLeave::GoOn, holds: true }),
        save(3, None),
        save(4, Some("n2")),
        SessionFrame::Lacks(Lacks { number: 5, agent: 0, code: CODE.into() }),
        SessionFrame::Stays(Stays { number: 6, name: "bob".into(), text: "not now".into() }),
        SessionFrame::Yield(Yield { number: 7, agent: 0, to: "n2".into() }),
    ]
}

fn create(number: u64, agent: u32, name: &str) -> SessionFrame {
    SessionFrame::Create(Create { number, agent, name: name.into() })
}

fn ack(received: u64) -> SessionFrame {
    SessionFrame::Ack(AckFrame { received, credit: Some(received + 5) })
}
