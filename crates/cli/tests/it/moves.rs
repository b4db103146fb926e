//! Agents that go from nodes to clients and back, in processes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_platform::session::{
    AckFrame, Create, ErrorCode, Framing, HelloFrame, Keep, Lacks, MessageFrame, OnLeave, Save, SessionFrame,
    StateFrame, Stays,
};

use super::agent_port::Client;
use super::control::SocietyFolder;

const TOKEN: &str = "a token for tests";
const PATIENCE: Duration = Duration::from_secs(180);
/// Number of the scout in the client's frames.
const SCOUT: u32 = 1;

/// Program of the scout: it moves to the tab when told to, and reports the outcome.
const SCOUT_ASL: &str = "
!rest.
+!rest.
+go <- -go[source(_)]; !leave.
+!leave <- .move_to(tab); .node(N); .print(\"went on at \", N).
-!leave[error(E), error_msg(M)] <- .print(E, \": \", M).
+count(N) <- .print(N).
+hop(N) <- .move_to(N); .node(H); .print(\"at \", H).
";

const POLICY: &str = "
[[allow]]
who = \"session:scout\"
move = \"*\"
code = \"asl:*\"
";

/// A platform of two nodes, the first of which has an agent port.
struct TwoNodes {
    site: SocietyFolder,
    child: Child,
    said: Receiver<String>,
    address: String,
}

impl Drop for TwoNodes {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl TwoNodes {
    fn begin(home: &str, policy: &str) -> Self {
        let project = format!("MAS x {{ agents: scout at \"{home}\"; }}");
        Self::run(&project, policy, 2)
    }

    fn on_one_node() -> Self {
        Self::run("MAS x { agents: scout; }", POLICY, 1)
    }

    fn run(project: &str, policy: &str, nodes: usize) -> Self {
        let files = [("x.mas2j", project), ("scout.asl", SCOUT_ASL), ("p.toml", policy)];
        let site = SocietyFolder::with(&files);
        let count = nodes.to_string();
        let several: &[&str] = if nodes > 1 { &["--nodes", &count] } else { &[] };
        let run = ["run", "x.mas2j", "--agent-port", "0", "--policy", "p.toml"];
        let mut command = site.command(&[&run, several].concat());
        let command = command.env("WHIMBREL_AGENT_TOKEN", TOKEN).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let mut noted = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let address = noted.find_map(|line| Some(line.split_once("connect at ")?.1.to_owned())).expect("it listens");
        std::thread::spawn(move || noted.count());
        let (tell, said) = channel();
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        std::thread::spawn(move || lines.for_each(|line| drop(tell.send(line))));
        let society = Self { site, child, said, address };
        society.site.until(|| society.site.json(&["ps", "--json"])["nodes"].as_array().map(Vec::len) == Some(nodes));
        society
    }

    #[track_caller]
    fn says(&self, expected: &str) {
        assert_eq!(self.said.recv_timeout(PATIENCE).as_deref(), Ok(expected));
    }

    /// Returns the scout's kind and place, as an operator sees them.
    fn shown(&self) -> String {
        let scout = &self.site.json(&["agents", "scout", "--json"])["agents"][0];
        format!("{} {}", scout["kind"].as_str().unwrap_or_default(), scout["node"].as_str().unwrap_or_default())
    }

    /// Returns the number of agents that run code of the node, as an operator sees it.
    fn runners(&self) -> u64 {
        let found = self.site.ask("codes");
        found["codes"].as_array().expect("codes").iter().filter_map(|code| code["agents"].as_u64()).sum()
    }

    /// A client that takes agents, with one of its own.
    fn tab(&self) -> PageClient {
        let hello = HelloFrame {
            versions: vec![1],
            token: Some(TOKEN.to_owned()),
            lease_ms: Some(60_000),
            remember: 64,
            moves: true,
            ..HelloFrame::default()
        };
        let client = Client::at(&self.address, Framing::Compact, &hello).expect("a welcome");
        let mut tab = PageClient { client, number: 0, received: 0 };
        tab.say(|number| SessionFrame::Create(Create { number, agent: 0, name: "tab".into() }));
        tab.until(|frame| matches!(frame, SessionFrame::Created(_)));
        tab
    }
}

struct PageClient {
    client: Client,
    number: u64,
    received: u64,
}

impl PageClient {
    fn say(&mut self, frame: impl FnOnce(u64) -> SessionFrame) -> u64 {
        self.number += 1;
        self.client.write(&frame(self.number));
        self.number
    }

    /// The next frame of which this is so.
    fn until(&mut self, so: impl Fn(&SessionFrame) -> bool) -> SessionFrame {
        let number = |frame: &SessionFrame| match frame {
            SessionFrame::Created(it) => it.number,
            SessionFrame::State(it) => it.number,
            SessionFrame::Offer(it) => it.number,
            SessionFrame::Yield(it) => it.number,
            SessionFrame::Message(it) => it.number,
            SessionFrame::Saved(it) => it.number,
            SessionFrame::Ended(it) => it.number,
            SessionFrame::Refused(it) => it.number,
            SessionFrame::Code(it) => it.number,
            _ => 0,
        };
        let frame = self.client.read_until(|frame| number(frame) > 0);
        self.received = number(&frame);
        self.client.write(&SessionFrame::Ack(AckFrame { received: self.received, credit: None }));
        if so(&frame) { frame } else { self.until(so) }
    }

    fn tell(&mut self, content: Value) {
        let (bob, scout) = (Aid::NOBODY, Aid::local("scout"));
        let message = MessageBody::Owned(Box::new(AclMessage::new(Performative::Inform, bob, scout, content)));
        self.say(|number| SessionFrame::Message(MessageFrame { number, agent: 0, message }));
    }

    fn is_offered_the_scout(&mut self) {
        let SessionFrame::Offer(offer) = self.until(|frame| matches!(frame, SessionFrame::Offer(_))) else { panic!() };
        assert_eq!(offer.name, "scout");
        assert!(offer.code.starts_with("asl:") && offer.code.ends_with("/scout.asl"), "{}", offer.code);
    }

    /// Takes the scout; what it is.
    fn take(&mut self) -> StateFrame {
        self.say(|number| SessionFrame::Create(Create { number, agent: SCOUT, name: "scout".into() }));
        self.say(|number| SessionFrame::Keep(Keep { number, agent: SCOUT, policy: OnLeave::GoOn, holds: true }));
        let SessionFrame::State(state) = self.until(|frame| matches!(frame, SessionFrame::State(_))) else { panic!() };
        self.until(|frame| matches!(frame, SessionFrame::Created(_)));
        state
    }

    /// Lets the scout go there, as it came; why it does not go, if so.
    fn let_go(&mut self, scout: &StateFrame, to: &str) -> Option<ErrorCode> {
        let StateFrame { code, state, .. } = scout.clone();
        let to = Some(to.to_owned());
        let save = self.say(|number| {
            SessionFrame::Save(Save { number, agent: SCOUT, upto: 0, code, state, to, also: Vec::new(), from: None })
        });
        match self.until(|frame| matches!(frame, SessionFrame::Saved(_) | SessionFrame::Refused(_))) {
            SessionFrame::Saved(saved) => assert_eq!(saved.of, save),
            SessionFrame::Refused(refused) => return Some(refused.code),
            _ => {}
        }
        self.until(|frame| matches!(frame, SessionFrame::Ended(_)));
        None
    }
}

#[test]
fn agent_visits_client_within_plan() {
    for home in ["n1", "n2"] {
        let society = TwoNodes::begin(home, POLICY);
        let mut tab = society.tab();
        tab.tell(Value::Atom("go".into()));
        tab.is_offered_the_scout();
        tab.say(|number| SessionFrame::Stays(Stays { number, name: "scout".into(), text: "no room".into() }));
        society.says("[scout] refused: node n1 cannot take it: no room");
        // It went to the node of the client's session, and stays there.
        tab.tell(Value::Atom("go".into()));
        tab.is_offered_the_scout();
        let scout = tab.take();
        assert_eq!(scout.from.as_deref(), Some("n1"), "it was at the node before");
        tab.say(|number| SessionFrame::Lacks(Lacks { number, agent: SCOUT, code: scout.code.clone() }));
        let SessionFrame::Code(part) = tab.until(|frame| matches!(frame, SessionFrame::Code(_))) else { panic!() };
        assert!(part.of == part.bytes.len() as u64 && part.of > 100);
        // What it is told there comes with it: the client never handled it.
        tab.tell(Value::term("count", [Value::Int(1)]));
        tab.until(|frame| matches!(frame, SessionFrame::Message(_)));
        assert_eq!(tab.let_go(&scout, "nowhere"), Some(ErrorCode::NotMovable));
        assert_eq!(tab.let_go(&scout, "n2"), None);
        let mut said = [society.said.recv_timeout(PATIENCE).unwrap(), society.said.recv_timeout(PATIENCE).unwrap()];
        said.sort();
        assert_eq!(said, ["[scout] 1", "[scout] went on at n2"]);
    }
}

#[test]
fn operator_moves_agent_to_client() {
    let society = TwoNodes::begin("n2", POLICY);
    let mut tab = society.tab();
    let order = |to: &str| {
        let mut command = society.site.command(&["move", "scout", to]);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it runs")
    };
    let outcome = |child: Child| {
        let seen: super::CommandOutput = child.wait_with_output().expect("it ends").into();
        (seen.out, seen.err)
    };
    let moving = order("tab");
    tab.is_offered_the_scout();
    let scout = tab.take();
    assert_eq!(outcome(moving), ("scout moved to tab\n".to_owned(), String::new()));
    assert_eq!(society.shown(), "session n1");
    let moving = order("n2");
    tab.until(|frame| matches!(frame, SessionFrame::Yield(wish) if wish.to == "n2"));
    tab.say(|number| SessionFrame::Stays(Stays { number, name: "scout".into(), text: "not now".into() }));
    assert_eq!(outcome(moving).1, "error: scout stays: it cannot move: not now\n");
    let moving = order("n2");
    tab.until(|frame| matches!(frame, SessionFrame::Yield(_)));
    assert_eq!(tab.let_go(&scout, "n2"), None);
    assert_eq!(outcome(moving), ("scout moved to n2\n".to_owned(), String::new()));
    tab.tell(Value::term("hop", [Value::Atom("n1".into())]));
    society.says("[scout] at n1");
    // To the policy it is a session's for ever; people are told what runs it.
    assert_eq!(society.shown(), "agentspeak n1");
    tab.tell(Value::term("hop", [Value::Atom("n2".into())]));
    society.says("[scout] at n2");
    assert_eq!(society.shown(), "agentspeak n2");
    assert_eq!(society.site.json(&["mind", "scout", "--json"])["kind"], "agentspeak");
}

#[test]
fn remote_client_move_is_answered() {
    let society = TwoNodes::begin("n2", POLICY);
    let mut tab = society.tab();
    let send = || {
        let mut command = society.site.command(&["move", "scout", "tab"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
    };
    let outcome = |child: Child| {
        let seen: super::CommandOutput = child.wait_with_output().expect("it ends").into();
        (seen.out, seen.err)
    };
    let moving = send();
    tab.is_offered_the_scout();
    tab.say(|number| SessionFrame::Stays(Stays { number, name: "scout".into(), text: "no room".into() }));
    let refused = "error: scout stays: node n1 cannot take it: no room\n".to_owned();
    assert_eq!(outcome(moving), (String::new(), refused));
    tab.tell(Value::term("hop", [Value::Atom("n2".into())]));
    society.says("[scout] at n2");
    let moving = send();
    tab.is_offered_the_scout();
    tab.take();
    assert_eq!(outcome(moving), ("scout moved to tab\n".to_owned(), String::new()));
}

#[test]
fn agent_returns_to_only_node() {
    let society = TwoNodes::on_one_node();
    let order = |arguments: &[&str]| {
        let mut command = society.site.command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        move || super::CommandOutput::from(child.wait_with_output().expect("it ends"))
    };
    let seen = order(&["recall", "scout"])();
    assert_eq!((seen.out.as_str(), seen.err.as_str()), ("scout is home\n", ""));
    let seen = order(&["move", "scout", "n1"])();
    assert_eq!(seen.err, "error: scout stays: it is on node n1 already\n");
    let mut tab = society.tab();
    for back in [&["move", "scout", "n1"][..], &["recall", "scout"]] {
        assert_eq!(society.runners(), 1);
        let moved = order(&["move", "scout", "tab"]);
        tab.is_offered_the_scout();
        let scout = tab.take();
        assert_eq!(moved().out, "scout moved to tab\n");
        assert_eq!(society.runners(), 0);
        let moved = order(back);
        tab.until(|frame| matches!(frame, SessionFrame::Yield(wish) if wish.to == "n1"));
        assert_eq!(tab.let_go(&scout, "n1"), None);
        let seen = moved();
        assert!(["scout moved to n1\n", "scout is home\n"].contains(&seen.out.as_str()), "{}{}", seen.out, seen.err);
    }
    tab.tell(Value::term("count", [Value::Int(3)]));
    society.says("[scout] 3");
}

/// Plans give their sender full control of an agent, so connected programs need a rule that permits them.
#[test]
fn external_plans_need_a_rule() {
    let plan = Value::from("+!rob <- .print(\"robbed\").");
    let teach = |tab: &mut PageClient| {
        let mut message =
            AclMessage::new(Performative::Other("tellHow".into()), Aid::NOBODY, Aid::local("scout"), plan.clone());
        message.extras_mut().reply_with = Some("lesson".into());
        let message = MessageBody::Owned(Box::new(message));
        tab.say(|number| SessionFrame::Message(MessageFrame { number, agent: 0, message }));
    };
    let rob = |tab: &mut PageClient| {
        let rob = AclMessage::new(Performative::Request, Aid::NOBODY, Aid::local("scout"), Value::atom("rob"));
        let message = MessageBody::Owned(Box::new(rob));
        tab.say(|number| SessionFrame::Message(MessageFrame { number, agent: 0, message }));
    };
    let society = TwoNodes::begin("n1", "");
    let mut tab = society.tab();
    teach(&mut tab);
    let SessionFrame::Message(answer) = tab.until(|frame| matches!(frame, SessionFrame::Message(_))) else { panic!() };
    assert_eq!(answer.message.performative, Performative::Refuse);
    assert_eq!(answer.message.content.as_str(), Some("the policy forbids to give it plans"));
    tab.tell(Value::term("count", [Value::Int(1)]));
    society.says("[scout] 1");
    let society = TwoNodes::begin("n2", "[[allow]]\nwho = \"session:tab\"\nteach = \"scout\"\n");
    let mut tab = society.tab();
    teach(&mut tab);
    // It has had many a turn then.
    for count in 1..=3 {
        tab.tell(Value::term("count", [Value::Int(count)]));
        society.says(&format!("[scout] {count}"));
    }
    rob(&mut tab);
    society.says("[scout] robbed");
}

#[test]
fn return_from_client_needs_rule() {
    let society = TwoNodes::begin("n1", "");
    let mut tab = society.tab();
    tab.tell(Value::Atom("go".into()));
    tab.is_offered_the_scout();
    let scout = tab.take();
    assert_eq!(tab.let_go(&scout, "n1"), Some(ErrorCode::NotAllowed));
    let none = "[[deny]]\nwho = \"agent:scout\"\nmove = \"session:*\"\n";
    let society = TwoNodes::begin("n1", none);
    let mut tab = society.tab();
    tab.tell(Value::Atom("go".into()));
    society.says("[scout] forbidden: the policy of node n1 forbids it");
}
