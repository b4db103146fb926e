//! Agents of SPADE in a process of their own, and agents here, by Prosody.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use whimbrel::doors::xmpp::XmppOptions;
use whimbrel::doors::{DoorOptions, Doors};
use whimbrel::node::Notes;
use whimbrel::prelude::*;
use whimbrel_testkit::Scratch;

use crate::peer_process::PeerProcess;

/// If this is set and not empty, the test fails without SPADE; otherwise it says that it does nothing.
const REQUIRED: &str = "WHIMBREL_SPADE_REQUIRED";
const DOMAIN: &str = "whimbrel.localhost";
const SECRET: &str = "hush";
const POLICY: &str = "[[allow]]\nwho = \"stranger\"\nsend = \"*\"\n";

/// Starts Prosody and agents of SPADE. Returns them with the port for components.
fn spade(scratch: &Scratch) -> Option<(PeerProcess, String)> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let (python, prosody) = (root.join(".cache/spade/bin/python"), root.join(".cache/prosody/usr/bin/prosody"));
    if !python.exists() || !prosody.exists() {
        let is_required = std::env::var_os(REQUIRED).is_some_and(|text| !text.is_empty());
        assert!(!is_required, "no SPADE or no Prosody: `make spade` installs them");
        eprintln!("not tried: no SPADE or no Prosody (`make spade` installs them)");
        return None;
    }
    let mut command = Command::new(python);
    command.arg(root.join("conformance/xmpp/peer.py")).arg(scratch.path()).arg(prosody).args([DOMAIN, SECRET]);
    let peer = PeerProcess::start(command.stderr(Stdio::null())).expect("it starts");
    let ready = peer.line();
    let port = ready.strip_prefix("ready\t").expect("a port").to_owned();
    Some((peer, port))
}

/// Answers with an inform of the same content, and of the same parameters.
struct Parrot;

impl Agent for Parrot {
    fn on_message(&mut self, cx: &mut Context<'_, '_>, message: MessageBody) {
        let mut answer = message.make_reply(cx.aid(), Performative::Inform).with_content(message.content.clone());
        answer.extras_mut().user.clone_from(&message.extras().user);
        cx.send(answer);
    }
}

#[test]
fn spade_and_platform_work_together() {
    let scratch = Scratch::with(&[("policy.toml", POLICY)]);
    let Some((mut spade, port)) = spade(&scratch) else { return };
    let policy = whimbrel::policy::open(&scratch.path().join("policy.toml")).expect("a policy");
    let platform = Platform::builder().name("bees").policy(policy).build();
    let server = Some(format!("127.0.0.1:{port}"));
    let xmpp = XmppOptions { server, domain: DOMAIN.to_owned(), secret: SECRET.to_owned() };
    let options = DoorOptions { xmpp, ..DoorOptions::default() };
    let doors = Doors::open(&options, &platform, &Notes::new(true, |_| (), |_| ())).expect("it opens");
    platform.spawn("Parrot", Parrot).expect("free");
    questions_are_answered(&platform);
    unknown_agents_are_told(&platform);
    spade_is_answered(&mut spade);
    floods_arrive_whole(&mut spade);
    presence_is_told(&mut spade, &platform);
    platform.wait_idle();
    platform.counters().check().expect("no message is lost");
    doors.close();
}

/// SPADE's `make_reply` sets no `in-reply-to`: the answers are found all the same.
fn questions_are_answered(platform: &Platform) {
    for text in ["é世 \"q\" \\ <x> & ]]>", "two\nlines\t", " "] {
        let answer = platform.ask(Aid::new("echo", "localhost"), Performative::QueryRef, text).expect("an answer");
        assert_eq!((answer.performative, answer.content.as_str()), (Performative::Inform, Some(text)));
    }
}

fn unknown_agents_are_told(platform: &Platform) {
    let failure = platform.ask(Aid::new("nobody", "localhost"), Performative::Request, "x").expect("an answer");
    assert!(failure.content.to_string().contains("undelivered(nobody@localhost,unreachable)"), "{}", failure.content);
}

fn spade_is_answered(spade: &mut PeerProcess) {
    spade.command(&["send", "parrot", "hello", "performative=request", "reply-with=r1", "thread=t1", "colour=red"]);
    let came = spade.line();
    let words: Vec<&str> = came.split('\t').collect();
    assert_eq!(words[..3], ["came", "hello", "parrot@whimbrel.localhost"], "{came}");
    for word in ["performative=inform", "in-reply-to=r1", "colour=red", "thread=t1"] {
        assert!(words.contains(&word), "{word}: {came}");
    }
}

fn floods_arrive_whole(spade: &mut PeerProcess) {
    spade.command(&["flood", "parrot", "1000"]);
    let line = spade.line();
    assert!(line.starts_with("flood\t1000\t"), "{line}");
    eprintln!("SPADE to Whimbrel and back: {line}");
}

fn presence_is_told(spade: &mut PeerProcess, platform: &Platform) {
    spade.command(&["watch", "parrot"]);
    let mut told = [spade.line(), spade.line()];
    told.sort();
    assert_eq!(told, ["available\tparrot@whimbrel.localhost", "subscribed\tparrot@whimbrel.localhost"]);
    assert!(platform.kill(Aid::local("Parrot")));
    // Servers may tell more than once that an agent is there.
    let mut told = spade.line();
    while told == "available\tparrot@whimbrel.localhost" {
        told = spade.line();
    }
    assert_eq!(told, "unavailable\tparrot@whimbrel.localhost");
}
