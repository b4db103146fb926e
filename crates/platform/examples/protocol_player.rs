//! Player of protocol scripts on a node, for one side of each script: `conformance/protocols/README.md` says how. Its
//! session is the smallest possible: JSON frames over TCP.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test program")]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use whimbrel_acl::{AclMessage, Aid, Encoding, Performative, Symbol, Text, Value};
use whimbrel_platform::protocols::Dialogues;
use whimbrel_testkit::script_fields::{is, names, text};

/// Scripts that initiators play at a time.
const AT_A_TIME: usize = 16;
/// Time without progress after which a player gives up. For its first message, a participant waits longer.
const PATIENCE: Duration = Duration::from_secs(10);
const FIRST_PATIENCE: Duration = Duration::from_secs(100);
/// Time without a message after which a session tells the node that it lives: a third of the lease.
const SIGN_OF_LIFE: Duration = Duration::from_secs(3);
/// Milliseconds after a deadline that a late message waits for.
const LATER_MS: u64 = 20;

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

fn sleep_until(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms.saturating_sub(now_ms())));
}

/// Session with a node, whose agents have numbers.
struct PlayerSession {
    stream: Mutex<(TcpStream, u64)>,
    credit: Mutex<u64>,
    more_credit: Condvar,
}

impl PlayerSession {
    /// Also returns the reader of the session, and the platform's name.
    fn open(url: &str, token: &str) -> (Arc<Self>, TcpStream, Symbol) {
        let mut stream = TcpStream::connect(url.trim_start_matches("tcp://")).expect("the node's port");
        write_frame(&mut stream, &json!({"type": "hello", "versions": [1], "token": token}));
        let welcome = read_frame(&mut stream).expect("a welcome");
        let credit = welcome["credit"].as_u64().unwrap_or_else(|| panic!("{welcome}"));
        let reader = stream.try_clone().unwrap();
        let session = Self { stream: Mutex::new((stream, 0)), credit: Mutex::new(credit), more_credit: Condvar::new() };
        (Arc::new(session), reader, Symbol::new(text(&welcome, "platform").unwrap()))
    }

    /// Sends a numbered frame, when the node takes it.
    fn send(&self, mut frame: Json) {
        let mut stream = self.stream.lock().unwrap();
        stream.1 += 1;
        frame["number"] = json!(stream.1);
        let mut credit = self.credit.lock().unwrap();
        while stream.1 > *credit {
            credit = self.more_credit.wait(credit).unwrap();
        }
        drop(credit);
        write_frame(&mut stream.0, &frame);
    }

    fn send_message(&self, agent: usize, message: &AclMessage) {
        let message: Json = serde_json::from_slice(&Encoding::Json.encode(message).unwrap()).unwrap();
        self.send(json!({"type": "message", "agent": agent, "message": message}));
    }

    /// Gives each agent its messages, until the node ends the connection.
    fn read(&self, mut reader: TcpStream, acks: &Sender<u64>, agents: &[Sender<AclMessage>], created: &Sender<()>) {
        while let Some(frame) = read_frame(&mut reader) {
            if let Some(credit) = frame["credit"].as_u64() {
                *self.credit.lock().unwrap() = credit;
                self.more_credit.notify_all();
            }
            match text(&frame, "type") {
                Some("message") => {
                    let bytes = serde_json::to_vec(&frame["message"]).unwrap();
                    let message = Encoding::Json.decode(&bytes).unwrap();
                    agents[frame["agent"].as_u64().unwrap() as usize].send(message).ok();
                }
                Some("created") => {
                    created.send(()).ok();
                }
                Some("refused" | "error") => eprintln!("{frame}"),
                _ => {}
            }
            if let Some(number) = frame["number"].as_u64() {
                acks.send(number).ok();
            }
        }
    }

    /// Acknowledges what was read, and again as a sign of life. A thread of its own: the reader never waits for the
    /// writer.
    fn acknowledge(&self, acks: &Receiver<u64>) {
        let mut received = 0;
        loop {
            match acks.recv_timeout(SIGN_OF_LIFE) {
                Ok(number) => received = acks.try_iter().last().unwrap_or(number),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            write_frame(&mut self.stream.lock().unwrap().0, &json!({"type": "ack", "received": received}));
        }
    }
}

fn write_frame(stream: &mut TcpStream, frame: &Json) {
    let data = serde_json::to_vec(frame).unwrap();
    let mut bytes = (data.len() as u32).to_be_bytes().to_vec();
    bytes.extend(data);
    stream.write_all(&bytes).expect("a node that reads");
}

fn read_frame(stream: &mut TcpStream) -> Option<Json> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut data = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut data).ok()?;
    serde_json::from_slice(&data).ok()
}

