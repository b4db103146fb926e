//! The same, encrypted: with a certificate of one's own choice.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::*;

type Encrypted = StreamOwned<ClientConnection, TcpStream>;

/// An authority with a node's certificate, and another one's.
fn authorities() -> Scratch {
    let scratch = Scratch::new();
    for arguments in [
        &["init", "authority"][..],
        &["init", "another"],
        &["issue", "authority", "n1", "--out", "n1"],
        &["issue", "another", "n1", "--out", "theirs"],
    ] {
        let mut command = whimbrel();
        command.arg("ca").args(arguments).current_dir(scratch.path()).env("WHIMBREL_CA_PASSPHRASE", "open sesame");
        assert!(command.output().expect("it runs").status.success(), "{arguments:?}");
    }
    scratch
}

/// A connection of a client that trusts this authority.
fn connect(node: &HttpNode, authority: &std::path::Path) -> Encrypted {
    let mut roots = RootCertStore::empty();
    let pem = std::fs::read(authority).expect("it is there");
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        roots.add(certificate.expect("a certificate")).expect("it can be trusted");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("node.whimbrel").expect("a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let socket = TcpStream::connect(&node.address).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    StreamOwned::new(client, socket)
}

#[test]
fn given_certificate_encrypts_requests_and_sessions() {
    let scratch = authorities();
    let pair = scratch.path().join("n1/node.pem");
    let pair = pair.to_string_lossy();
    let node = HttpNode::with(&["--http-certificate", &pair, "--http-key", &pair]);
    let authority = scratch.path().join("n1/authority.pem");
    let ask = |authority: &std::path::Path| -> std::io::Result<String> {
        let mut stream = connect(&node, authority);
        let head = format!("host: node.whimbrel\r\nauthorization: Bearer {ADMIN}\r\nconnection: close\r\n\r\n");
        stream.write_all(format!("GET /api/v1/node HTTP/1.1\r\n{head}").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask(&authority).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains(r#""society":"market""#), "{answer}");
    let error =
        ask(&scratch.path().join("theirs/authority.pem")).expect_err("who trusts another authority does not go on");
    assert!(error.to_string().contains("invalid peer certificate"), "{error}");
    assert_eq!(node.send("GET", "/health", &[], "").status, 0, "nothing is said that is not encrypted");

    let mut request = "wss://node.whimbrel/session".into_client_request().expect("an address");
    request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("whimbrel.v1"));
    let (mut socket, _) = tungstenite::client::client(request, connect(&node, &authority)).expect("it is one");
    let mut hear = |said: String| {
        socket.send(Message::text(said)).expect("it is open");
        let told = socket.read().expect("it answers").into_text().expect("text");
        serde_json::from_str::<Value>(&told).expect("JSON")
    };
    let welcome = hear(format!(r#"{{"type":"hello","versions":[1],"token":"{ADMIN}"}}"#));
    assert_eq!(welcome["type"], "welcome", "{welcome}");
    let created = hear(r#"{"type":"create","number":1,"agent":0,"name":"guest"}"#.to_owned());
    assert_eq!(created["name"], "guest@whimbrel", "{created}");
}

#[test]
fn bad_certificate_is_reported_before_start() {
    let scratch = market();
    let run =
        |options: &[&str]| super::super::CommandOutput::from(command(&scratch, options).output().expect("it runs"));
    let seen = run(&["--http-certificate", "seller.asl", "--http-key", "seller.asl"]);
    assert!(seen.code != Some(0) && seen.err.contains("certificate"), "{}", seen.err);
    let seen = run(&["--http-certificate", "none.pem", "--http-key", "none.pem"]);
    assert!(seen.code != Some(0) && seen.err.contains("cannot read none.pem"), "{}", seen.err);
}

#[test]
fn client_certificate_needs_node_authority() {
    let node = HttpNode::start();
    let hellos = [
        (r#"{"type":"hello","versions":[1]}"#, "no accepted token"),
        (r#"{"type":"hello","versions":[1],"certificate":"x"}"#, "has no credentials"),
    ];
    for (hello, why) in hellos {
        let mut socket = node.socket("/session", "whimbrel.v1", &[]).expect("it is one");
        socket.say(hello);
        let refused = socket.hear().expect("it answers");
        assert_eq!((&refused["type"], &refused["code"]), (&"error".into(), &"unauthorised".into()));
        assert!(refused["text"].as_str().is_some_and(|text| text.contains(why)), "{refused}");
    }
}
