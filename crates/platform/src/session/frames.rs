//! What the two ends of a session tell each other.

use serde::{Deserialize, Serialize};
use whimbrel_acl::MessageBody;
use whimbrel_acl::compact::{Decode, Encode};

/// The version of the session protocol that this node speaks.
pub const SESSION_VERSION: u32 = 1;

/// One frame, whatever its form on the wire.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Frame {
    /// Who is there: the first frame of a connection.
    Hello(Hello),
    /// The node's answer to it.
    Welcome(Welcome),
    /// The node's answer to one with a certificate, first.
    Challenge(Challenge),
    /// The client's answer to that.
    Proof(Proof),
    /// What was received, what may be sent, and a sign of life.
    Ack(Ack),
    /// Messages that were received and are not handled.
    Open(OpenFrame),
    /// An agent is to be.
    Create(Create),
    /// It is.
    Created(Created),
    /// An agent is to end.
    End(End),
    /// It ended.
    Ended(Ended),
    /// A message from an agent of the session, or to one.
    Message(MessageFrame),
    /// What was a message and cannot be read: its number counts.
    Unreadable {
        /// Its number.
        number: u64,
        /// What is wrong with it.
        why: String,
    },
    /// An agent's key is to be certified.
    Certify(Certify),
    /// It is.
    Certified(Certified),
    /// An agent is to be kept when its session is over.
    Keep(Keep),
    /// What an agent is.
    Save(Save),
    /// The node has that.
    Saved(Saved),
    /// What an agent was that goes on here.
    State(StateFrame),
    /// An agent's code is not there.
    Lacks(Lacks),
    /// A part of it.
    Code(CodePart),
    /// Somebody wants an agent of the session to go elsewhere.
    Yield(Yield),
    /// An agent is to come to this client.
    Offer(OfferFrame),
    /// An agent stays where it is.
    Stays(Stays),
    /// A frame was read and is not done, or a message cannot be handed over.
    Refused(Refused),
    /// Why the connection ends: its last frame.
    Error(Fault),
    /// The speaker leaves: the session is over.
    Bye,
}

/// Who is there, and what it wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hello {
    /// The versions of the protocol that the client speaks.
    pub versions: Vec<u32>,
    /// What shows that it may.
    pub token: Option<String>,
    /// The session that it goes on with; else a new one is to begin.
    pub resume: Option<Resume>,
    /// How long the session is to outlive its client's last frame, in milliseconds.
    pub lease_ms: Option<u64>,
    /// How many numbered frames may be unacknowledged each way.
    pub window: Option<u32>,
    /// Bytes of the longest message that the client takes.
    pub message_bytes: Option<u32>,
    /// Agents and texts that compact messages may refer to by number, each way.
    pub remember: u32,
    /// Whether its agents can be asked to go elsewhere, and others offered to it. Written if it is so: who does not know of it says nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub moves: bool,
    /// Certificates as PEM, the client's first, where there is no TLS of its own that shows them: the node answers by a [`Challenge`]. Written if there
    /// are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Which of the client's connections for this session it is: 1, 2, 3 ... An older one that comes late does not take the session from a newer one.
    /// Written if it is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Whether it connects with another node if it is [told](Code::Elsewhere) to. Written if it is so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
}

/// Which session a client goes on with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// The session.
    pub session: String,
    /// What its welcome said nobody else must know.
    pub secret: String,
    /// The number of the last numbered frame received from the node.
    pub received: u64,
}

/// What a client is to sign that shows a certificate in its hello: see the session protocol, Certificates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// What nobody could have signed before.
    pub text: String,
}

/// A client's answer to a [`Challenge`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The signature with the key of its certificate: Ed25519, or ECDSA with P-256 and SHA-256 as two numbers of 32 bytes.
    #[serde(with = "super::octets")]
    pub signature: Vec<u8>,
}

