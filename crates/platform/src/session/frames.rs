//! Frames of the session protocol.

use serde::{Deserialize, Serialize};
use whimbrel_acl::MessageBody;
use whimbrel_acl::compact::{Decode, Encode};

/// Version of the session protocol that this node speaks.
pub const SESSION_VERSION: u32 = 1;

/// Frame, whatever its form on the wire.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionFrame {
    /// Greeting of the client: the first frame of a connection.
    Hello(HelloFrame),
    /// Answer of the node to a hello.
    Welcome(Welcome),
    /// Challenge of the node to a hello with a certificate, before the welcome.
    Challenge(Challenge),
    /// Answer of the client to a challenge.
    Proof(ProofFrame),
    /// Acknowledgement, credit, and sign of life.
    Ack(AckFrame),
    /// Messages that were received and are not handled.
    Open(OpenFrame),
    /// Request to create an agent.
    Create(Create),
    /// Creation of an agent.
    Created(Created),
    /// Request to end an agent.
    End(EndFrame),
    /// End of an agent.
    Ended(EndedFrame),
    /// Message from an agent of the session, or to one.
    Message(MessageFrame),
    /// Message that cannot be read; keeps the numbering.
    Unreadable {
        /// Number of the frame.
        number: u64,
        /// Reason why it cannot be read.
        why: String,
    },
    /// Request to certify an agent's key.
    Certify(Certify),
    /// Certificate of an agent's key.
    Certified(CertifiedFrame),
    /// Request to keep an agent when its session is over.
    Keep(Keep),
    /// State of an agent.
    Save(Save),
    /// Confirmation of a state.
    Saved(SavedFrame),
    /// Former state of an agent that continues at this client.
    State(StateFrame),
    /// Request for an agent's code.
    Lacks(Lacks),
    /// Part of an agent's code.
    Code(CodePart),
    /// Wish that an agent of the session move elsewhere.
    Yield(Yield),
    /// Offer of an agent to this client.
    Offer(OfferFrame),
    /// Notice that an agent stays where it is.
    Stays(Stays),
    /// Refusal of a frame, or of a message that cannot be handed over.
    Refused(RefusedFrame),
    /// Reason why the connection ends: its last frame.
    Error(ErrorFrame),
    /// Good-bye: the session is over.
    Bye,
}

/// Greeting of a client, with its wishes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HelloFrame {
    /// Protocol versions that the client speaks.
    pub versions: Vec<u32>,
    /// Token that admits the client.
    pub token: Option<String>,
    /// The session that it continues with; else a new one is to begin.
    pub resume: Option<Resume>,
    /// Lease: how long the session is to outlive its client's last frame, in milliseconds.
    pub lease_ms: Option<u64>,
    /// Number of numbered frames that may be unacknowledged each way.
    pub window: Option<u32>,
    /// Bytes of the longest message that the client takes.
    pub message_bytes: Option<u32>,
    /// Number of agents and texts that compact messages may refer to by number, each way.
    pub remember: u32,
    /// Support for moves: the client's agents can be asked to move, and other agents be offered to it. Written only if
    /// true: clients of earlier versions do not know the field.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub moves: bool,
    /// Certificates as PEM, the client's first, for connections without client certificates in TLS. The node answers
    /// with a [`Challenge`]. Written only if present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Number of the client's connection for this session: 1, 2, 3 ... An older connection that comes late does not
    /// take the session from a newer one. Written only if present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Support for redirects: the client connects with another node when [told to](ErrorCode::Elsewhere).
    /// Written only if true.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
}

/// Session that a client resumes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// Identifier of the session.
    pub session: String,
    /// Secret from the session's welcome.
    pub secret: String,
    /// Number of the last numbered frame received from the node.
    pub received: u64,
}

/// Challenge for a client with a certificate in its hello: see the session protocol, Certificates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// Text to sign, which nobody could have signed before.
    pub text: String,
}

/// Answer of a client to a [`Challenge`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofFrame {
    /// Signature with the key of its certificate: Ed25519, or ECDSA with P-256 and SHA-256 as two numbers of 32 bytes.
    #[serde(with = "super::octets")]
    pub signature: Vec<u8>,
}

