//! What is said on a control socket: one request per connection, a line of JSON; then one answer, or, to `sniff`, one
//! line per event (docs/design/control.md). Nothing here knows of sockets or terminals.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use whimbrel_platform::advice::{Advice, Job};
use whimbrel_platform::ams::{AgentKind, AgentState, LifecycleStep};
use whimbrel_platform::cluster::{Load, Trouble};
use whimbrel_platform::conversations::Wanted;
use whimbrel_platform::limits::{CONTROL_REQUEST_BYTES_MAX, LINK_GIVE_UP_MS};

/// The version of this vocabulary. What is only added to it leaves it as it is.
pub const VERSION: u32 = 1;

/// How long a node waits for another one to which it offered an agent.
pub const MOVE_PATIENCE: Duration = Duration::from_millis(LINK_GIVE_UP_MS + 5_000);

/// The first and only line that a client writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// [`VERSION`].
    pub version: u32,
    /// What is wanted.
    #[serde(flatten)]
    pub request: Request,
}

/// What can be asked of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Who the node is, and how it is doing. Answered by [`Answer::Node`].
    Node,
    /// Its agents. Answered by [`Answer::Agents`].
    Agents(AgentsWanted),
    /// What agents offer. Answered by [`Answer::Services`].
    Services(ServicesWanted),
    /// The topics and groups that somebody is in. Answered by [`Answer::Topics`].
    Topics,
    /// Its newest dead letters. Answered by [`Answer::DeadLetters`].
    DeadLetters {
        /// Only those that one of these sent or was to get, by patterns as in [`AgentsWanted::name`]; any if empty.
        #[serde(default)]
        agents: Vec<String>,
        /// How many at most.
        limit: usize,
    },
    /// Its links to other nodes. Answered by [`Answer::Links`].
    Links,
    /// The nodes of its cluster. Answered by [`Answer::Nodes`].
    Nodes,
    /// Have a node of its cluster hand over all partitions and take no more, or take its share again. Answered by
    /// [`Answer::Done`]; it happens afterwards.
    Drain {
        /// The node's name.
        node: String,
        /// Whether it is to drain.
        drains: bool,
    },
    /// Messages as they are sent. Answered by [`Event`]s, one a line, until the client closes the connection.
    Sniff(SniffWanted),
    /// What its log of conversations holds. Answered by [`LogLine`]s, the last one a [`Happening::Tick`], unless new ones are
    /// wanted for ever.
    Log(LogWanted),
    /// Send a message. Answered by [`Answer::Sent`] or [`Answer::Reply`].
    Send(Box<Sending>),
    /// Take an agent one step through its life. Answered by [`Answer::Done`].
    Step {
        /// Its local name.
        agent: String,
        /// Which step.
        step: LifecycleStep,
    },
    /// End an agent. Answered by [`Answer::Done`].
    Kill {
        /// Its local name.
        agent: String,
    },
    /// Have an agent of this node go on on another one. Answered by [`Answer::Done`] when it does.
    Move {
        /// Its local name.
        agent: String,
        /// The node's name.
        to: String,
    },
    /// Call an agent home, wherever it is. Answered by [`Answer::Done`] when it is there.
    Recall {
        /// Its local name.
        agent: String,
    },
    /// Say whether an agent had better go to a node for a job, or ask there. Answered by [`Answer::Advice`].
    Advise {
        /// The node's name.
        to: String,
        /// The agent's local name, if there is one already.
        #[serde(default)]
        agent: Option<String>,
        /// What is to be done.
        job: Box<Job>,
    },
    /// End the platform, on all nodes. Answered by [`Answer::Done`].
    Stop {
        /// The exit status of its processes.
        code: i32,
    },
}

