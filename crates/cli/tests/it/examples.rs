//! Every example prints what its `expected.txt` says: each agent's lines in their order, in any order of the agents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[cfg(feature = "wasm")]
use super::agent_build::REQUIRED;
use super::run_in;

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// Each agent's lines.
pub fn by_agent(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut lines: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in text.lines() {
        let (agent, rest) = line.split_once(']').expect("each line is an agent's");
        lines.entry(agent).or_default().push(rest.trim_end());
    }
    lines
}

fn has_python(folder: &Path) -> bool {
    let is_python = |path: PathBuf| path.extension().is_some_and(|end| end == "py" || end == "ipynb");
    std::fs::read_dir(folder).is_ok_and(|mut files| files.any(|file| file.is_ok_and(|file| is_python(file.path()))))
}

#[test]
fn examples_print_what_they_should() {
    let folder = repository().join("examples");
    let mut names: Vec<_> =
        std::fs::read_dir(&folder).expect("examples").map(|entry| entry.expect("entry").path()).collect();
    let has = |path: &Path, file: &str| path.join(file).exists();
    names.retain(|path| path.is_dir() && !has(path, "main.rs"));
    names.retain(|path| !has(path, "market.sh") && !has(path, "chaos.toml") && !has(path, "searcher"));
    // Those with a program in TypeScript are run by the tests of its SDK.
    names.retain(|path| !has(path, "package.json"));
    // Those with programs in Python, by the tests of its SDK, and those with an environment by the module `python`.
    names.retain(|path| !has_python(path));
    // Those with pages, by the tests of the console: their output depends on the visitors.
    names.retain(|path| !has(path, "page"));
    names.sort();
    assert!(names.len() >= 4, "{names:?}");
    for example in names {
        let expected = std::fs::read_to_string(example.join("expected.txt")).expect("each example has one");
        let seen = run_in(&example, &["run", "."]);
        assert_eq!(by_agent(&seen.out), by_agent(&expected), "{}\n{}", example.display(), seen.err);
        assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""), "{}", example.display());
    }
}

#[test]
fn a_market_refuses_its_intruders() {
    let folder = repository().join("examples/market-secure");
    let expected = std::fs::read_to_string(folder.join("expected.txt")).expect("it has one");
    let mut script = std::process::Command::new("bash");
    script.arg("market.sh").current_dir(&folder).env("WHIMBREL", env!("CARGO_BIN_EXE_whimbrel"));
    let seen: super::CommandOutput = script.output().expect("bash runs").into();
    assert_eq!((seen.out, seen.code), (expected, Some(0)), "{}", seen.err);
    let projects = ["check", "market.mas2j", "customers.mas2j", "intruder.mas2j", "policy.toml"];
    assert_eq!(run_in(&folder, &projects).err, "3 projects, 1 policy: nothing wrong\n");
}

#[cfg(feature = "wasm")]
#[test]
fn searcher_results_ignore_location() {
    let folder = repository().join("examples/library-search");
    if !folder.join("searcher.wasm").exists() || !folder.join("collections/workshops").exists() {
        assert!(std::env::var_os(REQUIRED).is_none(), "the searcher or its texts are missing: make guests");
        return eprintln!("skipped: the searcher or its texts are missing: make guests");
    }
    let expected = std::fs::read_to_string(folder.join("expected.txt")).expect("it has one");
    let seen = run_in(&folder, &["run", ".", "--nodes", "4", "--policy", "policy.toml"]);
    let timeless = |line: &str| match line.split_once(" documents: ") {
        Some((before, after)) => {
            let after: String = after.chars().filter(|letter| !letter.is_ascii_digit()).collect();
            format!("{before} documents: {after}\n")
        }
        None => format!("{line}\n"),
    };
    let printed: String = seen.out.lines().map(timeless).collect();
    assert_eq!((printed, seen.code), (expected.replace("N ms", " ms"), Some(0)), "{}", seen.err);
}

#[test]
fn rust_example_matches_reference() {
    let folder = repository().join("examples/lamp");
    let mut lamp = super::rust_example("lamp");
    let seen: super::CommandOutput = lamp.current_dir(repository()).output().expect("it runs").into();
    let expected = std::fs::read_to_string(folder.join("expected.txt")).expect("it has one");
    assert_eq!((seen.out, seen.code), (expected, Some(0)), "{}", seen.err);

    let program = std::fs::read_to_string(folder.join("main.rs")).expect("it is there");
    let (_, code) = program.split_once("\n\n").expect("a comment comes first");
    let reference = std::fs::read_to_string(repository().join("docs/reference/environments.md")).expect("it is there");
    assert!(reference.contains(code), "docs/reference/environments.md shows another program than examples/lamp");
}

#[test]
fn examples_raise_no_warnings() {
    let seen = run_in(
        &repository(),
        &[
            "check",
            "examples/ants",
            "examples/assistants",
            "examples/auction",
            "examples/bank",
            "examples/blocks",
            "examples/contract-net",
            "examples/domestic-robot",
            "examples/energy",
            "examples/library-search",
            "examples/long-plan",
            "examples/sensors",
        ],
    );
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), "11 projects: nothing wrong\n"));
}

#[test]
fn a_contract_net_adds_up() {
    let seen = run_in(&repository(), &["run", "examples/contract-net", "--summary"]);
    let table: Vec<&str> = seen.out.lines().skip_while(|line| !line.starts_with('─')).collect();
    let words = |what: &str| -> Vec<&str> {
        let line = table.iter().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{what}: {table:#?}"));
        line.split_whitespace().collect()
    };
    assert_eq!(
        words("initiator"),
        "agents 7 initiator, ada, bruno, chloe, dora, edgar, fern".split(' ').collect::<Vec<_>>()
    );
    assert_eq!(words("cfp"), ["messages", "61", "24", "cfp"]);
    assert!(table.iter().any(|line| line.split_whitespace().rev().take(2).eq(["chloe", "2"])), "{table:#?}");
    assert_eq!(words("lost")[..2], ["lost", "0"]);
}

#[test]
fn a_population_can_be_any_size() {
    let seen = run_in(&repository(), &["run", "examples/auction", "--agents", "200"]);
    assert!(seen.out.contains("[auctioneer] Lot sea_chart: 200 in the room"), "{}", seen.out);
    assert_eq!(seen.code, Some(0));
}