/// Grant for a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Protocol version from now on.
    pub version: u32,
    /// Identifier of the session.
    pub session: String,
    /// Secret that resumes the session over another connection.
    pub secret: String,
    /// Name of the platform, after `@` in the names of its agents.
    pub platform: String,
    /// Lease: how long the session outlives its client's last frame, in milliseconds.
    pub lease_ms: u64,
    /// Number of numbered frames that may be unacknowledged each way.
    pub window: u32,
    /// Number of agents that the session may have at a time.
    pub agents: u32,
    /// Bytes of the longest message.
    pub message_bytes: u32,
    /// Numbered frames a second, on average, that the client may send.
    pub messages_per_s: u32,
    /// Number of agents and texts that compact messages may refer to by number, each way.
    pub remember: u32,
    /// Number of the last numbered frame received from the client, which continues with the next.
    pub received: u64,
    /// Highest number that the client may send.
    pub credit: u64,
}

/// Messages that the client's agents have not handled. They have handled all others that the client acknowledges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFrame {
    /// Runs of numbers: the first of each, and its length.
    pub messages: Vec<u64>,
}

/// Acknowledgement, credit, and sign of life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AckFrame {
    /// Number of the last numbered frame received.
    pub received: u64,
    /// Highest number that the other end may send; if absent, a window after `received`.
    #[serde(default)]
    pub credit: Option<u64>,
}

/// Request to create an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Create {
    /// Number of this frame.
    pub number: u64,
    /// Number of the agent in this session's frames.
    pub agent: u32,
    /// Local name of the agent.
    pub name: String,
}

/// Creation of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// Number of this frame.
    pub number: u64,
    /// Number of the agent in frames.
    pub agent: u32,
    /// Name of the agent, `local@platform`.
    pub name: String,
}

/// Request to end an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndFrame {
    /// Number of this frame.
    pub number: u64,
    /// Agent.
    pub agent: u32,
}

/// End of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedFrame {
    /// Number of this frame.
    pub number: u64,
    /// Agent.
    pub agent: u32,
    /// Reason: `finished`, `killed`, `failed: ...`, or [`PASSED`].
    pub reason: String,
}

/// Reason told to the client of an agent that another node keeps by now. A [`Create`] of its name leads there, and the
/// agent continues with its last saved state.
pub const PASSED: &str = "it goes on at another node";

/// Request to certify the key of an agent. The client made the key and keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certify {
    /// Number of this frame.
    pub number: u64,
    /// Agent.
    pub agent: u32,
    /// Certificate signing request (PKCS #10, RFC 2986) for an Ed25519 key, as PEM.
    pub request: String,
}

/// Certificate of an agent's key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertifiedFrame {
    /// Number of this frame.
    pub number: u64,
    /// Agent.
    pub agent: u32,
    /// Certificate of the agent, then that of its node, which signed it, as PEM.
    pub certificates: String,
}

/// Leave policy: the fate of an agent when its session is over and nobody ended the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "kebab-case")]
pub enum OnLeave {
    /// End the agent.
    #[default]
    End,
    /// Keep the agent waiting, and messages for it, until the same client creates an agent of its name.
    Wait,
    /// Run the agent on its node, if the node can; else keep it waiting.
    GoOn,
}

/// Request to keep an agent when its session is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// Number of this frame.
    pub number: u64,
    /// Agent.
    pub agent: u32,
    /// Leave policy of the agent.
    pub policy: OnLeave,
    /// Output commit: messages of the agent are withheld until the next [`Save`], and state and messages are one step.
    pub holds: bool,
}

/// State of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Save {
    /// Number of this frame.
    pub number: u64,
    /// Agent.
    pub agent: u32,
    /// Last message covered by the state, by the node's number.
    pub upto: u64,
    /// Name of the code: `asl:HASH/NAME`, `wasm:HASH/NAME`, `ts:NAME` or `py:NAME`; see [`CodeName`](super::CodeName).
    pub code: String,
    /// State.
    #[serde(with = "super::octets")]
    pub state: Vec<u8>,
    /// Destination, if the agent leaves the client: the name of a node, or of an agent of the client to which it moves.
    #[serde(default)]
    pub to: Option<String>,
    /// Further messages that the state covers, behind `upto`, by their numbers: agents may handle several at once.
    #[serde(default)]
    pub also: Vec<u64>,
    /// Name of the place that the agent leaves, told where it arrives; if absent, the node's name.
    #[serde(default)]
    pub from: Option<String>,
}

/// Confirmation that the node has an agent's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedFrame {
    /// Number of this frame.
    pub number: u64,
    /// Agent.
    pub agent: u32,
    /// Number of the frame with the state; that frame and all before it are dealt with.
    pub of: u64,
}