/// What a node answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// To `node`.
    Node(Box<NodeInfo>),
    /// To `agents`.
    Agents(AgentsFound),
    /// To `services`.
    Services(ServicesFound),
    /// To `topics`.
    Topics {
        /// Those that agents of this node are in, or of others that it knows, by name.
        topics: Vec<TopicInfo>,
    },
    /// To `dead_letters`.
    DeadLetters(DeadLettersFound),
    /// To `links`.
    Links {
        /// One for each node that this one knows.
        links: Vec<LinkInfo>,
    },
    /// To `nodes`.
    Nodes {
        /// As the node that was asked sees them; none if it is of no cluster.
        nodes: Vec<MemberInfo>,
        /// Which partitions are served by nobody because no node may have them, for people.
        #[serde(default)]
        vacant: Vec<String>,
    },
    /// To `send`, if nothing was to be waited for.
    Sent {
        /// Whom the message came from.
        from: String,
    },
    /// To `send`: the answer to the message.
    Reply {
        /// An ACL message in its JSON encoding.
        message: serde_json::Value,
    },
    /// To `advise`.
    Advice(Box<Advice>),
    /// It is done.
    Done,
    /// It cannot be.
    Error(Refusal),
}

/// Why a node does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    /// For programs.
    pub reason: Reason,
    /// For people.
    pub text: String,
    /// The node to ask instead, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The request is none, or of another version.
    BadRequest,
    /// There is no such agent.
    NoSuchAgent,
    /// The agent lives on another node.
    Elsewhere,
    /// The agent is in no state for that.
    BadState,
    /// No answer came in time.
    NoAnswer,
    /// The node has no time for more of such requests.
    Busy,
    /// The node keeps no log of conversations.
    NoLog,
    /// The log has not come so far.
    BadCursor,
    /// No node that lives has this name, or this one is of no cluster.
    NoSuchNode,
    /// What is to be done cannot be.
    BadJob,
}

/// A node, and how it is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// The platform's name.
    pub platform: String,
    /// The node's name.
    pub node: String,
    /// The project or program that it runs.
    pub society: String,
    /// Its process.
    pub pid: u32,
    /// The version of Whimbrel.
    pub version: String,
    /// When it started, in milliseconds since 1970-01-01 UTC.
    pub started_ms: u64,
    /// For how long it has been there, in microseconds.
    pub up_us: u64,
    /// Its agents, the platform's own not counted.
    pub agents: u64,
    /// Messages by what became of them: sent + came = handled + dead + queued + left.
    pub sent: u64,
    /// Taken from a mailbox by their receiver.
    pub handled: u64,
    /// Ended as dead letters.
    pub dead: u64,
    /// Waiting now.
    pub queued: u64,
    /// Came from other nodes.
    pub came: u64,
    /// Left for other nodes.
    pub left: u64,
    /// Memory in use, if the system tells.
    pub memory_bytes: Option<u64>,
    /// How its links are secured: `open`, `tls`, `authenticated`; `None` if it has none.
    pub security: Option<String>,
    /// Where other nodes can reach it, if they can.
    pub address: Option<String>,
    /// The nodes it knows.
    pub peers: Vec<PeerInfo>,
}

/// A node that another one knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerInfo {
    /// Its name, if that is known.
    pub node: Option<String>,
    /// Where it can be reached, if that is known.
    pub address: Option<String>,
}

/// A node of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberInfo {
    /// Its name.
    pub node: String,
    /// Its number: 16 hexadecimal digits, unlike any other process's.
    pub number: String,
    /// What it does.
    pub state: MemberState,
    /// It serves partitions only if no ordinary node does.
    pub standby: bool,
    /// It is the one that writes who serves what.
    pub placer: bool,
    /// Up to which level it knows what nodes write for each other; 0 if it does not say.
    #[serde(default)]
    pub level: u32,
    /// How much it can do, beside others.
    pub weight: u32,
    /// How many partitions it has.
    pub partitions: u64,
    /// How many of them it is to hand over.
    pub leaving: u64,
    /// How many agents live there.
    pub agents: u64,
    /// How busy it is, and with the agents of which partitions, if it has been there long enough to know.
    #[serde(default)]
    pub load: Option<Load>,
    /// Where other nodes reach it.
    pub address: String,
    /// Its machine and process, for people.
    pub process: String,
    /// What it is called beside its name.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Partitions that it has and cannot serve.
    #[serde(default)]
    pub unserved: Vec<u16>,
    /// What is the matter with partitions there.
    #[serde(default)]
    pub troubles: Vec<Trouble>,
}