/// What a session is granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The version spoken from now on.
    pub version: u32,
    /// The session.
    pub session: String,
    /// What to show to go on with it over another connection.
    pub secret: String,
    /// The platform's name: what stands after `@` in its agents' names.
    pub platform: String,
    /// How long the session outlives its client's last frame, in milliseconds.
    pub lease_ms: u64,
    /// How many numbered frames may be unacknowledged each way.
    pub window: u32,
    /// How many agents the session may have at a time.
    pub agents: u32,
    /// Bytes of the longest message.
    pub message_bytes: u32,
    /// Numbered frames a second, on average, that the client is let send.
    pub messages_per_s: u32,
    /// Agents and texts that compact messages may refer to by number, each way.
    pub remember: u32,
    /// The number of the last numbered frame received from the client: it goes on with the next.
    pub received: u64,
    /// The highest number that the client may send.
    pub credit: u64,
}

/// Messages that the client's agents have not handled. They have handled all others that it acknowledges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFrame {
    /// Runs of numbers: the first of each, and how many there are.
    pub messages: Vec<u64>,
}

/// What was received, what may be sent, and a sign of life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    /// The number of the last numbered frame received.
    pub received: u64,
    /// The highest number that the hearer may send; a window after `received` if it is not said.
    #[serde(default)]
    pub credit: Option<u64>,
}

/// An agent is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Create {
    /// This frame's number.
    pub number: u64,
    /// What the agent is called in this session's frames.
    pub agent: u32,
    /// Its local name.
    pub name: String,
}

/// An agent is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// This frame's number.
    pub number: u64,
    /// What it is called in frames.
    pub agent: u32,
    /// Its name, `local@platform`.
    pub name: String,
}

/// An agent is to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// This frame's number.
    pub number: u64,
    /// The agent.
    pub agent: u32,
}

/// An agent ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// This frame's number.
    pub number: u64,
    /// The agent.
    pub agent: u32,
    /// Why: `finished`, `killed`, `failed: ...`, or [`PASSED`].
    pub reason: String,
}

/// Why an agent ended for its client that is kept by another node by now: a [`Create`] of its name leads there, and it goes on as it was last saved.
pub const PASSED: &str = "it goes on at another node";

/// An agent's key is to be certified, which its client made and keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certify {
    /// This frame's number.
    pub number: u64,
    /// The agent.
    pub agent: u32,
    /// A certificate signing request (PKCS #10, RFC 2986) for an Ed25519 key, as PEM.
    pub request: String,
}

/// An agent's key is certified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certified {
    /// This frame's number.
    pub number: u64,
    /// The agent.
    pub agent: u32,
    /// Its certificate, then that of its node which it is signed with, as PEM.
    pub certificates: String,
}

/// What becomes of an agent when its session is over and nobody ended the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "kebab-case")]
pub enum OnLeave {
    /// It ends.
    #[default]
    End,
    /// It waits, and so do messages for it, until the same client creates an agent of its name.
    Wait,
    /// Its node runs it, if it can; else it waits.
    GoOn,
}

/// An agent is to be kept when its session is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// This frame's number.
    pub number: u64,
    /// The agent.
    pub agent: u32,
    /// What becomes of it then.
    pub policy: OnLeave,
    /// Whether what it says leaves only with the [`Save`] behind it: state and words are one step then.
    pub holds: bool,
}

/// What an agent is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Save {
    /// This frame's number.
    pub number: u64,
    /// The agent.
    pub agent: u32,
    /// It covers the messages to the agent up to this number of the node's.
    pub upto: u64,
    /// Its code: `asl:HASH/NAME`, `wasm:HASH/NAME` or `ts:NAME`; see [`CodeName`](super::CodeName).
    pub code: String,
    /// Its state.
    #[serde(with = "super::octets")]
    pub state: Vec<u8>,
    /// It leaves the client: for the node of this name, or for the client that has the agent of this name.
    #[serde(default)]
    pub to: Option<String>,
    /// Messages behind `upto` that it covers, too, by their numbers: agents may handle several at once.
    #[serde(default)]
    pub also: Vec<u64>,
    /// What the place is called that it leaves, for whoever it is told to where it arrives; the node's name if it is not said.
    #[serde(default)]
    pub from: Option<String>,
}

/// The node has an agent's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// This frame's number.
    pub number: u64,
    /// The agent.
    pub agent: u32,
    /// The number of the frame that said it; it and all before it are dealt with.
    pub of: u64,
}

