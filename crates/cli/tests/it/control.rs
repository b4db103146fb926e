//! Looking at running platforms, and acting upon them: `ps`, `agents`, `df`, `links`, `sniff`, `send`, `kill`, ...

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{CommandOutput, RunningProcess, Scratch, whimbrel};

/// Longest time for a platform to start.
const PATIENCE: Duration = Duration::from_secs(180);
/// Time between two looks at what is waited for: most of them are a process.
const PAUSE: Duration = Duration::from_millis(60);

const MARKET: &str = "MAS market { agents: buyer; seller; bank #12; }";
const BUYER: &str = "
!buy.
+!buy <- .send(seller, tell, order(tea)); .wait(20); !buy.
+sold(X) <- -sold(X)[source(_)].
";
const SELLER: &str = "
price(cake, 3).
!open.
+!open <- .df_register(\"tea\", \"shop\").
+order(X)[source(A)] <- -order(X)[source(A)]; .send(A, tell, sold(X)).
+!kqml_received(A, request, price(X), M) <- .send(A, inform, price(X, 5), M).
+!kqml_received(A, request, gold, M) <- .send(A, refuse, \"too dear\", M).
";

/// Folder with the programs of a society, and with one for sockets that nobody else knows.
pub struct SocietyFolder {
    pub scratch: Scratch,
}

impl SocietyFolder {
    /// With these programs.
    pub fn with(files: &[(&str, &str)]) -> Self {
        Self { scratch: Scratch::with(files) }
    }

    fn new() -> Self {
        let files = [
            ("market.mas2j", MARKET),
            ("buyer.asl", BUYER),
            ("seller.asl", SELLER),
            ("bank.asl", "!rest.\n+!rest.\n"),
            ("net.mas2j", "MAS net { agents: buyer at \"n1\"; seller at \"n2\"; bank at \"n3\"; }"),
        ];
        Self::with(&files)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = whimbrel();
        command
            .args(arguments)
            .current_dir(self.scratch.path())
            .env("WHIMBREL_RUN_DIR", self.scratch.path().join("run"));
        command
    }

    /// Runs a command to its end.
    pub fn see(&self, arguments: &[&str]) -> CommandOutput {
        self.command(arguments).output().expect("the binary runs").into()
    }

    /// Returns the output of a command that must succeed.
    #[track_caller]
    pub fn out(&self, arguments: &[&str]) -> String {
        let CommandOutput { out, err, code, .. } = self.see(arguments);
        assert_eq!((err.as_str(), code), ("", Some(0)), "{arguments:?} printed {out}");
        out
    }

    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let out = self.out(arguments);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error} in {out}"))
    }

    /// Reads lines of a command that does not end, until these are enough.
    #[track_caller]
    pub fn lines_until(&self, arguments: &[&str], enough: impl Fn(&[String]) -> bool) -> Vec<String> {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let _ends = RunningProcess(child);
        let mut lines = Vec::new();
        for line in output.lines().map_while(Result::ok) {
            lines.push(line);
            if enough(&lines) {
                return lines;
            }
        }
        panic!("{arguments:?} ended: {lines:?}");
    }

    /// Starts a platform, and waits until so many nodes can be seen.
    #[track_caller]
    pub fn start(&self, arguments: &[&str], nodes: usize) -> RunningProcess {
        let mut command = self.command(arguments);
        let running = RunningProcess(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs"));
        // A node that begins on a busy machine may not answer in time.
        let seen = || {
            let seen: Value = serde_json::from_str(&self.see(&["ps", "--json"]).out).unwrap_or_default();
            seen["nodes"].as_array().map(Vec::len)
        };
        // A folder is soon read: each command is a process, and takes from those that start.
        self.until(|| self.sockets().len() >= nodes && seen() == Some(nodes));
        running
    }

    #[track_caller]
    pub fn until(&self, mut so: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !so() {
            assert!(begin.elapsed() < PATIENCE, "it takes too long");
            std::thread::sleep(PAUSE);
        }
    }

    fn sockets(&self) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(self.scratch.path().join("run")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    /// Returns a node's answer to a request of this kind.
    #[track_caller]
    pub fn ask(&self, request: &str) -> Value {
        let mut stream = UnixStream::connect(&self.sockets()[0]).expect("it listens");
        writeln!(stream, r#"{{"version":1,"request":"{request}"}}"#).expect("it takes it");
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).expect("it answers");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error} in {answer}"))
    }

    fn names(&self, arguments: &[&str]) -> Vec<String> {
        let found = self.json(&[&["agents", "--json"], arguments].concat());
        let agents = found["agents"].as_array().cloned().unwrap_or_default();
        agents.iter().map(|agent| agent["name"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

#[test]
fn nothing_runs() {
    let site = SocietyFolder::new();
    assert_eq!(site.out(&["ps"]), "no society runs here\n");
    assert_eq!(site.out(&["ps", "--json"]), "{\"nodes\":[]}\n");
    for command in [&["agents"][..], &["df"], &["links"], &["sniff"], &["send", "a", "b"], &["kill", "a"], &["stop"]] {
        let seen = site.see(command);
        let why = "error: no society runs here: start one with `whimbrel run FILE`\n";
        assert_eq!((seen.out.as_str(), seen.err.as_str(), seen.code), ("", why, Some(1)), "{command:?}");
    }
    // What was said is there though nobody is.
    let log = site.see(&["log"]);
    assert!(log.err.contains("no society runs here") && log.err.contains("--folder"), "{}", log.err);
}

#[test]
fn node_describes_itself_and_agents() {
    let site = SocietyFolder::new();
    let running = site.start(&["run", "market.mas2j"], 1);
    let sockets = site.sockets();
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((sockets.len(), mode(&sockets[0]), mode(&site.scratch.path().join("run"))), (1, 0o600, 0o700));
    site.until(|| site.json(&["ps", "--json"])["nodes"][0]["handled"].as_u64() > Some(20));
    let node = site.json(&["ps", "--json"])["nodes"][0].clone();
    let text = |name: &str| node[name].as_str().unwrap_or_default().to_owned();
    assert_eq!((text("platform"), text("node"), text("society")), ("whimbrel".into(), "n1".into(), "market".into()));
    assert_eq!((node["pid"].as_u64(), node["agents"].as_u64()), (Some(running.0.id().into()), Some(14)));
    assert!(node["messages_per_s"].as_f64() > Some(1.0), "{node}");
    assert!(node["memory_bytes"].as_u64() > Some(1_000_000) || !cfg!(target_os = "linux"), "{node}");
    let table = site.out(&["ps"]);
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..5], ["PLATFORM", "NODE", "SOCIETY", "PID", "UP"]);
    assert_eq!(lines[1][..3], ["whimbrel", "n1", "market"]);
    assert!(!table.contains('\u{1b}'), "{table:?}");
    assert!(site.out(&["ps", "--color", "always"]).contains('\u{1b}'));
}

#[test]
fn agents_filter_by_name_and_state() {
    let site = SocietyFolder::new();
    let _running = site.start(&["run", "market.mas2j"], 1);
    assert_eq!(site.names(&["bank*"])[..4], ["bank1", "bank2", "bank3", "bank4"], "numbers in names are numbers");
    assert_eq!(site.names(&["bank1?"]), ["bank10", "bank11", "bank12"]);
    assert_eq!(site.names(&["--services", "ams"]), ["ams"]);
    site.until(|| site.names(&["--sort", "handled", "--limit", "2"]).iter().all(|name| !name.starts_with("bank")));
    assert_eq!(site.out(&["suspend", "seller"]), "seller suspended\n");
    assert_eq!(site.names(&["--state", "suspended"]), ["seller"]);
    site.until(|| site.json(&["agents", "seller", "--json"])["agents"][0]["mailbox"].as_u64() > Some(2));
    assert_eq!(site.names(&["--sort", "mailbox", "--limit", "1"]), ["seller"]);
    let again = site.see(&["suspend", "seller"]);
    assert_eq!((again.err.as_str(), again.code), ("error: cannot suspend agent seller: it is suspended\n", Some(1)));
    assert_eq!(site.out(&["resume", "seller"]), "seller resumed\n");
    site.until(|| site.json(&["agents", "seller", "--json"])["agents"][0]["mailbox"].as_u64() == Some(0));
    let some = site.out(&["agents", "--limit", "3"]);
    assert!(some.ends_with("\nand 11 more: give a pattern, or a higher --limit\n"), "{some}");
    let killed = site.see(&["kill", "bank*", "nobody"]);
    assert_eq!((killed.out.lines().count(), killed.code), (12, Some(1)), "{}", killed.out);
    assert_eq!(killed.err, "error: there is no agent named nobody\n");
    site.until(|| site.names(&[]) == ["buyer", "seller"]);
    assert!(site.see(&["kill", "df"]).err.contains("platform's own"));
    assert_eq!(site.out(&["agents", "bank*"]), "no such agents\n");
}

#[test]
fn services_filter_by_properties() {
    let site = SocietyFolder::new();
    let _running = site.start(&["run", "market.mas2j"], 1);
    site.until(|| site.out(&["df"]).contains("tea"));
    let entry = site.json(&["df", "--type", "sh?p", "--json"])["entries"][0].clone();
    assert_eq!((&entry["agent"], &entry["node"]), (&"seller".into(), &"n1".into()));
    assert_eq!((&entry["services"][0]["name"], &entry["services"][0]["kind"]), (&"tea".into(), &"shop".into()));
    for fits in [&["tea"][..], &["shop"], &["--name", "t*"], &["--agent", "seller"]] {
        assert!(site.out(&[&["df"], fits].concat()).contains("seller"), "{fits:?}");
    }
    for misses in [&["cup"][..], &["--ontology", "x"], &["--agent", "b*"], &["tea", "--property", "price"]] {
        assert_eq!(site.out(&[&["df"], misses].concat()), "nobody offers that\n", "{misses:?}");
    }
}

#[test]
fn three_processes_are_one_platform() {
    let site = SocietyFolder::new();
    let _running = site.start(&["run", "net.mas2j", "--nodes", "3"], 3);
    let agents = site.json(&["agents", "--json"]);
    let places: Vec<(&str, &str)> = agents["agents"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|agent| (agent["name"].as_str().unwrap(), agent["node"].as_str().unwrap()))
        .collect();
    assert_eq!(places, [("bank", "n3"), ("buyer", "n1"), ("seller", "n2")]);
    assert_eq!(site.names(&["--node", "n2"]), ["seller"]);
    site.until(|| {
        let links = site.json(&["links", "--json"]);
        let links = links["links"].as_array().cloned().unwrap_or_default();
        let busy = |link: &&Value| {
            link["up"] == true && link["items_in"].as_u64() > Some(0) && link["round_trip_us"].as_u64() > Some(0)
        };
        links.len() == 6 && links.iter().filter(busy).count() == 6
    });
    site.until(|| site.json(&["df", "--json"])["entries"].as_array().map(Vec::len) == Some(1));
    assert!(site.out(&["df"]).contains("n2"), "the entry is the seller's node's");
    // The buyer's node and the seller's.
    let event = |line: &String| serde_json::from_str::<Value>(line).expect("JSON");
    let of_both =
        |lines: &[String]| ["n1", "n2"].iter().all(|node| lines.iter().any(|one| event(one)["node"] == **node));
    let sniffed = site.lines_until(&["sniff", "--json"], |lines| lines.len() >= 6 && of_both(lines));
    // Events of one node wait for those of others for half a second, and need not on a busy machine.
    for node in ["n1", "n2", "n3"] {
        let times = sniffed.iter().map(event).filter(|event| event["node"] == node);
        assert!(times.map(|event| event["at_us"].as_u64()).is_sorted(), "{sniffed:?}");
    }
    assert_eq!(site.out(&["suspend", "seller"]), "seller suspended\n", "asked of n1, it is n2's");
    assert_eq!(site.out(&["kill", "bank"]), "bank killed\n");
    site.until(|| site.names(&[]) == ["buyer", "seller"]);
    assert_eq!(site.out(&["stop"]).lines().count(), 3);
    assert_eq!((site.out(&["ps"]).as_str(), site.sockets().len()), ("no society runs here\n", 0));
}

#[test]
fn move_explains_staying_agents() {
    let site = SocietyFolder::new();
    let _running = site.start(&["run", "net.mas2j", "--nodes", "3"], 3);
    let node = || {
        site.json(&["agents", "--json"])["agents"].as_array().and_then(|agents| {
            let bank = agents.iter().find(|agent| agent["name"] == "bank")?;
            bank["node"].as_str().map(ToOwned::to_owned)
        })
    };
    site.until(|| node().as_deref() == Some("n3"));
    assert_eq!(site.out(&["move", "bank", "n1"]), "bank moved to n1\n");
    // It is told when the node that it leaves lets it go: just then it is on no node.
    site.until(|| node().as_deref() == Some("n1"));
    for (arguments, why) in [
        (["move", "bank", "n1"], "bank stays: it is on node n1 already"),
        (["move", "bank", "n9"], "bank stays: there is no node named n9"),
        (["move", "nobody", "n1"], "there is no agent named nobody"),
        (["move", "df", "n2"], "df"),
    ] {
        let CommandOutput { out, err, code, .. } = site.see(&arguments);
        assert!(err.contains(why) && out.is_empty() && code == Some(1), "{arguments:?}: {out}{err}");
    }
    assert_eq!(site.out(&["move", "b*k", "n2"]), "bank moved to n2\n");
    site.until(|| node().as_deref() == Some("n2"));
    // An agent of the pattern that is there already needs nothing. Names are in order.
    let moved = site.out(&["move", "b*", "n2"]);
    let names: Vec<&str> = moved.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(moved.contains("bank is on n2 already\n") && names.is_sorted(), "{moved}");
}

#[test]
fn several_platforms_are_told_apart() {
    let site = SocietyFolder::new();
    let _one = site.start(&["run", "market.mas2j"], 1);
    let two = site.start(&["run", "market.mas2j"], 2);
    let seen = site.see(&["agents"]);
    assert!(seen.err.starts_with("error: several platforms run on this machine: choose one with"), "{}", seen.err);
    assert_eq!((seen.err.matches("--pid ").count(), seen.code), (2, Some(1)), "{}", seen.err);
    let pid = two.0.id().to_string();
    assert_eq!(site.names(&["--pid", &pid]).len(), 14);
    let _three = site.start(&["run", "net.mas2j", "--nodes", "3"], 5);
    assert_eq!(site.names(&["--platform", "net"]).len(), 3);
    site.until(|| {
        site.json(&["nodes", "--platform", "net", "--json"])["linked"] == serde_json::json!(["n1", "n2", "n3"])
    });
    assert!(site.out(&["nodes", "--platform", "net"]).starts_with("no cluster, but the nodes n1, n2, n3,"));
    let none = site.see(&["agents", "--platform", "garden"]);
    assert!(none.err.starts_with("error: no such node runs here; running nodes:\n  --pid "), "{}", none.err);
    assert!(none.err.contains("\n  --platform net "), "{}", none.err);
    assert!(site.out(&["stop", "--pid", &pid]).contains(&pid));
    assert_eq!(site.json(&["ps", "--json"])["nodes"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_killed_process_leaves_nothing_behind() {
    let site = SocietyFolder::new();
    drop(site.start(&["run", "market.mas2j"], 1));
    assert_eq!(site.sockets().len(), 1, "it could not remove it");
    assert_eq!(site.out(&["ps"]), "no society runs here\n");
    site.until(|| site.out(&["ps"]) == "no society runs here\n" && site.sockets().is_empty());
}

#[test]
fn a_node_runs_without_a_socket() {
    let scratch = Scratch::with(&[("x.asl", "!go.\n+!go <- .print(hello); .stopMAS.\n"), ("file", "no folder")]);
    let run = |folder: &str| {
        let mut command = whimbrel();
        command.args(["run", "x.asl"]).current_dir(scratch.path()).env("WHIMBREL_RUN_DIR", scratch.path().join(folder));
        CommandOutput::from(command.output().expect("it runs"))
    };
    let deep = "a-long-name/".repeat(20);
    for (folder, why) in [("file/run", "cannot make"), (deep.as_str(), "cannot listen at")] {
        let seen = run(folder);
        assert_eq!((seen.out.as_str(), seen.code), ("[x] hello\n", Some(0)), "{}", seen.err);
        assert!(seen.err.contains("`whimbrel ps` will not show this node") && seen.err.contains(why), "{}", seen.err);
    }
}

#[test]
fn folders_of_others_are_not_used() {
    let site = SocietyFolder::new();
    let folder = site.scratch.path().join("run");
    std::fs::create_dir(&folder).expect("made");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).expect("set");
    let seen = site.see(&["agents"]);
    assert!(seen.err.contains("other users can write to") && seen.code == Some(1), "{}", seen.err);
    // Another user: only root can be one.
    if std::fs::metadata(&folder).expect("it is there").uid() == 0 {
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("set");
        std::fs::set_permissions(site.scratch.path(), std::fs::Permissions::from_mode(0o755)).expect("set");
        let mut command = site.command(&["agents"]);
        std::os::unix::process::CommandExt::uid(&mut command, 65_534);
        // The binary may lie where others cannot go.
        if let Ok(output) = command.output() {
            let seen = CommandOutput::from(output);
            assert!(seen.err.contains("belongs to another user") && seen.code == Some(1), "{}", seen.err);
        }
    }
}

#[test]
fn messages_are_sniffed() {
    let site = SocietyFolder::new();
    let _running = site.start(&["run", "market.mas2j"], 1);
    let lines = site.out(&["sniff", "--limit", "4"]);
    // Other events come along, and do not count.
    assert_eq!(lines.lines().filter(|line| line.contains(" -> ")).count(), 4, "{lines}");
    let is_order = |line: &String| line.contains("buyer -> seller") && line.contains("order(tea)");
    site.lines_until(&["sniff"], |lines| lines.iter().any(is_order));
    let told = site.out(&["sniff", "--performative", "TELL", "--agent", "sell*", "--limit", "2", "--json"]);
    let first: Value = serde_json::from_str(told.lines().next().unwrap()).expect("JSON");
    assert_eq!((&first["event"], &first["performative"]), (&"sent".into(), &"tell".into()), "{told}");
    for none in [["--performative", "cfp"], ["--conversation", "*"], ["--agent", "bank*"]] {
        let arguments = [&["sniff", "--for", "300ms"][..], &none].concat();
        assert_eq!(site.out(&arguments), "", "{none:?}");
    }
    // Orders may come faster than they are answered.
    let shows = |lines: &[String], arrow: &str| lines.iter().any(|line| line.contains(arrow));
    site.lines_until(&["sniff", "buyer", "seller"], |lines| shows(lines, "▶") && shows(lines, "◀"));
    let alone = site.out(&["sniff", "seller", "--limit", "1"]);
    assert!(alone.contains("others") && alone.contains("buyer: "), "{alone}");
}

#[test]
fn sniffer_end_leaves_platform_running() {
    let site = SocietyFolder::new();
    let _running = site.start(&["run", "market.mas2j"], 1);
    let sniff = || {
        let mut child = site.command(&["sniff"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        lines.read_line(&mut String::new()).expect("a line");
        (child, lines)
    };
    let (interrupted, _lines) = sniff();
    let killed = Command::new("kill").args(["-INT", &interrupted.id().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    let ended = interrupted.wait_with_output().expect("it ends");
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
    let (unread, lines) = sniff();
    drop(lines);
    let ended = unread.wait_with_output().expect("it ends when nobody reads");
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
    let (left, _lines) = sniff();
    let handled = || site.json(&["ps", "--json"])["nodes"][0]["handled"].as_u64().unwrap();
    let before = handled();
    site.until(|| handled() > before + 20);
    site.out(&["stop"]);
    let ended = left.wait_with_output().expect("it ends with the platform");
    assert_eq!(ended.status.code(), Some(0));
}

#[test]
fn slow_sniffer_delays_no_agent() {
    let site = SocietyFolder::new();
    std::fs::write(
        site.scratch.path().join("fast.asl"),
        "!go.\n+!go <- .send(fast, tell, x(\"some text to fill a buffer\")); !go.\n+x(T) <- -x(T)[source(_)].\n",
    )
    .expect("written");
    let _running = site.start(&["run", "fast.asl", "--workers", "1"], 1);
    let mut stream = UnixStream::connect(&site.sockets()[0]).expect("it listens");
    stream.write_all(b"{\"version\":1,\"request\":\"sniff\"}\n").expect("it takes it");
    let handled = || site.json(&["ps", "--json"])["nodes"][0]["handled"].as_u64().unwrap();
    let before = handled();
    site.until(|| handled() > before + 25_000);
    // What does not fit is counted, at once or at times.
    let mut skipped = 0;
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    while skipped <= 1_000 {
        let event: Value = serde_json::from_str(&lines.next().expect("the stream goes on")).expect("JSON");
        skipped += event["count"].as_u64().filter(|_| event["event"] == "skipped").unwrap_or(0);
    }
}

#[test]
fn messages_are_sent_and_answered() {
    let site = SocietyFolder::new();
    let _running = site.start(&["run", "market.mas2j"], 1);
    let send = |arguments: &[&str]| site.see(&[&["send"], arguments].concat());
    #[track_caller]
    fn expect(seen: CommandOutput, out: &str, err: &str, code: i32) {
        assert_eq!((seen.out.as_str(), seen.err.as_str(), seen.code), (out, err, Some(code)));
    }
    expect(send(&["seller", "order(cup)"]), "", "", 0);
    expect(send(&["seller", "price(tea)", "-p", "request", "--wait"]), "seller: inform price(tea,5)\n", "", 0);
    let options = ["--to", "seller", "--performative", "request", "--content", "price(7)", "--wait=5s"];
    expect(send(&options), "seller: inform price(7,5)\n", "", 0);
    let asked = send(&["seller", "price(cake, P)", "-p", "askOne", "--wait"]);
    expect(asked, "seller: tell price(cake,3)\n", "", 0);
    let refused = send(&["seller", "gold", "--performative", "request", "--wait"]);
    expect(refused, "seller: refuse \"too dear\"\n", "", 3);
    let silent = send(&["bank1", "hello", "--wait=200ms"]);
    expect(silent, "", "error: no answer from bank1 within 200ms\n", 4);
    assert_eq!(site.out(&["suspend", "bank1"]), "bank1 suspended\n");
    let held = "error: no answer from bank1 within 200ms: bank1 is suspended (`whimbrel resume bank1`)\n";
    expect(send(&["bank1", "hello", "--wait=200ms"]), "", held, 4);
    let nobody = send(&["sellr", "hello"]);
    expect(nobody, "", "error: there is no agent named sellr; did you mean seller?\n", 1);
    let refused = send(&["ams", "hello", "-p", "request", "--from", "me", "--wait", "--json"]);
    let answer: Value = serde_json::from_str(&refused.out).expect("a message");
    assert_eq!((&answer["performative"], &answer["receivers"][0]), (&"refuse".into(), &"me".into()), "{answer}");
    assert_eq!(refused.code, Some(3));
    let theirs = send(&["bank1", "hello", "--from", "buyer", "--wait"]);
    assert!(theirs.err.contains("buyer is an agent of the society") && theirs.code == Some(1), "{}", theirs.err);
    // The result of an `agree` comes after that.
    let register = "((action (agent-identifier :name df) (register (df-agent-description :name (agent-identifier :name cli) \
                    :services (set (service-description :name tea :type shop))))))";
    let register = ["df", register, "-p", "request", "--language", "fipa-sl0", "--wait"];
    let done = send(&register);
    assert!(done.out.starts_with("df: inform ") && done.code == Some(0), "{}{}", done.out, done.err);
    let again = send(&register);
    assert!(again.out.starts_with("df: failure ") && again.out.contains("already-registered"), "{}", again.out);
    let broken = send(&["seller", "(request :content"]);
    assert!(broken.err.contains("malformed message in encoding string") && broken.code == Some(1), "{}", broken.err);
}

#[test]
fn messages_are_read_from_standard_input() {
    let site = SocietyFolder::new();
    let _running = site.start(&["run", "market.mas2j"], 1);
    let send = |arguments: &[&str], text: &str| {
        let mut command = site.command(&[&["send"], arguments].concat());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
        child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("written");
        CommandOutput::from(child.wait_with_output().expect("it ends"))
    };
    let message = "(request :sender (agent-identifier :name me) :receiver (set (agent-identifier :name seller)) :content \"gold\")";
    let seen = send(&["--wait"], message);
    // A text of a message that says no language is read as a term.
    assert_eq!((seen.out.as_str(), seen.code), ("seller: refuse \"too dear\"\n", Some(3)), "{}", seen.err);
    let seen = send(&["seller", "-p", "request", "--wait"], "price(cup)\n");
    assert_eq!((seen.out.as_str(), seen.code), ("seller: inform price(cup,5)\n", Some(0)), "{}", seen.err);
    assert!(send(&[], "price(cup)").err.contains("no receiver: name one"));
}

#[test]
fn socket_garbage_is_refused() {
    let site = SocietyFolder::new();
    let _running = site.start(&["run", "market.mas2j"], 1);
    let say = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(&site.sockets()[0]).expect("it listens");
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut line = String::new();
        let _ = BufReader::new(stream).read_line(&mut line);
        line
    };
    for garbage in [
        &b""[..],
        b"\n",
        b"{}\n",
        b"hello\n",
        b"\xff\xff\xff\n",
        b"{\"version\":1,\"request\":\"agents\",\"limit\":-1}\n",
    ] {
        let answer: Value = serde_json::from_str(&say(garbage)).expect("an answer");
        assert_eq!((&answer["answer"], &answer["reason"]), (&"error".into(), &"bad_request".into()), "{garbage:?}");
    }
    let later: Value = serde_json::from_str(&say(b"{\"version\":2,\"request\":\"node\"}\n")).expect("an answer");
    assert_eq!(later["text"], "this node speaks version 1 of the control protocol, not 2");
    let deep =
        format!("{{\"version\":1,\"request\":\"send\",\"message\":{}1{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert!(say(deep.as_bytes()).contains("bad_request"));
    assert_eq!(site.names(&["buyer"]), ["buyer"]);
}

#[test]
fn topics_and_publications_are_shown() {
    let site = SocietyFolder::new();
    let write = |name: &str, text: &str| std::fs::write(site.scratch.path().join(name), text).expect("written");
    write("news.mas2j", "MAS news { agents: reader #2; writer; }");
    write("reader.asl", "!read.\n+!read <- .subscribe(news).\n+n(X) <- -n(X)[source(_)].\n");
    write("writer.asl", "!write.\n+!write <- .publish(news, tell, n(1)); .wait(30); !write.\n");
    let _running = site.start(&["run", "news.mas2j", "--nodes", "2"], 2);
    site.until(|| site.out(&["topics"]).lines().count() == 3);
    let topics = site.json(&["topics", "n?ws", "--json"])["topics"].as_array().cloned().unwrap_or_default();
    let members: u64 = topics.iter().filter_map(|topic| topic["members"].as_u64()).sum();
    assert_eq!((topics.len(), members, &topics[0]["name"]), (2, 2, &"topic:news".into()), "{topics:?}");
    assert_eq!(site.out(&["topics", "weather"]), "nobody is in any topic or group\n");
    let all = site.out(&["sniff", "--limit", "2", "--only-messages"]);
    assert!(all.lines().all(|line| line.contains("writer -> topic:news")), "{all}");
    let one = site.out(&["sniff", "--agent", "reader2", "--limit", "2"]);
    assert!(one.lines().all(|line| line.contains("writer -> reader2") && line.contains("by topic:news")), "{one}");
    assert_eq!(site.out(&["send", "topic:news", "n(2)"]), "");
}

#[test]
fn hanging_node_delays_no_other() {
    let site = SocietyFolder::new();
    let _one = site.start(&["run", "market.mas2j"], 1);
    let two = site.start(&["run", "net.mas2j"], 2);
    let signal = |name: &str| {
        let status = Command::new("kill").args([name, &two.0.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
    };
    signal("-STOP");
    let seen = site.see(&["ps", "--json"]);
    let nodes: Value = serde_json::from_str(&seen.out).expect("JSON");
    assert_eq!((nodes["nodes"].as_array().map(Vec::len), seen.code), (Some(1), Some(0)), "{}", seen.out);
    assert!(seen.err.contains("cannot be asked"), "{}", seen.err);
    assert_eq!(site.names(&["buyer"]), ["buyer"], "the other one answers");
    signal("-CONT");
    site.until(|| site.json(&["ps", "--json"])["nodes"].as_array().map(Vec::len) == Some(2));
}

#[test]
fn joined_nodes_show_with_platform() {
    let site = SocietyFolder::new();
    let run = ["run", "market.mas2j", "--listen", "127.0.0.1:0", "--token", "t"];
    let _host = site.start(&run, 1);
    let address = site.json(&["ps", "--json"])["nodes"][0]["address"].as_str().unwrap_or_default().to_owned();
    std::fs::write(site.scratch.path().join("guest.asl"), "!rest.\n+!rest.\n").expect("written");
    let _guest = site.start(&["join", &address, "guest.asl", "--token", "t", "--name", "far"], 2);
    site.until(|| site.names(&[]).len() == 15);
    let guest = site.json(&["agents", "guest", "--json"])["agents"][0].clone();
    assert_eq!((&guest["node"], &guest["state"]), (&"far".into(), &"active".into()), "{guest}");
    // Of the one node that is asked, the others' agents are only names.
    assert_eq!(site.names(&["--node", "far"]), ["guest"]);
}

#[test]
fn dead_letters_show_reasons() {
    let site = SocietyFolder::new();
    let _running = site.start(&["run", "market.mas2j"], 1);
    assert_eq!(site.out(&["dead-letters"]), "0 messages died so far\n");
    site.out(&["suspend", "seller"]);
    site.until(|| site.json(&["agents", "seller", "--json"])["agents"][0]["mailbox"].as_u64() > Some(2));
    site.out(&["kill", "seller"]);
    site.until(|| site.json(&["dead-letters", "--json"])["total"].as_u64() > Some(2));
    let all = site.out(&["dead-letters", "--limit", "2"]);
    let lines: Vec<&str> = all.lines().collect();
    assert!(lines[0].contains("buyer -> seller") && lines[0].contains("order(tea)"), "{all}");
    assert!(lines[0].ends_with("undeliverable: agent_ended") && lines[2].ends_with("messages died so far"), "{all}");
    let some = |agent: &str| {
        let found = site.json(&["dead-letters", agent, "--limit", "1", "--json"]);
        found["letters"].as_array().map(Vec::len)
    };
    assert_eq!((some("sell*"), some("bank1")), (Some(1), Some(0)));
}

#[test]
fn watch_repeats_until_output_closes() {
    let site = SocietyFolder::new();
    let _running = site.start(&["run", "market.mas2j"], 1);
    for arguments in [&["ps", "--watch=60ms", "--json"][..], &["agents", "seller", "--watch=60ms", "--json"]] {
        let mut child = site.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let all: Vec<Value> = lines.take(3).map(|line| serde_json::from_str(&line).expect("JSON")).collect();
        assert_eq!(all.len(), 3);
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
    }
}

/// A client that disconnects before its answer leaves the node to other clients.
#[test]
fn abandoned_questions_make_nobody_wait() {
    let site = SocietyFolder::new();
    let _running = site.start(&["run", "market.mas2j"], 1);
    let socket = site.sockets().into_iter().find(|path| path.extension().is_some_and(|end| end == "sock"));
    let socket = socket.expect("it is there");
    let question = "{\"version\":1,\"request\":\"send\",\"wait_ms\":3600000,\"message\":\
                    {\"performative\":\"inform\",\"receivers\":[\"bank1\"],\"content\":1}}\n";
    for _ in 0..64 {
        let mut stream = UnixStream::connect(&socket).expect("it listens");
        stream.write_all(question.as_bytes()).expect("it is heard");
    }
    site.until(|| site.see(&["agents", "bank1"]).code == Some(0));
}

#[test]
fn agents_are_called_home() {
    let site = SocietyFolder::new();
    let scout = "!go. +!go <- .tour([stop(n2, work)]). -!go[error(E)] <- +failed(E). +!work <- .wait(100000).\n";
    std::fs::write(site.scratch.path().join("buyer.asl"), scout).expect("it can be written");
    let _running = site.start(&["run", "net.mas2j", "--nodes", "3"], 3);
    let place = || site.json(&["agents", "buyer", "--json"])["agents"][0]["node"].clone();
    site.until(|| place() == "n2");
    assert_eq!(site.out(&["recall", "buy*"]), "buyer is home\n");
    site.until(|| place() == "n1");
    assert_eq!(site.out(&["recall", "buyer"]), "buyer is home\n");
    let CommandOutput { err, code, .. } = site.see(&["recall", "byuer"]);
    assert_eq!((err.trim_end(), code), ("error: there is no agent named byuer; did you mean buyer?", Some(1)));
}
