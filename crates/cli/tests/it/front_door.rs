//! First contact with the program: no command, and the console of a society that ends at once.

use std::io::{BufRead, BufReader, Read};
use std::process::{ChildStderr, Stdio};

use super::{CommandFolder, RunningProcess, Scratch, whimbrel};

const BRIEF: &str = "!go.\n+!go <- .send(one, tell, hello(world)); .wait(20); .print(done); .stopMAS.\n";

/// A society with a console whose lines on standard error are read one after the other.
struct KeptSociety {
    process: RunningProcess,
    said: BufReader<ChildStderr>,
    _scratch: Scratch,
}

impl KeptSociety {
    fn start(options: &[&str]) -> Self {
        let scratch = Scratch::with(&[("one.asl", BRIEF)]);
        let mut command = whimbrel();
        command.args(["run", "one.asl"]).args(options).current_dir(scratch.path());
        command.env("WHIMBREL_RUN_DIR", scratch.path().join("run"));
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("BROWSER");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let said = BufReader::new(child.stderr.take().expect("piped"));
        Self { process: RunningProcess(child), said, _scratch: scratch }
    }

    /// Returns the next line that contains this.
    #[track_caller]
    fn says(&mut self, part: &str) -> String {
        let mut before = String::new();
        loop {
            let mut line = String::new();
            let read = self.said.read_line(&mut line).expect("text");
            assert!(read > 0, "no {part:?} in\n{before}");
            if line.contains(part) {
                return line;
            }
            before += &line;
        }
    }

    #[cfg(unix)]
    fn interrupt(&self) {
        let killed = std::process::Command::new("kill").args(["-INT", &self.process.0.id().to_string()]).status();
        assert!(killed.expect("kill runs").success());
    }

    /// Returns the rest of standard error and the exit status.
    fn end(mut self) -> (String, Option<i32>) {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).expect("text");
        (rest, self.process.0.wait().expect("it ends").code())
    }
}

#[test]
fn bare_program_shows_first_steps() {
    let seen = Scratch::new().run(&[]);
    assert_eq!((seen.out.lines().count(), seen.err.as_str(), seen.code), (3, "", Some(0)), "{}", seen.out);
    assert!(seen.out.contains("whimbrel new garden && whimbrel run garden"), "{}", seen.out);
    assert!(seen.out.contains("whimbrel --help"), "{}", seen.out);
}

#[test]
fn help_of_commands_fits_on_screen() {
    let scratch = Scratch::new();
    let help = scratch.run(&["--help"]).out;
    let names = help
        .split("Options:")
        .next()
        .unwrap_or_default()
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let first = |line: &str| line.trim_start().split("  ").next().unwrap_or_default().to_owned();
    let names: Vec<String> =
        names.flat_map(|line| first(line).split(", ").map(str::to_owned).collect::<Vec<_>>()).collect();
    assert!(names.len() > 30 && names.contains(&"run".to_owned()) && names.contains(&"codec".to_owned()), "{names:?}");
    for name in &names {
        let seen = scratch.run(&[name, "--help"]);
        assert_eq!(seen.code, Some(0), "{name}: {}", seen.err);
        let wide = seen.out.lines().filter(|line| line.chars().count() > 100).count();
        assert!(seen.out.lines().count() <= 30 && wide == 0, "{name}:\n{}", seen.out);
        assert!(!seen.out.contains('\u{1b}'), "no colours in a pipe: {name}");
    }
    let all = scratch.run(&["run", "--help-all"]).out;
    assert!(all.contains("--http-viewer-token") && all.contains("--takeover") && all.lines().count() > 100, "{all}");
    let coloured = scratch.run(&["run", "--help", "--color", "always"]).out;
    assert!(coloured.contains('\u{1b}'), "{coloured}");
    assert_eq!(scratch.run(&["help", "run"]).out.lines().count(), scratch.run(&["run", "--help"]).out.lines().count());
}

