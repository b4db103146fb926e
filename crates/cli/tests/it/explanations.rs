//! Explanations of messages: each title is a message that the programs print.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use whimbrel_terminal::explanations::{self, HelpSection};

use super::{CommandOutput, EXPLAINED, RunningProcess, Scratch, whimbrel};

/// Reasons in titles that the system adds to messages.
const OF_SYSTEM: [&str; 2] = ["Address already in use", "Connection refused"];
/// Titles of messages that are put together of several texts: [`commands_name_explanations`] provokes them.
const COMPOSED: [&str; 4] =
    ["this goal does not end", "takes … arguments, not", "failed: no plan for", "the plan for … is not applicable"];

/// Programs and projects that something is wrong with.
const FILES: [(&str, &str); 15] = [
    ("fine.asl", "!g.\n+!g <- .print(on).\n"),
    ("fine.txt", "!g.\n"),
    ("empty/readme.txt", ""),
    ("two/a.mas2j", "MAS a { agents: fine; }"),
    ("two/b.mas2j", "MAS b { agents: fine; }"),
    ("twice.mas2j", "MAS m { agents: fine; fine; }"),
    ("upper.mas2j", "MAS m { agents: Fine; }"),
    ("java.mas2j", "MAS m { environment: house.Env agents: fine; }"),
    ("unit.mas2j", "MAS m { agents: fine [lifetime=\"5x\"]; }"),
    ("short.mas2j", "MAS m { agents: fine [lifetime=\"5s\"]; }"),
    ("policy.toml", "[[grnt]]\nwho = \"agent:bob\"\n"),
    ("nobody.toml", "[[deny]]\nwho = \"bob\"\nkill = \"*\"\n"),
    ("message.txt", "hello"),
    ("store/else.txt", "no store"),
    ("old.wasm", ""),
];

/// Commands as they are typed, with the explanation that each names.
const TYPED: [(&str, &str); 31] = [
    ("run none.asl", "there-is-no-file"),
    ("run empty", "is-a-folder-without-a-project"),
    ("run two", "holds-several-projects"),
    ("run fine.txt", "is-neither-a-project-mas2j-nor-a-program"),
    ("check twice.mas2j", "the-agent-is-declared-twice"),
    ("check upper.mas2j", "cannot-name-an-agent"),
    ("check java.mas2j", "is-a-java-class-which-cannot-run-here"),
    ("check unit.mas2j", "is-no-unit-of-time"),
    ("check policy.toml", "unknown-field"),
    ("check nobody.toml", "names-nobody-expected"),
    ("run short.mas2j --durable", "has-a-lifetime-which-agents-of-durable-societies-cannot-have"),
    ("run fine.asl --fresh", "needs-a-durable-society"),
    ("run fine.asl --store store", "is-not-a-store-there-is-something-else-in-it"),
    ("run fine.asl --open --http off", "needs-the-console-and-the-node-has-no-http-port"),
    ("run fine.asl --http 0.0.0.0:0", "a-console-for-other-machines-must-be-encrypted"),
    ("run fine.asl --listen foo", "invalid-address"),
    ("run fine.asl --listen 0.0.0.0:0", "connections-at-must-be-secured"),
    ("run fine.asl --agent-port 0", "needs-agent-token-or-agent-tokens"),
    ("run old.wasm", "unsupported-module"),
    ("up fine.asl --store folder", "is-a-folder-which-only-one-process-can-use"),
    ("agents", "no-society-runs-here"),
    ("store check empty", "there-is-no-store-in"),
    ("store import new message.txt", "is-not-an-export-of-this-version"),
    ("engine down", "no-servers-run-in"),
    ("codec inspect message.txt", "cannot-detect-the-encoding-of"),
    ("ca init authority", "passphrase-the-authoritys-key"),
    ("ca issue nowhere n1 --out n1", "passphrase-the-authoritys-key"),
    ("tell bob X", "cannot-use-expected"),
    ("run x.asl --for 5x", "is-no-unit-of-time"),
    ("run fine.asl --store nats://127.0.0.1:9?x=1", "is-not-an-engines-address"),
    ("run fine.asl --store nats://127.0.0.1:9", "no-nats-server-answers"),
];

