//! Agents that are Python programs: real processes at the agent port of a platform.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_net::LinkSecurity;
use whimbrel_net::agent_port::{AcceptedTokens, AgentPort, AgentPortConfig};
use whimbrel_platform::ams::{AgentKind, AgentQuery};
use whimbrel_platform::audit::{Act, Auditor, RefusalReason, Refused};
use whimbrel_platform::services::LogLevel;
use whimbrel_runtime::{Agent, Context, Output, Platform, PlatformBuilder};

use super::examples::{by_agent, repository};
use super::{CommandFolder, whimbrel};

const TOKEN: &str = "a token for tests";
const PATIENCE: Duration = Duration::from_secs(180);

/// A platform of its own with an agent port.
fn platform() -> (Platform, AgentPort) {
    open(Platform::builder().name("home").workers(2), None)
}

fn open(builder: PlatformBuilder, auditor: Option<Arc<dyn Auditor>>) -> (Platform, AgentPort) {
    let platform = builder.build();
    let tokens = AcceptedTokens::one(TOKEN).expect("long enough");
    let config = AgentPortConfig {
        level: LinkSecurity::Open,
        credentials: None,
        links: None,
        session_ports: None,
        authorise: Box::new(move |claim| tokens.grant(claim.token?)),
        auditor,
        log: Box::new(|_| ()),
    };
    let port = AgentPort::open(config, platform.host(), "127.0.0.1:0").expect("a free port");
    (platform, port)
}

/// Ends its process when it is dropped.
struct Python(Child);

impl Python {
    /// A program that may use the example's client.
    fn run(program: &str, address: &str) -> Self {
        Self(Self::command(program, address).spawn().expect("python3 is there"))
    }

    fn run_piped(program: &str, address: &str) -> Self {
        Self(Self::command(program, address).stdout(Stdio::piped()).spawn().expect("python3 is there"))
    }

