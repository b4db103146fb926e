//! `whimbrel agent build`.

use super::examples::repository;
use super::{CommandFolder, Scratch};

/// Set where tests must not be skipped because compilers are missing.
pub const REQUIRED: &str = "WHIMBREL_GUESTS_REQUIRED";

/// Returns true if the tools that build agents are missing on this machine.
pub fn tools_are_missing(seen: &super::CommandOutput) -> bool {
    let missing = seen.err.contains("needs tools that are missing here");
    if missing {
        assert!(std::env::var_os(REQUIRED).is_none(), "{}", seen.err);
        eprintln!("skipped: {}", seen.err.trim_end());
    }
    missing
}

#[test]
fn what_is_no_program_is_refused() {
    let scratch = Scratch::with(&[("a.py", ""), ("b.rs", ""), ("c.wasm", "")]);
    std::fs::create_dir(scratch.path().join("folder")).expect("can be made");
    for (path, error) in [
        ("none.ts", "there is no file none.ts"),
        ("a.py", "a.py cannot be built to an agent: expected .ts, .c, .wasm, .wat, or a Cargo package"),
        ("b.rs", "b.rs must be part of a Cargo package: give the folder with Cargo.toml"),
        ("c.wasm", "cannot overwrite the source c.wasm: give another output file with -o"),
        ("folder", "folder/Cargo.toml is missing: expected a folder with a Cargo package"),
    ] {
        let seen = scratch.run(&["agent", "build", path]);
        assert_eq!((seen.err.as_str(), seen.code), (format!("error: {error}\n").as_str(), Some(1)));
    }
}

#[test]
fn sdk_is_written_into_the_cache() {
    let scratch = Scratch::new();
    let cache = scratch.path().join("cache");
    let seen =
        super::whimbrel().args(["agent", "sdk"]).env("XDG_CACHE_HOME", &cache).output().expect("the binary runs");
    let folder = std::path::PathBuf::from(String::from_utf8_lossy(&seen.stdout).trim_end());
    assert!(folder.starts_with(&cache), "{}", folder.display());
    let header = std::fs::read_to_string(folder.join("c/whimbrel.h")).expect("the header is there");
    assert!(header.contains("WHIM_ON_MESSAGE"));
    assert!(
        folder.join("rust/whimbrel-guest/src/lib.rs").exists() && folder.join("assemblyscript/whimbrel.ts").exists()
    );
    let left = std::fs::read_dir(cache.join("whimbrel/sdk")).expect("is there").count();
    assert_eq!(left, 1, "an unfinished folder was left");
}

#[test]
fn missing_tools_have_sources() {
    let scratch = Scratch::with(&[("a.c", ""), ("b.ts", ""), ("c/Cargo.toml", "")]);
    let run = |arguments: &[&str]| {
        let mut command = super::whimbrel();
        command.args(arguments).current_dir(scratch.path()).env("PATH", "").env("XDG_CACHE_HOME", scratch.path());
        super::CommandOutput::from(command.output().expect("the binary runs"))
    };
    for (program, tools) in [("a.c", ["clang", "wasm-ld"]), ("b.ts", ["asc", "wasm-opt"]), ("c", ["cargo", "rustup"])] {
        let seen = run(&["agent", "build", program]);
        assert!(
            seen.err.starts_with(&format!("error: {program} needs tools that are missing here:\n")),
            "{}",
            seen.err
        );
        assert!(tools.iter().all(|tool| seen.err.contains(tool)), "{}", seen.err);
        assert!(seen.err.contains("make wasm-tools") && seen.code == Some(1), "{}", seen.err);
    }
    let made = run(&["new", "school", "--wasm", "c"]);
    assert!(made.out.contains("first install what is missing here:\n  clang"), "{}", made.out);
    assert!(made.out.contains("whimbrel agent build school/calculator.c"), "{}", made.out);
}