/// Errors name explanations that `whimbrel explain` knows, and so does its list.
#[test]
fn errors_name_their_explanations() {
    let program = "!sell.\n+!sell : no <- .print(sold).\n!sell.\n!end.\n+!end <- .wait(50); .stopMAS.\n";
    let lint = "!strat.\n!strt.\n+!start <- .print(a).\n";
    let scratch =
        Scratch::with(&[("shop.asl", program), ("bad.asl", "!greet\n+!greet <- .print(x).\n"), ("lint.asl", lint)]);
    for (words, name) in [
        (["run", "none.asl"], "there-is-no-file"),
        (["run", "shop.asl"], "the-plan-for-is-not-applicable"),
        (["check", "bad.asl"], "this-goal-does-not-end"),
        (["check", "lint.asl"], "goal-without-plan"),
    ] {
        let seen = scratch.run(&words);
        assert_eq!(seen.explanations, [name], "{words:?}: {}", seen.err);
    }
    let names = scratch.run(&["explain"]).out;
    assert!(names.lines().count() > 90, "{names}");
    for part in ["Programs\n  there-is-no-file  ", "\n\nNodes and links\n", "\n\nLints\n"] {
        assert!(names.contains(part), "{part:?}: {names}");
    }
    for line in names.lines().filter(|line| line.starts_with("  ")) {
        let (name, summary) = line.trim().split_once("  ").expect("a name and its summary");
        assert!(summary.trim().split(' ').count() > 2, "{line}");
        let seen = scratch.run(&["explain", name]);
        assert!(seen.code == Some(0) && seen.out.lines().count() > 2, "{name}: {}", seen.err);
    }
    let seen = scratch.run(&["explain", "error:", "there is no file x"]);
    assert!(seen.out.starts_with("there is no file\n\n"), "{}", seen.out);
    let seen = scratch.run(&["explain", "nonsense"]);
    assert!(seen.code == Some(1) && seen.err.contains("whimbrel explain lists"), "{}", seen.err);
}

#[test]
fn completions_are_scripts() {
    let scratch = Scratch::new();
    for (shell, part) in [
        ("bash", "complete -F _whimbrel_names"),
        ("fish", "completions --names agents"),
        ("zsh", "_whimbrel_agents() {"),
    ] {
        let seen = scratch.run(&["completions", shell]);
        assert!(seen.out.contains(part) && seen.code == Some(0), "{shell}: {}", seen.err);
    }
}

#[cfg(unix)]
#[test]
fn bash_completes_running_agents() {
    let scratch = Scratch::with(&[
        ("m.mas2j", "MAS m { agents: anna x.asl; bert x.asl; }"),
        ("x.asl", "!go. +!go <- .print(on)."),
    ]);
    let run_dir = scratch.path().join("run");
    let mut command = whimbrel();
    command.args(["run", "m.mas2j"]).current_dir(scratch.path()).env("WHIMBREL_RUN_DIR", &run_dir);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
    let mut out = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let _running = RunningProcess(child);
    assert!(out.by_ref().take(2).count() == 2, "both agents run");
    let names = || {
        let mut names = whimbrel();
        names.args(["completions", "--names", "agents"]).env("WHIMBREL_RUN_DIR", &run_dir);
        super::CommandOutput::from(names.output().expect("it runs")).out
    };
    let begin = std::time::Instant::now();
    while names() != "anna\nbert\n" {
        assert!(begin.elapsed() < std::time::Duration::from_secs(60), "{}", names());
    }
    let binary = env!("CARGO_BIN_EXE_whimbrel");
    let script = format!(
        "source <('{binary}' completions bash); COMP_WORDS=('{binary}' kill a); COMP_CWORD=2; \
         _whimbrel_names '{binary}' a kill; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", &script]).env("WHIMBREL_RUN_DIR", &run_dir);
    let Ok(seen) = shell.output() else { return eprintln!("skipped: there is no bash") };
    let seen = super::CommandOutput::from(seen);
    assert!(seen.out.lines().any(|line| line == "anna") && !seen.out.contains("bert"), "{}{}", seen.out, seen.err);
}

#[test]
fn manual_has_page_for_each_command() {
    let scratch = Scratch::new();
    let seen = scratch.run(&["man", "pages"]);
    assert!(seen.out.contains(" manual pages in pages"), "{}{}", seen.out, seen.err);
    for page in ["whimbrel.1", "whimbrel-run.1", "whimbrel-engine-up.1"] {
        let text = std::fs::read_to_string(scratch.path().join("pages").join(page)).expect(page);
        assert!(text.contains(".SH NAME"), "{text}");
    }
}

#[test]
fn other_verbs_get_hints() {
    let seen = Scratch::new().run(&["start", "garden"]);
    assert!(seen.err.contains("tip: `whimbrel run FILE` runs a project or a program"), "{}", seen.err);
    assert!(!seen.err.contains("'stop'") && seen.code == Some(2), "{}", seen.err);
}

#[cfg(unix)]
#[test]
fn kept_console_outlives_society() {
    use std::io::Write;
    let mut society = KeptSociety::start(&["--keep", "--http", "127.0.0.1:0", "--http-token", "a-token-of-a-test"]);
    let words = society.says("the society ended after");
    assert!(words.contains(": 1 agent, 1 message, nothing failed\n"), "{words}");
    let stays = society.says("the console stays at http://127.0.0.1:");
    assert!(stays.ends_with(" until Ctrl-C\n"), "{stays}");
    let address = stays.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
    let mut stream = std::net::TcpStream::connect(address).expect("it still listens");
    let head = format!("GET /api/v1/node HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer a-token-of-a-test\r\n");
    write!(stream, "{head}connection: close\r\n\r\n").expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    society.interrupt();
    assert_eq!(society.end(), ("whimbrel: the console is closed\n".to_owned(), Some(0)));
}