/// Programs of which `whimbrel check` or `whimbrel run` names an explanation.
const PROGRAMS: [(&str, &str); 24] = [
    ("!greet\n+!greet <- .print(x).", "this-goal-does-not-end"),
    ("!g. +!g <- .print(\"a.", "this-is-not-closed"),
    ("!g. +!g <- .print(a)) .", "expected-found"),
    ("!g. +!g <- .prnt(a).", "there-is-no-internal-action"),
    ("!g. +!g <- .nth(1).", "takes-arguments-not"),
    ("{ include(\"no.asl\") }", "cannot-include"),
    ("+!g : .send(a,tell,b) <- true.", "cannot-be-used-in-a-context"),
    ("Price(1).", "cannot-have-arguments"),
    ("!g. +!g <- X = 1 + \"a\".", "is-not-a-number"),
    ("!g. +!g <- 3.", "is-not-a-step-of-a-body"),
    ("!g. +!g <- !h.", "failed-no-plan-for"),
    ("!g. +!g : no <- true.", "the-plan-for-is-not-applicable"),
    ("!g. +!g <- fly(3).", "the-society-has-no-environment"),
    ("!g. +!g <- ?b(3).", "no-belief-rule-or-plan-answers-it"),
    ("!g. +!g <- X = 3; X = 4.", "constraint-was-not-satisfied"),
    ("!g. +!g <- X = 3; X.", "variable-must-be-a-literal"),
    ("h(X) :- h(X). !g. +!g : h(1) <- true.", "calls-of-rules-nest-more-than-deep"),
    ("!g. +!g <- .send(1, tell, a).", "wrong-argument-for-internal-action"),
    ("!g. +!g <- .nth(5, [a], X).", "is-out-of-bounds"),
    ("!g. +!g <- .send(bob, tell, a).", "receiver-does-not-exist"),
    ("!g. +!g <- .create_agent(\"topic:a\", \"x.asl\").", "is-no-name-for-an-agent"),
    ("!g. +!g <- .wait(b, 10).", "timeout-in-wait"),
    ("!g. +!g <- .create_agent(b, \"none.asl\").", "there-is-no-file"),
    ("!g. +!g <- .move_to(n9).", "there-is-nowhere-to-go"),
];

/// Source files whose texts users meet, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut inside: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inside.sort();
    for path in inside {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_source = [".rs", ".asl", ".ts", ".mjs"].iter().any(|ending| name.ends_with(ending));
        match path.is_dir() {
            true if !["target", "tests", "test", "node_modules", "dist", "snapshots"].contains(&name.as_str()) => {
                sources(&path, found);
            }
            false if is_source && name != "tests.rs" && !name.starts_with('.') => found.push(path),
            _ => {}
        }
    }
}

/// Returns the texts in quotes of a source file, with `…` for what is put in, and joined lines.
fn texts(source: &str, has_templates: bool) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '`', '\'', '/']) {
        let (mark, after) = rest[at..].split_at(1);
        rest = after;
        match mark {
            "/" if after.starts_with('/') => rest = after.split_once('\n').map_or("", |(_, next)| next),
            // A character in quotes, which may be a quote.
            "'" if after.starts_with("\"'") => rest = &after[2..],
            "'" if after.starts_with("\\\"'") => rest = &after[3..],
            "\"" => rest = text(after, '"', &mut found),
            "`" if has_templates => rest = text(after, '`', &mut found),
            _ => {}
        }
    }
    found
}

/// Adds the text up to its closing quote, and returns what follows.
fn text<'a>(source: &'a str, quote: char, found: &mut Vec<String>) -> &'a str {
    let mut text = String::new();
    let mut chars = source.char_indices();
    let mut depth = 0_usize;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((at, '\n')) => {
                    let indent = source[at + 1..].chars().take_while(|c| *c == ' ').count();
                    if indent > 0 {
                        chars.nth(indent - 1);
                    }
                }
                Some((_, escaped)) if depth == 0 => text.push(escaped),
                _ => {}
            },
            '{' => {
                if depth == 0 {
                    text.push('…');
                }
                depth += 1;
            }
            '}' => depth = depth.saturating_sub(1),
            _ if c == quote && (depth == 0 || quote == '"') => {
                found.push(text);
                return &source[at + c.len_utf8()..];
            }
            _ if depth == 0 => text.push(c),
            _ => {}
        }
    }
    ""
}

