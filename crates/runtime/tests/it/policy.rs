//! Policy: forbidden acts are refused where they happen, reported to the actor, counted and recorded.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Performative, Value};
use whimbrel_platform::ams::{AgentKind, AgentModification, AgentQuery};
use whimbrel_platform::audit::{Act, Auditor, Refused};
use whimbrel_platform::dead_letters::DeadReason;
use whimbrel_platform::df::{DfDescription, ServiceDescription};
use whimbrel_platform::environment::{ActError, NodeEnvironment, NodeEnvironments};
use whimbrel_platform::limits::FAMILY_REFUSALS_PER_S_MAX;
use whimbrel_platform::link::News;
use whimbrel_platform::policy::Policy;
use whimbrel_platform::route::{NodeId, ShardIndex};
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError, LogLevel, OfferError};
use whimbrel_platform::{AgentBody, EndReason, Links, Next, Turn};
use whimbrel_runtime::supervision::Restart;
use whimbrel_runtime::{Platform, Supervisor};

use crate::kit::{Lines, does, inform, wait_for};

/// Auditor that records refusals as text.
#[derive(Default)]
struct RefusalRecorder(Mutex<Vec<String>>);

impl Auditor for RefusalRecorder {
    fn refused(&self, what: &Refused<'_>) {
        let action = what.action.map_or("", |action| action.as_str());
        self.0.lock().unwrap().push(format!("{}: {} {action} {}", what.reason, what.who, what.object));
    }

    fn allowed(&self, what: &Act<'_>) {
        self.0.lock().unwrap().push(format!("allowed: {} {} {}", what.who, what.action, what.object));
    }
}

/// Link to the node `n2` that retains the messages sent there.
#[derive(Default)]
struct OneLink(Mutex<Vec<Envelope>>);

const N2: NodeId = NodeId(1);

impl Links for OneLink {
    fn send(&self, _to: NodeId, batch: &mut Vec<Envelope>, _from: ShardIndex) -> usize {
        self.0.lock().unwrap().append(batch);
        usize::MAX
    }

    fn go_on(&self) {}

    fn tell_all(&self, _news: News) {}

    fn tell(&self, _to: NodeId, _news: News) {}

    fn waiting(&self) -> u64 {
        0
    }

    fn me(&self) -> String {
        "n1".to_owned()
    }

    fn name_of(&self, node: NodeId) -> Option<String> {
        (node == N2).then(|| "n2".to_owned())
    }
}

/// Node `n1` with this policy, linked with `n2`, where the agents `guest` and `spy` live, and a program has the agent
/// `pump`.
struct Guarded {
    platform: Platform,
    record: Arc<RefusalRecorder>,
    link: Arc<OneLink>,
    lines: Lines,
}

impl Guarded {
    fn by(policy: &str) -> Self {
        let policy: Policy = serde_json::from_str(policy).unwrap();
        let (record, link, lines) = (Arc::<RefusalRecorder>::default(), Arc::<OneLink>::default(), Lines::default());
        let builder = Platform::builder().workers(2).output(lines.clone()).policy(policy);
        let platform = builder.auditor(Arc::clone(&record) as Arc<dyn Auditor>).build();
        assert!(platform.link_with(Arc::clone(&link) as Arc<dyn Links>));
        let mut agents = ["guest", "spy"].map(|name| (name.into(), AgentKind::Native)).to_vec();
        agents.push(("pump".into(), AgentKind::Session));
        platform.station().hear(N2, News::Agents(agents));
        Self { platform, record, link, lines }
    }

    fn recorded(&self) -> Vec<String> {
        let all = self.record.0.lock().unwrap().clone();
        all.into_iter().filter(|line| !line.starts_with("allowed")).collect()
    }

    /// Delivers a message over the link.
    fn arrives(&self, message: AclMessage) {
        let to = message.receivers[0];
        let envelope = Envelope { to, body: MessageBody::Owned(Box::new(message)) };
        self.platform.station().arrive(N2, &mut vec![envelope]);
        self.platform.wait_idle();
    }

