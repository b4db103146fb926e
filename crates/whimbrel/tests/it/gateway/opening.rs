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
struct Opened {
    child: Child,
    said: Lines<BufReader<ChildStderr>>,
    scratch: Scratch,
}

impl Drop for Opened {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Opened {
    fn start(options: &[&str], browser: Option<&str>) -> Self {
        let scratch = Scratch::with(&[("short.mas2j", SHORT), ("one.asl", ONE), ("browser", "")]);
        let script = scratch.0.join("browser");
        fs::write(&script, browser.unwrap_or_default()).expect("a script");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it can be run");
        let mut command = whimbrel();
        command.args(["run", "short.mas2j", "--open", "--http-token", ADMIN, "--log"]).args(options);
        command.current_dir(&scratch.0).env("WHIMBREL_RUN_DIR", scratch.0.join("run"));
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

    /// What is printed until the end, and how that was.
    fn ends(mut self) -> (String, bool) {
        let mut printed = String::new();
        let mut stdout = self.child.stdout.take().expect("piped");
        std::io::Read::read_to_string(&mut stdout, &mut printed).expect("text");
        (printed, self.child.wait().expect("it ends").success())
    }
}

#[test]
fn the_society_begins_when_the_console_is_there_and_the_console_stays() {
    let mut opened =
        Opened::start(&["--http", "127.0.0.1:0"], Some("#!/bin/sh\necho \"$1\" > shown.new && mv shown.new shown\n"));
    let shown = opened.scratch.0.join("shown");
    let begin = Instant::now();
    while !shown.exists() {
        assert!(begin.elapsed() < PATIENCE, "no browser is started");
        std::thread::sleep(Duration::from_millis(20));
    }
    let url = fs::read_to_string(&shown).expect("an address");
    let (address, token) = url.trim().split_once("/#token=").expect("an address with the token");
    assert_eq!(token, ADMIN);
    let address = address.strip_prefix("http://").expect("of a page").to_owned();
    let mut console = Socket::live(&address, ADMIN);
    console.say(r#"{"type":"watch","id":1,"what":"log","wanted":{"since":0,"follow":true}}"#);
    // The society has ended; the console has all that was said, and can be told more.
    opened.says("the society has ended; the console stays");
    let log = console.expect("log");
    assert!(log["lines"].to_string().contains("hello(world)"), "{log}");
    assert!(opened.child.try_wait().expect("it can be asked").is_none(), "it stays");
    drop(console);
    let (printed, ended_well) = opened.ends();
    assert_eq!(printed, "[one] done\n");
    assert!(ended_well);
}

#[test]
fn without_a_browser_the_society_does_without() {
    let mut opened = Opened::start(&["--http", "127.0.0.1:0"], None);
    opened.says("no browser opens the console: this terminal has no display");
    assert_eq!(opened.ends(), ("[one] done\n".to_owned(), true));
}

#[test]
fn there_must_be_a_console_to_open() {
    let mut opened = Opened::start(&["--http", "off"], None);
    opened.says("there is no console to open");
    assert_eq!(opened.ends(), (String::new(), false));
}
