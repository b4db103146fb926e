//! Messages over HTTP: a society with a JADE platform in a process of its own, and with another platform here.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use whimbrel::agents::{LogLevel, Output};
use whimbrel::doors::mtp::MtpOptions;
use whimbrel::doors::{DoorOptions, Doors};
use whimbrel::node::Notes;
use whimbrel::prelude::*;
use whimbrel_acl::{Contact, Encoding, Envelope};
use whimbrel_interop::mtp::{HomePlatform, write_post};
use whimbrel_testkit::Scratch;

/// If this is set and not empty, the test fails without JADE; otherwise it says that it does nothing.
const REQUIRED: &str = "WHIMBREL_JADE_REQUIRED";
const PATIENCE: Duration = Duration::from_secs(60);

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A JADE platform, ended with its handle.
struct JadeProcess {
    process: Child,
    commands: ChildStdin,
    lines: mpsc::Receiver<String>,
    /// Address of its message transport.
    address: String,
}

impl JadeProcess {
    /// Starts JADE; `None` if it is not on this machine.
    fn start(scratch: &Scratch) -> Option<Self> {
        let jar = root().join(".cache/jade/jade-4.3.jar");
        let compiled = jar.is_file() && compile(&jar, scratch.path());
        if !compiled {
            let is_required = std::env::var_os(REQUIRED).is_some_and(|text| !text.is_empty());
            assert!(!is_required, "no JADE or no JDK: `make jade` installs it");
            eprintln!("not tried: no JADE or no JDK (`make jade` installs it)");
            return None;
        }
        let (port, address) = (free_port(), format!("http://127.0.0.1:{}/acc", free_port()));
        let classes = format!("{}:{}", jar.display(), scratch.path().display());
        let mut process = Command::new("java")
            // JADE's reader of envelopes uses a class of the JDK by name.
            .args(["--add-exports", "java.xml/com.sun.org.apache.xerces.internal.jaxp=ALL-UNNAMED"])
            .args(["-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", &classes, "JadePlatform", "jade"])
            .args([&port.to_string(), &address])
            .current_dir(scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (output, commands) = (process.stdout.take()?, process.stdin.take()?);
        let (told, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some(line) = line.strip_prefix("@ ") {
                    let _ = told.send(line.to_owned());
                }
            }
        });
        let jade = Self { process, commands, lines, address };
        assert_eq!(jade.line(), "ready");
        Some(jade)
    }

    fn command(&mut self, words: &[&str]) {
        writeln!(self.commands, "{}", words.join("\t")).expect("JADE listens");
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("JADE says something in time")
    }

    fn agent(&self, name: &str) -> Aid {
        let contact = Contact { addresses: vec![self.address.clone()], ..Contact::default() };
        Aid::new(name, "jade").with_contact(contact)
    }
}

impl Drop for JadeProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn compile(jar: &Path, to: &Path) -> bool {
    let source = root().join("conformance/jade/JadePlatform.java");
    let mut javac = Command::new("javac");
    let javac = javac.args(["-nowarn", "-Xlint:none", "-d"]).arg(to).arg("-cp").arg(jar).arg(source);
    javac.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}

/// Answers requests with an inform of the same content.
struct RequestEcho;

impl Agent for RequestEcho {
    fn on_message(&mut self, cx: &mut Context<'_, '_>, message: MessageBody) {
        if message.performative == Performative::Request {
            let answer = message.make_reply(cx.aid(), Performative::Inform).with_content(message.content.clone());
            cx.send(answer);
        }
    }
}

/// Counts informs.
struct InformCounter(Arc<AtomicUsize>);

impl Agent for InformCounter {
    fn on_message(&mut self, _cx: &mut Context<'_, '_>, message: MessageBody) {
        self.0.fetch_add(usize::from(message.performative == Performative::Inform), Ordering::Relaxed);
    }
}

/// Sends this many requests at once, and counts the informs.
struct RequestFlood {
    to: Aid,
    count: usize,
    informed: Arc<AtomicUsize>,
}

impl Agent for RequestFlood {
    fn on_start(&mut self, cx: &mut Context<'_, '_>) {
        for number in 0..self.count {
            cx.send(AclMessage::new(Performative::Request, cx.aid(), self.to, format!("n{number}")));
        }
    }

    fn on_message(&mut self, _cx: &mut Context<'_, '_>, message: MessageBody) {
        self.informed.fetch_add(usize::from(message.performative == Performative::Inform), Ordering::Relaxed);
    }
}

#[derive(Clone, Default)]
struct JadeLines(Arc<Mutex<Vec<String>>>);

