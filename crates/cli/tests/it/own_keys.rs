//! Agents of connected programs that have keys of their own: certified by their node, and believed by the others.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_net::agent_port::{AgentPort, AgentPortConfig};
use whimbrel_net::signing::{AgentKey, Evidence, PARAMETER, prove};
use whimbrel_net::{Authority, Credentials, Hub, HubConfig, LinkSecurity};
use whimbrel_platform::session::{Certify, ErrorCode, Framing, MessageFrame, SessionFrame, SessionGrant};
use whimbrel_runtime::{Agent, Context, Platform};

use super::agent_port::Client;
use super::examples::repository;
use super::{Scratch, whimbrel};

/// Hands on what it gets.
struct MessageForwarder(Sender<AclMessage>);

impl Agent for MessageForwarder {
    fn on_message(&mut self, _ctx: &mut Context<'_, '_>, message: MessageBody) {
        let _ = self.0.send(*message.into_message());
    }
}

fn node(name: &str, credentials: &Credentials, evidence: Option<Arc<Evidence>>) -> (Platform, Hub) {
    let platform = Platform::builder().name("home").workers(1).build();
    let mut config = HubConfig::new("home", name, platform.services().random());
    (config.level, config.credentials, config.evidence) = (LinkSecurity::Signed, Some(credentials.clone()), evidence);
    let hub = Hub::start(config, platform.station(), Some("127.0.0.1:0")).expect("it starts");
    platform.link_with(hub.links());
    (platform, hub)
}

fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !so() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn own_key_signature_verifies_elsewhere() {
    let mut authority = Authority::create("home").expect("randomness");
    let [here, there] = ["n1", "n2"].map(|node| authority.issue(node, &[], 1).expect("a name"));
    let folder = std::env::temp_dir().join(format!("whimbrel-own-keys-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let kept = Arc::new(Evidence::open(&folder, Box::new(|line| panic!("{line}"))).expect("a folder"));
    let (one, one_hub) = node("n1", &here, None);
    let (other, other_hub) = node("n2", &there, Some(Arc::clone(&kept)));
    let (arrived, messages) = channel();
    other.spawn("amy", MessageForwarder(arrived)).expect("a free name");
    other_hub.connect(one_hub.address().expect("it listens"));
    until("they are linked", || one_hub.has_links(1) && one.services().exists(Aid::local("amy")));
    let config = AgentPortConfig {
        level: LinkSecurity::Open,
        credentials: Some(here),
        links: Some(one_hub.view()),
        session_ports: None,
        authorise: Box::new(|claim| Some(SessionGrant::new(claim.token?, vec!["*".into()]))),
        auditor: None,
        log: Box::new(|_| ()),
    };
    let port = AgentPort::open(config, one.host(), "127.0.0.1:0").expect("a free port");

    let mut pump = Client::with_agent(&port, Framing::Compact, "pump");
    let key = AgentKey::generate().expect("randomness");
    let somebody_else = key.request(Some("whimbrel://n1/amy@home")).expect("a URI");
    pump.write(&SessionFrame::Certify(Certify { number: 2, agent: 0, request: somebody_else }));
    let refused = pump.read_until(|frame| matches!(frame, SessionFrame::Refused(_)));
    assert!(matches!(refused, SessionFrame::Refused(refused) if refused.code == ErrorCode::BadRequest));
    pump.write(&SessionFrame::Certify(Certify {
        number: 3,
        agent: 0,
        request: key.request(None).expect("randomness"),
    }));
    let SessionFrame::Certified(certified) = pump.read_until(|frame| matches!(frame, SessionFrame::Certified(_)))
    else {
        panic!()
    };
    let mut previous = None;
    for sequence in 1..=2 {
        let content = Value::Int(sequence as i64);
        let mut message = AclMessage::new(Performative::Inform, Aid::local("pump"), Aid::local("amy"), content);
        let place = (7, sequence, previous);
        previous = Some(key.sign(&mut message, "home", &certified.certificates, place).expect("it can be signed"));
        let signed = message.clone();
        let message = MessageBody::Owned(Box::new(message));
        pump.write(&SessionFrame::Message(MessageFrame { number: 3 + sequence, agent: 0, message }));
        let came = messages.recv_timeout(Duration::from_secs(30)).expect("it arrives");
        let signature = |message: &AclMessage| {
            message.extras().user.iter().find(|(name, _)| name.as_str() == PARAMETER).map(|(_, value)| value.clone())
        };
        assert!(signature(&came).is_some() && signature(&came) == signature(&signed), "as the program signed it");
    }
    kept.settle(Duration::from_secs(10));
    let verified = prove(&folder, "amy~pump").expect("it is kept").verify(&authority.trust().expect("lists"));
    let said: Vec<(String, u64)> =
        verified.expect("it holds").said.into_iter().map(|said| (said.node, said.sequence)).collect();
    assert_eq!(said, [("n1".to_owned(), 1), ("n1".to_owned(), 2)]);
    assert_eq!(other_hub.refusals().all().count(), 0);
    one.stop();
    other.stop();
    port.close(Duration::from_secs(1));
    std::fs::remove_dir_all(folder).expect("removed");
}

/// The example, over TLS, with keys and requests that OpenSSL makes; and OpenSSL verifies what came.
#[test]
fn python_program_gets_key_certified() {
    use std::io::{BufRead, BufReader};
    if Command::new("openssl").arg("version").output().is_err() {
        return eprintln!("there is no openssl here");
    }
    let scratch = Scratch::with(&[("idle.asl", "!s. +!s <- .wait(600000).")]);
    let make = |arguments: &[&str]| {
        let mut command = whimbrel();
        command.args(arguments).current_dir(scratch.path()).env("WHIMBREL_CA_PASSPHRASE", "open sesame");
        command
    };
    for arguments in [&["ca", "init", "authority"][..], &["ca", "issue", "authority", "n1", "--out", "n1"]] {
        assert!(make(arguments).output().expect("it runs").status.success(), "{arguments:?}");
    }
    let run = ["run", "idle.asl", "--agent-port", "127.0.0.1:0", "--agent-token", "open-sesame", "--credentials", "n1"];
    let mut host = make(&run).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut noted = BufReader::new(host.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let address = noted.find_map(|line| Some(line.split_once("connect at ")?.1.to_owned())).expect("it listens");
    let out = Command::new("python3")
        .args(["certified_agent.py", &address])
        .args([scratch.path().join("n1/authority.pem"), scratch.path().to_path_buf()])
        .current_dir(repository().join("examples/external-agent"))
        .envs([("WHIMBREL_AGENT_TOKEN", "open-sesame"), ("PYTHONDONTWRITEBYTECODE", "1")])
        .output()
        .expect("python3 is there");
    host.kill().expect("it runs");
    let _ = host.wait();
    let (said, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(said.contains("witness.pem: OK") && said.contains("URI:whimbrel://n1/witness@whimbrel"), "{said}{errors}");
    assert!(out.status.success(), "{errors}");
}
