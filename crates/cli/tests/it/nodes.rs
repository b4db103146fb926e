//! `whimbrel run --nodes`: one society in several processes.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{CommandFolder, Scratch, whimbrel};

const PING: &str = "
!go.
+!go <- .send(pong, tell, hello(0)).
+hello(N)[source(A)] : N < 100 <- .send(A, tell, hello(N + 1)).
+hello(N) <- .print(\"done at \", N); .stopMAS(0, 3).
";

fn ping_pong() -> Scratch {
    Scratch::with(&[
        ("x.mas2j", "MAS x { agents: ping ping.asl; pong pong.asl at \"n3\"; }"),
        ("ping.asl", PING),
        ("pong.asl", PING.replacen("!go.", "", 1).as_str()),
    ])
}

#[test]
fn three_processes_lose_no_message() {
    let seen = ping_pong().run(&["run", "x.mas2j", "--nodes", "3", "--summary"]);
    assert!(seen.out.starts_with("[pong] done at 100\n"), "{}{}", seen.out, seen.err);
    assert_eq!((seen.code, seen.err.as_str()), (Some(3), ""));
    let lost = seen.out.lines().find(|line| line.contains("lost")).expect("a summary");
    let words: Vec<&str> = lost.split_whitespace().collect();
    let expected = "lost 0 51 sent + 50 from other nodes = 50 handled + 0 undeliverable + 51 to other nodes";
    assert_eq!(words.join(" "), format!("{expected} + 0 waiting at the end"));
}

#[test]
fn links_can_be_encrypted_and_authenticated() {
    for level in ["tls", "authenticated"] {
        let seen = ping_pong().run(&["run", "x.mas2j", "--nodes", "3", "--security", level]);
        assert_eq!((seen.out.as_str(), seen.err.as_str(), seen.code), ("[pong] done at 100\n", "", Some(3)), "{level}");
    }
}

#[test]
fn remote_agents_join_with_certificates() {
    let host = "+hello[source(A)] <- .print(\"welcome \", A); .send(A, tell, welcome).\n";
    let guest =
        "!go.\n+!go <- .send(host, tell, hello).\n+welcome <- .print(\"thanks\"); .wait(100); .stopMAS(0, 5).\n";
    let scratch = Scratch::with(&[("host.asl", host), ("guest.asl", guest)]);
    let make = |arguments: &[&str]| {
        let mut command = whimbrel();
        command.args(arguments).current_dir(scratch.path()).env("WHIMBREL_CA_PASSPHRASE", "open sesame");
        command.env("WHIMBREL_TOKEN", "the token");
        command
    };
    for arguments in [
        &["ca", "init", "authority"][..],
        &["ca", "issue", "authority", "n1", "--out", "n1"],
        &["ca", "issue", "authority", "n2", "--out", "n2", "--address", "127.0.0.1"],
    ] {
        assert!(make(arguments).output().expect("it runs").status.success(), "{arguments:?}");
    }
    let mut host = make(&["run", "host.asl", "--listen", "127.0.0.1:0", "--credentials", "n1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut noted = BufReader::new(host.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let address = noted.find_map(|line| Some(line.split_once("join at ")?.1.to_owned())).expect("it listens");
    let join = |name: &str, folder: &str, token: &str| {
        let arguments =
            ["join", &address, "guest.asl", "--name", name, "--credentials", folder, "--token", token, "--quiet"];
        super::CommandOutput::from(make(&arguments).output().expect("it runs"))
    };
    let wrong = join("n2", "n2", "another token");
    assert!(wrong.err.contains("refused this node") && wrong.code == Some(1), "{}", wrong.err);
    assert_eq!(join("n3", "n2", "the token").code, Some(1), "the certificate names another node");
    let right = join("n2", "n2", "the token");
    assert_eq!((right.out.as_str(), right.code), ("[guest] thanks\n", Some(5)), "{}", right.err);
    let ended = host.wait_with_output().expect("it ended, as the guest said");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "[host] welcome guest\n");
    assert_eq!(ended.status.code(), Some(5));
}

#[test]
fn farewell_is_no_loss() {
    let scratch = Scratch::with(&[
        ("host.asl", "+hello <- .wait(50); .stopMAS.\n"),
        ("guest.asl", "!go.\n+!go <- .send(host, tell, hello).\n"),
    ]);
    let make = |arguments: &[&str]| {
        let mut command = whimbrel();
        command.args(arguments).args(["--token", "the token"]).current_dir(scratch.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let mut host = make(&["run", "host.asl", "--listen", "127.0.0.1:0"]).spawn().expect("it runs");
    let mut noted = BufReader::new(host.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let address = noted.find_map(|line| Some(line.split_once("join at ")?.1.to_owned())).expect("it listens");
    let guest = super::CommandOutput::from(make(&["join", &address, "guest.asl"]).output().expect("it runs"));
    let said: Vec<String> = noted.collect();
    assert_eq!((host.wait().expect("it ends").code(), guest.code), (Some(0), Some(0)), "{said:?}{}", guest.err);
    assert!(!guest.err.contains("is lost") && guest.err.contains("link to n1: up"), "{}", guest.err);
    assert!(!said.iter().any(|line| line.contains("is lost")), "{said:?}");
}

#[test]
fn remote_links_default_to_authenticated() {
    let scratch = Scratch::with(&[("a.asl", "!go.\n+!go <- .stopMAS.\n")]);
    let seen = scratch.run(&["run", "a.asl", "--listen", "0.0.0.0:0", "--token", "t"]);
    assert!(seen.err.contains("must be secured") && seen.code == Some(1), "{}", seen.err);
}

#[test]
fn an_authority_issues_and_takes_back() {
    let scratch = Scratch::new();
    let ca = |arguments: &[&str], passphrase: &str| {
        let mut command = whimbrel();
        command.arg("ca").args(arguments).current_dir(scratch.path()).env("WHIMBREL_CA_PASSPHRASE", passphrase);
        super::CommandOutput::from(command.output().expect("the binary runs"))
    };
    assert_eq!(ca(&["init", "authority"], "open sesame").out, "made the authority of whimbrel in authority\n");
    assert_eq!(
        ca(&["init", "authority"], "open sesame").err,
        "error: authority exists already; choose another folder\n"
    );
    let issued = ca(&["issue", "authority", "n1", "--out", "n1", "--days", "5"], "open sesame");
    assert_eq!(issued.out, "n1 has a certificate for 5 days; its key is in n1/node.pem\n", "{}", issued.err);
    for file in ["node.pem", "agents.pem", "authority.pem", "revoked.pem"] {
        let text = std::fs::read_to_string(scratch.path().join("n1").join(file)).expect("it is there");
        assert!(text.starts_with("-----BEGIN "), "{file}");
    }
    let wrong = ca(&["list", "authority"], "open barley");
    assert_eq!(wrong.err, "error: the passphrase does not open the authority's key\n");
    assert_eq!(ca(&["revoke", "authority", "n2"], "open sesame").code, Some(1));
    assert_eq!(ca(&["revoke", "authority", "n1"], "open sesame").code, Some(0));
    assert!(ca(&["list", "authority"], "open sesame").out.contains("revoked"));
}

#[test]
fn services_and_ends_are_known_everywhere() {
    let seeker = "
!go.
+!go <- .df_subscribe(\"cook\").
+provider(A, \"cook\") <- .print(\"there is \", A); .all_names(L); .print(L); .kill_agent(A); !look.
+!look <- .df_search(\"cook\", L); .all_names(All); !seen(L, All).
+!seen([], [Me]) <- .print([], [Me]); .stopMAS.
+!seen(_, _) <- .wait(10); !look.
";
    let cook = "!go.\n+!go <- .df_register(\"cook\").\n";
    let scratch =
        Scratch::with(&[("x.mas2j", "MAS x { agents: seeker; cook; }"), ("seeker.asl", seeker), ("cook.asl", cook)]);
    let seen = scratch.run(&["run", "x.mas2j", "--nodes", "2", "--for", "60s"]);
    let lines: Vec<&str> = seen.out.lines().collect();
    let expected = ["[seeker] there is cook", "[seeker] [seeker,cook]", "[seeker] [][seeker]"];
    assert_eq!(lines, expected, "{}", seen.err);
}

#[test]
fn killed_first_process_ends_others() {
    let scratch = Scratch::with(&[
        ("x.mas2j", "MAS x { agents: a #2; }"),
        ("a.asl", "!talk.\n+!talk <- .print(\"again\"); .wait(20); !talk.\n"),
    ]);
    let mut child = whimbrel()
        .args(["run", "x.mas2j", "--nodes", "2"])
        .current_dir(scratch.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let other = |line: &str| line.starts_with("[a2]");
    assert!(lines.by_ref().map_while(Result::ok).take(1000).any(|line| other(&line)), "both are there");
    child.kill().expect("killed");
    let _ = child.wait();
    let begin = Instant::now();
    // The pipe is at its end when the last of the processes is gone.
    let more = lines.map_while(Result::ok).count();
    assert!(begin.elapsed() < Duration::from_secs(60), "{more} lines more");
}

#[test]
fn examples_match_on_several_nodes() {
    for (example, nodes) in [("auction", "3"), ("contract-net", "3"), ("domestic-robot", "3"), ("sensors", "2")] {
        let folder = super::examples::repository().join("examples").join(example);
        let expected = std::fs::read_to_string(folder.join("expected.txt")).expect("each example has one");
        let seen = super::run_in(&folder, &["run", ".", "--nodes", nodes]);
        let by_agent = super::examples::by_agent;
        assert_eq!(by_agent(&seen.out), by_agent(&expected), "{example}\n{}", seen.err);
        assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""), "{example}");
    }
}

#[test]
fn link_encoding_does_not_change_results() {
    for encoding in ["string", "xml", "bit-efficient", "json"] {
        for example in ["contract-net", "domestic-robot"] {
            let folder = super::examples::repository().join("examples").join(example);
            let expected = std::fs::read_to_string(folder.join("expected.txt")).expect("each example has one");
            let seen = super::run_in(&folder, &["run", ".", "--nodes", "3", "--encoding", encoding]);
            let by_agent = super::examples::by_agent;
            assert_eq!(by_agent(&seen.out), by_agent(&expected), "{example} in {encoding}\n{}", seen.err);
            assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""), "{example} in {encoding}");
        }
    }
    let wrong = ping_pong().run(&["run", "x.mas2j", "--nodes", "2", "--encoding", "pigeon"]);
    assert!(wrong.err.contains("expected compact, string, xml, bit-efficient or json"), "{}", wrong.err);
}

#[test]
fn policy_refusal_is_answered_and_recorded() {
    let spy = "
!go.
+!go <- .send(vault, tell, secret); .send(guard, tell, hello).
+hello <- .stopMAS(0, 4).
";
    let guard = "+hello <- .send(spy, tell, hello).";
    let scratch = Scratch::with(&[
        ("x.mas2j", "MAS x { agents: vault guard.asl at \"n1\"; guard guard.asl at \"n1\"; spy spy.asl at \"n2\"; }"),
        ("spy.asl", spy),
        ("guard.asl", guard),
        ("policy.toml", "[[deny]]\nwho = \"node:n2\"\nsend = \"vault\"\n"),
    ]);
    let run = ["run", "x.mas2j", "--nodes", "2", "--policy", "policy.toml", "--audit", "audit.jsonl", "--summary"];
    let seen = scratch.run(&run);
    assert_eq!(seen.code, Some(4), "{}{}", seen.out, seen.err);
    let record = |file: &str| std::fs::read_to_string(scratch.path().join(file)).expect("it is there");
    // The spy's own node has the same policy: it refuses first.
    let policy = record("audit.jsonl.n2.operators");
    let line = record("audit.jsonl.n2");
    assert!(policy.contains("\"action\":\"policy\",\"object\":\"policy.toml sha256:"), "{policy}");
    let (time, rest) = line.split_once(",").expect("a line");
    assert!(time.starts_with("{\"time\":\"20"), "{line}");
    let expected = "\"reason\":\"forbidden\",\"who\":\"agent:spy of node:n2\",\"action\":\"send\",\"object\":\"vault\",\
                    \"text\":\"agent spy of node n2 may not send to vault\"}\n";
    let (refused, ended) = rest.split_at_checked(expected.len()).expect("a line");
    assert_eq!(refused, expected);
    // The spy was allowed to end the platform.
    assert!(ended.contains("\"reason\":\"allowed\"") && ended.lines().count() == 1, "{ended}");
    // The node's own policy allowed its acts, and the spy's node to end the platform: nothing was refused there.
    assert!(record("audit.jsonl").lines().all(|line| line.contains("\"reason\":\"allowed\"")));
    assert_eq!(record("audit.jsonl.outside"), "");
}

#[test]
fn nodes_enrol_with_tokens() {
    let scratch = Scratch::with(&[
        ("host.asl", "+hello <- .print(hello); .stopMAS(100, 6).\n"),
        ("guest.asl", "!go.\n+!go <- .send(host, tell, hello).\n"),
    ]);
    let make = |arguments: &[&str]| {
        let mut command = whimbrel();
        command.args(arguments).current_dir(scratch.path()).env("WHIMBREL_CA_PASSPHRASE", "open sesame");
        command.env("WHIMBREL_TOKEN", "the token").stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let run = |arguments: &[&str]| super::CommandOutput::from(make(arguments).output().expect("it runs"));
    assert_eq!(run(&["ca", "init", "authority"]).code, Some(0));
    let mut service = make(&["ca", "serve", "authority", "--listen", "127.0.0.1:0"]).spawn().expect("it runs");
    let mut noted = BufReader::new(service.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let at = noted.find_map(|line| Some(line.split_once("enrol at ")?.1.to_owned())).expect("it listens");
    for node in ["n1", "n2"] {
        let token = run(&["ca", "token", "authority", node]).out;
        // What cannot be written does not use the token up.
        let nowhere = run(&["enrol", &at, "--token", token.trim(), "--out", "host.asl/n"]);
        assert!(nowhere.err.starts_with("error: cannot make host.asl/n"), "{}", nowhere.err);
        let enrolled = run(&["enrol", &at, "--token", token.trim(), "--out", node]);
        assert_eq!(
            enrolled.out,
            format!("{node} is enrolled; its keys and certificates are in {node}\n"),
            "{}",
            enrolled.err
        );
        let again = run(&["enrol", &at, "--token", token.trim(), "--out", "again"]);
        assert_eq!(
            again.err,
            "error: the authority refuses: the token was used already: make another with `whimbrel ca token`\n"
        );
    }
    let mut host =
        make(&["run", "host.asl", "--listen", "127.0.0.1:0", "--credentials", "n1"]).spawn().expect("it runs");
    let mut noted = BufReader::new(host.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let address = noted.find_map(|line| Some(line.split_once("join at ")?.1.to_owned())).expect("it listens");
    let guest = run(&["join", &address, "guest.asl", "--credentials", "n2"]);
    assert_eq!(guest.code, Some(6), "{}", guest.err);
    assert_eq!(host.wait().expect("it ended").code(), Some(6));
    service.kill().expect("it runs");
    let _ = service.wait();
}

#[test]
fn signed_conversation_verifies_offline() {
    let ping = "
!go.
+!go <- .send(pong, tell, price(10)).
+taken(N)[source(A)] <- .print(\"sold for \", N); .wait(100); .stopMAS(0, 7).
";
    let pong = "+price(N)[source(A)] <- .send(A, tell, taken(N)).";
    let scratch = Scratch::with(&[
        ("x.mas2j", "MAS x { agents: ping ping.asl at \"n1\"; pong pong.asl at \"n2\"; }"),
        ("ping.asl", ping),
        ("pong.asl", pong),
    ]);
    let run = ["run", "x.mas2j", "--nodes", "2", "--security", "signed", "--evidence", "kept"];
    let seen = scratch.run(&run);
    assert_eq!((seen.out.as_str(), seen.err.as_str(), seen.code), ("[ping] sold for 10\n", "", Some(7)));
    std::fs::create_dir(scratch.path().join("earlier")).expect("it can be made");
    for file in std::fs::read_dir(scratch.path().join("kept")).expect("it is there").map_while(Result::ok) {
        std::fs::copy(file.path(), scratch.path().join("earlier").join(file.file_name())).expect("it can be copied");
    }
    // Each such run has an authority of its own; what was signed in an earlier one is believed as before.
    assert_eq!(scratch.run(&run).code, Some(7));
    for (folder, said) in [("earlier", 2), ("kept", 4), ("kept.n2", 4)] {
        let proven = scratch.run(&["prove", "ping~pong", "--evidence", folder, "-o", "deal.json"]);
        assert_eq!(
            (proven.out.as_str(), proven.code),
            (format!("{said} messages of ping~pong: in deal.json\n").as_str(), Some(0)),
            "{}",
            proven.err
        );
        let verified = scratch.run(&["verify", "deal.json", "--authority", "kept/authority.pem"]);
        assert_eq!(verified.code, Some(0), "{}", verified.err);
        let lines: Vec<&str> = verified.out.lines().collect();
        assert_eq!(lines[0], format!("ping~pong: {said} messages, as signed"));
        assert!(lines[1].contains("ping of n1 to pong: tell price(10)"), "{}", verified.out);
        assert!(lines[2].ends_with("pong of n2 to ping: tell taken(10)  (after 1)"), "{}", verified.out);
    }
    let file = scratch.path().join("deal.json");
    let text = std::fs::read_to_string(&file).expect("it is there");
    std::fs::write(&file, text.replacen("\"sequence\": 1", "\"sequence\": 2", 1)).expect("it can be written");
    let tampered = scratch.run(&["verify", "deal.json", "--authority", "kept/authority.pem"]);
    assert_eq!(tampered.err, "error: deal.json is no valid evidence: entry 1: its signature is not that of ping\n");
    assert_eq!(tampered.code, Some(1));
    let alone = scratch.run(&["run", "x.mas2j", "--evidence", "unsigned"]);
    assert!(
        alone.err.starts_with("error: --evidence needs signed messages: give --security signed\n"),
        "{}",
        alone.err
    );
    assert!(alone.code == Some(1) && !scratch.path().join("unsigned").exists());
    let unsigned = scratch.run(&["run", "x.mas2j", "--nodes", "2", "--evidence", "kept"]);
    assert!(unsigned.err.contains("give --security signed") && unsigned.code == Some(1), "{}", unsigned.err);
}

#[test]
fn idle_receiver_costs_sender_little() {
    let text = "x".repeat(1_000);
    let scratch = Scratch::with(&[
        ("x.mas2j", "MAS x { agents: eager at \"n1\"; sleepy at \"n2\"; }"),
        ("eager.asl", &format!("!go.\n+!go <- .send(sleepy, achieve, item(\"{text}\")); !go.\n")),
        ("sleepy.asl", "+!item(_).\n"),
    ]);
    let make = |arguments: &[&str]| {
        let mut command = whimbrel();
        command.args(arguments).current_dir(scratch.path()).env("WHIMBREL_RUN_DIR", scratch.path().join("run"));
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    };
    let see = |arguments: &[&str]| super::CommandOutput::from(make(arguments).output().expect("it runs"));
    let figure = |node: usize, name: &str| {
        let seen: serde_json::Value = serde_json::from_str(&see(&["ps", "--json"]).out).expect("JSON");
        seen["nodes"][node][name].as_u64().unwrap_or_default()
    };
    let until = |so: &dyn Fn() -> bool| {
        let begin = Instant::now();
        while !so() {
            assert!(begin.elapsed() < Duration::from_secs(60), "it takes too long");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let mut run = make(&["run", "x.mas2j", "--nodes", "2"]).spawn().expect("it runs");
    until(&|| figure(1, "handled") > 1_000);
    assert_eq!(see(&["suspend", "sleepy"]).code, Some(0));
    // How soon all on the way is full depends on the machine.
    until(&|| {
        let (sent, memory) = (figure(0, "sent"), figure(0, "memory_bytes"));
        std::thread::sleep(Duration::from_secs(4));
        let (more, grown) = (figure(0, "sent") - sent, figure(0, "memory_bytes").saturating_sub(memory));
        more < 5_000 && grown < 20 << 20
    });
    assert_eq!(figure(0, "dead") + figure(1, "dead"), 0, "nothing is lost by it");
    // What a link takes before it waits is counted in bytes on the wire: of messages that are alike five each.
    assert!(figure(1, "queued") < 100_000, "{} messages wait", figure(1, "queued"));
    assert_eq!(see(&["resume", "sleepy"]).code, Some(0));
    let handled = figure(1, "handled");
    until(&|| figure(1, "handled") > handled + 20_000);
    assert_eq!(see(&["stop"]).code, Some(0));
    let _ = run.wait();
}

/// A port in use is reported before any agent acts.
#[test]
fn used_port_is_reported_before_start() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound").to_string();
    let scratch = Scratch::with(&[("hi.asl", "!s. +!s <- .print(hi); .stopMAS.")]);
    for port in
        [["--listen", &address, "--token", "the token"], ["--agent-port", &address, "--agent-token", "the token"]]
    {
        let seen = scratch.run(&[&["run", "hi.asl"][..], &port].concat());
        assert_eq!((seen.out.as_str(), seen.code), ("", Some(1)));
        assert!(seen.err.contains(&address) && seen.err.contains("in use"), "{}", seen.err);
    }
}

/// An address without a node is reported at once.
#[test]
fn joining_non_node_explains_why() {
    use std::io::{Read, Write};
    let scratch = Scratch::with(&[("hi.asl", "!s. +!s <- .print(hi); .stopMAS.")]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    std::thread::spawn(move || {
        for (stream, answer) in listener.incoming().zip(["HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-some\r\n"]) {
            let mut stream = stream.expect("a connection");
            stream.write_all(answer.as_bytes()).expect("written");
            stream.shutdown(std::net::Shutdown::Write).expect("shut down");
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    for says in ["HTTP/1.1 400 Bad Request", "SSH-2.0-some"] {
        // At once: another try would have another answer.
        let seen = scratch.run(&["join", &address, "hi.asl", "--token", "the token"]);
        let last = seen.err.lines().last().unwrap_or_default();
        assert!(
            last.contains("cannot link to a node at") && last.contains(says) && seen.code == Some(1),
            "{}",
            seen.err
        );
    }
    // Nobody listens there: that may change, so it waits; but says so once.
    let seen = scratch.run(&["join", "127.0.0.1:1", "hi.asl", "--token", "the token"]);
    assert_eq!(seen.err.matches("cannot connect").count(), 2, "when it begins, and when it gives up: {}", seen.err);
}

/// The levels of the two ends do not fit: that is told, too.
#[test]
fn joining_at_another_level_says_so() {
    let scratch = Scratch::with(&[("hi.asl", "!s. +!s <- .wait(60000).")]);
    let make = |arguments: &[&str]| {
        let mut command = whimbrel();
        command.args(arguments).current_dir(scratch.path()).env("WHIMBREL_CA_PASSPHRASE", "open sesame");
        command.env("WHIMBREL_TOKEN", "the token").stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    for arguments in [
        &["ca", "init", "authority"][..],
        &["ca", "issue", "authority", "n1", "--out", "n1"],
        &["ca", "issue", "authority", "n2", "--out", "n2"],
    ] {
        assert!(make(arguments).output().expect("it runs").status.success(), "{arguments:?}");
    }
    let listen = ["run", "hi.asl", "--listen", "127.0.0.1:0"];
    for (more, joining, why) in
        [(&["--credentials", "n1"][..], &[][..], "speaks TLS"), (&[], &["--credentials", "n2"], "may not speak TLS")]
    {
        let mut host = make(&[&listen[..], more].concat()).spawn().expect("it runs");
        let mut noted = BufReader::new(host.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let address = noted.find_map(|line| Some(line.split_once("join at ")?.1.to_owned())).expect("it listens");
        let seen = super::CommandOutput::from(
            make(&[&["join", &address, "hi.asl"], joining].concat()).output().expect("it runs"),
        );
        assert!(seen.err.contains(why) && seen.code == Some(1), "{}", seen.err);
        let at_once = seen.err.contains("cannot link to a node at");
        assert!(at_once || !more.is_empty() || seen.err.matches("not speak").count() == 2, "{}", seen.err);
        host.kill().expect("it runs");
        let _ = host.wait();
    }
}

/// Agents whose names are taken, by whichever node, are named before any begins.
#[test]
fn join_reports_taken_names() {
    let scratch = Scratch::with(&[
        ("amy.asl", "!s. +!s <- .wait(60000)."),
        ("bob.asl", "!s. +!s <- .wait(60000)."),
        ("x.mas2j", "MAS x { agents: amy; bob; eve bob.asl; }"),
    ]);
    let start = |arguments: &[&str]| {
        let mut command = whimbrel();
        command.args(arguments).current_dir(scratch.path()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("it runs")
    };
    let listen = ["--listen", "127.0.0.1:0", "--token", "t"];
    let mut first = start(&[&["run", "amy.asl", "--name", "home"][..], &listen].concat());
    let mut noted = BufReader::new(first.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let address = noted.find_map(|line| Some(line.split_once("join at ")?.1.to_owned())).expect("it listens");
    let mut second = start(&[&["join", &address, "bob.asl", "--name", "away"][..], &listen].concat());
    let up = noted.find(|line| line.contains("link to away: up"));
    assert!(up.is_some());
    // Its agents begin a moment later.
    let until = Instant::now() + Duration::from_secs(60);
    let seen = loop {
        let seen = scratch.run(&["join", &address, "x.mas2j", "--token", "t"]);
        if seen.err.contains("bob") || Instant::now() > until {
            break seen;
        }
    };
    let last = seen.err.lines().last().unwrap_or_default();
    assert!(
        last.starts_with(
            "error: already-registered: the platform has agents of these names: amy (on home), bob (on away);"
        ),
        "{}",
        seen.err
    );
    assert_eq!((seen.out.as_str(), seen.code), ("", Some(1)));
    for process in [&mut first, &mut second] {
        process.kill().expect("it runs");
        let _ = process.wait();
    }
}

/// A join that is interrupted early does not report a timeout.
#[cfg(unix)]
#[test]
fn interrupted_join_ends_at_once() {
    let scratch = Scratch::with(&[("hi.asl", "!s. +!s <- .print(hi).")]);
    // It listens, and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("bound").to_string();
    let mut command = whimbrel();
    command.args(["join", &address, "hi.asl", "--token", "t"]).current_dir(scratch.path()).stderr(Stdio::piped());
    let joining = command.stdout(Stdio::null()).spawn().expect("it runs");
    let _connection = silent.accept().expect("it connects");
    let killed = std::process::Command::new("kill").args(["-TERM", &joining.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let seen = super::CommandOutput::from(joining.wait_with_output().expect("it ends"));
    assert!(seen.err.contains(&format!("ended before the platform at {address} was joined")), "{}", seen.err);
    assert!(!seen.err.contains("within") && seen.code == Some(130), "{}", seen.err);
}

#[test]
fn a_name_is_for_other_nodes() {
    let scratch = Scratch::with(&[("hi.asl", "!s. +!s <- .stopMAS.")]);
    let seen = scratch.run(&["run", "hi.asl", "--name", "home"]);
    assert!(seen.err.contains("--listen ADDRESS") && seen.code == Some(1), "{}", seen.err);
    let seen = scratch.run(&["run", "hi.asl", "--name", "home", "--listen", "127.0.0.1:0", "--token", "t"]);
    assert_eq!(seen.code, Some(0), "{}", seen.err);
}

#[test]
fn short_token_is_named() {
    let scratch = Scratch::with(&[("a.asl", "!go.\n+!go <- .stopMAS.\n")]);
    let seen = scratch.run(&["run", "a.asl", "--agent-port", "0", "--agent-token", "short"]);
    let why = "error: --agent-token: the token is too short: 8 bytes at least\n";
    assert_eq!((seen.err.as_str(), seen.code), (why, Some(1)));
}
