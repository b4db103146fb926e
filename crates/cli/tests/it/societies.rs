//! Societies that earlier releases kept go on with this one: `conformance/societies` has one of each.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::examples::{by_agent, repository};
use super::{CommandOutput, Scratch, rust_example, whimbrel};

fn fixtures() -> PathBuf {
    repository().join("conformance/societies")
}

/// The society `name` of a release, going on with what is in `store`.
fn society(release: &Path, name: &str, store: &Path) -> Command {
    if name == "savings" {
        let mut command = rust_example("savings");
        command.arg(store);
        return command;
    }
    let mut command = whimbrel();
    command.args(["run", "--quiet", &format!("{name}.mas2j"), "--store"]).arg(store).current_dir(release);
    command
}

/// Goes on with what a release exported, to the end.
fn go_on(release: &Path, name: &str) -> String {
    let scratch = Scratch::new();
    let (store, export) = (scratch.path().join("store"), release.join(format!("{name}.export")));
    let imported = whimbrel().args(["store", "import"]).args([&store, &export]).status();
    assert!(imported.expect("the binary runs").success());
    let seen: CommandOutput = society(release, name, &store).output().expect("it runs").into();
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""), "{}", seen.out);
    seen.out
}

#[test]
fn societies_of_earlier_releases_go_on() {
    let mut releases = 0;
    for release in std::fs::read_dir(fixtures()).expect("the fixtures are there") {
        let release = release.expect("it can be read").path();
        if !release.is_dir() {
            continue;
        }
        for name in ["long_plan", "savings"] {
            let expected = std::fs::read_to_string(release.join(format!("{name}.txt"))).expect("it is there");
            let seen = go_on(&release, name);
            assert_eq!(by_agent(&seen), by_agent(&expected), "{}", release.display());
        }
        releases += 1;
    }
    assert!(releases > 0);
}

/// Writes the fixtures of this release into the folder that the variable `RELEASE` names.
#[test]
#[ignore = "writes files; to be run once for each release that keeps anything in another way"]
fn write_the_fixtures() {
    let release = fixtures().join(std::env::var("RELEASE").expect("RELEASE names the folder"));
    std::fs::create_dir_all(&release).expect("it can be made");
    for file in ["long_plan.mas2j", "clerk.asl", "traveller.asl"] {
        std::fs::copy(repository().join("examples/long-plan").join(file), release.join(file))
            .expect("it can be copied");
    }
    for (name, until) in [("long_plan", "[traveller] descend"), ("savings", "[bank] deposit 5")] {
        let scratch = Scratch::new();
        let store = scratch.path().join("store");
        let out = scratch.path().join("out");
        let file = std::fs::File::create(&out).expect("it can be made");
        let mut child = society(&release, name, &store).stdout(Stdio::from(file)).spawn().expect("it runs");
        let began = Instant::now();
        while !std::fs::read_to_string(&out).expect("it is text").contains(until) {
            assert!(began.elapsed() < Duration::from_secs(60), "{name} does not come to {until}");
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        let export = release.join(format!("{name}.export"));
        let exported = whimbrel().args(["store", "export"]).args([&store, &export]).status();
        assert!(exported.expect("the binary runs").success());
        std::fs::write(release.join(format!("{name}.txt")), go_on(&release, name)).expect("it can be written");
    }
}
