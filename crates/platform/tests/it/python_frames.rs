//! Frames between a node and its Python process: the transcript of `conformance/python`.

use serde_json::Value as Json;
use whimbrel_acl::Value;
use whimbrel_acl::codec::json::value_from_str;
use whimbrel_platform::foreign_actions::ForeignFailure;
use whimbrel_platform::python_frames::{FromPython, ToPython, decode};

const TRANSCRIPT: &str = include_str!("../../../../conformance/python/transcript.json");

/// Returns the frames of one side, in order.
fn frames(side: &str) -> Vec<Json> {
    let transcript: Json = serde_json::from_str(TRANSCRIPT).unwrap();
    transcript["steps"].as_array().unwrap().iter().filter_map(|step| step.get(side).cloned()).collect()
}

fn value(json: &Json) -> Value {
    value_from_str(&json.to_string()).unwrap()
}

fn values(json: &Json) -> Vec<Value> {
    json.as_array().unwrap().iter().map(value).collect()
}

fn text(json: &Json) -> String {
    json.as_str().unwrap().to_owned()
}

/// Makes the frame that the node would send.
fn of_node(json: &Json) -> ToPython {
    let number = |place: usize| json[place].as_u64().unwrap();
    match json[0].as_str().unwrap() {
        "hello" => ToPython::Hello { folder: text(&json[2]), actions: Some(text(&json[3])) },
        "agents" => ToPython::Agents(json[1].as_array().unwrap().iter().map(text).collect()),
        "environment" => ToPython::Environment { file: text(&json[1]), args: values(&json[2]) },
        "gone" => ToPython::Gone(text(&json[1])),
        "act" => ToPython::Act { id: number(1), agent: text(&json[2]), action: value(&json[3]) },
        "call" => ToPython::Call {
            id: number(1),
            agent: text(&json[2]),
            name: text(&json[3]),
            args: values(&json[4]),
            most: number(5) as u32,
        },
        "more" => ToPython::More { id: number(1), most: number(2) as u32 },
        "drop" => ToPython::Drop(number(1)),
        "stop" => ToPython::Stop,
        other => panic!("{other}"),
    }
}

#[test]
fn node_writes_its_frames() {
    let frames = frames("node");
    assert_eq!(frames.len(), 13);
    for frame in frames {
        let written: Json = serde_json::from_str(&of_node(&frame).to_json().unwrap()).unwrap();
        assert_eq!(written, frame);
    }
}

#[test]
fn frames_of_process_are_read() {
    let read: Vec<FromPython> =
        frames("process").iter().map(|frame| decode(frame.to_string().as_bytes()).unwrap()).collect();
    let stock = |n| Value::term("stock", [Value::Int(n)]);
    let place =
        [("py_error", Value::from("ValueError")), ("py_file", Value::from("actions.py")), ("py_line", Value::Int(11))];
    let failure = ForeignFailure {
        annots: place.map(|(name, value)| Value::term(name, [value])).to_vec(),
        ..ForeignFailure::new("unknown", "ValueError: on purpose (actions.py:11)")
    };
    let percepts = |agent: &str, all, added: &[i64], removed: &[i64]| FromPython::Percepts {
        agent: agent.to_owned(),
        all,
        added: Value::list(added.iter().copied().map(stock).collect::<Vec<_>>()),
        removed: Value::list(removed.iter().copied().map(stock).collect::<Vec<_>>()),
    };
    let solved =
        |id, found: &[i64], more| FromPython::Solved(id, found.iter().map(|n| vec![Value::Int(*n)]).collect(), more);
    let expected = [
        FromPython::Ready { version: 1, python: "*".to_owned(), sdk: "*".to_owned() },
        percepts("ada", true, &[3], &[]),
        FromPython::Print(Some("ada".to_owned()), "a beer for ada".to_owned()),
        percepts("ada", false, &[2], &[3]),
        FromPython::Done(1),
        FromPython::Failed(2, Value::term("no_more", [Value::atom("wine")])),
        solved(3, &[42], false),
        solved(4, &[0], true),
        solved(4, &[1, 2], true),
        FromPython::Refused(5, failure),
        percepts("bob", true, &[2], &[]),
    ];
    assert_eq!(read, expected);
}

#[test]
fn malformed_frame_is_refused() {
    for frame in [
        "",
        "[]",
        "{}",
        "[7]",
        "[\"gone\"]",
        "[\"done\",-1]",
        "[\"done\",1,2]",
        "[\"solved\",1,[7],true]",
        "[\"print\",7,\"x\"]",
    ] {
        assert!(decode(frame.as_bytes()).is_err(), "{frame}");
    }
    assert!(decode(&[0xff]).is_err());
}
