//! `whimbrel codec`.

use std::io::Write as _;
use std::process::Stdio;

use super::{CommandFolder, CommandOutput, Scratch, whimbrel};

const MESSAGE: &str = "(request
 :sender (agent-identifier :name amy@home :addresses (sequence http://home:7778/acc))
 :receiver (set (agent-identifier :name bob@away))
 :content \"((action (agent-identifier :name bob@away) (sell \\\"plum\\\" 50)))\"
 :language fipa-sl0
 :conversation-id \"c 1\"
 :reply-by 20261231T235959999Z
 :X-priority high)
";

fn scratch() -> Scratch {
    Scratch::with(&[("message.acl", MESSAGE)])
}

#[test]
fn message_survives_all_encodings() {
    let scratch = scratch();
    let mut from = "message.acl".to_owned();
    for encoding in ["xml", "bit-efficient", "json", "compact", "string"] {
        let to = format!("message.{encoding}");
        let seen = scratch.run(&["codec", "convert", &from, "--to", encoding, "--output", &to]);
        assert_eq!((seen.code, seen.out.as_str(), seen.err.as_str()), (Some(0), "", ""), "{encoding}");
        from = to;
    }
    let back = std::fs::read_to_string(scratch.path().join("message.string")).expect("it was written");
    assert_eq!(back, MESSAGE.trim_end());
}

#[test]
fn a_message_is_shown() {
    let seen = scratch().run(&["codec", "inspect", "message.acl"]);
    assert_eq!(seen.code, Some(0), "{}", seen.err);
    let expected = "\
encoding         string (fipa.acl.rep.string.std), 316 bytes
performative     request
sender           amy@home
                 at http://home:7778/acc
receiver         bob@away
content          ((action (agent-identifier :name bob@away) (sell \"plum\" 50)))
                 one expression of fipa-sl0
language         fipa-sl0
conversation-id  c 1
reply-by         20261231T235959999Z
X-priority       high
bytes            string 315, xml 548, bit-efficient 169, json 307, compact ";
    let (shown, compact) = seen.out.split_at_checked(expected.len()).expect("as long as that");
    assert_eq!(shown, expected);
    assert!(compact.trim_end().parse::<usize>().is_ok_and(|bytes| bytes < 169), "{compact}");
}

#[test]
fn standard_input_is_read() {
    let mut command = whimbrel();
    command
        .args(["codec", "convert", "--to", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    child.stdin.take().expect("piped").write_all(b"(inform :content hi)").expect("it reads");
    let seen = CommandOutput::from(child.wait_with_output().expect("it ends"));
    assert_eq!(
        (seen.code, seen.out.as_str()),
        (Some(0), "{\"performative\":\"inform\",\"content\":\"hi\"}\n"),
        "{}",
        seen.err
    );
}

#[test]
fn malformed_message_names_its_place() {
    let scratch = Scratch::with(&[
        ("nameless", "(inform\n :sender (agent-identifier :nme x))"),
        ("text", "hello"),
        ("late", "{\"performative\":\"inform\",\"reply_by_ms\":18446744073709551615}"),
    ]);
    for (arguments, error) in [
        (
            ["inspect", "nameless", "--from=string"],
            "nameless as string: expected :name, found an agent identifier without it, at byte 17 (line 2, column 10)",
        ),
        (["inspect", "nameless", "--from=json"], "nameless as json: expected value, at byte 0"),
        (
            ["inspect", "nameless", "--from=bit-efficient"],
            "nameless as bit-efficient: expected 0xfa, 0xfb or 0xfc, found the byte 0x28, at byte 0",
        ),
        (
            ["inspect", "nameless", "--from=corba"],
            "\"corba\" is not an encoding: expected compact, string, xml, bit-efficient or json",
        ),
        (["inspect", "text", "--color=never"], "cannot detect the encoding of text: give it with --from"),
        (["inspect", "missing", "--color=never"], "cannot read missing"),
        (
            ["convert", "late", "--to=string"],
            "cannot write late as string: time 18446744073709551615 ms since 1970 is beyond the year 9999",
        ),
    ] {
        let seen = scratch.run(&[&["codec"], &arguments[..]].concat());
        assert!(seen.code.is_some_and(|code| code != 0) && seen.out.is_empty());
        assert!(seen.err.contains(error), "{}", seen.err);
    }
}

#[test]
fn messages_behind_another_are_all_converted() {
    let several = "(inform :content \"one\")\n(inform :content \"two\")\n\n(request :content \"three\")\n";
    let scratch = Scratch::with(&[("several.acl", several), ("broken.acl", "(inform)\n(inform :content (price 1))")]);
    let seen = scratch.run(&["codec", "convert", "several.acl", "--to", "json"]);
    let contents: Vec<String> =
        seen.out.lines().filter_map(|line| line.split("\"content\":").nth(1)).map(str::to_owned).collect();
    assert_eq!(contents.len(), 3, "{}{}", seen.out, seen.err);
    for (from, to) in [("several.acl", "xml"), ("several.xml", "bit-efficient"), ("several.bit-efficient", "string")] {
        let seen = scratch.run(&["codec", "convert", from, "--to", to, "--output", &format!("several.{to}")]);
        assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""), "{from}");
    }
    let seen = scratch.run(&["codec", "inspect", "several.string"]);
    assert_eq!(seen.out.lines().filter(|line| line.starts_with("content")).count(), 3, "{}{}", seen.out, seen.err);
    let seen = scratch.run(&["codec", "convert", "broken.acl", "--to", "json"]);
    assert!(seen.out.is_empty() && seen.err.contains("message 2: expected a string"), "{}{}", seen.out, seen.err);
    assert!(seen.err.contains("at byte 26 (line 2, column 18)"), "{}", seen.err);
}