/// What an agent was that goes on here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFrame {
    /// This frame's number.
    pub number: u64,
    /// The agent.
    pub agent: u32,
    /// Its code, as it was saved.
    pub code: String,
    /// Its state, as it was saved.
    #[serde(with = "super::octets")]
    pub state: Vec<u8>,
    /// Where it was before, if it was offered to this client.
    #[serde(default)]
    pub from: Option<String>,
}

/// The speaker has not got an agent's code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lacks {
    /// This frame's number.
    pub number: u64,
    /// The agent.
    pub agent: u32,
    /// What its code is called.
    pub code: String,
}

/// A part of an agent's code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePart {
    /// This frame's number.
    pub number: u64,
    /// The agent.
    pub agent: u32,
    /// What its code is called.
    pub code: String,
    /// Where in it this part begins: where the one before it ended.
    pub at: u64,
    /// Bytes of all of it.
    pub of: u64,
    /// The part.
    #[serde(with = "super::octets")]
    pub bytes: Vec<u8>,
}

/// Somebody wants an agent to go elsewhere. Its client answers by a [`Save`] with that place, or by [`Stays`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Yield {
    /// This frame's number.
    pub number: u64,
    /// The agent.
    pub agent: u32,
    /// Where it is wanted: a node's name, or that of an agent of the client to which it is to go.
    pub to: String,
}

/// An agent is to come to this client. The client answers by a [`Create`] of its name, or by [`Stays`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferFrame {
    /// This frame's number.
    pub number: u64,
    /// Its local name.
    pub name: String,
    /// Its code.
    pub code: String,
}

/// An agent that was to go, or to come, stays where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stays {
    /// This frame's number.
    pub number: u64,
    /// Its local name.
    pub name: String,
    /// Why, for whoever wanted it.
    pub text: String,
}

/// A message from an agent of the session, or to one.
#[derive(Clone, Debug)]
pub struct MessageFrame {
    /// This frame's number.
    pub number: u64,
    /// The agent.
    pub agent: u32,
    /// The message.
    pub message: MessageBody,
}

/// A frame of the client's is not done; or, if `of` is 0, a message to one of its agents could not be handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// This frame's number.
    pub number: u64,
    /// The number of the frame that is not done.
    pub of: u64,
    /// Why, for programs.
    pub code: Code,
    /// Why, for people.
    pub text: String,
}

/// Why a connection ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct Fault {
    /// For programs.
    pub code: Code,
    /// For people.
    pub text: String,
}

impl Fault {
    /// A fault of this kind.
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

/// What went wrong. In this order on the wire: new ones come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Code {
    /// What came is no frame, or comes out of turn.
    Protocol,
    /// There is no version of the protocol that both ends speak.
    Version,
    /// The token or certificate is not one that may.
    Unauthorised,
    /// There is no such session, or not any more.
    SessionGone,
    /// The session goes on over another connection.
    TakenOver,
    /// A frame or message is longer than was granted.
    TooLong,
    /// More was sent than was granted.
    OverCredit,
    /// Nothing was heard for as long as the lease.
    LeaseOver,
    /// The node has as many sessions as it may.
    Busy,
    /// Too many names that were never heard before.
    TooManyNames,
    /// The node stops.
    Stopping,
    /// The name is no local agent name.
    BadName,
    /// There is an agent of that name.
    NameTaken,
    /// This is not for this session to do.
    NotAllowed,
    /// The session has as many agents as it may, or the number is taken or too high.
    TooManyAgents,
    /// The session has no such agent.
    NoAgent,
    /// The message says that somebody else sends it.
    ForgedSender,
    /// The message has no receiver.
    NoReceiver,
    /// What stands where a message should be is none.
    BadMessage,
    /// What stands where a request for a certificate should be is none, or is for somebody else.
    BadRequest,
    /// The client did not say that the agent is to be kept.
    NotKept,
    /// As many agents are kept, or as many bytes of them, as may be.
    TooManyKept,
    /// What stands where an agent's state should be is none.
    BadState,
    /// The agent cannot go on elsewhere.
    NotMovable,
    /// Whether there may be an agent of that name shows soon: the same frame may be said again.
    NotYet,
    /// Another node has the session or the agent, or is to have it. The text is where its clients connect: `HOST:PORT`, `:PORT` if the host is
    /// the one that the client knows, or nothing if that is not known.
    Elsewhere,
    /// The message names more receivers than a message may have.
    TooManyReceivers,
}