/// Player of a script. Messages wait until the script comes to them; then the dialogues judge them.
struct ScriptPlayer {
    run: String,
    script: Arc<Json>,
    player: String,
    number: usize,
    session: Arc<PlayerSession>,
    came: Receiver<AclMessage>,
    waiting: HashMap<Aid, VecDeque<AclMessage>>,
    dialogues: Option<Dialogues>,
    quotes: HashMap<(String, Text), Text>,
    reply_by: HashMap<String, u64>,
    heard: BTreeMap<String, Vec<Json>>,
}

fn agent_name(script: &Json, player: &str, run: &str) -> String {
    format!("{}_{player}_{run}", text(script, "name").unwrap()).replace('-', "_")
}

impl ScriptPlayer {
    fn agent(&self, player: &str) -> Aid {
        Aid::local(agent_name(&self.script, player, &self.run).as_str())
    }

    fn conversation(&self, step: &Json) -> Text {
        let suffix = text(step, "conversation").map(|suffix| format!(".{suffix}")).unwrap_or_default();
        Text::from(format!("{}.{}{suffix}", self.run, text(&self.script, "name").unwrap()))
    }

    /// Plays all steps, and returns the report.
    fn play(mut self) -> Json {
        let script = Arc::clone(&self.script);
        let mut error = None;
        for step in script["steps"].as_array().unwrap() {
            if let Err(why) = self.step(step) {
                error = Some(format!("{step}: {why}"));
                break;
            }
        }
        let conversation = self.conversation(&json!({}));
        let mut ends = BTreeMap::new();
        for other in script["players"].as_object().unwrap().keys() {
            let found = self.dialogues.as_ref().and_then(|all| all.find(&conversation, self.agent(other)));
            ends.extend(found.map(|dialogue| (other.clone(), dialogue.state())));
        }
        let mut report = json!({"run": self.run, "script": script["name"], "player": self.player});
        report["heard"] = json!(self.heard);
        report["ends"] = json!(ends);
        if let Some(error) = error {
            report["error"] = json!(error);
        }
        report
    }

    fn step(&mut self, step: &Json) -> Result<(), String> {
        let player = self.player.clone();
        let is_me = |field: &str| text(step, field) == Some(player.as_str());
        if is_me("take") {
            self.take(text(step, "from").unwrap())
        } else if is_me("deadline") {
            self.pass_deadline(text(step, "with").unwrap());
            Ok(())
        } else if is_me("by") && !is(step, "auto") {
            self.say(step)
        } else if names(step, "to").any(|to| to == player) && !is(step, "held") {
            self.take(text(step, "by").unwrap())
        } else {
            Ok(())
        }
    }

    fn take(&mut self, other: &str) -> Result<(), String> {
        let from = self.agent(other);
        let is_first = self.heard.is_empty() && self.script["players"][&self.player] == "participant";
        let patience = if is_first { FIRST_PATIENCE } else { PATIENCE };
        let message = loop {
            if let Some(message) = self.waiting.get_mut(&from).and_then(VecDeque::pop_front) {
                break message;
            }
            let message = self.came.recv_timeout(patience).map_err(|_| "no message came".to_owned())?;
            self.waiting.entry(Aid::local(message.sender.name)).or_default().push_back(message);
        };
        let judged = self.dialogues.as_mut().map(|dialogues| dialogues.take(&message, now_ms()));
        let verdict = match &judged {
            None => Json::Null,
            Some(None) => json!("ok"),
            Some(Some(judged)) => json!(judged.verdict.name()),
        };
        self.heard.entry(other.to_owned()).or_default().push(json!([message.performative.as_str(), verdict]));
        if let Some(answer) = judged.flatten().and_then(|judged| judged.answer) {
            self.session.send_message(self.number, &answer);
        }
        let extras = message.extras();
        if let (Some(id), Some(conversation)) = (&extras.reply_with, &extras.conversation_id) {
            self.quotes.insert((other.to_owned(), conversation.clone()), id.clone());
        }
        if let Some(ms) = extras.reply_by_ms {
            self.reply_by.insert(other.to_owned(), ms);
        }
        Ok(())
    }

    fn pass_deadline(&mut self, other: &str) {
        let (conversation, other) = (self.conversation(&json!({})), self.agent(other));
        let Some(dialogues) = &mut self.dialogues else { return };
        while let Some(ms) = dialogues.find(&conversation, other).and_then(|dialogue| dialogue.poll_timeout()) {
            sleep_until(ms);
            dialogues.handle_timeout(now_ms());
        }
    }

