//! Commands used as a stranger would use them: wrong files, full disks, readers that leave early.

use std::fs::{File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use super::CommandFolder;
use super::control::SocietyFolder;

fn site() -> SocietyFolder {
    SocietyFolder::with(&[
        ("shop.mas2j", "MAS shop { agents: bob; }"),
        ("bob.asl", "stock(tea, 3).\n!rest.\n+!rest.\n"),
        ("odd.asl", "!go.\n+!go<-.print( 1 ).\n"),
        ("notes.txt", "buy tea"),
        ("bee.wasm", ""),
        ("folder/empty", ""),
    ])
}

/// Runs a command whose output nobody can take.
fn into_full_disk(site: &SocietyFolder, arguments: &[&str]) -> (Option<i32>, String) {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let done = site.command(arguments).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    (done.status.code(), String::from_utf8(done.stderr).unwrap())
}

/// Runs a command whose reader has left.
fn into_closed_pipe(site: &SocietyFolder, arguments: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let done =
        site.command(arguments).stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    (done.status.code(), String::from_utf8(done.stderr).unwrap())
}

#[test]
fn closed_output_ends_quietly() {
    let site = site();
    let _running = site.start(&["run", "shop.mas2j"], 1);
    let commands: [&[&str]; 9] = [
        &["--help"],
        &["run", "--help-all"],
        &["check", "--json", "shop.mas2j"],
        &["check", "--sarif", "shop.mas2j"],
        &["completions", "bash"],
        &["man", "pages"],
        &["ask", "bob", "stock(X, N)"],
        &["agents"],
        &["mind", "bob"],
    ];
    for command in commands {
        assert_eq!(into_closed_pipe(&site, command), (Some(0), String::new()), "{command:?}");
    }
}

#[test]
fn full_output_is_an_error() {
    let site = site();
    let _running = site.start(&["run", "shop.mas2j"], 1);
    let commands: [&[&str]; 11] = [
        &[],
        &["--help"],
        &["--version"],
        &["help", "run"],
        &["ps", "--help-all"],
        &["check", "--json", "shop.mas2j"],
        &["completions", "bash"],
        &["ask", "bob", "stock(X, N)"],
        &["ask", "bob", "stock(X, N)", "--json"],
        &["agents"],
        &["mind", "bob", "--json"],
    ];
    for command in commands {
        let (code, said) = into_full_disk(&site, command);
        assert!(code == Some(1) && said.starts_with("error: cannot write to standard output: "), "{command:?}: {said}");
    }
}

#[test]
fn long_word_is_cut_in_errors() {
    let site = site();
    let _running = site.start(&["run", "shop.mas2j"], 1);
    let name = "b".repeat(50_000);
    let commands: [&[&str]; 7] = [
        &["mind", &name],
        &["kill", &name],
        &["achieve", "bob", &format!("go({name}")],
        &["run", &name],
        &["run", "shop.mas2j", "--nodes", &name],
        &["run", "shop.mas2j", &format!("--{name}")],
        &[&name],
    ];
    for command in commands {
        let refused = site.see(command);
        assert!(refused.err.contains(" bytes) …") && refused.code != Some(0), "{:?}", command.first());
        assert!(refused.err.len() < 3_000, "{:?}: {} bytes", command.first(), refused.err.len());
    }
}

#[test]
fn hint_names_only_files_that_exist() {
    let site = site();
    assert!(
        site.see(&["run", "shop.asl"]).err.starts_with("error: there is no file shop.asl; did you mean shop.mas2j?\n")
    );
    std::fs::remove_file(site.scratch.path().join("shop.mas2j")).unwrap();
    assert!(site.see(&["run", "shop.asl"]).err.starts_with("error: there is no file shop.asl\n"));
}

#[test]
fn fmt_explains_other_files() {
    let site = site();
    let scratch = &site.scratch;
    let module = scratch.run(&["fmt", "bee.wasm"]);
    let why = "bee.wasm is no program (.asl) or project (.mas2j): it stays as it is";
    assert!(module.err.contains(why) && module.code == Some(1), "{}", module.err);
    let missing = scratch.run(&["fmt", "nowhere.asl"]);
    assert!(missing.err.contains("there is no file nowhere.asl") && missing.code == Some(1), "{}", missing.err);
}

#[test]
fn failed_fmt_keeps_the_program() {
    let site = site();
    let folder = site.scratch.path();
    // A link stays a link, and permissions stay.
    std::fs::set_permissions(folder.join("odd.asl"), Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("odd.asl", folder.join("link.asl")).unwrap();
    let done = site.scratch.run(&["fmt", "link.asl"]);
    assert_eq!((done.code, done.err.as_str()), (Some(0), "1 file: 1 changed, 0 with errors\n"));
    assert!(folder.join("link.asl").is_symlink());
    assert_eq!(std::fs::metadata(folder.join("odd.asl")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(std::fs::read_to_string(folder.join("odd.asl")).unwrap(), "!go.\n+!go <- .print(1).\n");
    // A limit on the length of files stands for a full disk: the old text stays, and nothing else does.
    let long = format!("!go.\n{}", "+!go<-.print( 1 ).\n".repeat(200));
    std::fs::write(folder.join("odd.asl"), &long).unwrap();
    let binary = env!("CARGO_BIN_EXE_whimbrel");
    let script = format!("trap '' XFSZ; ulimit -f 1; exec {binary} fmt odd.asl");
    let limited = std::process::Command::new("sh").args(["-c", &script]).current_dir(folder).output().unwrap();
    let said = String::from_utf8(limited.stderr).unwrap();
    assert!(said.contains("cannot write odd.asl: it stays as it is: ") && !limited.status.success(), "{said}");
    assert!(said.contains("0 changed, 1 with errors"), "{said}");
    assert_eq!(std::fs::read_to_string(folder.join("odd.asl")).unwrap(), long);
    let left: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn programs_of_agents_are_programs() {
    let site = site();
    let _running = site.start(&["run", "shop.mas2j"], 1);
    for (file, what) in [("folder", "a folder"), ("shop.mas2j", "no program"), ("notes.txt", "no program")] {
        let why = format!("error: {file} is {what}: expected a program (.asl, .wasm)\n");
        for command in [["create", "amy", file], ["load", "bob", file]] {
            let refused = site.see(&command);
            assert_eq!((refused.err.as_str(), refused.code), (why.as_str(), Some(1)), "{command:?}");
        }
    }
}

#[test]
fn man_needs_a_folder() {
    let site = site();
    let refused = site.see(&["man", "notes.txt"]);
    assert_eq!(refused.err, "error: notes.txt is no folder: name one for the manual pages\n");
    assert_eq!(refused.code, Some(1));
}

#[test]
fn used_port_is_explained() {
    let site = site();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = site.see(&["run", "shop.mas2j", "--http", &address]);
    let begin = format!("error: cannot listen at {address}: Address already in use");
    assert!(refused.err.starts_with(&begin), "{}", refused.err);
    assert!(refused.err.contains("choose another with --http, or `off`") && refused.code == Some(1), "{}", refused.err);
}

#[test]
fn prompt_notices_full_output() {
    let site = site();
    let _running = site.start(&["run", "shop.mas2j"], 1);
    std::fs::write(site.scratch.path().join("lines"), "?stock(X, N)\n").unwrap();
    let lines = File::open(site.scratch.path().join("lines")).unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = site.command(&["repl", "--as", "bob"]);
    let done = command.stdin(lines).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("cannot write to standard output") && done.status.code() == Some(1), "{said}");
}
