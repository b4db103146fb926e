//! `whimbrel new`.

use super::examples::repository;
use super::{CommandFolder, Scratch, run_in};

#[test]
fn a_new_society_runs() {
    let scratch = Scratch::new();
    let made = scratch.run(&["new", "my-garden"]);
    assert_eq!((made.code, made.err.as_str()), (Some(0), ""));
    assert!(made.out.contains("whimbrel run my-garden"), "{}", made.out);
    let checked = scratch.run(&["check", "my-garden"]);
    assert_eq!((checked.code, checked.err.as_str()), (Some(0), "1 project: nothing wrong\n"));
    let seen = scratch.run(&["run", "my-garden"]);
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""));
    assert_eq!(seen.out.lines().filter(|line| line.ends_with("ah, water")).count(), 4, "{}", seen.out);
    assert!(seen.out.contains("the can is empty"), "{}", seen.out);
}

#[test]
fn what_is_there_is_not_touched() {
    let scratch = Scratch::with(&[("garden", "mine")]);
    let seen = scratch.run(&["new", "garden"]);
    assert_eq!(seen.err, "error: garden exists already; choose another name\n");
    assert_eq!(seen.code, Some(1));
    assert_eq!(std::fs::read_to_string(scratch.path().join("garden")).expect("still there"), "mine");
}

#[test]
fn unwritable_scaffold_leaves_nothing() {
    // `write` fails where a folder cannot be made: the project's name is as long as a file name may be, and gets a
    // suffix.
    let name = "g".repeat(255);
    let scratch = Scratch::new();
    let seen = scratch.run(&["new", &name]);
    assert!(seen.err.contains("cannot write"), "{}", seen.err);
    assert_eq!((seen.code, scratch.path().join(&name).exists()), (Some(1), false));
}

#[test]
fn a_project_needs_a_name() {
    let seen = Scratch::new().run(&["new", "9lives"]);
    assert!(seen.err.contains("`9lives` is no valid name of a project: expected a lower-case letter"), "{}", seen.err);
    assert_eq!(seen.code, Some(1));
}

#[test]
fn copied_example_runs() {
    let scratch = Scratch::new();
    let made = scratch.run(&["new", "talks", "--example", "contract-net"]);
    assert_eq!((made.code, made.err.as_str()), (Some(0), ""));
    let seen = scratch.run(&["run", "talks", "--summary"]);
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""));
    assert!(seen.out.lines().any(|line| line.split_whitespace().take(2).eq(["lost", "0"])), "{}", seen.out);
}

#[test]
fn examples_with_pages_bring_their_scripts() {
    let scratch = Scratch::new();
    let made = scratch.run(&["new", "class", "--example", "classroom"]);
    let engine = scratch.path().join("class/page/lib/agentspeak.wasm");
    if made.code == Some(0) {
        assert!(engine.exists() && scratch.path().join("class/page/lib/whimbrel.js").exists());
    } else {
        assert!(made.err.contains("no AgentSpeak engine for pages: run `make dist`"), "{}", made.err);
        assert!(!scratch.path().join("class").exists());
    }
}

#[test]
fn new_projects_are_in_fmts_form() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["new", "garden"]).code, Some(0));
    let seen = scratch.run(&["fmt", "--check", "garden"]);
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), "3 files: 0 would change, 0 with errors\n"));
}

#[cfg(feature = "wasm")]
#[test]
fn new_wasm_project_is_in_fmts_form() {
    let scratch = Scratch::new();
    assert_eq!(scratch.run(&["new", "school", "--wasm", "c"]).code, Some(0));
    let seen = scratch.run(&["fmt", "--check", "school"]);
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), "2 files: 0 would change, 0 with errors\n"));
}

#[test]
fn examples_are_in_fmts_form() {
    let seen = run_in(&repository().join("examples"), &["fmt", "--check", "."]);
    assert_eq!(seen.code, Some(0), "{}", seen.err);
}
