//! `whimbrel run`.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{CommandFolder, CommandOutput, Scratch, whimbrel};

const HELLO: &str = "!greet.\n+!greet <- .my_name(Me); .print(\"I am \", Me); .stopMAS.\n";
/// Prints for ever.
const CHATTER: &str = "!talk.\n+!talk <- .print(\"again\"); .wait(5); !talk.\n";

#[track_caller]
fn fails(files: &[(&str, &str)], arguments: &[&str], why: &str) {
    let seen = Scratch::with(files).run(arguments);
    assert_eq!((seen.err.as_str(), seen.out.as_str(), seen.code), (why, "", Some(1)));
}

#[test]
fn single_program_names_agent_after_file() {
    let seen = Scratch::with(&[("hello.asl", HELLO)]).run(&["run", "hello.asl"]);
    assert_eq!((seen.out.as_str(), seen.err.as_str(), seen.code), ("[hello] I am hello\n", "", Some(0)));
}

#[test]
fn several_agents_are_numbered() {
    let program = "!greet.\n+!greet <- .print(\"here\"); .my_name(Me); .send(a1, tell, here(Me)).\n\
                   +here(_) : .count(here(_), 3) <- .stopMAS.\n";
    let seen = Scratch::with(&[("a.asl", program)]).run(&["run", "a.asl", "--agents", "3"]);
    let mut lines: Vec<&str> = seen.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[a1] here", "[a2] here", "[a3] here"]);
}

#[test]
fn unrunnable_file_is_explained() {
    fails(&[], &["run", "no.asl"], "error: there is no file no.asl\n");
    fails(
        &[("hello.asl", HELLO)],
        &["run", "hello.mas2j"],
        "error: there is no file hello.mas2j; did you mean hello.asl?\n",
    );
    fails(&[], &["run", "."], "error: . is a folder without a project (.mas2j) in it\n");
    fails(&[("e.asl", "  \n")], &["run", "e.asl"], "error: e.asl is empty: expected a project or a program\n");
    fails(
        &[("notes.txt", "hello")],
        &["run", "notes.txt"],
        "error: notes.txt is neither a project (.mas2j) nor a program (.asl, .wasm)\n",
    );
    fails(
        &[("a.mas2j", "MAS a { agents: x; }"), ("b.mas2j", "MAS b { agents: x; }")],
        &["run", "."],
        "error: . holds several projects: name one of ./a.mas2j, ./b.mas2j\n",
    );
}

#[test]
fn wrong_encoding_names_its_line() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path().join("x.asl"), b"p(1).\n\xff\xfe").expect("written");
    let seen = scratch.run(&["run", "x.asl"]);
    assert!(seen.err.contains("x.asl is not UTF-8 from line 2 on: it is read as Windows-1252"), "{}", seen.err);
}

#[test]
fn program_errors_prevent_run() {
    let seen = Scratch::with(&[("x.asl", "!go.\n+!go <- .print(1.\n")]).run(&["run", "x.asl"]);
    assert!(seen.err.contains("x.asl:2") && seen.err.ends_with("error: x.asl has errors\n"), "{}", seen.err);
    assert_eq!((seen.out.as_str(), seen.code), ("", Some(1)));
}

#[test]
fn agent_sets_exit_status() {
    let seen = Scratch::with(&[("x.asl", "!go.\n+!go <- .stopMAS(0, 7).\n")]).run(&["run", "x.asl"]);
    assert_eq!(seen.code, Some(7));
}

#[test]
fn time_ends_a_society() {
    let begin = Instant::now();
    let seen = Scratch::with(&[("x.asl", CHATTER)]).run(&["run", "x.asl", "--for", "1s"]);
    assert_eq!((seen.err.as_str(), seen.code), ("", Some(0)));
    assert!(seen.out.lines().count() > 5, "{}", seen.out);
    assert!(begin.elapsed() >= Duration::from_secs(1));
}

