//! Agents created, taught and asked in AgentSpeak, from the command line and at the prompt.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use super::control::SocietyFolder;
use super::{CommandOutput, RunningProcess};

const BOB: &str = "
stock(apple, 3). stock(tea, 7). stock(pear, 0).
sells(X) :- stock(X, N) & N > 0.
+!sell(X, N) : stock(X, Before) & Before >= N <- .wait(50); -stock(X, Before); +stock(X, Before - N); .print(\"sold \", X).
+!wait_long <- .wait(3600000).
+price(X, P)[source(A)] <- +heard(X, P, A).
";

fn shop() -> SocietyFolder {
    SocietyFolder::with(&[
        ("shop.mas2j", "MAS shop { agents: bob; }"),
        ("bob.asl", BOB),
        ("spread.mas2j", "MAS spread { agents: amy at \"n1\"; bob at \"n2\"; }"),
        ("amy.asl", "!rest. +!rest."),
        (
            "careful.asl",
            "{ include(\"more.asl\") }\nlimit(2).\n+!sell(X, N) : limit(M) & N > M <- .print(\"too many \", X).",
        ),
        ("more.asl", "+!more."),
        ("broken.asl", "+!go <- .\n"),
    ])
}

/// Runs a prompt with these lines.
fn prompt(site: &SocietyFolder, arguments: &[&str], lines: &str) -> CommandOutput {
    let mut command: Command = site.command(&[&["repl"], arguments].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends").into()
}

fn start(site: &SocietyFolder) -> RunningProcess {
    site.start(&["run", "shop.mas2j"], 1)
}

#[test]
fn ask_prints_bindings() {
    let site = shop();
    let _running = start(&site);
    assert_eq!(site.out(&["ask", "bob", "stock(X, N)"]), "X = apple, N = 3\nX = tea, N = 7\nX = pear, N = 0\n");
    assert_eq!(site.out(&["ask", "bob", "sells(X)"]), "X = apple\nX = tea\n");
    assert_eq!(site.out(&["ask", "bob", "stock(apple, _)"]), "yes\n");
    let json = site.json(&["ask", "bob", "stock(tea, N)", "--json"]);
    assert_eq!(json, serde_json::json!([{ "N": "7" }]));
    let none = site.see(&["ask", "bob", "stock(gold, N)"]);
    assert_eq!((none.out.as_str(), none.code), ("no\n", Some(3)));
    let one = site.see(&["ask", "bob", "stock(gold, N)", "--one"]);
    assert_eq!((one.out.as_str(), one.code), ("no\n", Some(3)));
    let wrong = site.see(&["ask", "bob", "stock(X"]);
    assert!(wrong.err.contains("stock(X") && wrong.err.contains("^") && wrong.code == Some(1), "{}", wrong.err);
    let formula = site.see(&["ask", "bob", "stock(X, N) & N > 3"]);
    assert!(formula.code == Some(1) && formula.err.contains("repl --as AGENT"), "{}", formula.err);
    let nobody = site.see(&["ask", "bobb", "stock(X, N)"]);
    assert!(nobody.err.contains("did you mean bob?"), "{}", nobody.err);
}

#[test]
fn told_literals_reach_mind() {
    let site = shop();
    let _running = start(&site);
    assert_eq!(site.out(&["tell", "bob", "price(apple, 3)"]), "");
    site.until(|| site.see(&["ask", "bob", "heard(apple, P, Who)"]).out == "P = 3, Who = cli\n");
    site.out(&["untell", "bob", "price(_, _)"]);
    site.until(|| site.see(&["ask", "bob", "price(X, P)"]).out == "no\n");
    site.out(&["achieve", "bob", "sell(tea, 2)"]);
    site.until(|| site.see(&["ask", "bob", "stock(tea, N)"]).out == "N = 5\n");
    let wrong = site.see(&["tell", "bob", "price(apple 3)"]);
    assert!(wrong.err.contains("price(apple 3)") && wrong.code == Some(1), "{}", wrong.err);
}

#[test]
fn created_and_cloned_agents_run() {
    let site = shop();
    let _running = start(&site);
    assert_eq!(site.out(&["create", "carl", "bob.asl", "--beliefs", "stock(fish, 1)"]), "carl created\n");
    site.until(|| site.see(&["ask", "carl", "stock(fish, N)"]).out == "N = 1\n");
    assert_eq!(site.out(&["create", "w", "amy.asl", "--count", "3"]), "3 agents created: w1 to w3\n");
    site.out(&["tell", "bob", "open"]);
    site.until(|| site.see(&["ask", "bob", "open"]).out == "yes\n");
    assert_eq!(site.out(&["clone", "bob", "twin"]), "twin is a clone of bob\n");
    site.until(|| site.see(&["ask", "twin", "open"]).out == "yes\n");
    let refused = site.see(&["create", "x", "broken.asl"]);
    assert!(refused.err.contains("broken.asl:1") && refused.code == Some(1), "{}", refused.err);
    let taken = site.see(&["create", "bob", "bob.asl"]);
    assert!(taken.err.contains("an agent named bob exists already"), "{}", taken.err);
    let missing = site.see(&["create", "x", "none.asl"]);
    assert!(missing.err.contains("none.asl") && missing.code == Some(1), "{}", missing.err);
}

#[test]
fn load_exchanges_running_program() {
    let site = shop();
    let _running = start(&site);
    site.out(&["tell", "bob", "open"]);
    site.until(|| site.see(&["ask", "bob", "open"]).out == "yes\n");
    let told = site.out(&["load", "bob", "careful.asl"]);
    assert_eq!(told, "bob runs careful.asl: 2 plans instead of 3, 1 new belief\n");
    assert_eq!(site.out(&["ask", "bob", "open"]), "yes\n");
    assert_eq!(site.out(&["ask", "bob", "stock(tea, N)"]), "N = 7\n");
    let gone = site.see(&["ask", "bob", "sells(X)"]);
    assert_eq!((gone.out.as_str(), gone.code), ("no\n", Some(3)));
    let broken = site.see(&["load", "bob", "broken.asl"]);
    assert!(broken.err.contains("broken.asl:1") && broken.code == Some(1), "{}", broken.err);
    let mind = site.json(&["mind", "bob", "--json"]);
    assert_eq!(mind["details"][0]["value"], "careful.asl");
}

#[test]
fn piped_prompt_answers_and_ends() {
    let site = shop();
    let _running = start(&site);
    let seen = prompt(&site, &["shop", "--as", "bob"], "?stock(X, N) & N > 2\n?closed\n");
    assert_eq!((seen.out.as_str(), seen.err.as_str()), ("X = apple, N = 3\nX = tea, N = 7\nno\n", ""));
    assert_eq!(seen.code, Some(0));
    // The prompt's own agent believes, asks and ends with the prompt.
    let lines = "+likes(tea)\n?likes(X)\n-likes(_)\n?likes(X)\nask bob stock(pear, N)\nX = 2 * 21\n";
    let seen = prompt(&site, &[], lines);
    assert_eq!((seen.out.as_str(), seen.err.as_str()), ("X = tea\nno\nN = 0\nX = 42\n", ""));
    let printed = prompt(&site, &[], ".print(hello)\nas bob\n!sell(apple, 1)\n");
    assert_eq!((printed.out.as_str(), printed.err.as_str()), ("[repl] hello\n[bob] sold apple\n", ""));
    let agents = site.json(&["agents", "--json"]);
    assert_eq!(agents["agents"].as_array().map(Vec::len), Some(1), "{agents}");
}

#[test]
fn failed_lines_are_explained() {
    let site = shop();
    let _running = start(&site);
    let seen = prompt(&site, &["--as", "bob"], "?stock(X\n!sell(gold, 1)\nagnts\n?stock(apple, N)\n");
    assert_eq!((seen.out.as_str(), seen.code), ("N = 3\n", Some(1)));
    for part in ["1 | ?stock(X", "no_applicable", "did you mean agents?"] {
        assert!(seen.err.contains(part), "{part} in {}", seen.err);
    }
    let nobody = prompt(&site, &["--as", "bobb"], "?stock(X, N)\n");
    assert!(nobody.err.contains("did you mean bob?") && nobody.code == Some(1), "{}", nobody.err);
    let unknown = prompt(&site, &["nowhere"], "");
    assert!(unknown.err.contains("no society named nowhere runs here"), "{}", unknown.err);
}

#[test]
fn verbs_act_on_society() {
    let site = shop();
    let _running = start(&site);
    let lines = "create carl bob.asl\nclone carl dora\ntell carl open\nload carl careful.asl\nas carl\n?open\nas\n\
                 pause bob\nstep bob\ncontinue bob\nsuspend dora\nresume dora\nkill dora\nagents c*\nbeliefs carl\nquit\n!never\n";
    let seen = prompt(&site, &[], lines);
    assert_eq!((seen.err.as_str(), seen.code), ("", Some(0)), "{}", seen.out);
    for part in ["carl created", "dora is a clone of carl", "yes", "paused by", "dora killed", "carl", "limit(2)"] {
        assert!(seen.out.contains(part), "{part} in {}", seen.out);
    }
    let code = site.see(&["ask", "carl", "open"]).code;
    assert_eq!(code, Some(0), "what was made stays");
}

#[test]
fn goal_continues_without_prompt() {
    let site = shop();
    let _running = start(&site);
    let seen = prompt(&site, &["--as", "bob", "--wait", "200ms"], "!wait_long\n");
    assert_eq!((seen.out.as_str(), seen.code), ("", Some(1)));
    assert!(seen.err.contains("stopped waiting: the intention continues"), "{}", seen.err);
    // Other lines get answers meanwhile.
    let seen = prompt(&site, &["--as", "bob"], "?stock(apple, N)\n");
    assert_eq!((seen.out.as_str(), seen.code), ("N = 3\n", Some(0)));
    let mind = site.json(&["mind", "bob", "--json"]);
    assert!(mind["intentions"].to_string().contains("wait_long"), "{mind}");
}

#[test]
fn new_society_ends_with_prompt() {
    let site = shop();
    let seen = prompt(&site, &["shop.mas2j", "--as", "bob"], "!sell(tea, 2)\n?stock(tea, N)\n");
    assert_eq!((seen.err.as_str(), seen.code), ("", Some(0)));
    assert!(seen.out.contains("[bob] sold tea\n") && seen.out.contains("N = 5\n"), "{}", seen.out);
    let empty = prompt(&site, &[], "+a(1)\n?a(X)\n.print(hello)\n");
    assert_eq!((empty.err.as_str(), empty.code), ("", Some(0)));
    assert!(empty.out.contains("X = 1\n") && empty.out.contains("[repl] hello\n"), "{}", empty.out);
    assert_eq!(site.json(&["ps", "--json"])["nodes"].as_array().map(Vec::len), Some(0));
}

#[test]
fn agent_of_other_node_answers() {
    let site = shop();
    let _running = site.start(&["run", "spread.mas2j", "--nodes", "2"], 2);
    let seen = prompt(&site, &["--node", "n1", "--as", "bob"], "?stock(tea, N)\n!sell(tea, 1)\n?stock(tea, N)\n");
    assert_eq!((seen.out.as_str(), seen.err.as_str()), ("N = 7\nN = 6\n", ""));
    let told = site.out(&["load", "bob", "careful.asl", "--node", "n1"]);
    assert!(told.starts_with("bob runs careful.asl"), "{told}");
}

/// Prompt on a pseudo-terminal.
struct TerminalPrompt {
    child: RunningProcess,
    keys: File,
    seen: Arc<Mutex<String>>,
}

impl TerminalPrompt {
    fn start(site: &SocietyFolder, arguments: &[&str]) -> Self {
        let ends = nix::pty::openpty(None, None).expect("a pseudo-terminal");
        let mut command: Command = site.command(&[&["repl"], arguments].concat());
        command.env("TERM", "xterm").env("HOME", site.scratch.path());
        let other = || ends.slave.try_clone().expect("a descriptor");
        command.stdin(other()).stdout(other()).stderr(other());
        let child = RunningProcess(command.spawn().expect("it runs"));
        drop((ends.slave, command));
        let (mut screen, keys) = (File::from(ends.master.try_clone().expect("a descriptor")), File::from(ends.master));
        let seen = Arc::<Mutex<String>>::default();
        let written = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut bytes = [0; 1_024];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                written.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, keys, seen }
    }

    /// Types keys, and waits until the terminal shows a text that it did not show before.
    fn types(&mut self, site: &SocietyFolder, keys: &str, shown: &str) {
        let before = self.count(shown);
        self.keys.write_all(keys.as_bytes()).expect("it reads");
        self.shows(site, shown, before);
    }

    fn shows(&self, site: &SocietyFolder, shown: &str, before: usize) {
        let begun = std::time::Instant::now();
        site.until(|| {
            assert!(begun.elapsed().as_secs() < 60, "no {shown:?} in {:?}", self.seen.lock().unwrap());
            self.count(shown) > before
        });
    }

    fn count(&self, shown: &str) -> usize {
        self.seen.lock().unwrap().matches(shown).count()
    }
}

#[test]
fn terminal_completes_and_remembers() {
    let site = shop();
    let _running = start(&site);
    let mut prompt = TerminalPrompt::start(&site, &[]);
    prompt.shows(&site, "repl> ", 0);
    prompt.types(&site, "ask b\t", "bob");
    prompt.types(&site, " stock(apple, N)\r", "N = 3");
    prompt.types(&site, "a\t\t", "agents");
    prompt.types(&site, "\x03", "repl> ");
    prompt.types(&site, "as bob\r", "bob> ");
    prompt.types(&site, "?sto\t", "?stock(");
    prompt.types(&site, "tea, M)\r", "M = 7");
    prompt.types(&site, "\x1b[A\r", "M = 7");
    prompt.types(&site, "!wait_\t", "!wait_long");
    prompt.types(&site, "\r", "\n");
    site.until(|| site.json(&["mind", "bob", "--json"])["intentions"].to_string().contains("wait_long"));
    let process = rustix::process::Pid::from_child(&prompt.child.0);
    rustix::process::kill_process(process, rustix::process::Signal::INT).expect("it runs");
    prompt.shows(&site, "stopped waiting: the intention continues", 0);
    prompt.types(&site, "watch bob\r", "bob> ");
    site.until(|| {
        site.out(&["tell", "bob", "open"]);
        prompt.count("cli -> bob tell open") > 0
    });
    prompt.keys.write_all(b"\x04").expect("it reads");
    assert_eq!(prompt.child.0.wait().expect("it ends").code(), Some(0));
    let history = std::fs::read_to_string(site.scratch.path().join(".whimbrel/repl-history")).unwrap();
    assert!(history.contains("?stock(tea, M)\n") && history.contains("as bob\n"), "{history}");
    // The next prompt has the lines of this one.
    let mut prompt = TerminalPrompt::start(&site, &[]);
    prompt.shows(&site, "repl> ", 0);
    prompt.types(&site, "\x1b[A", "watch bob");
}

#[test]
fn restarted_society_keeps_loaded_program() {
    let site = shop();
    let run = ["run", "shop.mas2j", "--durable", "--audit", "audit.jsonl"];
    std::fs::create_dir(site.scratch.path().join("elsewhere")).unwrap();
    std::fs::copy(site.scratch.path().join("bob.asl"), site.scratch.path().join("elsewhere/carl.asl")).unwrap();
    let running = site.start(&run, 1);
    site.out(&["load", "bob", "careful.asl"]);
    site.out(&["create", "carl", "elsewhere/carl.asl"]);
    let lines = "+kept\n!sell(tea, 5)\n";
    assert_eq!(prompt(&site, &["--as", "bob"], lines).out, "[bob] too many tea\n");
    // A thread of its own writes it.
    site.until(|| {
        let audit = std::fs::read_to_string(site.scratch.path().join("audit.jsonl.operators")).unwrap_or_default();
        ["careful.asl into bob", "carl of carl.asl", "\"perform\""].iter().all(|act| audit.contains(act))
    });
    drop(running);
    let _running = site.start(&run, 1);
    let seen = prompt(&site, &["--as", "bob"], "!sell(tea, 5)\n?kept & limit(N)\n");
    assert_eq!((seen.out.as_str(), seen.err.as_str()), ("[bob] too many tea\nN = 2\n", ""));
    assert_eq!(site.out(&["ask", "carl", "stock(tea, N)"]), "N = 7\n", "its text was kept with it");
}