/// Returns true if the title is this text, up to the parts that vary and to what the system adds.
fn is_in(title: &str, text: &str) -> bool {
    let title = OF_SYSTEM.iter().find_map(|reason| title.strip_suffix(reason)).unwrap_or(title);
    let title = title.strip_suffix(": ").unwrap_or(title);
    let mut rest = text;
    title.split('…').map(str::trim_end).all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// Messages that explanations name are in the sources, so that a message whose words change fails here.
#[test]
fn explained_messages_are_in_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    sources(&root.join("crates"), &mut files);
    sources(&root.join("sdk/typescript/src"), &mut files);
    sources(&root.join("site"), &mut files);
    let said: Vec<String> = files
        .iter()
        .flat_map(|file| {
            let has_templates = file.extension().is_some_and(|ending| ending == "ts" || ending == "mjs");
            let source = fs::read_to_string(file).unwrap();
            let mut found = texts(&source, has_templates);
            // A regular expression may have a quote: the next line begins anew.
            if has_templates {
                found.extend(source.lines().flat_map(|line| texts(line, false)));
            }
            found
        })
        .collect();
    assert!(said.len() > 10_000, "{}", said.len());
    let is_code = |one: &HelpSection| !one.title.contains(' ') && one.part != "Lints";
    let lost: Vec<&str> = explanations::all()
        .iter()
        .filter(|one| one.is_message() || is_code(one))
        .filter(|one| !said.iter().any(|text| if is_code(one) { text == one.title } else { is_in(one.title, text) }))
        .map(|one| one.title)
        .filter(|title| !COMPOSED.contains(title))
        .collect();
    assert!(lost.is_empty(), "no program says this (docs/guide/troubleshooting.md): {lost:#?}");
}

#[test]
fn texts_of_sources_are_found() {
    let found = texts("a(\"x {y} z\", '\"', \"b \\\n    c \\\"d\\\"\"); // \"no\"\ne(\"{}\")", false);
    assert_eq!(found, ["x … z", "b c \"d\"", "…"]);
    assert_eq!(texts("f(`a ${g(\"b\")} c`, \"d\")", true), ["a $… c", "d"]);
    assert!(is_in("cannot connect: Connection refused", "cannot connect: …") && !is_in("b … a", "a … b"));
}

/// Commands name the explanations of their errors.
#[test]
fn commands_name_explanations() {
    let scratch = Scratch::with(&FILES);
    for (typed, name) in TYPED {
        let words: Vec<&str> = typed.split(' ').collect();
        named(&scratch, &words, name);
    }
    // A store that is open in this process, and a port that is in use here.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    named(&scratch, &["run", "fine.asl", "--listen", &taken], "cannot-listen-at-address-already-in-use");
}

/// Errors in programs name their explanations, before they run or when a step fails.
#[test]
fn programs_name_explanations() {
    for (program, name) in PROGRAMS {
        let scratch = Scratch::with(&[("x.asl", &format!("{program}\n"))]);
        let checked = run(&scratch, &["check", "x.asl"]);
        if !checked.explanations.iter().any(|explained| explained == name) {
            assert!(runs_until_named(&scratch, name), "{program} names {name}");
        }
    }
}

/// Runs a program until it names this explanation. Returns false if it ends before.
fn runs_until_named(scratch: &Scratch, name: &str) -> bool {
    let mut command = command(scratch, &["run", "x.asl", "--http", "off", "--for", "60s"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut said = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let _ends = RunningProcess(child);
    said.any(|line| line.strip_prefix(EXPLAINED).is_some_and(|explained| explained.trim_end() == name))
}

/// Returns a command that sees no society but its own.
fn command(scratch: &Scratch, words: &[&str]) -> Command {
    let mut command = whimbrel();
    command.args(words).current_dir(scratch.path()).env("WHIMBREL_RUN_DIR", scratch.path().join("run"));
    command.env_remove("WHIMBREL_CA_PASSPHRASE").env_remove("WHIMBREL_HTTP");
    command
}

/// Runs such a command to its end.
fn run(scratch: &Scratch, words: &[&str]) -> CommandOutput {
    CommandOutput::from(command(scratch, words).output().expect("it runs"))
}

#[track_caller]
fn named(scratch: &Scratch, words: &[&str], name: &str) {
    let seen = run(scratch, words);
    let is_named = seen.explanations.iter().any(|explained| explained == name);
    assert!(is_named, "{words:?} names {name}: {}{:?}", seen.err, seen.explanations);
}