    /// Returns the messages that went over the link since the last call, as `receiver performative content`.
    fn left(&self) -> Vec<String> {
        let line = |Envelope { to, body }: Envelope| format!("{to} {} {}", body.performative, body.content);
        self.link.0.lock().unwrap().drain(..).map(line).collect()
    }
}

fn request(from: &str, to: &str, function: Value) -> AclMessage {
    let action = Value::term("action", [Value::atom(to), function]);
    AclMessage::new(Performative::Request, Aid::local(from), Aid::local(to), Value::list([action]))
}

fn entry(name: &str, fields: &[(&str, Value)]) -> Value {
    Value::record(name, fields.iter().map(|(key, value)| ((*key).into(), value.clone())))
}

#[test]
fn forbidden_remote_message_answers_failure() {
    let guarded = Guarded::by(r#"{"deny": [{"who": "agent:spy", "send": "vault*"}]}"#);
    let vault = guarded.platform.spawn("vault1", does(|ctx, message| ctx.print(&message.content.to_string()))).unwrap();
    guarded.arrives(inform("spy", vault, "secret?"));
    guarded.arrives(inform("guest", vault, "hello"));
    assert_eq!(guarded.lines.all(), ["vault1: \"hello\""]);
    let failure = "spy failure [action(spy,send(vault1,inform,\"secret?\")),undelivered(vault1,forbidden)]";
    assert_eq!(guarded.left(), [failure]);
    assert_eq!(guarded.recorded(), ["forbidden: agent:spy of node:n2 send vault1"]);
    let dead = guarded.platform.dead_letters();
    assert_eq!((dead.len(), dead[0].reason), (1, DeadReason::Forbidden));
    let counters = guarded.platform.counters();
    assert!(counters.check().is_ok(), "{counters}");
}

#[test]
fn row_messages_are_checked_individually() {
    let guarded = Guarded::by(r#"{"deny": [{"who": "agent:spy", "send": "vault*"}]}"#);
    let vault = guarded.platform.spawn("vault1", does(|ctx, message| ctx.print(&message.content.to_string()))).unwrap();
    for sender in ["spy", "guest"] {
        let row = ["one", "two"].map(|text| MessageBody::Owned(Box::new(inform(sender, vault, text))));
        guarded.platform.station().arrive_row(N2, vault, row.into());
    }
    guarded.platform.wait_idle();
    assert_eq!(guarded.lines.all(), ["vault1: \"one\"", "vault1: \"two\""]);
    assert_eq!((guarded.left().len(), guarded.recorded().len()), (2, 2));
    assert!(guarded.platform.counters().check().is_ok());
}

#[test]
fn rule_restricts_local_agents() {
    let guarded = Guarded::by(r#"{"deny": [{"who": "node:n1", "send": ["vault", "guest"], "create": "x*"}]}"#);
    let platform = &guarded.platform;
    let vault = platform.spawn("vault", does(|ctx, message| ctx.print(&message.content.to_string()))).unwrap();
    let amy = platform.spawn(
        "amy",
        does(move |ctx, message| match message.performative {
            Performative::Failure => ctx.print(&message.content.args_or_items_last()),
            _ => {
                for to in [vault, Aid::local("guest"), Aid::local("spy")] {
                    ctx.send(AclMessage::new(Performative::Inform, ctx.aid(), to, "hi"));
                }
                let created = ctx.spawn("x1", does(|_, _| ()));
                assert_eq!(created, Err(CreateError::Forbidden("x1".into())));
                assert!(ctx.spawn("y1", does(|_, _| ())).is_ok());
            }
        }),
    );
    platform.send(inform("outside", amy.unwrap(), "go"));
    platform.wait_idle();
    let failures = ["amy: undelivered(vault,forbidden)", "amy: undelivered(guest,forbidden)"];
    assert_eq!(guarded.lines.all(), failures);
    assert_eq!(guarded.left(), ["spy inform \"hi\""]);
    assert_eq!(guarded.recorded().len(), 3);
    assert!(platform.counters().check().is_ok());
}

/// Environment that gives each request back.
struct EchoEnvironment;

impl NodeEnvironment for EchoEnvironment {
    fn act(&self, agent: Aid, request: &Value) -> Result<Value, String> {
        Ok(Value::term("echo", [Value::atom(agent.name), request.clone()]))
    }
}

#[test]
fn granted_environment_acts_for_agents() {
    let mut environments = NodeEnvironments::default();
    assert!(environments.add("lab", Arc::new(EchoEnvironment)) && environments.add("vault", Arc::new(EchoEnvironment)));
    let policy = r#"{"grant": [{"who": "agent:amy", "environments": ["lab", "attic"]}]}"#;
    let policy = serde_json::from_str(policy).unwrap();
    let platform = Platform::builder().workers(1).policy(policy).environments(environments).build();
    let [amy, bob] = ["amy", "bob"].map(|name| platform.spawn(name, does(|_, _| ())).unwrap());
    let act = |agent, name| platform.services().act(agent, name, &Value::Int(7));
    assert_eq!(act(amy, "lab").unwrap().to_string(), "echo(amy,7)");
    let wrong = [(amy, "vault"), (bob, "lab"), (amy, "attic")].map(|(agent, name)| act(agent, name).unwrap_err());
    assert_eq!(
        wrong,
        [ActError::Denied("vault".into()), ActError::Denied("lab".into()), ActError::Unknown("attic".into())]
    );
}

#[test]
fn rule_restricts_own_registrations() {
    let guarded = Guarded::by(r#"{"deny": [{"who": "agent:robber", "register": "bank"}]}"#);
    let [robber, amy] = ["robber", "amy"].map(|name| guarded.platform.spawn(name, does(|_, _| ())).unwrap());
    let services = guarded.platform.services();
    assert_eq!(services.df_register(robber, "bank", ""), Err(OfferError::Forbidden("bank".to_owned())));
    assert_eq!(services.df_register(robber, "taxi", ""), Ok(()));
    assert_eq!(services.df_register(amy, "bank", ""), Ok(()));
    assert_eq!(services.df_search("bank", ""), [amy]);
    assert_eq!(services.df_search("taxi", ""), [robber]);
}

trait LastItem {
    fn args_or_items_last(&self) -> String;
}

impl LastItem for Value {
    fn args_or_items_last(&self) -> String {
        self.items().last().map(Value::to_string).unwrap_or_default()
    }
}

#[test]
fn ams_and_df_enforce_policy() {
    let policy = r#"{"deny": [{"who": "agent:spy", "kill": "*", "register": "bank"}],
                     "allow": [{"who": "agent:guest", "kill": "victim"}]}"#;
    let guarded = Guarded::by(policy);
    guarded.platform.spawn("victim", does(|_, _| ())).unwrap();
    let end = || Value::term("deregister", [entry("ams-agent-description", &[("name", Value::from("victim"))])]);
    guarded.arrives(request("spy", "ams", end()));
    let answer = guarded.left();
    assert!(
        answer.len() == 1 && answer[0].starts_with("spy refuse ") && answer[0].ends_with(",unauthorised]"),
        "{answer:?}"
    );
    let service = entry("service-description", &[("name", Value::from("bank"))]);
    let described = [("name", Value::from("spy")), ("services", Value::term("set", [service]))];
    let register = Value::term("register", [entry("df-agent-description", &described)]);
    guarded.arrives(request("spy", "df", register));
    let answer = guarded.left();
    assert!(
        answer.len() == 1 && answer[0].starts_with("spy refuse ") && answer[0].ends_with(",unauthorised]"),
        "{answer:?}"
    );
    let recorded = ["forbidden: agent:spy of node:n2 kill victim", "forbidden: agent:spy of node:n2 register bank"];
    assert_eq!(guarded.recorded(), recorded);
    assert!(guarded.platform.services().exists(Aid::local("victim")));
    // A rule limits an agent to what belongs to it and its owner only by default.
    guarded.arrives(request("guest", "ams", end()));
    assert!(guarded.left().iter().any(|answer| answer.contains("done(action")));
    assert!(!guarded.platform.services().exists(Aid::local("victim")));
}

#[test]
fn rule_forbids_nodes_to_kill() {
    let guarded = Guarded::by(r#"{"deny": [{"who": "node:n2", "kill": ["ams", "king"]}]}"#);
    for name in ["king", "pawn"] {
        guarded.platform.spawn(name, does(|_, _| ())).unwrap();
    }
    let station = guarded.platform.station();
    station.hear(N2, News::Kill("king".into()));
    station.hear(N2, News::Kill("pawn".into()));
    station.hear(N2, News::Stop { delay_ms: 0, code: 1 });
    guarded.platform.wait_idle();
    let exists = |name: &str| guarded.platform.services().exists(Aid::local(name));
    assert_eq!((exists("king"), exists("pawn")), (true, false));
    assert_eq!(guarded.recorded(), ["forbidden: node:n2 kill king", "forbidden: node:n2 kill ams"]);
    station.hear(N2, News::AgentEnded("spy".into(), EndReason::Finished));
}

#[test]
fn agents_of_other_platforms_are_strangers() {
    let guarded = Guarded::by("{}");
    let services = guarded.platform.services();
    let stranger = services.principal(Aid::new("eve", "elsewhere"));
    assert_eq!(stranger.to_string(), "stranger");
    assert_eq!(services.principal(Aid::local("nobody")).to_string(), "stranger");
    assert_eq!(services.principal(Aid::local("spy")).to_string(), "agent:spy of node:n2");
    assert!(!services.permits(stranger, whimbrel_platform::policy::Action::Send, "vault"));
    assert_eq!(guarded.recorded(), ["forbidden: stranger send vault"]);
}

/// Returns the announcement that `name`, which lives at `n2`, has the service `service`.
fn service_of(name: &str, service: &str) -> News {
    let service = ServiceDescription { name: service.into(), ..ServiceDescription::default() };
    let agent = Some(Aid::local(name));
    News::Service(Box::new(DfDescription { agent, services: vec![service], ..DfDescription::default() }))
}

#[test]
fn node_vouches_for_its_programs() {
    let guarded = Guarded::by(r#"{"deny": [{"who": "node:n2", "register": "*", "send": "vault", "kill": "ams"}]}"#);
    let platform = &guarded.platform;
    let vault = platform.spawn("vault", does(|ctx, message| ctx.print(&message.content.to_string()))).unwrap();
    guarded.arrives(inform("pump", vault, "water"));
    platform.station().hear(N2, service_of("pump", "bank"));
    platform.wait_idle();
    assert_eq!(guarded.lines.all(), [""; 0]);
    assert!(platform.services().df_search("bank", "").is_empty());
    assert!(guarded.left()[0].starts_with("pump failure"));
    let pump = "session:pump of node:n2";
    let recorded = [format!("forbidden: {pump} send vault"), format!("forbidden: {pump} register bank")];
    assert_eq!(guarded.recorded(), recorded);
    assert_eq!(platform.services().principal(Aid::local("pump")).to_string(), pump);
    assert!(platform.counters().check().is_ok());
}

#[test]
fn remote_programs_are_session_principals() {
    let guarded = Guarded::by(r#"{"deny": [{"who": "session:*", "send": "vault", "register": "bank"}]}"#);
    let platform = &guarded.platform;
    let vault = platform.spawn("vault", does(|ctx, message| ctx.print(&message.content.to_string()))).unwrap();
    for (name, text) in [("pump", "water"), ("guest", "hello")] {
        guarded.arrives(inform(name, vault, text));
        platform.station().hear(N2, service_of(name, "bank"));
    }
    platform.wait_idle();
    assert_eq!(guarded.lines.all(), ["vault: \"hello\""]);
    assert_eq!(platform.services().df_search("bank", ""), [Aid::local("guest")]);
    assert!(guarded.left()[0].starts_with("pump failure"));
    let pump = "forbidden: session:pump of node:n2";
    assert_eq!(guarded.recorded(), [format!("{pump} send vault"), format!("{pump} register bank")]);
}

/// Body that writes to the agent `vault` and ends.
struct VaultWriter;

impl AgentBody for VaultWriter {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        turn.outbox.send(AclMessage::new(Performative::Inform, turn.aid, Aid::local("vault"), "hi"));
        Next::End(EndReason::Finished)
    }
}

#[test]
fn agent_rule_spares_local_programs() {
    let policy = r#"{"deny": [{"who": "agent:*", "send": "vault"}, {"who": "session:spy*", "send": "vault"}]}"#;
    let guarded = Guarded::by(policy);
    let platform = &guarded.platform;
    platform.spawn("vault", does(|ctx, message| ctx.print(&message.sender.to_string()))).unwrap();
    for name in ["probe", "spy7"] {
        platform.host().lodge(name.into(), Box::new(VaultWriter), true, None).unwrap();
    }
    platform.spawn_body("amy", Box::new(VaultWriter)).unwrap();
    guarded.arrives(inform("pump", Aid::local("vault"), "water"));
    let mut lines = guarded.lines.all();
    lines.sort();
    assert_eq!(lines, ["vault: probe", "vault: pump"]);
    let mut recorded = guarded.recorded();
    recorded.sort();
    let who = ["agent:amy", "session:spy7"];
    assert_eq!(recorded, who.map(|who| format!("forbidden: {who} of node:n1 send vault")));
}

/// An agent that gives plans to another has it act with its permissions, which would defeat the sandbox.
#[test]
fn teaching_from_outside_needs_rule() {
    let may_teach = |guarded: &Guarded, teacher: &str| {
        let agents = vec![("module".into(), AgentKind::Wasm)];
        guarded.platform.station().hear(N2, News::Agents(agents));
        guarded.platform.services().may_teach(Aid::local(teacher), Aid::local("seller"))
    };
    let guarded = Guarded::by("{}");
    let may = ["guest", "module", "pump", "stranger", "seller"].map(|teacher| may_teach(&guarded, teacher));
    assert_eq!(may, [true, false, false, false, true]);
    assert_eq!(guarded.recorded().len(), 3, "{:?}", guarded.recorded());
    let rules = r#"{"allow": [{"who": ["agent:module", "session:pump"], "teach": "sel*"}],
                    "deny": [{"who": "agent:guest", "teach": "*"}]}"#;
    let guarded = Guarded::by(rules);
    assert_eq!(["guest", "module", "pump"].map(|teacher| may_teach(&guarded, teacher)), [false, true, true]);
}

/// Body that creates agents of its own kind without end.
struct Breeder;

impl AgentBody for Breeder {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let source = AgentSource::Body(Box::new(Self));
        let child = CreateAgent { name: "breeder".into(), unique: true, owner: Some(turn.aid), source };
        let _ = turn.services.create(child);
        Next::Ready
    }
}

#[test]
fn family_that_multiplies_ends() {
    for policy in [r#"{"quota": [{"who": "*", "owner_agents": 300}]}"#, "{}"] {
        let guarded = Guarded::by(policy);
        guarded.platform.spawn("neighbour", does(|_, _| ())).unwrap();
        guarded.platform.spawn_body("breeder", Box::new(Breeder)).unwrap();
        guarded.platform.wait_idle();
        let named = |name: &str| guarded.platform.search(&AgentQuery::named(name)).len();
        assert_eq!((named("breeder*"), named("neighbour")), (0, 1));
        let recorded = guarded.recorded();
        assert!(matches!(recorded.as_slice(), [one] if one.starts_with("quota: agent:breeder")), "{recorded:?}");
    }
}

#[test]
fn owner_of_ended_family_is_told() {
    let guarded = Guarded::by(r#"{"quota": [{"who": "*", "owner_agents": 20}]}"#);
    let (tell, told) = std::sync::mpsc::channel();
    let keeper = does(move |_, message| {
        let message = message.into_message();
        tell.send((message.performative, message.content.to_string())).unwrap();
    });
    let keeper = guarded.platform.spawn("keeper", keeper).unwrap();
    let owned = does(|ctx, _| {
        let source = AgentSource::Body(Box::new(Breeder));
        ctx.services()
            .create(CreateAgent { name: "breeder".into(), unique: true, owner: Some(ctx.aid()), source })
            .unwrap();
    });
    let root = guarded.platform.spawn("root", owned).unwrap();
    let mine = AgentModification { owner: Some(keeper.name), ..AgentModification::default() };
    let modified = guarded.platform.services().directory().unwrap().with_ams(|ams| ams.modify(root, mine));
    assert_eq!(modified, Some(Ok(())));
    guarded.platform.send(inform("x", root, 0.0));
    let (performative, content) = told.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(performative, Performative::Failure);
    assert!(
        content.contains("failed") && content.contains("to create agents although these were refused"),
        "{content}"
    );
    wait_for("the family ends", || guarded.platform.search(&AgentQuery::named("breeder*")).is_empty());
    let ends = guarded.platform.health().quota_ends;
    assert!(matches!(ends.as_slice(), [end] if end.who.as_str().starts_with("agent:root")), "{ends:?}");
}

/// Body that insists on more agents than its family may have, and then fails.
struct Insister;

impl AgentBody for Insister {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let mut refused = 0;
        while refused <= 2 * FAMILY_REFUSALS_PER_S_MAX {
            let source = AgentSource::Body(Box::new(VaultWriter));
            let kid = CreateAgent { name: "kid".into(), unique: true, owner: Some(turn.aid), source };
            refused += u32::from(turn.services.create(kid).is_err());
        }
        Next::End(EndReason::Failed("as many as it may have".into()))
    }
}

#[test]
fn condemned_agent_is_not_restarted() {
    let guarded = Guarded::by(r#"{"quota": [{"who": "*", "owner_agents": 5}]}"#);
    let boss = Supervisor::one_for_one().intensity(1_000, Duration::from_secs(60));
    let boss = boss.child_body(Restart::Always, "amy", || Box::new(Insister));
    guarded.platform.supervise("boss", boss).unwrap();
    let there = || ["boss", "amy", "kid*"].map(|name| guarded.platform.search(&AgentQuery::named(name)).len());
    wait_for("the family ends", || !guarded.platform.health().quota_ends.is_empty() && there() == [0; 3]);
    guarded.platform.wait_idle();
    assert_eq!(there(), [0; 3]);
}

/// A supervisor whose agents are refused ends its family as any other creator does.
#[test]
fn refused_supervisor_ends_its_family() {
    let guarded = Guarded::by(r#"{"quota": [{"who": "*", "owner_agents": 1}]}"#);
    let platform = &guarded.platform;
    let boss = || does(|ctx, _| drop(ctx.spawn("kid", does(|_, _| ()))));
    let boss = platform.spawn("boss", boss()).unwrap();
    guarded.arrives(inform("x", boss, 0.0));
    platform.kill(boss);
    let is_there = |name: &str| !platform.search(&AgentQuery::named(name)).is_empty();
    wait_for("only the kid is left", || is_there("kid") && !is_there("boss"));
    let mut tries = 0;
    while is_there("kid") && tries < 100_000 {
        platform.supervise("boss", Supervisor::one_for_one().child("amy", || does(|_, _| ()))).unwrap();
        platform.wait_idle();
        tries += 1;
    }
    assert!(!is_there("kid"), "its family is not ended");
}

/// Body that kills itself in its turn, and then creates an agent.
struct Ghost(Arc<Mutex<Option<Result<Aid, CreateError>>>>);

impl AgentBody for Ghost {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        assert!(turn.services.kill(turn.aid));
        let source = AgentSource::Body(Box::new(Breeder));
        let child = CreateAgent { name: "breeder".into(), unique: true, owner: Some(turn.aid), source };
        *self.0.lock().unwrap() = Some(turn.services.create(child));
        Next::Wait
    }
}

#[test]
fn killed_agent_creates_none_more() {
    let (guarded, outcome) = (Guarded::by("{}"), Arc::default());
    let ghost = guarded.platform.spawn_body("ghost", Box::new(Ghost(Arc::clone(&outcome)))).unwrap();
    guarded.platform.wait_idle();
    assert_eq!(*outcome.lock().unwrap(), Some(Err(CreateError::CreatorEnded(ghost.name))));
    assert_eq!(guarded.platform.search(&AgentQuery::named("breeder*")), []);
}

/// Body that creates an agent that multiplies, and ends.
struct Founder;

impl AgentBody for Founder {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let source = AgentSource::Body(Box::new(Breeder));
        let child = CreateAgent { name: "breeder".into(), unique: true, owner: Some(turn.aid), source };
        turn.services.create(child).unwrap();
        Next::End(EndReason::Finished)
    }
}

#[test]
fn orphans_remain_a_family() {
    let guarded = Guarded::by(r#"{"quota": [{"who": "agent:founder", "owner_agents": 20}]}"#);
    guarded.platform.spawn_body("founder", Box::new(Founder)).unwrap();
    guarded.platform.wait_idle();
    assert_eq!(guarded.platform.search(&AgentQuery::named("breeder*")), []);
    let recorded = guarded.recorded();
    assert!(matches!(recorded.as_slice(), [one] if one.starts_with("quota: agent:founder of node:n1")), "{recorded:?}");
}

#[test]
fn loud_agents_output_is_throttled() {
    let policy: Policy = serde_json::from_str(
        r#"{"quota": [{"who": "agent:loud", "printed_bytes_per_s": 1, "logged_bytes_per_s": 1}]}"#,
    )
    .unwrap();
    let lines = Lines::default();
    let platform = Platform::builder().workers(2).output(lines.clone()).policy(policy).build();
    const LINES: usize = 2_000;
    let loud = does(|ctx, _| {
        for number in 0..LINES {
            ctx.print(&format!("{number} {}", "x".repeat(200)));
            ctx.log(LogLevel::Warning, &format!("{number} failed"));
        }
    });
    let loud = platform.spawn("loud", loud).unwrap();
    platform.send(inform("x", loud, 0.0));
    let quiet = platform.spawn("quiet", does(|ctx, _| ctx.print("still heard"))).unwrap();
    platform.wait_idle();
    platform.send(inform("x", quiet, 0.0));
    let left_out = |what: &str| {
        let of_it = |line: &&String| line.contains(&format!("more lines {what} by it"));
        lines.notes().iter().filter(of_it).map(|line| count_in(line)).sum::<usize>()
    };
    wait_for("it is said", || left_out("printed") > 0 && left_out("logged") > 0);
    platform.stop();
    let printed = lines.all().iter().filter(|line| line.starts_with("loud")).count();
    let logged = lines.notes().iter().filter(|line| line.ends_with("failed")).count();
    assert_eq!((printed + left_out("printed"), logged + left_out("logged")), (LINES, LINES), "all are counted");
    assert!(printed < LINES && logged < LINES, "{printed} {logged}");
    assert!(lines.all().iter().any(|line| line.contains("still heard")));
}

/// Returns the number in `... and 12 more lines`.
fn count_in(line: &str) -> usize {
    line.split("and ").nth(1).and_then(|rest| rest.split(' ').next()).and_then(|count| count.parse().ok()).unwrap()
}