    fn command(program: &str, address: &str) -> Command {
        let folder = repository().join("examples/external-agent");
        let (host, port) = address.rsplit_once(':').expect("an address");
        let head = format!("from whimbrel_agent import Agent\naddress, token = ({host:?}, {port}), {TOKEN:?}\n");
        let mut python = Command::new("python3");
        python.args(["-u", "-c", &(head + program)]).current_dir(folder).env("PYTHONDONTWRITEBYTECODE", "1");
        python.stdin(Stdio::null());
        python
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const ECHO: &str = "
echo = Agent('echo', address, token, lease_ms=4000)
for message in echo.messages():
    echo.reply(message, 'inform', message['content'])
";

fn wait_for(platform: &Platform, name: &str) -> Aid {
    let aid = Aid::local(name);
    let until = Instant::now() + PATIENCE;
    while !platform.services().exists(aid) {
        assert!(Instant::now() < until, "{name} came not");
        std::thread::sleep(Duration::from_millis(5));
    }
    aid
}

#[test]
fn the_example_says_what_it_should() {
    run_the_example(&[], &[]);
}

#[test]
fn example_runs_on_three_nodes() {
    run_the_example(&["--nodes", "3", "--security", "signed"], &[]);
}

#[test]
fn the_example_runs_encrypted_too() {
    let scratch = super::Scratch::new();
    for arguments in [&["ca", "init", "authority"][..], &["ca", "issue", "authority", "n1", "--out", "n1"]] {
        let mut command = whimbrel();
        command.args(arguments).current_dir(scratch.path()).env("WHIMBREL_CA_PASSPHRASE", "open sesame");
        assert!(command.output().expect("it runs").status.success(), "{arguments:?}");
    }
    let credentials = scratch.path().join("n1");
    let authority = credentials.join("authority.pem");
    run_the_example(&["--credentials", &credentials.to_string_lossy()], &[&authority.to_string_lossy()]);
}

#[test]
fn certificate_admits_its_named_agent() {
    let scratch = super::Scratch::with(&[("host.asl", "!go.\n+!go <- .print(\"here\").\n")]);
    let ca = |arguments: &[&str]| {
        let mut command = whimbrel();
        command.arg("ca").args(arguments).current_dir(scratch.path()).env("WHIMBREL_CA_PASSPHRASE", "open sesame");
        let done = command.output().expect("it runs");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    ca(&["init", "authority"]);
    ca(&["init", "another"]);
    ca(&["issue", "authority", "n1", "--out", "n1"]);
    for (authority, agent) in [("authority", "bob"), ("authority", "ann"), ("another", "eve")] {
        ca(&["issue", authority, agent, "--session", "--out", agent]);
    }
    ca(&["revoke", "authority", "session:ann"]);
    std::fs::copy(scratch.path().join("authority/revoked.pem"), scratch.path().join("n1/revoked.pem"))
        .expect("it is there");
    let mut host = whimbrel();
    host.args(["run", "host.asl", "--agent-port", "0", "--credentials", "n1"]).current_dir(scratch.path());
    let mut host = host.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut noted = BufReader::new(host.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let address = noted.find_map(|line| Some(line.split_once("connect at ")?.1.to_owned())).expect("it listens");
    // The host's notes must be read.
    std::thread::spawn(move || noted.count());
    let outcome = |folder: &str, name: &str| {
        let file = |file: &str| scratch.path().join(file).to_string_lossy().into_owned();
        let (authority, pem, key) =
            (file("n1/authority.pem"), file(&format!("{folder}/session.pem")), file(&format!("{folder}/session.key")));
        let program = format!(
            "import time\ntime.sleep = lambda s: exit('not let in')\n\
             agent = Agent({name:?}, address, None, {authority:?}, ({pem:?}, {key:?}))\n\
             while agent.read()['type'] != 'created': pass\nprint('created')\n"
        );
        let seen: super::CommandOutput = Python::command(&program, &address).output().expect("python3 is there").into();
        seen.out + seen.err.lines().last().unwrap_or_default()
    };
    assert_eq!(outcome("bob", "bob"), "created\n");
    assert_eq!(outcome("bob", "ann"), "RuntimeError: not-allowed: bob may have no agent called ann");
    assert_eq!(outcome("ann", "ann"), "not let in", "it was revoked");
    assert_eq!(outcome("eve", "eve"), "not let in", "another authority's");
    host.kill().expect("it lived");
    let _ = host.wait();
}

fn run_the_example(of_society: &[&str], of_calendar: &[&str]) {
    let folder = repository().join("examples/external-agent");
    let mut society = whimbrel();
    society.args(["run", ".", "--agent-port", "0"]).args(of_society);
    society.env("WHIMBREL_AGENT_TOKEN", TOKEN).current_dir(&folder);
    let mut society = society.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut noted = BufReader::new(society.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let address = noted.find_map(|line| Some(line.split_once("connect at ")?.1.to_owned())).expect("it listens");
    let mut calendar = Command::new("python3");
    calendar
        .args(["calendar_agent.py", &address])
        .args(of_calendar)
        .env("WHIMBREL_AGENT_TOKEN", TOKEN)
        .current_dir(&folder);
    let calendar =
        calendar.env("PYTHONDONTWRITEBYTECODE", "1").stderr(Stdio::piped()).spawn().expect("python3 is there");
    let mut said = String::new();
    society.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
    let expected = std::fs::read_to_string(folder.join("expected.txt")).expect("it has one");
    assert_eq!(by_agent(&said), by_agent(&expected));
    assert_eq!(society.wait().expect("it ended").code(), Some(0));
    let calendar = calendar.wait_with_output().expect("it ends when its agent does");
    assert!(calendar.status.success(), "{}", String::from_utf8_lossy(&calendar.stderr));
}

#[test]
fn external_agent_acts_like_others() {
    let (platform, port) = platform();
    let _python = Python::run(ECHO, port.address());
    let echo = wait_for(&platform, "echo");
    let described = platform.search(&AgentQuery::named("echo"));
    assert_eq!(
        described.first().map(|agent| (agent.kind, agent.aid.to_string())),
        Some((AgentKind::Session, "echo@home".into()))
    );
    let answer = platform.ask(echo, Performative::Request, Value::term("f", [Value::from("é"), Value::Int(3)]));
    assert_eq!(answer.expect("an answer").content, Value::term("f", [Value::from("é"), Value::Int(3)]));
    assert!(platform.kill(echo));
    let (told, hears) = mpsc::channel();
    platform.when_ended(echo, move |_| {
        let _ = told.send(());
    });
    hears.recv_timeout(PATIENCE).expect("it ended");
    platform.stop();
    port.close(Duration::from_secs(1));
}

/// Notes for the operator of the node.
#[derive(Clone, Default)]
struct LogLines(Arc<Mutex<Vec<String>>>);

impl Output for LogLines {
    fn print(&self, _: Aid, _: &str) {}

    fn log(&self, agent: Aid, level: LogLevel, text: &str) {
        self.0.lock().unwrap().push(format!("{level:?} [{}] {text}", agent.name));
    }
}

/// Keeps an eye on another agent.
struct Watcher(Aid, mpsc::Sender<String>);

impl Agent for Watcher {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        ctx.monitor(self.0);
        let _ = self.1.send("watching".to_owned());
    }

    fn on_message(&mut self, _ctx: &mut Context<'_, '_>, message: MessageBody) {
        let _ = self.1.send(message.content.to_string());
    }
}

#[test]
fn external_process_end_reaches_senders() {
    let notes = LogLines::default();
    let (platform, port) = open(Platform::builder().name("home").workers(2).output(notes.clone()), None);
    let mut python = Python::run(ECHO, port.address());
    let echo = wait_for(&platform, "echo");
    platform.ask(echo, Performative::Request, "are you there?").expect("an answer");
    let (told, hears) = mpsc::channel();
    platform.when_ended(echo, move |reason| {
        let _ = told.send(reason.map(ToString::to_string));
    });
    let (seen, sees) = mpsc::channel();
    platform.spawn("watcher", Watcher(echo, seen)).expect("it is free");
    assert_eq!(sees.recv_timeout(PATIENCE).expect("it watches"), "watching");
    // SIGKILL: no good-bye.
    python.0.kill().expect("it lived");
    let killed = Instant::now();
    // It is taken by the session, and never acknowledged.
    let question = AclMessage::new(Performative::Request, echo, echo, "and now?");
    let answer = platform.ask_within(PATIENCE, question).expect("somebody answers");
    assert_eq!((answer.performative, answer.sender), (Performative::Failure, Aid::local("ams")));
    let reason = hears.recv_timeout(PATIENCE).expect("it ended");
    assert_eq!(reason.as_deref(), Some("failed: its lease is over"));
    assert_eq!(sees.recv_timeout(PATIENCE).expect("it watches"), r#"ended(echo,failed("its lease is over"))"#);
    let why = "its page or program, closed or out of reach, was not heard of for 4 s; nothing is wrong with the agent";
    assert_eq!(*notes.0.lock().unwrap(), [format!("Notice [echo] ended: {why}")]);
    let lease = Duration::from_secs(4);
    assert!((lease / 2..lease * 10).contains(&killed.elapsed()), "{:?}", killed.elapsed());
    assert!(platform.ask(echo, Performative::Request, "and now?").is_err(), "there is no such agent any more");
    platform.stop();
    assert!(platform.counters().check().is_ok(), "{:?}", platform.counters());
    port.close(Duration::from_secs(1));
}

/// A client that connects again acknowledges no more than what it has handled.
#[test]
fn resumed_session_fails_unhandled_message() {
    const QUITTER: &str = "
import os
quitter = Agent('quitter', address, token, lease_ms=1000)
for message in quitter.messages():
    quitter.connect()
    os._exit(0)
";
    let (platform, port) = platform();
    let _python = Python::run(QUITTER, port.address());
    let quitter = wait_for(&platform, "quitter");
    let question = AclMessage::new(Performative::Request, quitter, quitter, "will you?");
    let answer = platform.ask_within(PATIENCE, question).expect("somebody answers");
    assert_eq!((answer.performative, answer.sender), (Performative::Failure, Aid::local("ams")));
    platform.stop();
    port.close(Duration::from_secs(1));
}

/// Passes bytes on, and breaks all connections when it is told to.
struct Proxy {
    address: String,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
    over: Arc<AtomicBool>,
}

impl Proxy {
    fn to(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound").to_string();
        let (sockets, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (kept, ended, target) = (Arc::clone(&sockets), Arc::clone(&over), target.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::Acquire) {
                    return;
                }
                let Ok(server) = TcpStream::connect(&target) else { continue };
                let ends = [(&client, &server), (&server, &client)];
                for (from, to) in ends.map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap())) {
                    std::thread::spawn(move || pass(from, to));
                }
                kept.lock().unwrap().extend([client, server]);
            }
        });
        Self { address, sockets, over }
    }

    fn cut(&self) {
        for socket in self.sockets.lock().unwrap().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.cut();
        let _ = TcpStream::connect(&self.address);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 1 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

/// Asks many things at once, and tells what comes.
struct Asker {
    whom: Aid,
    questions: i64,
    told: mpsc::Sender<Value>,
}

impl Agent for Asker {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        (0..self.questions).for_each(|number| ctx.tell(self.whom, Performative::Request, number));
    }

    fn on_message(&mut self, _ctx: &mut Context<'_, '_>, message: MessageBody) {
        let _ = self.told.send(message.content.clone());
    }
}

#[test]
fn broken_connections_lose_nothing() {
    const QUESTIONS: i64 = 300;
    let (platform, port) = platform();
    let proxy = Proxy::to(port.address());
    let _python = Python::run(&ECHO.replace("4000", "20000"), &proxy.address);
    let echo = wait_for(&platform, "echo");
    let (told, hears) = mpsc::channel();
    platform.spawn("asker", Asker { whom: echo, questions: QUESTIONS, told }).expect("a free name");
    let mut answers = Vec::new();
    while answers.len() < QUESTIONS as usize {
        let answer = hears.recv_timeout(PATIENCE).expect("an answer");
        assert_eq!(answer, Value::Int(answers.len() as i64));
        answers.push(answer);
        if answers.len() % 40 == 7 {
            proxy.cut();
        }
    }
    assert!(hears.recv_timeout(Duration::from_millis(300)).is_err(), "there is one more");
    platform.stop();
    port.close(Duration::from_secs(1));
}

#[test]
fn tokens_admit_only_their_names() {
    let scratch = super::Scratch::with(&[("host.asl", "!go.\n+!go <- .print(\"here\").\n")]);
    let made = scratch.run(&["session", "token", "ada", "sensor*", "--file", "agents.tokens"]);
    let token = made.out.trim();
    assert_eq!((token.len(), made.code), (64, Some(0)), "{}", made.err);
    let file = std::fs::read_to_string(scratch.path().join("agents.tokens")).expect("it was made");
    assert!(file.trim_end().ends_with(" ada sensor*") && !file.contains(token), "{file}");
    let mut host = whimbrel();
    host.args(["run", "host.asl", "--agent-port", "0", "--agent-tokens", "agents.tokens"]).current_dir(scratch.path());
    let mut host = host.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut noted = BufReader::new(host.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let address = noted.find_map(|line| Some(line.split_once("connect at ")?.1.to_owned())).expect("it listens");
    let ending = |name: &str, token: &str| {
        let program = format!(
            "agent = Agent({name:?}, address, {token:?})\nwhile agent.read()['type'] != 'created': pass\nprint('created')\n"
        );
        let (host, port) = address.rsplit_once(':').expect("an address");
        let head = format!("from whimbrel_agent import Agent\naddress = ({host:?}, {port})\n");
        let mut python = Command::new("python3");
        python.args(["-c", &(head + &program)]).env("PYTHONDONTWRITEBYTECODE", "1");
        let seen = python.current_dir(repository().join("examples/external-agent")).output().expect("python3 is there");
        let seen = super::CommandOutput::from(seen);
        seen.out + seen.err.lines().last().unwrap_or_default()
    };
    assert_eq!(ending("ada", "something else"), "RuntimeError: unauthorised: no accepted token or certificate");
    let refused = ending("bob", token);
    assert_eq!(refused, "RuntimeError: not-allowed: ada sensor* may have no agent called bob");
    assert!(ending("sensor7", token).starts_with("created"));
    std::fs::write(scratch.path().join("agents.tokens"), "").expect("it can be written");
    assert!(ending("ada", token).starts_with("RuntimeError: unauthorised"), "the token was taken back");
    host.kill().expect("it lived");
    let _ = host.wait();
}

/// Counts what it is told of.
struct RefusalLines(Mutex<Vec<String>>);

impl Auditor for RefusalLines {
    fn refused(&self, what: &Refused<'_>) {
        self.0.lock().unwrap().push(format!("{} {} {}", what.reason, what.who, what.object));
    }

    fn allowed(&self, _what: &Act<'_>) {}
}

#[test]
fn policy_limits_external_receivers() {
    let policy = r#"{"deny": [{"who": "session:spy*", "send": "amy"}, {"who": "session:*", "create": "boss"}]}"#;
    let refusals = Arc::new(RefusalLines(Mutex::default()));
    let auditor = Arc::clone(&refusals) as Arc<dyn Auditor>;
    let builder = Platform::builder().policy(serde_json::from_str(policy).expect("a policy")).auditor(auditor);
    let (platform, port) = open(builder.name("home").workers(2), Some(Arc::clone(&refusals) as Arc<dyn Auditor>));
    platform.spawn("amy", whimbrel_runtime::behaving(|_| ())).expect("a free name");
    let outcome = |name: &str, sender: &str| {
        let program = format!(
            "agent = Agent('{name}', address, token)\n\
             agent.numbered(type='message', agent=0, message={{'performative': 'inform', 'sender': '{sender}',\
             'receivers': ['amy'], 'content': 'hello'}})\n\
             agent.send('inform', '{name}', 'done')\n\
             frame = None\n\
             try:\n    while not frame or frame['type'] != 'message': frame = agent.wait(agent.read)\n    \
             print(frame['message']['content'])\n\
             except RuntimeError as error: print(str(error).split(':')[0])\n\
             agent.write({{'type': 'bye'}})\n"
        );
        let mut python = Python::run_piped(&program, port.address());
        let mut said = String::new();
        python.0.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
        said.trim().to_owned()
    };
    assert_eq!(outcome("friend", "friend@home"), "done");
    assert_eq!(outcome("spy1", "spy1"), "not-allowed");
    assert_eq!(outcome("boss", "boss"), "not-allowed");
    assert_eq!(outcome("eve", "friend"), "forged-sender");
    let seen = refusals.0.lock().unwrap().clone();
    assert_eq!(
        seen,
        [
            "forbidden session:spy1 of node:n1 amy",
            "forbidden session:boss of node:n1 boss",
            "forged session:eve of node:n1 friend"
        ]
    );
    assert_eq!(port.refusals().of(RefusalReason::Forged), 1);
    platform.stop();
    port.close(Duration::from_secs(1));
}

const FORECASTER: &str = "
agent = Agent('forecaster', address, token)
join = '((action (agent-identifier :name ams) (join (agent-identifier :name topic:weather))))'
agent.send('request', 'ams', join, language='fipa-sl0')
for message in agent.messages():
    if message['performative'] == 'inform' and message['receivers'] == ['topic:weather']:
        agent.send('inform', 'topic:forecasts', message['content'])
";

#[test]
fn an_external_agent_subscribes_and_publishes() {
    let (platform, port) = platform();
    let (told, hears) = mpsc::channel();
    struct ForecastReader(mpsc::Sender<String>);
    impl Agent for ForecastReader {
        fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
            ctx.subscribe("forecasts").expect("that is a name");
        }

        fn on_message(&mut self, _ctx: &mut Context<'_, '_>, message: MessageBody) {
            let _ = self.0.send(format!("{} {} {}", message.sender, message.receivers[0], message.content));
        }
    }
    platform.spawn("reader", ForecastReader(told)).expect("it is free");
    let _python = Python::run(FORECASTER, port.address());
    let forecaster = wait_for(&platform, "forecaster");
    let weather = whimbrel_platform::topics::topic("weather").expect("that is a name");
    let until = Instant::now() + PATIENCE;
    while platform.services().members(weather) != [forecaster] {
        assert!(Instant::now() < until, "it subscribes not");
        std::thread::sleep(Duration::from_millis(5));
    }
    platform.send(AclMessage::new(Performative::Inform, Aid::local("reader"), weather, Value::atom("rain")));
    let line = hears.recv_timeout(PATIENCE).expect("a forecast");
    assert_eq!(line, "forecaster topic:forecasts rain");
    platform.stop();
    port.close(Duration::from_secs(1));
}