impl Output for JadeLines {
    fn print(&self, agent: Aid, text: &str) {
        self.0.lock().expect("nobody panics").push(format!("[{}] {text}", agent.name));
    }

    fn log(&self, agent: Aid, _level: LogLevel, text: &str) {
        eprintln!("log: {} {text}", agent.name);
    }
}

/// Waits until a condition holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "in time: {what}");
        std::thread::yield_now();
    }
}

const PROJECT: &str = "MAS market {
    agents:
        ada seller.asl [beliefs=\"price(40)\"];
        bruno seller.asl [beliefs=\"price(30)\"];
        dora seller.asl;
        buyer;
}";
const SELLER: &str = "{ include(\"$whimbrel/contract_net.asl\") }
+!propose_for(Task, P) : price(P).
+!perform(Task, done(Task)).
";
const BUYER: &str = "{ include(\"$whimbrel/contract_net.asl\") }
+!kqml_received(_, request, \"buy\", _) <- !contract_net(fence, [\"bidder@jade\"], 20000, Outcomes); .print(Outcomes).
+!achieve_buy.
";

#[test]
fn jade_and_society_work_together() {
    let files = [("market.mas2j", PROJECT), ("seller.asl", SELLER), ("buyer.asl", BUYER), ("policy.toml", POLICY)];
    let scratch = Scratch::with(&files);
    let Some(mut jade) = JadeProcess::start(&scratch) else { return };
    let society = Society::open(&scratch.path().join("market.mas2j")).expect("it is right");
    let policy = whimbrel::policy::open(&scratch.path().join("policy.toml")).expect("a policy");
    let lines = JadeLines::default();
    let builder = Platform::builder().name("bees").output(lines.clone()).policy(policy).loader(society.loader());
    let platform = builder.build();
    let peers = vec![format!("jade={}", jade.address).parse().expect("a peer")];
    let mtp = MtpOptions { listen: Some("127.0.0.1:0".to_owned()), address: None, peers };
    let options = DoorOptions { mtp, ..DoorOptions::default() };
    let doors = Doors::open(&options, &platform, &Notes::new(true, |_| (), |_| ())).expect("it opens");
    let here = format!("http://{}/acc", doors.mtp_address().expect("it was asked for"));
    society.start(&platform).expect("the names are free");
    let (one, two) = (Arc::default(), Arc::default());
    platform.spawn("echo", RequestEcho).expect("free");
    platform.spawn("one", InformCounter(Arc::clone(&one))).expect("free");
    platform.spawn("two", InformCounter(Arc::clone(&two))).expect("free");
    description_is_served(&here);
    jade.command(&["add", &here]);
    let names = "ada@bees, ams@bees, bruno@bees, buyer@bees, df@bees, dora@bees, echo@bees, one@bees, two@bees";
    assert_eq!(jade.line(), format!("added [{names}] at {here}"), "as JADE's RMA does");
    requests_are_answered(&mut jade, &platform, &here);
    failures_come_back(&mut jade, &platform, &here);
    jade.command(&["tell", "INFORM", "x", "one@bees", &here, "two@bees", &here]);
    until("both have it", || one.load(Ordering::Relaxed) + two.load(Ordering::Relaxed) >= 2);
    contract_nets_complete(&mut jade, &platform, &here, &lines);
    floods_arrive(&mut jade, &platform, &here);
    assert_eq!((one.load(Ordering::Relaxed), two.load(Ordering::Relaxed)), (1, 1), "one copy each");
    platform.counters().check().expect("no message is lost");
    drop(jade);
    doors.close();
}

const POLICY: &str = "[[allow]]\nwho = \"stranger\"\nsend = \"*\"\n";

fn description_is_served(here: &str) {
    let address = here.trim_start_matches("http://").trim_end_matches("/acc");
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(b"GET /acc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("(ap-description :name bees"), "{answer}");
}

fn requests_are_answered(jade: &mut JadeProcess, platform: &Platform, here: &str) {
    for text in ["é世 \"q\" \\ (x", "plain"] {
        let answer = platform.ask(jade.agent("echo"), Performative::Request, text).expect("an answer");
        assert_eq!((answer.performative, answer.content.as_str()), (Performative::Inform, Some(text)));
        jade.command(&["tell", "REQUEST", text, "echo@bees", here]);
        assert_eq!(jade.line(), format!("INFORM\t{text}\techo@bees\tr1"));
    }
}

fn failures_come_back(jade: &mut JadeProcess, platform: &Platform, here: &str) {
    jade.command(&["tell", "REQUEST", "x", "nobody@bees", here]);
    let failure = jade.line();
    assert!(failure.starts_with("FAILURE\t((action ") && failure.contains("(MTS-error (agent-identifier"), "{failure}");
    assert!(failure.ends_with("\tams@bees\tr1"), "{failure}");
    let failure = platform.ask(jade.agent("nobody"), Performative::Request, "x").expect("an answer");
    let text = failure.content.as_str().unwrap_or_default();
    assert_eq!(failure.performative, Performative::Failure);
    assert!(text.contains("MTS-error"), "{text}");
    // What cannot be reached fails here.
    let unknown = platform.ask(Aid::new("x", "nowhere"), Performative::Request, "x").expect("an answer");
    assert!(unknown.content.to_string().contains("undelivered(x@nowhere,unreachable)"), "{}", unknown.content);
}

fn contract_nets_complete(jade: &mut JadeProcess, platform: &Platform, here: &str, lines: &JadeLines) {
    jade.command(&["call", "fence", here, "ada@bees", "bruno@bees", "dora@bees"]);
    let mut answers: Vec<String> = (0..3).map(|_| jade.line()).collect();
    answers.sort();
    assert!(answers[0].starts_with("answer PROPOSE 30") && answers[0].ends_with("of bruno@bees"), "{answers:?}");
    assert!(answers[1].starts_with("answer PROPOSE 40") && answers[1].ends_with("of ada@bees"), "{answers:?}");
    assert!(answers[2].starts_with("answer REFUSE") && answers[2].ends_with("of dora@bees"), "{answers:?}");
    let result = jade.line();
    assert!(result.starts_with("result ") && result.contains("done") && result.ends_with("of bruno@bees"), "{result}");
    assert_eq!(jade.line(), "called");
    let buyer = Aid::local("buyer");
    platform.send(AclMessage::new(Performative::Request, buyer, buyer, "buy"));
    until("the buyer has its outcome", || !lines.0.lock().expect("nobody panics").is_empty());
    assert_eq!(lines.0.lock().expect("nobody panics").join("\n"), "[buyer] [done(bidder@jade,\"35\",\"done\")]");
    assert_eq!(jade.line(), "bidder works");
}

/// Number of requests in each direction: enough for a test, or what measurements say.
fn flood_size() -> usize {
    std::env::var("WHIMBREL_JADE_FLOOD").ok().and_then(|text| text.parse().ok()).unwrap_or(500)
}

/// A platform with a message transport that may connect to these peers.
fn with_transport(name: &str, port: u16, scratch: &Scratch, peers: &[String]) -> (Platform, Doors) {
    let policy = whimbrel::policy::open(&scratch.path().join("policy.toml")).expect("a policy");
    let platform = Platform::builder().name(name).policy(policy).output(JadeLines::default()).build();
    let peers = peers.iter().map(|peer| peer.parse().expect("a peer")).collect();
    let options = MtpOptions { listen: Some(format!("127.0.0.1:{port}")), address: None, peers };
    let options = DoorOptions { mtp: options, ..DoorOptions::default() };
    let doors = Doors::open(&options, &platform, &Notes::new(true, |_| (), |_| ())).expect("it opens");
    (platform, doors)
}

#[test]
fn platforms_exchange_requests() {
    let scratch = Scratch::with(&[("policy.toml", POLICY)]);
    let (nobody, near_port, far_port) = (free_port(), free_port(), free_port());
    let peer = |name: &str, port: u16| format!("{name}=http://127.0.0.1:{port}/acc");
    // Nobody listens at the first address.
    let (near, near_door) = with_transport("near", near_port, &scratch, &[peer("far", nobody), peer("far", far_port)]);
    let (far, far_door) = with_transport("far", far_port, &scratch, &[peer("near", near_port)]);
    far.spawn("echo", RequestEcho).expect("free");
    let echo = Aid::new("echo", "far");
    let values = [
        Value::from("é世 \"q\""),
        Value::Int(7),
        Value::Num(0.5),
        Value::term("price", [Value::atom("fence"), Value::Int(40)]),
        Value::list([Value::Nil, Value::from("x")]),
        Value::from(vec![0xff, 0]),
    ];
    for value in values {
        let answer = near.ask(echo, Performative::Request, value.clone()).expect("an answer");
        assert_eq!(format!("{:?}", answer.content), format!("{value:?}"));
    }
    let (count, informed, began) = (flood_size(), Arc::<AtomicUsize>::default(), Instant::now());
    near.spawn("flood", RequestFlood { to: echo, count, informed: Arc::clone(&informed) }).expect("free");
    until("all are answered", || informed.load(Ordering::Relaxed) == count);
    eprintln!("Whimbrel to Whimbrel and back: {count} in {} ms", began.elapsed().as_millis());
    for platform in [&near, &far] {
        platform.wait_idle_for(PATIENCE);
        platform.counters().check().expect("no message is lost");
    }
    near_door.close();
    far_door.close();
}

/// Sends bytes on a connection of their own, and returns the status line of the answer.
fn status_of(port: u16, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.write_all(request).expect("sent");
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).expect("text");
    answer.trim_end().to_owned()
}

/// The body of a post to `bob@far`, and its type.
fn post_of(sender: Aid) -> (String, String) {
    let (to, address) = (Aid::new("bob", "far"), "http://127.0.0.1:1/acc");
    let message = AclMessage::new(Performative::Inform, sender, to, "x");
    let message = Envelope { to, body: MessageBody::Owned(Box::new(message)) };
    let home = HomePlatform::new("near", address);
    let post = write_post(&home, &message, Encoding::String, 0).expect("it can be written");
    (post.content_type, String::from_utf8(post.bytes).expect("text"))
}

#[test]
fn posts_are_judged_by_their_answers() {
    let scratch = Scratch::with(&[("policy.toml", POLICY)]);
    let port = free_port();
    let (far, _door) = with_transport("far", port, &scratch, &[]);
    let counter = Arc::<AtomicUsize>::default();
    far.spawn("bob", InformCounter(Arc::clone(&counter))).expect("free");
    let (kind, body) = post_of(Aid::local("ann"));
    let (length, close) = (body.len(), "Connection: close\r\n");
    let good = [
        format!(
            "POST /acc HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{close}\r\n{body}"
        ),
        format!(
            "POST http://x:1/any HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{close}\r\n{body}"
        ),
        format!("POST /acc HTTP/1.0\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"),
        format!(
            "POST /acc HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n{close}\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
        ),
    ];
    for request in &good {
        assert!(status_of(port, request.as_bytes()).ends_with(" 200 OK"), "{request}");
    }
    until("all have arrived", || counter.load(Ordering::Relaxed) == good.len());
    let (_, forged) = post_of(Aid::new("eve", "far"));
    for (kind, body, status) in [
        ("text/plain", body.as_str(), " 406 Not Acceptable"),
        (kind.as_str(), "--\r\n", " 406 Not Acceptable"),
        (kind.as_str(), forged.as_str(), " 406 Not Acceptable"),
        (kind.as_str(), &body.replace("bob@far", "bob@farther"), " 406 Not Acceptable"),
    ] {
        let length = body.len();
        let request =
            format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}");
        assert!(status_of(port, request.as_bytes()).ends_with(status), "{request}");
    }
    let long = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n";
    assert!(status_of(port, long.as_bytes()).contains(" 413 "));
    assert!(status_of(port, b"DELETE / HTTP/1.1\r\nHost: x\r\n\r\n").contains(" 405 "));
    assert_eq!(far.counters_now().came, good.len() as u64);
}

#[test]
fn private_addresses_are_refused() {
    let scratch = Scratch::with(&[("policy.toml", POLICY)]);
    let (near_port, far_port) = (free_port(), free_port());
    let peer = format!("far=http://127.0.0.1:{far_port}/acc");
    let (near, _near_door) = with_transport("near", near_port, &scratch, &[peer]);
    let (far, _far_door) = with_transport("far", far_port, &scratch, &[]);
    far.spawn("echo", RequestEcho).expect("free");
    let echo = Aid::new("echo", "far");
    near.send(AclMessage::new(Performative::Request, Aid::local("ann"), echo, "x"));
    // The far platform may not connect to this machine.
    until("the answer has failed", || far.counters_now().dead == 1);
    let letter = far.dead_letters().into_iter().next().expect("a dead letter");
    assert_eq!((letter.to, letter.body.performative), (Aid::new("ann", "near"), Performative::Inform));
}

fn floods_arrive(jade: &mut JadeProcess, platform: &Platform, here: &str) {
    let count = flood_size();
    jade.command(&["flood", &count.to_string(), "echo@bees", here]);
    let line = jade.line();
    assert!(line.starts_with(&format!("flood {count} in ")), "{line}");
    eprintln!("JADE to Whimbrel and back: {line}");
    let (informed, began) = (Arc::default(), Instant::now());
    let flood = RequestFlood { to: jade.agent("echo"), count, informed: Arc::clone(&informed) };
    platform.spawn("flood", flood).expect("free");
    until("all are answered", || informed.load(Ordering::Relaxed) == count);
    eprintln!("Whimbrel to JADE and back: {count} in {} ms", began.elapsed().as_millis());
}