#[test]
fn a_trace_shows_messages_and_agents() {
    let files = [
        ("x.mas2j", "MAS x { agents: a; b; }"),
        ("a.asl", "!go.\n+!go <- .send(b, tell, price(3))."),
        ("b.asl", "+price(P) <- .stopMAS."),
    ];
    let seen = Scratch::with(&files).run(&["run", ".", "--trace"]);
    let words: Vec<&str> = seen.err.split_whitespace().collect();
    let trace = words.join(" ");
    for part in ["agent a created", "ms a -> b tell price(3)", "agent b ended"] {
        assert!(trace.contains(part), "no {part} in\n{}", seen.err);
    }
    assert_eq!(seen.out, "");
}

#[test]
fn names_are_coloured_on_request() {
    let scratch = Scratch::with(&[("hello.asl", HELLO)]);
    let always = scratch.run(&["run", "hello.asl", "--color", "always"]);
    assert!(always.out.starts_with("\u{1b}["), "{:?}", always.out);
    let again = scratch.run(&["run", "hello.asl", "--color", "always"]);
    assert_eq!(always.out, again.out);
    assert_eq!(scratch.run(&["run", "hello.asl", "--color", "never"]).out, "[hello] I am hello\n");
}

#[test]
fn quiet_suppresses_warnings() {
    let scratch = Scratch::with(&[("x.asl", "!go.\n!nothing.\n+!go <- .wait(50); .stopMAS.\n")]);
    let seen = scratch.run(&["run", "x.asl"]);
    assert!(seen.err.contains("nothing") && seen.out.is_empty(), "{}{}", seen.out, seen.err);
    assert_eq!(scratch.run(&["run", "x.asl", "--quiet"]).err, "");
}

#[test]
fn closed_output_ends_society_quietly() {
    let scratch = Scratch::with(&[("x.asl", CHATTER)]);
    let mut child = whimbrel()
        .args(["run", "x.asl"])
        .current_dir(scratch.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    assert_eq!(line, "[x] again\n");
    let status = child.wait().expect("it ends");
    let mut err = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut err).expect("text");
    assert_eq!((err.as_str(), status.code()), ("", Some(0)));
}

