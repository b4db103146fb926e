//! Properties of requests to an authority, or to a node that certifies its agents, and of tokens. The fuzz target
//! looks for violations; a test of `whimbrel-net` replays those that were found.

use std::cell::RefCell;

use whimbrel_net::agent_port::AcceptedTokens;
use whimbrel_net::enrolment::{EnrolmentAnswer, EnrolmentQuestion};
use whimbrel_net::signing::AgentAuthority;
use whimbrel_net::{Authority, EnrolmentToken, NodeRequest};

/// A request for two certificates of the node `n2`, one for the agent `pump`, and a token.
const REQUEST: &str = include_str!("../fixtures/request.json");
const AGENT_REQUEST: &str = include_str!("../fixtures/agent.csr");
const TOKEN: &str = include_str!("../fixtures/token");
/// Number of certificates after which the authority is replaced by a new one.
const ISSUED_MAX: usize = 1_000;

thread_local! {
    static PARTIES: RefCell<Option<(Authority, AgentAuthority)>> = const { RefCell::new(None) };
}

/// Calls `work` with an authority of the platform `p`, and with its node `n1`, which certifies agents.
fn with(work: impl FnOnce(&mut Authority, &AgentAuthority)) {
    PARTIES.with_borrow_mut(|parties| {
        if parties.as_ref().is_some_and(|(authority, _)| authority.issued().len() > ISSUED_MAX) {
            *parties = None;
        }
        let (authority, node) = parties.get_or_insert_with(|| {
            let mut authority = Authority::create("p").expect("there is randomness");
            let credentials = authority.issue("n1", &[], 1).expect("it is a name");
            let node = AgentAuthority::new("p", "n1", &credentials).expect("they are good");
            (authority, node)
        });
        work(authority, node);
    });
}

/// Checks the bytes after the first, which selects the decoder.
pub fn enrolment(bytes: &[u8]) {
    let Some((what, bytes)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    match what % 5 {
        0 => token(&text),
        1 => question(bytes),
        2 => request(bytes),
        3 => with(|_, node| drop(node.certify("pump", &text))),
        _ => tokens(&text),
    }
}

/// Checks that a parsed token is written as it was, and is no token of this authority.
fn token(text: &str) {
    let Ok(token) = text.parse::<EnrolmentToken>() else { return };
    assert_eq!(token.to_string().parse::<EnrolmentToken>().ok().as_ref(), Some(&token));
    assert_eq!(token.to_string().to_ascii_lowercase(), text.trim().to_ascii_lowercase());
    let request: NodeRequest = serde_json::from_str(REQUEST).expect("it is one");
    with(|authority, _| assert!(authority.admit(&token, &request).is_err()));
}

/// Checks that a decoded question or answer of an enrolment is the same after another round.
fn question(line: &[u8]) {
    if let Ok(question) = serde_json::from_slice::<EnrolmentQuestion>(line) {
        let written = serde_json::to_vec(&question).expect("it can be written");
        let again: EnrolmentQuestion = serde_json::from_slice(&written).expect("what is written can be read");
        assert_eq!(serde_json::to_vec(&again).ok(), Some(written));
    }
    if let Ok(answer) = serde_json::from_slice::<EnrolmentAnswer>(line) {
        let written = serde_json::to_vec(&answer).expect("it can be written");
        let again: EnrolmentAnswer = serde_json::from_slice(&written).expect("what is written can be read");
        assert_eq!(serde_json::to_vec(&again).ok(), Some(written));
    }
}

/// No request gets a certificate for another name than the one that it may be for.
fn request(bytes: &[u8]) {
    let Ok(request) = serde_json::from_slice::<NodeRequest>(bytes) else { return };
    with(|authority, _| {
        let both =
            authority.certify("n2", &[], 1, &request).is_ok() && authority.certify("n3", &[], 1, &request).is_ok();
        assert!(!both, "one request, two names");
    });
}

/// Checks that a file of tokens admits only holders of a token.
fn tokens(text: &str) {
    let Ok(tokens) = AcceptedTokens::parse(text) else { return };
    assert!(tokens.grant("nobody's token").is_none());
}

/// Seeds: one input for each decoder.
pub fn seeds() -> Vec<Vec<u8>> {
    let seed = |what: u8, text: &str| [&[what], text.as_bytes()].concat();
    let hash = "0123456789abcdef".repeat(4);
    let enrol = format!("{{\"enrol\":{{\"token\":\"{TOKEN}\",\"request\":{REQUEST}}}}}");
    vec![
        seed(0, TOKEN),
        seed(1, &enrol),
        seed(1, &format!("{{\"renew\":{{\"request\":{REQUEST}}}}}")),
        seed(1, "{\"trust\":{}}"),
        seed(1, "{\"trust\":{\"trust\":{\"authority_pem\":\"a\",\"revoked_pem\":\"\"},\"outdated\":false}}"),
        seed(1, "{\"refused\":{\"why\":\"no\"}}"),
        seed(2, REQUEST),
        seed(3, AGENT_REQUEST),
        seed(4, &format!("# tokens\n{hash} calendar sensor-*\n")),
    ]
}