/// What a node of a cluster does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberState {
    /// It asks to be let in.
    Joining,
    /// It serves what it is given.
    Running,
    /// It hands over what it serves.
    Draining,
    /// It left.
    Left,
    /// It gives no sign of life.
    Silent,
}

/// Which agents are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentsWanted {
    /// The local name; `*` stands for any text, `?` for any one character. Empty for any.
    #[serde(default)]
    pub name: String,
    /// The state.
    #[serde(default)]
    pub state: Option<AgentState>,
    /// Whether the platform's own agents are wanted, too.
    #[serde(default)]
    pub services: bool,
    /// Which come first.
    #[serde(default)]
    pub sort: AgentOrder,
    /// How many at most.
    pub limit: usize,
    /// Agents of other nodes are wanted as well, except those of these nodes; `None` if none are.
    #[serde(default)]
    pub elsewhere_but: Option<Vec<String>>,
}

/// Which agents come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentOrder {
    /// By name, numbers in names as numbers.
    #[default]
    Name,
    /// Those with most messages waiting.
    Mailbox,
    /// Those that handled most messages.
    Handled,
    /// The oldest.
    Age,
}

/// Agents, as many as were wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentsFound {
    /// The agents.
    pub agents: Vec<AgentInfo>,
    /// How many there are that fit.
    pub total: u64,
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInfo {
    /// Its local name.
    pub name: String,
    /// What runs it.
    pub kind: AgentKind,
    /// Where it is in its life; `None` if only its node knows.
    pub state: Option<AgentState>,
    /// Whether it was told to end, and has not ended yet.
    pub ending: bool,
    /// The node where it lives.
    pub node: String,
    /// Who owns it, if somebody does.
    pub owner: Option<String>,
    /// For how long it has lived.
    pub age_ms: Option<u64>,
    /// Messages that wait in its mailbox.
    pub mailbox: Option<u64>,
    /// Messages that it handled.
    pub handled: Option<u64>,
    /// Whether it has left memory, for it had nothing to do: its next message or timer brings it back.
    #[serde(default)]
    pub passive: bool,
}

/// Which services are wanted. What is not set matches any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServicesWanted {
    /// The service's name or type, by a pattern as in [`AgentsWanted::name`].
    pub service: Option<String>,
    /// The agent, by such a pattern.
    pub agent: Option<String>,
    /// The service's name, by such a pattern.
    pub name: Option<String>,
    /// The service's type, by such a pattern.
    pub kind: Option<String>,
    /// An ontology that the agent or the service knows.
    pub ontology: Option<String>,
    /// An interaction protocol that the agent or the service speaks.
    pub protocol: Option<String>,
    /// A content language that the agent or the service speaks.
    pub language: Option<String>,
    /// Properties of the service, with their values as they are printed; an empty value matches any.
    pub properties: Vec<(String, String)>,
    /// Entries of agents of other nodes are wanted as well, except those of these nodes; `None` if none are.
    pub elsewhere_but: Option<Vec<String>>,
}

/// Entries of the directory facilitator, in order of registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServicesFound {
    /// The entries.
    pub entries: Vec<EntryInfo>,
}