#[cfg(target_os = "linux")]
#[test]
fn unwritable_output_is_reported_once() {
    let scratch = Scratch::with(&[("x.asl", "!go. +!go <- .print(a); .print(b); .stopMAS.")]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let ran = whimbrel().args(["run", "x.asl"]).current_dir(scratch.path()).stdout(full).output();
    let seen = CommandOutput::from(ran.expect("the binary runs"));
    let said = "whimbrel: cannot print the output of agents, which is lost: No space left on device (os error 28)\n";
    assert_eq!((seen.err.as_str(), seen.code), (said, Some(0)));
}

#[cfg(unix)]
#[test]
fn interrupt_of_processes_is_reported_once() {
    use std::os::unix::process::CommandExt;
    let scratch = Scratch::with(&[
        ("x.mas2j", "MAS x { agents: x at \"n1\"; y x.asl at \"n3\"; }"),
        ("x.asl", "!go. +!go : .my_name(y) <- .send(x, achieve, said). +!go. +!said <- .print(linked)."),
    ]);
    let mut child = whimbrel()
        .args(["run", "x.mas2j", "--nodes", "3"])
        .current_dir(scratch.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("the binary runs");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    assert_eq!(line, "[x] linked\n");
    // A terminal's Ctrl-C reaches all of them.
    let group = format!("-{}", child.id());
    assert!(std::process::Command::new("kill").args(["-INT", "--", &group]).status().expect("kill runs").success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    let seen = CommandOutput::from(child.wait_with_output().expect("it ends"));
    assert_eq!((seen.err.matches("ending the society").count(), seen.code), (1, Some(130)), "{}", seen.err);
}

#[cfg(unix)]
#[test]
fn interrupt_ends_society_in_order() {
    let scratch = Scratch::with(&[("x.asl", CHATTER)]);
    let mut child = whimbrel()
        .args(["run", "x.asl", "--summary"])
        .current_dir(scratch.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    assert_eq!(line, "[x] again\n");
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    let seen = CommandOutput::from(child.wait_with_output().expect("it ends"));
    assert_eq!(seen.code, Some(130));
    assert!(rest.contains("lost"), "{rest}");
    assert!(seen.err.contains("ending the society"), "{}", seen.err);
}

#[test]
fn busy_agents_end_without_complaint() {
    let program = "!go.
         +!go <- .wait(200); for (.range(I, 1, 20)) { !token(I) }.
         +!token(N) <- .my_name(Me); ?next(Me, X); .send(X, achieve, token(N)).
         next(Me, X) :- .concat(\"\", Me, S) & .delete(\"w\", S, D) & .term2string(K, D) & .concat(\"w\", (K mod 50) + 1, T) & .term2string(X, T).";
    let seen = Scratch::with(&[("ring.mas2j", "MAS ring { agents: w #50; }"), ("w.asl", program)]).run(&[
        "run",
        "ring.mas2j",
        "--for",
        "1s",
    ]);
    assert_eq!((seen.out.as_str(), seen.err.as_str(), seen.code), ("", "", Some(0)));
}

const STOP: &str = "!go. +!go <- .my_name(N); .print(N); .stopMAS.";

#[test]
fn agents_with_errors_are_left_out() {
    let scratch = Scratch::with(&[
        ("m.mas2j", "MAS m { agents: ann; bob; cid agentArchClass my.Arch; dan; }"),
        ("ann.asl", "!go.\n+!go <- .print(x)"),
        ("cid.asl", STOP),
        ("dan.asl", STOP),
    ]);
    let seen = scratch.run(&["run", "m.mas2j"]);
    assert_eq!((seen.out.as_str(), seen.code), ("[dan] dan\n", Some(1)), "{}", seen.err);
    let told = "3 agents are not started: ann (ann.asl has errors), bob (there is no file bob.asl), \
                cid (its declaration has errors)";
    assert!(seen.err.contains(&format!("error: {told}: the others run; --strict refuses all\n")), "{}", seen.err);
    assert!(seen.err.ends_with(&format!("error: {told}\n")), "{}", seen.err);
    assert!(seen.err.contains("ann.asl:2"), "{}", seen.err);
    for arguments in [&["run", "m.mas2j", "--strict"][..], &["run", "m.mas2j", "--durable"], &["check", "m.mas2j"]] {
        let strict = scratch.run(arguments);
        assert_eq!((strict.out.as_str(), strict.code), ("", Some(1)), "{}", strict.err);
    }
    let alone = scratch.run(&["run", "ann.asl"]);
    assert!(alone.err.ends_with("error: ann.asl has errors\n") && alone.code == Some(1), "{}", alone.err);
}

#[test]
fn absent_agents_are_not_missed() {
    let scratch = Scratch::with(&[
        ("m.mas2j", "MAS m { agents: ann #0; bob; }"),
        ("none.mas2j", "MAS none { agents: ann #0; }"),
        ("ann.asl", "!go.\n+!go <- .print(x)"),
        ("bob.asl", STOP),
    ]);
    let seen = scratch.run(&["run", "m.mas2j"]);
    assert_eq!((seen.out.as_str(), seen.code), ("[bob] bob\n", Some(0)), "{}", seen.err);
    assert!(seen.err.contains("ann.asl:2") && !seen.err.contains("not started"), "{}", seen.err);
    assert_eq!(scratch.run(&["run", "none.mas2j"]).code, Some(1), "nobody runs");
}

#[test]
fn population_names_skip_omitted_agents() {
    let program = "!go. +!go <- .my_name(N); .print(N); .send(boss, tell, here(N)).\n\
                   +here(_) : .my_name(boss) & .count(here(_), 3) <- .stopMAS.";
    let scratch = Scratch::with(&[
        ("m.mas2j", "MAS m { agents: w bad.asl #7; w p.asl #7; boss p.asl; v none.asl #7; }"),
        ("p.asl", program),
        ("bad.asl", "!go"),
    ]);
    let seen = scratch.run(&["run", "m.mas2j", "--agents", "2"]);
    let mut printed: Vec<&str> = seen.out.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    printed.sort_unstable();
    assert_eq!((printed, seen.code), (vec!["boss", "w1_1", "w2_1"], Some(1)), "{}", seen.err);
    let told = "4 agents are not started: w1 to w2 (bad.asl has errors), v1 to v2 (there is no file none.asl)";
    assert_eq!(seen.err.matches(told).count(), 2, "{}", seen.err);
}

#[test]
fn includes_that_fail_are_left_out() {
    let includes = "{ include(\"none.asl\") }\n{ include(\"bad.asl\") }\n{ include(\"$jacamoJar/templates/x.asl\") }\n";
    let scratch = Scratch::with(&[("a.asl", &format!("{includes}{STOP}")), ("bad.asl", "p. +!x <- .\n")]);
    let seen = scratch.run(&["run", "a.asl"]);
    assert_eq!((seen.out.as_str(), seen.code), ("[a] a\n", Some(0)), "{}", seen.err);
    for part in ["a.asl:1", "bad.asl:1", "a.asl:2", "a.asl:3", "part of JaCaMo"] {
        assert!(seen.err.contains(part), "no {part} in\n{}", seen.err);
    }
    assert!(!seen.err.contains("error:"), "{}", seen.err);
    let checked = scratch.run(&["check", "a.asl"]);
    assert!(checked.err.ends_with("2 errors and 1 warning in 1 program\n"), "{}", checked.err);
    assert_eq!(scratch.run(&["run", "a.asl", "--strict"]).code, Some(1));
}

#[test]
fn sources_in_other_encodings_are_read() {
    let scratch = Scratch::with(&[]);
    let write = |name: &str, bytes: &[u8]| std::fs::write(scratch.path().join(name), bytes).expect("it is written");
    write("m.mas2j", b"// avalia\xe7\xe3o\nMAS m { agents: a; }\n");
    write("a.asl", b"{ include(\"b.asl\") }\n!go.\n// sa\xedda\n+!go <- ?word(W); .print(\"ol\xe1 \", W); .stopMAS.\n");
    write("b.asl", b"word(\"caf\xe9\").\n");
    let seen = scratch.run(&["run", "m.mas2j"]);
    assert_eq!((seen.out.as_str(), seen.code), ("[a] ol\u{e1} caf\u{e9}\n", Some(0)), "{}", seen.err);
    for part in ["m.mas2j is not UTF-8 from line 1", "a.asl is not UTF-8 from line 3", "b.asl is not UTF-8 from line 1"]
    {
        assert!(seen.err.contains(part), "no {part} in\n{}", seen.err);
    }
    assert_eq!(scratch.run(&["check", "m.mas2j"]).code, Some(0));
}

#[test]
fn agents_declared_twice_run_as_in_jason() {
    let program = "!go. +!go <- .my_name(N); .print(N); .send(boss, tell, here(N)).\n\
                   +here(_) : .my_name(boss) & .count(here(_), 6) <- .stopMAS.";
    let scratch = Scratch::with(&[
        ("m.mas2j", "MAS m { agents: w p.asl #2; w p.asl #2; boss p.asl; boss p.asl; none p.asl #0; }"),
        ("p.asl", program),
    ]);
    let seen = scratch.run(&["run", "m.mas2j"]);
    let mut printed: Vec<&str> = seen.out.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    printed.sort_unstable();
    assert_eq!(printed, ["boss", "boss_1", "w1", "w1_1", "w2", "w2_1"], "{}", seen.err);
}