#[cfg(unix)]
#[test]
fn kept_console_survives_time_limit() {
    let mut society = KeptSociety::start(&["--keep", "--http", "127.0.0.1:0", "--for", "1ms"]);
    society.says(", as --for asks: ");
    society.says("the console stays at");
    society.interrupt();
    assert_eq!(society.end().1, Some(0));
}

#[cfg(unix)]
#[test]
fn missing_display_names_the_address() {
    let mut society = KeptSociety::start(&["--keep", "--open", "--http", "127.0.0.1:0"]);
    let said = society.says("this terminal has no display");
    assert!(said.contains(": open http://127.0.0.1:") && said.contains("/#token="), "{said}");
    society.says("the console stays at");
    society.interrupt();
    assert_eq!(society.end().1, Some(0));
}

#[cfg(unix)]
#[test]
fn ended_society_refuses_orders() {
    let mut society = KeptSociety::start(&["--keep", "--http", "127.0.0.1:0"]);
    society.says("the console stays at");
    let said = |words: &[&str]| {
        let mut order = whimbrel();
        order.args(words).env("WHIMBREL_RUN_DIR", society._scratch.path().join("run"));
        let out = order.output().expect("it runs");
        (String::from_utf8_lossy(&out.stderr).into_owned(), out.status.code())
    };
    let program = society._scratch.path().join("one.asl").display().to_string();
    let orders: [&[&str]; 7] = [
        &["tell", "one", "seen"],
        &["ask", "one", "seen"],
        &["kill", "one"],
        &["kill", "*"],
        &["suspend", "one"],
        &["load", "one", &program],
        &["create", "two", &program],
    ];
    for order in orders {
        let (error, code) = said(order);
        assert!(error.contains("the society has ended") && code == Some(1), "{order:?}: {code:?} {error}");
    }
    assert_eq!(said(&["agents"]), (String::new(), Some(0)));
    society.interrupt();
    assert_eq!(society.end().1, Some(0));
}

#[cfg(unix)]
#[test]
fn operator_ends_kept_console() {
    let mut society = KeptSociety::start(&["--keep", "--http", "127.0.0.1:0"]);
    society.says("the console stays at");
    let mut stop = whimbrel();
    stop.arg("stop").env("WHIMBREL_RUN_DIR", society._scratch.path().join("run"));
    assert!(stop.stdout(Stdio::null()).status().expect("it runs").success());
    assert_eq!(society.end(), ("whimbrel: the console is closed\n".to_owned(), Some(0)));
}

#[test]
fn last_line_is_no_dead_address() {
    let society = KeptSociety::start(&["--http", "127.0.0.1:0"]);
    let (said, code) = society.end();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((lines.len(), code), (2, Some(0)), "{said}");
    assert!(lines[0].contains("the console is at http://"), "{said}");
    assert!(lines[1].contains("the society ended after") && !lines[1].contains("http"), "{said}");
    assert!(lines[1].ends_with("; its console is closed (--keep keeps it)"), "{said}");
}

/// The messages of the last turn count, too.
#[test]
fn summary_counts_as_last_words_do() {
    let society = [("x.asl", "!go.\n+!go <- .send(y, tell, a); .send(y, tell, b); .send(y, tell, c); .stopMAS.\n")];
    let scratch = Scratch::with(&[society[0], ("y.asl", "k.\n"), ("x.mas2j", "MAS x { agents: y; x; }\n")]);
    let seen = scratch.run(&["run", "x.mas2j", "--summary", "--http", "127.0.0.1:0"]);
    let row = seen.out.lines().find_map(|line| line.trim_start().strip_prefix("messages")).expect("a row");
    let sent = row.split_whitespace().next().expect("a number");
    assert!(seen.err.contains(&format!(" {sent} messages, ")), "{}{}", seen.out, seen.err);
    assert!(seen.out.contains(&format!("{sent} sent = ")), "{}", seen.out);
}

#[test]
fn failing_end_names_its_status() {
    let scratch = Scratch::with(&[("one.asl", "!go.\n+!go <- .stopMAS(0, 3).\n")]);
    let seen = scratch.run(&["run", "one.asl", "--http", "127.0.0.1:0"]);
    assert!(seen.err.contains("an agent ended the society with exit status 3 after "), "{}", seen.err);
    assert!(!seen.err.contains("nothing failed") && seen.code == Some(3), "{}", seen.err);
}