/// An agent's entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryInfo {
    /// The agent.
    pub agent: String,
    /// The node where it lives.
    pub node: String,
    /// Its services; of those, when something of services was asked for, only the ones that fit.
    pub services: Vec<ServiceInfo>,
    /// Interaction protocols it speaks.
    pub protocols: Vec<String>,
    /// Ontologies it knows.
    pub ontologies: Vec<String>,
    /// Content languages it speaks.
    pub languages: Vec<String>,
    /// How long the entry lasts yet; `None` for as long as the agent lives, or if only its node knows.
    pub lease_left_ms: Option<u64>,
}

/// A service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceInfo {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// Who owns it.
    pub owner: Option<String>,
    /// Interaction protocols it speaks.
    pub protocols: Vec<String>,
    /// Ontologies it knows.
    pub ontologies: Vec<String>,
    /// Content languages it speaks.
    pub languages: Vec<String>,
    /// What else tells it from others, as printed.
    pub properties: Vec<(String, String)>,
}

/// A topic or a group, as one node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicInfo {
    /// Its name: `topic:NAME` or `group:NAME`.
    pub name: String,
    /// The node.
    pub node: String,
    /// How many of its agents are subscribers or members.
    pub members: u64,
    /// How many other nodes have some.
    pub other_nodes: u64,
}

/// Messages that could not reach their receivers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLettersFound {
    /// The newest of those that are kept and fit, the oldest of them first.
    pub letters: Vec<Event>,
    /// How many messages died since the node started.
    pub total: u64,
}

/// A link to another node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkInfo {
    /// The node at this end.
    pub node: String,
    /// The node at the other end, if it has been there.
    pub peer: Option<String>,
    /// Where that one listens, if that is known.
    pub address: Option<String>,
    /// Whether there is a connection now.
    pub up: bool,
    /// Connections made so far.
    pub connections: u64,
    /// Messages that wait, unacknowledged ones included.
    pub waiting: u64,
    /// Messages and news received, what was sent again included.
    pub items_in: u64,
    /// Messages and news sent.
    pub items_out: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Microseconds that a question to the other end takes to be answered, smoothed, if that is known.
    #[serde(default)]
    pub round_trip_us: Option<u64>,
}

/// Which events are wanted. What is not set matches any; patterns are those of [`AgentsWanted::name`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SniffWanted {
    /// One of these is the sender or the receiver.
    pub agents: Vec<String>,
    /// The conversation, by a pattern.
    pub conversation: Option<String>,
    /// One of these performatives.
    pub performatives: Vec<String>,
    /// Messages only: neither agents that come and go nor directory entries.
    pub only_messages: bool,
}

/// What is wanted of a log of conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogWanted {
    /// What comes after the entry of this number.
    pub since: u64,
    /// Also what will be said.
    pub follow: bool,
    /// Which messages.
    #[serde(flatten)]
    pub wanted: Wanted,
}

/// An entry of a log of conversations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Its number: whoever asks for what came after it misses nothing. Of a [`Happening::Tick`], that of the last entry that was
    /// looked at.
    pub number: u64,
    /// What it is about.
    #[serde(flatten)]
    pub event: Event,
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sending {
    /// The ACL message in its JSON encoding. If it has no sender, it is sent from `cli`.
    pub message: serde_json::Value,
    /// How long to wait for an answer; `None` for not at all.
    #[serde(default)]
    pub wait_ms: Option<u64>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, in microseconds since 1970-01-01 UTC.
    pub at_us: u64,
    /// On which node.
    pub node: String,
    /// What.
    #[serde(flatten)]
    pub what: Happening,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happening {
    /// A message was sent.
    Sent(MessageInfo),
    /// A message cannot reach its receiver.
    Died {
        /// The message.
        #[serde(flatten)]
        message: MessageInfo,
        /// Why.
        why: String,
    },
    /// An agent came, went or changed its state.
    Agent {
        /// Which agent.
        agent: String,
        /// What became of it, for people.
        text: String,
    },
    /// A directory entry came, went or changed.
    Service {
        /// Whose.
        agent: String,
        /// What became of it, for people.
        text: String,
    },
    /// So many events were left out here: they came faster than they were read.
    Skipped {
        /// How many.
        count: u64,
    },
    /// A process went on with the log of conversations, and the one before it had not ended in order: the last that was said
    /// there may be missing.
    CutShort,
    /// So many entries of the log of conversations are not kept any more.
    Dropped {
        /// How many.
        count: u64,
    },
    /// Nothing; only the time.
    Tick,
}

/// What one sees of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageInfo {
    /// Its sender.
    pub from: String,
    /// The receiver of this copy.
    pub to: String,
    /// The topic or group by which it got it, if it was sent to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Its performative.
    pub performative: String,
    /// Its conversation, if it has one.
    pub conversation: Option<String>,
    /// Its interaction protocol, if it has one.
    pub protocol: Option<String>,
    /// What an answer is to quote, if it is to.
    pub reply_with: Option<String>,
    /// What it quotes, if it does.
    pub in_reply_to: Option<String>,
    /// Its content as AgentSpeak writes it, shortened if it is long.
    pub content: String,
}

