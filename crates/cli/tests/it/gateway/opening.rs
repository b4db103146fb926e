//! `run --open`: the console in a browser, before the society begins and after it has ended.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStderr, Stdio};

use super::*;

/// A society that says something and is over.
const SHORT: &str = "MAS short { agents: one; }\n";
const ONE: &str = "!go.\n+!go <- .send(one, tell, hello(world)); .wait(100); .print(done); .stopMAS.\n";

/// A society with `--open`, whose browser is a script that notes what it is to show.
struct OpenedConsole {
    child: Child,
    said: Lines<BufReader<ChildStderr>>,
    scratch: Scratch,
}

impl Drop for OpenedConsole {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl OpenedConsole {
    fn start(options: &[&str], browser: Option<&str>) -> Self {
        let scratch = Scratch::with(&[("short.mas2j", SHORT), ("one.asl", ONE), ("browser", "")]);
        let script = scratch.path().join("browser");
        fs::write(&script, browser.unwrap_or_default()).expect("a script");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it can be run");
        let mut command = whimbrel();
        command.args(["run", "short.mas2j", "--open", "--http-token", ADMIN, "--log"]).args(options);
        command.current_dir(scratch.path()).env("WHIMBREL_RUN_DIR", scratch.path().join("run"));
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("BROWSER");
        if browser.is_some() {
            command.env("BROWSER", &script);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let said = BufReader::new(child.stderr.take().expect("piped")).lines();
        Self { child, said, scratch }
    }

    fn says(&mut self, what: &str) -> String {
        let said = self.said.by_ref().map_while(Result::ok).find(|line| line.contains(what));
        said.unwrap_or_else(|| panic!("it does not say {what:?}"))
    }

    /// Returns the output until the end, and whether the process succeeded.
    fn ends(mut self) -> (String, bool) {
        let mut printed = String::new();
        let mut stdout = self.child.stdout.take().expect("piped");
        std::io::Read::read_to_string(&mut stdout, &mut printed).expect("text");
        (printed, self.child.wait().expect("it ends").success())
    }

    /// Returns the URL for the browser, once it has been started.
    #[track_caller]
    fn shown(&self) -> String {
        let shown = self.scratch.path().join("shown");
        let begin = Instant::now();
        while !shown.exists() {
            assert!(begin.elapsed() < PATIENCE, "no browser is started");
            std::thread::sleep(Duration::from_millis(20));
        }
        fs::read_to_string(&shown).expect("an address").trim().to_owned()
    }

    /// The console, by the way in that the browser was shown.
    #[track_caller]
    fn console(&self) -> Socket {
        let url = self.shown();
        let (address, path) = url.strip_prefix("http://").and_then(|url| url.split_once('/')).expect("a page");
        assert!(!url.contains(ADMIN), "others see what a browser is to open: {url}");
        let answer = get(address, &format!("/{path}"));
        assert!(answer.contains(&format!("location: /#token={ADMIN}\r\n")), "{answer}");
        assert!(get(address, &format!("/{path}")).starts_with("HTTP/1.1 404"), "that is for one only");
        Socket::live(address, ADMIN)
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}

const NOTES: &str = "#!/bin/sh\necho \"$1\" > shown.new && mv shown.new shown\n";

#[test]
fn open_console_outlives_society() {
    let mut opened = OpenedConsole::start(&["--http", "127.0.0.1:0", "--for", "60s"], Some(NOTES));
    let mut console = opened.console();
    console.say(r#"{"type":"watch","id":1,"what":"log","wanted":{"since":0,"follow":true}}"#);
    // The society has ended; the console has all that was said, and can be told more.
    opened.says("the society ended after");
    opened.says("the console stays open");
    while !console.expect("log")["lines"].to_string().contains("hello(world)") {}
    assert!(opened.child.try_wait().expect("it can be asked").is_none(), "it stays");
    // It says how the society ended and what remained, and keeps what agents printed.
    console.say(r#"{"type":"ask","id":2,"request":{"request":"node"}}"#);
    let node = console.expect("answer")["answer"].clone();
    let ended = &node["ended"];
    assert_eq!((&ended["code"], &ended["agents"], &ended["queued"]), (&0.into(), &1.into(), &0.into()), "{node}");
    assert!(ended["at_us"].as_u64() > node["started_ms"].as_u64().map(|ms| ms * 1000), "{node}");
    console.say(r#"{"type":"ask","id":3,"request":{"request":"output","limit":9}}"#);
    assert_eq!(console.expect("answer")["answer"]["lines"][0]["text"], "done");
    drop(console);
    let (printed, ended_well) = opened.ends();
    assert_eq!(printed, "[one] done\n");
    assert!(ended_well);
}

#[test]
#[cfg(target_os = "linux")]
fn interrupted_nothing_begins_and_nothing_stays() {
    let mut opened = OpenedConsole::start(&["--http", "127.0.0.1:0"], Some(NOTES));
    // Nobody comes.
    opened.shown();
    let id = rustix::process::Pid::from_child(&opened.child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it is there");
    opened.says("ending the society");
    assert_eq!(opened.ends(), (String::new(), false));
}

#[test]
fn society_runs_without_browser() {
    let mut opened = OpenedConsole::start(&["--http", "127.0.0.1:0"], None);
    opened.says("cannot open the console in a browser: this terminal has no display");
    assert_eq!(opened.ends(), ("[one] done\n".to_owned(), true));
}

#[test]
fn open_requires_http_port() {
    let mut opened = OpenedConsole::start(&["--http", "off"], None);
    opened.says("--open needs the console");
    assert_eq!(opened.ends(), (String::new(), false));
}