/// Former state of an agent that continues at this client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFrame {
    /// Number of this frame.
    pub number: u64,
    /// Agent.
    pub agent: u32,
    /// Name of the agent's code, as saved.
    pub code: String,
    /// State, as saved.
    #[serde(with = "super::octets")]
    pub state: Vec<u8>,
    /// Former place of the agent, if it was offered to this client.
    #[serde(default)]
    pub from: Option<String>,
}

/// Request for an agent's code, which the sending end lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lacks {
    /// Number of this frame.
    pub number: u64,
    /// Agent.
    pub agent: u32,
    /// Name of the agent's code.
    pub code: String,
}

/// Part of an agent's code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePart {
    /// Number of this frame.
    pub number: u64,
    /// Agent.
    pub agent: u32,
    /// Name of the agent's code.
    pub code: String,
    /// Offset of this part: the end of the one before.
    pub at: u64,
    /// Bytes of the whole code.
    pub of: u64,
    /// Bytes of this part.
    #[serde(with = "super::octets")]
    pub bytes: Vec<u8>,
}

/// Wish that an agent move elsewhere. Its client answers with a [`Save`] with that destination, or with [`Stays`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Yield {
    /// Number of this frame.
    pub number: u64,
    /// Agent.
    pub agent: u32,
    /// Destination: the name of a node, or of an agent of the client to which it should move.
    pub to: String,
}

/// Offer of an agent to this client. The client answers with a [`Create`] of its name, or with [`Stays`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferFrame {
    /// Number of this frame.
    pub number: u64,
    /// Local name of the agent.
    pub name: String,
    /// Name of the agent's code.
    pub code: String,
}

/// Notice that an agent that was to leave, or to come, stays where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stays {
    /// Number of this frame.
    pub number: u64,
    /// Local name of the agent.
    pub name: String,
    /// Reason, for those who wanted it elsewhere.
    pub text: String,
}

/// Message from an agent of the session, or to one.
#[derive(Clone, Debug)]
pub struct MessageFrame {
    /// Number of this frame.
    pub number: u64,
    /// Agent.
    pub agent: u32,
    /// Message.
    pub message: MessageBody,
}

/// Refusal of a client's frame; or, if `of` is 0, of a message to one of its agents that could not be handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedFrame {
    /// Number of this frame.
    pub number: u64,
    /// Number of the refused frame.
    pub of: u64,
    /// Reason, for programs.
    pub code: ErrorCode,
    /// Reason, for people.
    pub text: String,
}

/// Reason why a connection ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct ErrorFrame {
    /// Reason, for programs.
    pub code: ErrorCode,
    /// Reason, for people.
    pub text: String,
}

impl ErrorFrame {
    /// Returns a fault of this kind.
    pub fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

/// Error codes. The order is that of the wire: new ones come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// Bytes that are no frame, or a frame out of turn.
    Protocol,
    /// No common protocol version.
    Version,
    /// Token or certificate that does not admit the client.
    Unauthorised,
    /// Session that does not exist, or not any more.
    SessionGone,
    /// Session that continues over another connection.
    TakenOver,
    /// Frame or message longer than granted.
    TooLong,
    /// More frames than granted.
    OverCredit,
    /// Lease that is over: the client was silent.
    LeaseOver,
    /// Node with as many sessions as it may have.
    Busy,
    /// Too many new names.
    TooManyNames,
    /// Node that stops.
    Stopping,
    /// Name that is no local agent name.
    BadName,
    /// Name of another agent.
    NameTaken,
    /// Request that this session may not make.
    NotAllowed,
    /// Too many agents in the session, or an agent number that is taken or too high.
    TooManyAgents,
    /// Agent that the session does not have.
    NoAgent,
    /// Message with another agent as its sender.
    ForgedSender,
    /// Message without receivers.
    NoReceiver,
    /// Malformed message.
    BadMessage,
    /// Certificate request that is malformed, or for another agent.
    BadRequest,
    /// Agent that the client did not ask to keep.
    NotKept,
    /// Too many kept agents, or too many bytes of them.
    TooManyKept,
    /// Malformed state of an agent.
    BadState,
    /// Agent that cannot move.
    NotMovable,
    /// Decision that is not made yet: the client may repeat the frame.
    NotYet,
    /// Session or agent that another node has, or is to have. The text is where its clients connect: `HOST:PORT`,
    /// `:PORT` for the host that the client knows, or nothing if unknown.
    Elsewhere,
    /// Message with too many receivers.
    TooManyReceivers,
}
