//! Properties of the messages on a node's control socket, for any bytes. The fuzz target looks for violations; a test
//! of `whimbrel-gateway` replays those that were found.

use serde::Serialize;
use serde::de::DeserializeOwned;
use whimbrel_operator::{Answer, NodeEvent, OperatorCall, Request, VERSION, read_call};

/// Decodes the bytes after the first, which selects the type: a client's request, or a node's answer or event.
pub fn control_frames(bytes: &[u8]) {
    let Some((what, line)) = bytes.split_first() else { return };
    match what % 3 {
        0 => {
            let Ok(request) = read_call(line) else { return };
            let call = OperatorCall { version: VERSION, request };
            let mut written = serde_json::to_vec(&call).expect("what was read can be written");
            written.push(b'\n');
            let again = read_call(&written).expect("what is written can be read");
            // A message's numbers may be rounded.
            assert!(matches!(again, Request::Send(_)) || again == call.request);
        }
        1 => comes_back::<Answer>(line),
        _ => comes_back::<NodeEvent>(line),
    }
}

/// Checks that a decoded line is the same after another round.
fn comes_back<T: Serialize + DeserializeOwned>(line: &[u8]) {
    let Ok(read) = serde_json::from_slice::<T>(line) else { return };
    let written = serde_json::to_vec(&read).expect("what was read can be written");
    let again: T = serde_json::from_slice(&written).expect("what is written can be read");
    assert_eq!(serde_json::to_vec(&again).ok(), Some(written));
}

/// Seeds: lines.
pub fn seeds() -> Vec<Vec<u8>> {
    let calls = [
        r#"{"version":1,"request":"node"}"#,
        r#"{"version":1,"request":"agents","name":"b*","state":"suspended","services":true,"sort":"mailbox","limit":5,"elsewhere_but":["n1"]}"#,
        r#"{"version":1,"request":"services","agent":"a","kind":"shop","properties":[["a","b"]],"limit":2}"#,
        r#"{"version":1,"request":"topics"}"#,
        r#"{"version":1,"request":"dead_letters","agents":["a*"],"limit":3}"#,
        r#"{"version":1,"request":"links"}"#,
        r#"{"version":1,"request":"sniff","agents":["a"],"conversation":"c","performatives":["inform"],"only_messages":true}"#,
        r#"{"version":1,"request":"log","since":7,"follow":true,"conversation":"c*","performatives":["cfp"],"from":["a"],"to":[],"since_us":9}"#,
        r#"{"version":1,"request":"send","message":{"performative":"inform","receivers":["amy"],"content":"hi"},"wait_ms":10}"#,
        r#"{"version":1,"request":"step","agent":"bob","step":"suspend"}"#,
        r#"{"version":1,"request":"kill","agent":"bob"}"#,
        r#"{"version":1,"request":"stop","code":3}"#,
    ];
    let answers = [
        r#"{"answer":"done"}"#,
        r#"{"answer":"error","reason":"no_such_agent","text":"no","node":"n2"}"#,
        r#"{"answer":"agents","agents":[{"name":"bidder1","kind":"agentspeak","state":"active"}],"total":40}"#,
    ];
    let events = [
        r#"{"at_us":7,"node":"n1","event":"died","from":"a","to":"b","performative":"cfp","conversation":null,"content":"tea","why":"no"}"#,
        r#"{"at_us":7,"node":"n1","event":"skipped","count":3}"#,
        r#"{"at_us":7,"node":"n1","event":"tick"}"#,
    ];
    let with = |what: u8, lines: &[&str]| -> Vec<Vec<u8>> {
        lines.iter().map(|line| [&[what], line.as_bytes(), b"\n"].concat()).collect()
    };
    [with(0, &calls), with(1, &answers), with(2, &events)].concat()
}
