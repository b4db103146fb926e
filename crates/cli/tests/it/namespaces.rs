//! Nodes on networks of their own, whose wires can be cut: real processes in Linux's network namespaces. Only root can
//! make those; without, these tests say so and do nothing.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{CommandOutput, Scratch, whimbrel};

/// Longest time for anything.
const PATIENCE: Duration = Duration::from_secs(180);
/// Duration of the cut: longer than a link waits for a sign of life, shorter than the time after which a node is given
/// up.
const CUT: Duration = Duration::from_secs(10);

/// Sends numbered messages to the agents of both other nodes until it hears `enough`, and sees whether theirs come in
/// order, each once.
const TALKER: &str = "
last(a1, 0). last(a2, 0). last(a3, 0). sent(0).
other(A) :- .member(A, [a1, a2, a3]) & not .my_name(A).

+go <- !talk(1).
+!talk(N) : enough <- .print(\"sent \", N - 1).
+!talk(N) <- for (.range(I, N, N + 9)) { for (other(A)) { .send(A, achieve, item(I)) } }; .wait(10); !talk(N + 10).

@item[atomic]
+!item(N)[source(A)] <- ?last(A, M); if (N \\== M + 1) { .print(\"disorder: \", N, \" after \", M, \" of \", A) };
    -last(A, M); +last(A, N).
+report <- for (other(A)) { ?last(A, N); .print(\"got \", N, \" of \", A) }; .print(\"that is all\").
";

/// A network of so many hosts with a switch between them, each in a namespace.
struct HostNetwork {
    hosts: usize,
}

impl HostNetwork {
    /// `None` if this user cannot make one.
    fn new(hosts: usize) -> Option<Self> {
        let network = Self { hosts };
        let add = Command::new("ip").args(["netns", "add", &network.switch()]).stderr(Stdio::piped()).output();
        match add {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                eprintln!("skipped: no network namespaces here: {}", String::from_utf8_lossy(&output.stderr).trim());
                return None;
            }
            Err(error) => {
                eprintln!("skipped: no network namespaces here: cannot run `ip`: {error}");
                return None;
            }
        }
        let switch = network.switch();
        ip(&format!("-n {switch} link add br0 type bridge"));
        ip(&format!("-n {switch} link set br0 up"));
        for host in 1..=hosts {
            let (name, address) = (network.host(host), address(host));
            ip(&format!("netns add {name}"));
            ip(&format!("-n {switch} link add port{host} type veth peer name eth0 netns {name}"));
            ip(&format!("-n {switch} link set port{host} master br0 up"));
            ip(&format!("-n {name} addr add {address}/24 dev eth0"));
            ip(&format!("-n {name} link set eth0 up"));
            ip(&format!("-n {name} link set lo up"));
        }
        Some(network)
    }

    fn switch(&self) -> String {
        format!("whimbrel-{}-switch", std::process::id())
    }

    fn host(&self, host: usize) -> String {
        format!("whimbrel-{}-{host}", std::process::id())
    }

    /// Pulls the plug of a host, or puts it in again.
    fn plug(&self, host: usize, state: &str) {
        ip(&format!("-n {} link set port{host} {state}", self.switch()));
    }
}

impl Drop for HostNetwork {
    fn drop(&mut self) {
        let names = (1..=self.hosts).map(|host| self.host(host)).chain([self.switch()]);
        for name in names {
            let _ = Command::new("ip").args(["netns", "del", &name]).stderr(Stdio::null()).status();
        }
    }
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("ip runs");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

fn address(host: usize) -> String {
    format!("10.99.0.{host}")
}

/// A node on each host of a network, with one talker each: `a1`, `a2`, ...
struct HostNodes {
    children: Vec<Child>,
    scratch: Scratch,
    network: HostNetwork,
}

impl HostNodes {
    fn start(network: HostNetwork) -> Self {
        let mut nodes = Self { children: Vec::new(), scratch: Scratch::new(), network };
        nodes.see(&["ca", "init", "authority"]);
        for host in 1..=nodes.network.hosts {
            let (name, address) = (format!("n{host}"), address(host));
            nodes.see(&["ca", "issue", "authority", &name, "--out", &name, "--address", &address]);
            std::fs::write(nodes.scratch.path().join(format!("a{host}.asl")), TALKER).expect("written");
            nodes.start_one(host);
            // Before the first of them is there, there is nobody to ask.
            nodes.until("all nodes are linked", || {
                nodes.json("ps").len() == host && nodes.links_up() == host * (host - 1)
            });
        }
        nodes
    }

    fn start_one(&mut self, host: usize) {
        let (name, program) = (format!("n{host}"), format!("a{host}.asl"));
        let (first, here) = (format!("{}:7001", address(1)), format!("{}:7001", address(host)));
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.network.host(host)]).arg(env!("CARGO_BIN_EXE_whimbrel"));
        if host == 1 {
            command.args(["run", &program]);
        } else {
            command.args(["join", &first, &program, "--name", &name]);
        }
        command.args(["--listen", &here, "--credentials", &name]);
        self.surround(&mut command).stdout(self.file("out", host)).stderr(self.file("err", host));
        self.children.push(command.spawn().expect("it runs"));
    }

    fn surround<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let folder = self.scratch.path();
        command.current_dir(folder).env("WHIMBREL_RUN_DIR", folder.join("run")).stdin(Stdio::null());
        command.env("WHIMBREL_CA_PASSPHRASE", "open sesame").env("WHIMBREL_TOKEN", "the token")
    }

    fn path(&self, what: &str, host: usize) -> PathBuf {
        self.scratch.path().join(format!("n{host}.{what}"))
    }

    fn file(&self, what: &str, host: usize) -> File {
        File::create(self.path(what, host)).expect("it can be written")
    }

    fn read(&self, what: &str, host: usize) -> String {
        std::fs::read_to_string(self.path(what, host)).expect("it is there")
    }

    #[track_caller]
    fn see(&self, arguments: &[&str]) -> String {
        let seen = CommandOutput::from(self.surround(whimbrel().args(arguments)).output().expect("it runs"));
        assert_eq!(seen.code, Some(0), "{arguments:?}: {}", seen.err);
        seen.out
    }

    fn json(&self, what: &str) -> Vec<Value> {
        let seen: Value = serde_json::from_str(&self.see(&[what, "--json"])).expect("JSON");
        let list = if what == "ps" { "nodes" } else { what };
        seen[list].as_array().cloned().unwrap_or_default()
    }

    fn links_up(&self) -> usize {
        self.json("links").iter().filter(|link| link["up"] == true).count()
    }

    /// Tells all agents something.
    fn tell_all(&self, what: &str) {
        for host in 1..=self.network.hosts {
            self.see(&["send", &format!("a{host}"), what, "-p", "tell"]);
        }
    }

    /// The sum of a figure over all nodes.
    fn sum(&self, figure: &str) -> u64 {
        self.json("ps").iter().map(|node| node[figure].as_u64().expect("a figure")).sum()
    }

    #[track_caller]
    fn until(&self, what: &str, mut so: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !so() {
            let errors: Vec<String> = (1..=self.children.len()).map(|host| self.read("err", host)).collect();
            assert!(begin.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}\n{errors:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Returns the numbers that a host's agent printed after a word, with the word that follows: `got 5 of a2` is
    /// ("a2", 5).
    fn figures(&self, host: usize, word: &str) -> Vec<(String, u64)> {
        let text = self.read("out", host);
        let lines = text.lines().filter_map(|line| line.split_once("] ")?.1.strip_prefix(word));
        let figure = |line: &str| {
            let mut words = line.split_whitespace();
            let count = words.next().and_then(|count| count.parse().ok()).expect("a number");
            (words.last().unwrap_or_default().to_owned(), count)
        };
        lines.map(figure).collect()
    }
}

impl Drop for HostNodes {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn cut_wire_loses_nothing() {
    let Some(network) = HostNetwork::new(3) else { return };
    let nodes = HostNodes::start(network);
    nodes.tell_all("go");
    nodes.until("they talk", || nodes.sum("handled") > 2_000);
    let memory = nodes.sum("memory_bytes");
    let cut_at = Instant::now();
    nodes.network.plug(2, "down");
    nodes.until("four ends of two links are down", || nodes.links_up() == 2);
    std::thread::sleep(CUT.saturating_sub(cut_at.elapsed()));
    assert_eq!(nodes.links_up(), 2, "the third link is as it was");
    let grown = nodes.sum("memory_bytes").saturating_sub(memory);
    assert!(grown < 300 << 20, "{grown} bytes more");
    nodes.network.plug(2, "up");
    nodes.until("the links are up again", || nodes.links_up() == 6);
    let handled = nodes.sum("handled");
    nodes.until("they talk again", || nodes.sum("handled") > handled + 2_000);

    nodes.tell_all("enough");
    let hosts = 1..=nodes.network.hosts;
    nodes.until("they stop", || hosts.clone().all(|host| nodes.figures(host, "sent ").len() == 1));
    nodes.until("all came", || nodes.sum("queued") == 0 && nodes.sum("came") == nodes.sum("left"));
    nodes.tell_all("report");
    nodes.until("they report", || hosts.clone().all(|host| nodes.read("out", host).contains("that is all")));
    for host in hosts.clone() {
        assert!(!nodes.read("out", host).contains("disorder"), "{}", nodes.read("out", host));
        for (from, got) in nodes.figures(host, "got ") {
            let sender = from.trim_start_matches('a').parse().expect("a number");
            let sent = nodes.figures(sender, "sent ")[0].1;
            assert!(sent > 500, "{from} sent {sent} messages to each");
            assert_eq!(got, sent, "what a{host} got of {from}");
        }
    }
    nodes.until("nothing is in motion", || {
        nodes.json("ps").iter().all(|node| {
            let figure = |name: &str| node[name].as_u64().expect("a figure");
            figure("sent") + figure("came") == figure("handled") + figure("dead") + figure("queued") + figure("left")
        })
    });
    assert_eq!((nodes.sum("dead"), nodes.sum("came")), (0, nodes.sum("left")));
    let connections: u64 = nodes.json("links").iter().filter_map(|link| link["connections"].as_u64()).sum();
    assert!((10..100).contains(&connections), "two links connected again: {connections}");
}