const GREETER_C: &str = "#include <whimbrel.h>
WHIM_ON_MESSAGE(message) {
    whim_reply(message, WHIM_INFORM);
    whim_put_text(whim_str(\"hello\"));
    return whim_send();
}
";

const GREETER_TS: &str = "import { Agent, Message, Performative, Value, run, sleep } from \"whimbrel\";
class Greeter extends Agent {
  onMessage(message: Message): void {
    sleep(10);
    message.reply(Performative.INFORM, Value.text(\"hello\")).send();
  }
}
run(new Greeter());
";

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_nothing_behind() {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let scratch = Scratch::with(&[("x.c", "")]);
    std::fs::create_dir(scratch.path().join("bin")).expect("can be made");
    let begun = scratch.path().join("begun");
    let compiler = scratch.path().join("bin/clang");
    std::fs::write(&compiler, format!("#!/bin/sh\n: > {}\nexec sleep 60\n", begun.display())).expect("can be written");
    std::fs::set_permissions(&compiler, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    for tool in ["wasm-ld", "wasm-opt"] {
        std::fs::copy(&compiler, scratch.path().join("bin").join(tool)).expect("can be copied");
    }
    let between = scratch.path().join("between");
    std::fs::create_dir(&between).expect("can be made");
    let path = format!("{}:{}", scratch.path().join("bin").display(), std::env::var("PATH").unwrap_or_default());
    let mut child = super::whimbrel()
        .args(["agent", "build", "x.c"])
        .current_dir(scratch.path())
        .env("PATH", path)
        .env("TMPDIR", &between)
        .stderr(std::process::Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("the binary runs");
    let began = std::time::Instant::now();
    while !begun.exists() {
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "the compiler is not started");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(std::fs::read_dir(&between).expect("it is there").count(), 1);
    let group = format!("-{}", child.id());
    let told = std::process::Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(told.expect("kill runs").success());
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
    assert_eq!((child.wait().expect("it ends").code(), said.as_str()), (Some(130), ""));
    assert_eq!(std::fs::read_dir(&between).expect("it is there").count(), 0);
    assert!(!scratch.path().join("x.wasm").exists());
}

#[test]
fn c_program_becomes_agent() {
    let scratch = Scratch::with(&[("greeter.c", GREETER_C)]);
    let seen = scratch.run(&["agent", "build", "greeter.c"]);
    if tools_are_missing(&seen) {
        return;
    }
    assert_eq!((seen.err.as_str(), seen.code), ("", Some(0)));
    let lines: Vec<&str> = seen.out.lines().collect();
    let bytes = std::fs::read(scratch.path().join("greeter.wasm")).expect("it is written");
    assert_eq!(lines[0], format!("greeter.wasm: {} bytes", bytes.len()));
    assert!(lines[1].starts_with("  sha256  ") && lines[1].len() == 10 + 64, "{lines:?}");
    assert_eq!(lines[2..], ["  wants   send", "  moves   when it is told to, between two calls"]);
}

#[test]
fn waiting_assemblyscript_program_is_instrumented() {
    let scratch = Scratch::with(&[("greeter.ts", GREETER_TS)]);
    let seen = scratch.run(&["agent", "build", "greeter.ts", "-o", "g"]);
    if tools_are_missing(&seen) {
        return;
    }
    assert_eq!((seen.err.as_str(), seen.code), ("", Some(0)));
    assert!(seen.out.starts_with("g: "), "{}", seen.out);
    assert!(seen.out.contains("  wants   discard, log, send, sleep\n"), "{}", seen.out);
    assert!(seen.out.ends_with("when it is told to, also while it waits in the middle of a call\n"), "{}", seen.out);
    // What is prepared already stays as it is.
    std::fs::rename(scratch.path().join("g"), scratch.path().join("g.wasm")).expect("can be renamed");
    let again = scratch.run(&["agent", "build", "g.wasm", "-o", "h.wasm"]);
    assert_eq!((again.err.as_str(), again.code), ("", Some(0)));
    assert!(again.out.contains("also while it waits"), "{}", again.out);
}

#[test]
fn a_cargo_package_becomes_an_agent() {
    let scratch = Scratch::new();
    let package = repository().join("guest/examples/rust/worker");
    let package = package.to_str().expect("UTF-8");
    let seen = scratch.run(&["agent", "build", package]);
    if tools_are_missing(&seen) {
        return;
    }
    assert_eq!(seen.code, Some(0), "{}", seen.err);
    assert!(seen.out.starts_with("worker.wasm: "), "{}", seen.out);
    assert!(seen.out.ends_with("  moves   when it is told to, between two calls\n"), "{}", seen.out);
    let module = std::fs::read(scratch.path().join("worker.wasm")).expect("it is written");
    let exported = |name: &str| module.windows(name.len()).any(|bytes| bytes == name.as_bytes());
    assert!(exported("__stack_pointer") && exported("whim_handle"));

    let workspace = repository().join("guest/examples/rust");
    let seen = scratch.run(&["agent", "build", workspace.to_str().expect("UTF-8")]);
    assert!(seen.err.ends_with(" modules: give the folder of one package\n"), "{}", seen.err);
}

#[test]
fn unrunnable_module_is_refused() {
    let import = "(module (import \"env\" \"open\" (func $open)) (memory (export \"memory\") 1)
                   (func (export \"whim_abi\") (result i32) (call $open) (i32.const 1)))";
    let nothing = "(module (memory (export \"memory\") 1))";
    let scratch = Scratch::with(&[("import.wat", import), ("nothing.wat", nothing), ("broken.wat", "(module")]);
    let seen = scratch.run(&["agent", "build", "import.wat"]);
    if tools_are_missing(&seen) {
        return;
    }
    assert!(seen.err.starts_with("error: import.wat: it imports `env.open`, which does not exist"), "{}", seen.err);
    let seen = scratch.run(&["agent", "build", "nothing.wat"]);
    assert!(seen.err.starts_with("error: nothing.wat: it does not export `whim_abi`"), "{}", seen.err);
    let seen = scratch.run(&["agent", "build", "broken.wat"]);
    assert_eq!(seen.code, Some(1), "{}", seen.err);
    assert!(!scratch.path().join("broken.wasm").exists());
}