    fn say(&mut self, step: &Json) -> Result<(), String> {
        let receivers: Vec<&str> = names(step, "to").collect();
        let first = receivers[0].to_owned();
        if is(step, "late") {
            sleep_until(self.reply_by[&first] + LATER_MS);
        }
        let conversation = self.conversation(step);
        let content = match &step["content"] {
            Json::String(text) => Value::from(text.as_str()),
            Json::Number(number) => Value::Num(number.as_f64().unwrap()),
            _ => Value::Null,
        };
        let performative = Performative::named(Symbol::new(text(step, "say").unwrap()));
        let mut message = AclMessage::new(performative, self.agent(&self.player), self.agent(&first), content)
            .with_protocol(text(&self.script, "protocol").unwrap())
            .in_conversation(conversation.clone());
        for other in receivers.iter().skip(1) {
            message = message.to(self.agent(other));
        }
        let extras = message.extras_mut();
        extras.reply_with = text(step, "id").map(Text::from);
        extras.in_reply_to = match step.get("quotes") {
            Some(quotes) => quotes.as_str().map(Text::from),
            None => self.quotes.get(&(first, conversation)).cloned(),
        };
        extras.reply_by_ms = step.get("reply_by").and_then(Json::as_u64).map(|ms| now_ms() + ms);
        if let Some(dialogues) = &mut self.dialogues {
            dialogues.say(&message, now_ms()).map_err(|error| error.to_string())?;
        }
        self.session.send_message(self.number, &message);
        Ok(())
    }
}

/// Reads all scripts, each with its protocol.
fn scripts(only: &str) -> Vec<Arc<Json>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/protocols/scripts");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let file: Json = serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
        for script in file["scripts"].as_array().unwrap() {
            let mut script = script.clone();
            script["protocol"] = file["protocol"].clone();
            let is_wanted = only.is_empty() || only.split(',').any(|name| script["name"] == name);
            found.extend(is_wanted.then(|| Arc::new(script)));
        }
    }
    found
}

/// Starts the players of one run in a session of their own. Returns them by script.
fn start(run: &str, role: &str, scripts: &[Arc<Json>]) -> Vec<Vec<ScriptPlayer>> {
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let (session, reader, home) = PlayerSession::open(&variable("WHIMBREL_URL"), &variable("WHIMBREL_TOKEN"));
    let (mut groups, mut agents, mut created_names) = (Vec::new(), Vec::new(), Vec::new());
    for script in scripts {
        let breaks: Vec<&str> = names(script, "breaks").collect();
        let mut group = Vec::new();
        for (player, part) in script["players"].as_object().unwrap() {
            if part != role {
                continue;
            }
            let (sender, came) = channel();
            let name = agent_name(script, player, run);
            let is_judge = !breaks.contains(&player.as_str());
            let dialogues = is_judge.then(|| Dialogues::new(Aid::local(name.as_str()), home));
            group.push(ScriptPlayer {
                run: run.to_owned(),
                script: Arc::clone(script),
                player: player.clone(),
                number: agents.len(),
                session: Arc::clone(&session),
                came,
                waiting: HashMap::new(),
                dialogues,
                quotes: HashMap::new(),
                reply_by: HashMap::new(),
                heard: BTreeMap::new(),
            });
            agents.push(sender);
            created_names.push(name);
        }
        groups.push(group);
    }
    let ((acks, acks_due), (created, is_created)) = (channel(), channel());
    let reading = Arc::clone(&session);
    std::thread::spawn(move || reading.read(reader, &acks, &agents, &created));
    let writing = Arc::clone(&session);
    std::thread::spawn(move || writing.acknowledge(&acks_due));
    for (number, name) in created_names.iter().enumerate() {
        session.send(json!({"type": "create", "agent": number, "name": name}));
    }
    created_names.iter().for_each(|_| is_created.recv().expect("an agent"));
    groups
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [role, runs, only @ ..] = arguments.as_slice() else {
        panic!("usage: protocol_player initiator|participant RUN[,RUN...] [SCRIPT,...]");
    };
    let scripts = scripts(only.first().map_or("", String::as_str));
    let groups: VecDeque<_> = runs.split(',').flat_map(|run| start(run, role, &scripts)).collect();
    println!("ready");
    let is_initiator = role == "initiator";
    if is_initiator {
        std::io::stdin().read_line(&mut String::new()).expect("a line");
    }
    let at_a_time = if is_initiator { AT_A_TIME } else { groups.len() };
    let groups = Mutex::new(groups);
    std::thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(|| {
                loop {
                    let Some(group) = groups.lock().unwrap().pop_front() else { break };
                    std::thread::scope(|players| {
                        for player in group {
                            players.spawn(|| println!("{}", player.play()));
                        }
                    });
                }
            });
        }
    });
}