#[test]
fn summary_can_be_json() {
    let seen = Scratch::with(&[("one.asl", BRIEF)]).run(&["run", "one.asl", "--summary=json"]);
    let summary: serde_json::Value = serde_json::from_str(seen.out.lines().last().expect("a line")).expect("JSON");
    let figures = (&summary["agents"], &summary["sent"], &summary["undeliverable"]);
    assert_eq!(figures, (&1.into(), &1.into(), &0.into()), "{summary}");
}

#[test]
fn keeping_requires_http_port() {
    let seen = Scratch::with(&[("one.asl", BRIEF)]).run(&["run", "one.asl", "--keep"]);
    let why = "error: --keep needs the console, and the node has no HTTP port: give --http\n";
    assert_eq!((seen.err.as_str(), seen.out.as_str(), seen.code), (why, "", Some(1)));
}

/// Each node prints a line, again and again; the agent on the second node ends the society when it is asked to.
const LASTING: [(&str, &str); 2] = [
    ("x.mas2j", "MAS x { agents: a x.asl at \"n1\"; b x.asl at \"n2\"; c x.asl at \"n3\"; }"),
    ("x.asl", "!go. +!go <- .print(here); .wait(20); !go. +!end <- .stopMAS(0, 7)."),
];

#[cfg(unix)]
#[test]
fn society_survives_its_first_process() {
    let scratch = Scratch::with(&LASTING);
    let command = |arguments: &[&str]| {
        let mut command = whimbrel();
        command.args(arguments).current_dir(scratch.path()).env("WHIMBREL_RUN_DIR", scratch.path().join("run"));
        command
    };
    let mut running = command(&["run", "x.mas2j", "--nodes", "3"]);
    let mut child = running.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut out = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let mut err = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let mut running = RunningProcess(child);
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 3 {
        seen.insert(out.next().expect("the society runs"));
    }
    // The others have heard of each other from the first.
    let links_up = || {
        let seen = command(&["links", "--json"]).output().expect("it runs");
        let seen: serde_json::Value = serde_json::from_slice(&seen.stdout).unwrap_or_default();
        seen["links"].as_array().map_or(0, |links| links.iter().filter(|link| link["up"] == true).count())
    };
    let begin = std::time::Instant::now();
    while links_up() < 6 {
        assert!(begin.elapsed() < std::time::Duration::from_secs(60), "the nodes do not link");
    }
    let seen = command(&["ps", "--json"]).output().expect("it runs");
    let nodes: serde_json::Value = serde_json::from_slice(&seen.stdout).expect("JSON");
    let first = nodes["nodes"].as_array().expect("nodes").iter().find(|node| node["node"] == "n1").expect("n1");
    let pid = first["pid"].as_u64().expect("a process");
    assert_ne!(pid, u64::from(running.0.id()), "the supervisor is no node");
    let killed = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    assert!(killed.expect("kill runs").success());
    let noted = err.find(|line| line.contains("n1 is gone")).expect("it says so");
    assert!(noted.ends_with("the society continues on n2, n3; Ctrl-C ends it"), "{noted}");
    // Lines that were printed before do not count.
    let lasts = |agent: &str, out: &mut dyn Iterator<Item = String>| {
        let line = format!("[{agent}] here");
        assert!(out.filter(|seen| *seen == line).take(50).count() == 50, "{agent} goes on");
    };
    lasts("b", &mut out);
    lasts("c", &mut out);
    let sent = command(&["send", "b", "end", "--performative", "achieve", "--node", "n2"]).output().expect("it runs");
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    out.for_each(drop);
    assert_eq!(running.0.wait().expect("it ends").code(), Some(7));
}

#[cfg(unix)]
#[test]
fn interrupt_ends_remaining_nodes() {
    use std::os::unix::process::CommandExt;
    let scratch = Scratch::with(&LASTING);
    let mut command = whimbrel();
    command.args(["run", "x.mas2j", "--nodes", "3"]).current_dir(scratch.path()).process_group(0);
    command.env("WHIMBREL_RUN_DIR", scratch.path().join("run")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let mut out = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let mut err = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    while out.next().expect("the society runs") != "[c] here" {}
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id()));
    // Not on every system can children be listed.
    if let Ok(first) = children {
        let killed = std::process::Command::new("kill").args(["-KILL", first.trim()]).status();
        assert!(killed.expect("kill runs").success());
        assert!(err.any(|line| line.contains("n1 is gone")), "it says so");
    }
    let group = format!("-{}", child.id());
    assert!(std::process::Command::new("kill").args(["-INT", "--", &group]).status().expect("kill runs").success());
    assert!(err.any(|line| line.contains("ending the society")), "it says so");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    // Whoever still has the output open is a process that was left behind.
    assert_eq!(out.filter(|line| line.is_empty()).count(), 0);
}