/// Reads a request; its version first, for the rest may be different in another one.
///
/// # Errors
/// It is none, or of another version.
pub fn read_call(line: &[u8]) -> Result<Request, Refusal> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let refuse = |text: String| Refusal { reason: Reason::BadRequest, text, node: None };
    if !line.ends_with(b"\n") {
        let text = format!("a request is one line, of {CONTROL_REQUEST_BYTES_MAX} bytes at most");
        return Err(refuse(text));
    }
    let version = serde_json::from_slice::<Version>(line).map_err(|error| refuse(format!("no request: {error}")))?;
    if version.version != VERSION {
        return Err(refuse(format!("this node speaks version {VERSION}, not {}", version.version)));
    }
    let call = serde_json::from_slice::<Call>(line).map_err(|error| refuse(format!("no request: {error}")))?;
    Ok(call.request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(request: Request, json: &str) {
        let call = Call { version: VERSION, request };
        assert_eq!(serde_json::to_string(&call).ok().as_deref(), Some(json));
        assert_eq!(serde_json::from_str::<Call>(json).ok(), Some(call));
    }

    #[test]
    fn requests_stay_as_they_are() {
        check(Request::Node, r#"{"version":1,"request":"node"}"#);
        let agents = AgentsWanted {
            name: "b*".to_owned(),
            state: Some(AgentState::Suspended),
            services: false,
            sort: AgentOrder::Mailbox,
            limit: 5,
            elsewhere_but: Some(vec!["n1".to_owned()]),
        };
        let json = r#"{"version":1,"request":"agents","name":"b*","state":"suspended","services":false,"sort":"mailbox","limit":5,"elsewhere_but":["n1"]}"#;
        check(Request::Agents(agents), json);
        let step = Request::Step { agent: "bob".to_owned(), step: LifecycleStep::Suspend };
        check(step, r#"{"version":1,"request":"step","agent":"bob","step":"suspend"}"#);
        check(Request::Stop { code: 3 }, r#"{"version":1,"request":"stop","code":3}"#);
        let log = r#"{"version":1,"request":"log","since":7,"follow":false,"conversation":null,"performatives":["cfp"],"from":[],"to":[],"since_us":0}"#;
        let wanted = Wanted { performatives: vec!["cfp".to_owned()], ..Wanted::default() };
        check(Request::Log(LogWanted { since: 7, follow: false, wanted }), log);
        let sniff = r#"{"version":1,"request":"sniff","agents":["a"],"conversation":null,"performatives":[],"only_messages":true}"#;
        let wanted = SniffWanted { agents: vec!["a".to_owned()], only_messages: true, ..SniffWanted::default() };
        check(Request::Sniff(wanted), sniff);
    }

    #[test]
    fn what_is_left_out_of_a_request_matches_any() {
        let read = |json: &str| serde_json::from_str::<Call>(json).map(|call| call.request).ok();
        let sniff = read(r#"{"version":1,"request":"sniff"}"#);
        assert_eq!(sniff, Some(Request::Sniff(SniffWanted::default())));
        assert_eq!(read(r#"{"version":1,"request":"log"}"#), Some(Request::Log(LogWanted::default())));
        let services = read(r#"{"version":1,"request":"services","kind":"shop","later":[1]}"#);
        let wanted = ServicesWanted { kind: Some("shop".to_owned()), ..ServicesWanted::default() };
        assert_eq!(services, Some(Request::Services(wanted)));
        let agents = read(r#"{"version":1,"request":"agents","limit":1}"#);
        assert!(matches!(agents, Some(Request::Agents(AgentsWanted { limit: 1, state: None, .. }))));
    }

    #[test]
    fn lines_of_logs_stay_as_they_are() {
        let what = Happening::Dropped { count: 3 };
        let line = LogLine { number: 9, event: Event { at_us: 7, node: "n1".to_owned(), what } };
        let json = r#"{"number":9,"at_us":7,"node":"n1","event":"dropped","count":3}"#;
        assert_eq!(serde_json::to_string(&line).ok().as_deref(), Some(json));
        assert_eq!(serde_json::from_str::<LogLine>(json).ok(), Some(line));
        let cut = r#"{"number":9,"at_us":7,"node":"n1","event":"cut_short"}"#;
        assert!(serde_json::from_str::<LogLine>(cut).is_ok_and(|line| line.event.what == Happening::CutShort));
    }

    #[test]
    fn events_stay_as_they_are() {
        let message = MessageInfo {
            from: "a".to_owned(),
            to: "b".to_owned(),
            via: None,
            performative: "cfp".to_owned(),
            conversation: None,
            protocol: None,
            reply_with: None,
            in_reply_to: None,
            content: "tea".to_owned(),
        };
        let died = Happening::Died { message, why: "no such agent".to_owned() };
        let json = r#"{"at_us":7,"node":"n1","event":"died","from":"a","to":"b","performative":"cfp","conversation":null,"protocol":null,"reply_with":null,"in_reply_to":null,"content":"tea","why":"no such agent"}"#;
        let event = Event { at_us: 7, node: "n1".to_owned(), what: died };
        assert_eq!(serde_json::to_string(&event).ok().as_deref(), Some(json));
        assert_eq!(serde_json::from_str::<Event>(json).ok(), Some(event));
    }

    proptest::proptest! {
        #[test]
        fn anything_can_be_said(line in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = read_call(&line);
        }

        #[test]
        fn anything_can_be_asked(rest in "[a-z\":,{}\\[\\]0-9-]{0,60}") {
            let _ = read_call(format!("{{\"version\":1,\"request\":\"agents\",{rest}\n").as_bytes());
        }
    }

    #[test]
    fn requests_are_read_and_others_refused() {
        assert_eq!(read_call(b"{\"version\": 1, \"request\": \"node\"}\n"), Ok(Request::Node));
        let kill = read_call(b"{\"version\": 1, \"request\": \"kill\", \"agent\": \"bob\", \"new\": 1}\n");
        assert_eq!(kill, Ok(Request::Kill { agent: "bob".to_owned() }));
        for (line, why) in [
            (&b"{\"version\": 1, \"request\": \"node\"}"[..], "one line"),
            (b"{\"version\": 2, \"request\": \"dance\"}\n", "version 1, not 2"),
            (b"{\"version\": 1, \"request\": \"dance\"}\n", "dance"),
            (b"{\"request\": \"node\"}\n", "version"),
            (b"\xff\xfe\n", "no request"),
            (b"\n", "no request"),
        ] {
            let refusal = read_call(line).expect_err("it is none");
            assert!(refusal.reason == Reason::BadRequest && refusal.text.contains(why), "{}", refusal.text);
        }
    }
}
