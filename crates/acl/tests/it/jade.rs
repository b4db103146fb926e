//! Comparison with JADE: messages of its codecs are read with their meaning, and JADE reads ours.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value as Json;
use whimbrel_acl::codec::bits::{BitsDecoder, BitsEncoder, TableSize};
use whimbrel_acl::sl::{Profile, SlContent, text_to_value, value_to_text};
use whimbrel_acl::{AclMessage, Aid, Contact, Encoding, Symbol, Value};

use crate::codecs::all_of;
use crate::notation::{items, text};
use crate::vectors::vectors;

/// A message as JADE knows it: names of acts and parameters as they are, all values of parameters text, their order
/// lost.
fn as_in_jade(message: &AclMessage) -> String {
    let mut message = message.clone();
    words(&mut message.extras_mut().user);
    message.sender = agent_in_jade(message.sender);
    message.receivers = message.receivers.into_iter().map(agent_in_jade).collect();
    all_of(&message)
}

fn agent_in_jade(agent: Aid) -> Aid {
    let mut contact = agent.contact().clone();
    words(&mut contact.user);
    agent.with_contact(contact)
}

fn words(user: &mut [(Symbol, Value)]) {
    for (_, value) in user.iter_mut() {
        *value = Value::from(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    user.sort();
}

fn read_json(json: &Json) -> AclMessage {
    Encoding::Json.decode(json.to_string().as_bytes()).unwrap()
}

#[test]
fn jade_messages_are_read_correctly() {
    let mut count = 0;
    for case in items(&vectors("jade-messages.json")) {
        let meant = read_json(&case["message"]);
        for (key, encoding) in [("string", Encoding::String), ("bits", Encoding::BitEfficient)] {
            let Some(written) = case.get(key) else { continue };
            let bytes = BASE64.decode(text(written)).unwrap();
            let read = encoding.decode(&bytes).unwrap_or_else(|error| panic!("{}: {error}", case["name"]));
            assert_eq!(as_in_jade(&read), as_in_jade(&meant), "{} in {encoding}", case["name"]);
            for other in Encoding::ALL {
                let again = other.decode(&other.encode(&read).unwrap()).unwrap();
                assert_eq!(all_of(&again), all_of(&read), "{} in {other}", case["name"]);
            }
            count += 1;
        }
    }
    assert!(count > 80, "{count} messages");
}

#[test]
fn jade_xml_is_read_correctly() {
    for case in items(&vectors("jade-xml.json")) {
        let meant = read_json(&case["message"]);
        let bytes = BASE64.decode(text(&case["xml"])).unwrap();
        let read = Encoding::Xml.decode(&bytes).unwrap_or_else(|error| panic!("{}: {error}", case["name"]));
        assert_eq!(as_in_jade(&read), as_in_jade(&meant), "{}", case["name"]);
    }
}

#[test]
fn jades_code_table_is_ours() {
    let size = TableSize::from_bits(8).unwrap();
    let (mut decoder, mut encoder) = (BitsDecoder::new(size), BitsEncoder::new(size));
    for (turn, case) in items(&vectors("jade-table.json")).enumerate() {
        let meant = read_json(&case["message"]);
        let bytes = BASE64.decode(text(&case["bits"])).unwrap();
        let read = decoder.decode(&bytes, None).unwrap_or_else(|error| panic!("message {turn}: {error}"));
        assert_eq!(as_in_jade(&read), as_in_jade(&meant), "message {turn}");
        let ours = encoder.encode(&meant).unwrap();
        assert_eq!(
            ours.len(),
            bytes.len(),
            "message {turn}: as long as JADE's, which has the parameters in another order"
        );
    }
}

#[test]
fn jade_sl_is_understood() {
    for case in items(&vectors("jade-sl.json")) {
        let tree = SlContent::parse(text(case), Profile::Sl0).unwrap();
        assert_eq!(tree.to_string(), text(case), "it is printed as JADE prints it");
        let value = text_to_value(text(case), Profile::Sl0).unwrap();
        let written = value_to_text(&value, Profile::Sl0).unwrap();
        assert_eq!(written, text(case), "values lose nothing of it");
        assert_eq!(text_to_value(&written, Profile::Sl0).unwrap(), value);
    }
}

/// JADE with our program, in a folder of its own.
struct Jade {
    folder: PathBuf,
    class_path: String,
}

impl Jade {
    /// If there are a Java compiler and JADE on this machine.
    fn find(name: &str) -> Option<Self> {
        let libraries = std::env::var("WHIMBREL_JADE_CLASSPATH").ok().or_else(|| {
            let repository = Path::new(&std::env::var("HOME").ok()?).join(".m2/repository");
            let jade = repository.join("net/sf/ingenias/jade/4.3/jade-4.3.jar");
            let codec = jars_in(&repository.join("commons-codec/commons-codec")).pop()?;
            jade.exists().then(|| format!("{}:{}", jade.display(), codec.display()))
        })?;
        let folder = std::env::temp_dir().join(format!("whimbrel-jade-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/jade/JadeCodecs.java");
        let compiled = Command::new("javac")
            .args(["-nowarn", "-encoding", "UTF-8", "-cp", &libraries, "-d"])
            .arg(&folder)
            .arg(&source)
            .output()
            .ok()?;
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let class_path = format!("{}:{libraries}", folder.display());
        Some(Self { folder, class_path })
    }

    /// Returns the output of JADE's codecs for these lines.
    fn answers(&self, mode: &str, lines: &[String]) -> Vec<Json> {
        let mut java = Command::new("java")
            .args([
                "-Dfile.encoding=UTF-8",
                "--add-exports",
                "java.xml/com.sun.org.apache.xerces.internal.parsers=ALL-UNNAMED",
            ])
            .args(["-cp", &self.class_path, "JadeCodecs", mode])
            // JADE prints a stack trace for each empty time element, which the DTD requires, and reads on.
            .stderr(Stdio::null())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = java.stdin.take().unwrap();
        let all = lines.join("\n") + "\n";
        let writer = std::thread::spawn(move || input.write_all(all.as_bytes()));
        let output = java.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        let answers: Vec<Json> = String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .collect();
        assert_eq!(answers.len(), lines.len());
        answers
    }
}

impl Drop for Jade {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn jars_in(folder: &Path) -> Vec<PathBuf> {
    let versions = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let files = versions.flat_map(|version| std::fs::read_dir(version).into_iter().flatten());
    let jars: BTreeSet<PathBuf> = files
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jar"))
        .collect();
    jars.into_iter().collect()
}

/// Returns messages of which JADE can hold every part: FIPA's acts, full names, no empty texts.
fn messages_for_jade() -> Vec<AclMessage> {
    let mut all: Vec<AclMessage> =
        items(&vectors("jade-messages.json")).map(|case| read_json(&case["message"])).collect();
    let contents = ["\"", "a\\", "\\\"", "(a \"b\\\"c\")", "é\u{10ffff}", "#3\"abc", "line\r\nline", ":x"];
    for content in contents {
        let (amy, bob) = (Aid::new("amy", "home"), Aid::new("Zoë", "日本"));
        all.push(AclMessage::new(whimbrel_acl::Performative::Inform, amy, bob, content));
    }
    for id in ["c 1", "say \"hello\"", "(x)", "12", "-1", "1e5", "x#y", "a,b;c", "20250101T000000000Z", "Zoë"] {
        let bob = Aid::new("bob", "away").with_contact(Contact {
            addresses: vec!["http://a:1/acc".into()],
            resolvers: vec![Aid::new("ams", "away"), Aid::new("df", "away")],
            ..Contact::default()
        });
        let message = AclMessage::new(whimbrel_acl::Performative::Agree, Aid::new("amy", "home"), bob, "ok");
        all.push(message.in_conversation(id).with_reply_with(id).with_reply_by_ms(1_700_000_000_123).with_ontology(id));
    }
    all
}

#[test]
fn jade_reads_what_we_write() {
    let Some(jade) = Jade::find("messages") else {
        eprintln!("no JADE or no Java here: only the vectors were replayed");
        return;
    };
    let messages = messages_for_jade();
    for (name, encoding) in [("string", Encoding::String), ("bits", Encoding::BitEfficient)] {
        let line = |message: &AclMessage| format!("{name} {}", BASE64.encode(encoding.encode(message).unwrap()));
        let answers = jade.answers("read", &messages.iter().map(line).collect::<Vec<_>>());
        if name == "bits" && answers[0]["error"].as_str().is_some_and(|error| error.contains("NullPointer")) {
            eprintln!("JADE is here without BEFipaMessage");
            return;
        }
        for (message, answer) in messages.iter().zip(answers) {
            assert!(answer.get("error").is_none(), "{name}: {answer}: {message:?}");
            // BEFipaMessage cuts identifiers off that are longer in bytes than in characters.
            if name == "bits" && message.extras().conversation_id.as_ref().is_some_and(|id| !id.is_ascii()) {
                continue;
            }
            let expected = if name == "bits" { with_quotes(message) } else { message.clone() };
            assert_eq!(as_in_jade(&read_json(&answer)), as_in_jade(&expected), "{name}: {answer}");
        }
    }
}

#[test]
fn jade_reads_our_xml() {
    let Some(jade) = Jade::find("xml") else {
        eprintln!("no JADE or no Java here: only the vectors were replayed");
        return;
    };
    let messages: Vec<AclMessage> = messages_for_jade().into_iter().filter(xmlacl_can_hold).collect();
    assert!(messages.len() > 40, "{} messages", messages.len());
    let line = |message: &AclMessage| format!("xml {}", BASE64.encode(Encoding::Xml.encode(message).unwrap()));
    let answers = jade.answers("read", &messages.iter().map(line).collect::<Vec<_>>());
    if answers[0]["error"].as_str().is_some_and(|error| error.contains("NullPointer")) {
        eprintln!("JADE is here without xmlacl");
        return;
    }
    for (message, answer) in messages.iter().zip(answers) {
        assert!(answer.get("error").is_none(), "{answer}: {message:?}");
        let mut read = read_json(&answer);
        // JADE replaces each time in `reply-by` by the moment of reading, also in its own messages.
        read.extras_mut().reply_by_ms = message.extras().reply_by_ms;
        assert_eq!(as_in_jade(&read), as_in_jade(&as_in_xmlacl(message)), "{answer}");
    }
}

/// True if xmlacl keeps the message unchanged. It puts a blank where a text has an entity, and where Java's parser
/// returns a text in pieces; of several resolvers it keeps the last.
fn xmlacl_can_hold(message: &AclMessage) -> bool {
    let content = message.content.as_str().unwrap_or_default();
    let is_plain = |text: &str| text.trim() == text && text.is_ascii() && !text.contains(['<', '>', '&', '\r', '\n']);
    let extras = message.extras();
    let one_resolver = |agent: &Aid| agent.contact().resolvers.len() <= 1;
    is_plain(content)
        && extras.conversation_id.as_deref().is_none_or(is_plain)
        && message.receivers.iter().all(one_resolver)
}

/// A message as xmlacl reads it: without the parameters that FIPA does not know, and with Base64 for bytes.
fn as_in_xmlacl(message: &AclMessage) -> AclMessage {
    let mut message = message.clone();
    let extras = message.extras_mut();
    extras.user.clear();
    if let Value::Bytes(bytes) = &message.content {
        let digits = BASE64.encode(&**bytes);
        message.extras_mut().user.push(("X-JADE-Encoding".into(), "Base64".into()));
        message.content = digits.as_str().into();
    }
    message.receivers = message.receivers.into_iter().map(without_parameters).collect();
    message
}

fn without_parameters(agent: Aid) -> Aid {
    agent.with_contact(Contact { user: Vec::new(), ..agent.contact().clone() })
}

/// BEFipaMessage leaves the quotes of strings where they are.
fn with_quotes(message: &AclMessage) -> AclMessage {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\\\""));
    let in_quotes = |text: &str| if text.contains([' ', '(', ')']) { quoted(text) } else { text.to_owned() };
    let mut message = message.clone();
    let extras = message.extras_mut();
    for id in [&mut extras.conversation_id, &mut extras.reply_with, &mut extras.in_reply_to] {
        *id = id.as_ref().map(|id| in_quotes(id).into());
    }
    extras.ontology = extras.ontology.map(|name| in_quotes(name.as_str()).as_str().into());
    extras.user.iter_mut().for_each(|(_, value)| *value = Value::from(quoted(value.as_str().unwrap())));
    for receiver in &mut message.receivers {
        let mut contact = receiver.contact().clone();
        contact.user.iter_mut().for_each(|(_, value)| *value = Value::from(quoted(value.as_str().unwrap())));
        *receiver = receiver.with_contact(contact);
    }
    message
}

#[test]
fn jade_reads_our_sl() {
    let Some(jade) = Jade::find("sl") else {
        eprintln!("no JADE or no Java here: only the vectors were replayed");
        return;
    };
    let mut texts: Vec<(u8, String)> = items(&vectors("jade-sl.json")).map(|case| (0, text(case).to_owned())).collect();
    let name = "(agent-identifier :name amy@home :addresses (sequence http://h:7778/acc))";
    texts.extend([
        (0, format!("((action {name} (register (df-agent-description :name {name} :languages (set fipa-sl0 fipa-sl1)))))")),
        (2, format!("((iota ?x (result (action {name} (search (df-agent-description) (search-constraints :max-depth 2))) ?x)))")),
        (2, "((not (missing-parameter \"an object\" name)))".to_owned()),
        (2, "((and (already-registered) (or (already-registered) (missing-parameter x y))))".replace("(already-registered)", "already-registered")),
    ]);
    let line = |(profile, text): &(u8, String)| format!("{profile} {}", BASE64.encode(text));
    let answers = jade.answers("read-sl", &texts.iter().map(line).collect::<Vec<_>>());
    for ((_, ours), answer) in texts.iter().zip(answers) {
        let theirs = answer.as_str().unwrap_or_else(|| panic!("{ours}: {answer}"));
        let value = |text: &str| text_to_value(text, Profile::Sl).unwrap();
        assert_eq!(value(theirs), value(ours), "{ours}\n{theirs}");
    }
}
