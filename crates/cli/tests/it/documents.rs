//! Folders of documents that agents act on: `--offer`, `offers:`, and what agents get of them.

use whimbrel::documents::DocumentFolder;
use whimbrel::{Aid, Value};
use whimbrel_platform::environment::NodeEnvironment;
use whimbrel_platform::limits::{DOCUMENT_BYTES_MAX, DOCUMENT_FOLDERS_DEEP_MAX, DOCUMENT_READ_BYTES_MAX};

use super::{CommandFolder, Scratch};

/// A folder of these files.
fn folder(files: &[(&str, &[u8])]) -> Scratch {
    let scratch = Scratch::new();
    for (name, content) in files {
        let path = scratch.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    scratch
}

fn answer(documents: &DocumentFolder, request: &Value) -> Result<Value, String> {
    documents.act(Aid::NOBODY, request)
}

fn read(documents: &DocumentFolder, name: &str) -> Result<Value, String> {
    answer(documents, &Value::term("read", [Value::from(name)]))
}

fn ask(documents: &DocumentFolder, request: &str) -> String {
    let request = whimbrel::options::value_of(&whimbrel::bdi::syntax::parse_term(request).unwrap());
    answer(documents, &request).map_or_else(|why| format!("no: {why}"), |answer| answer.to_string())
}

#[test]
fn documents_are_listed_and_read() {
    let files: [(&str, &[u8]); 4] = [("b.txt", b"two"), ("a.txt", b"one"), ("c/d", b"\xff\x00"), (".git/x", b"")];
    let folder = folder(&files);
    let documents = DocumentFolder::open(folder.path()).unwrap();
    assert_eq!(ask(&documents, "count"), "3");
    assert_eq!(ask(&documents, "list(0)"), r#"[document("a.txt",3),document("b.txt",3),document("c/d",2)]"#);
    assert_eq!(ask(&documents, "list(1, 1)"), r#"[document("b.txt",3)]"#);
    assert_eq!(ask(&documents, "list(3)"), "[]");
    assert_eq!(ask(&documents, r#"read("b.txt")"#), r#""two""#);
    assert_eq!(read(&documents, "c/d"), Ok(Value::from(vec![0xff, 0])));
}

#[test]
fn long_documents_are_read_in_parts() {
    let long = "é".repeat(DOCUMENT_READ_BYTES_MAX);
    let folder = folder(&[("long", long.as_bytes()), ("short", "aéz".as_bytes())]);
    let documents = DocumentFolder::open(folder.path()).unwrap();
    assert!(ask(&documents, r#"read("long")"#).contains("in parts"));
    assert_eq!(ask(&documents, r#"read("short", 0, 2)"#), r#"part("a",1)"#);
    assert_eq!(ask(&documents, r#"read("short", 1, 1)"#), r#"part("é",3)"#);
    assert_eq!(ask(&documents, r#"read("short", 2, 9)"#), r#"part("z",4)"#);
    assert_eq!(ask(&documents, r#"read("short", 4)"#), r#"part("",4)"#);
    assert_eq!(ask(&documents, r#"read("short", 9007199254740992)"#), r#"part("",4)"#);
    let (mut read, mut next) = (String::new(), 0);
    while next < long.len() {
        let request = Value::term("read", [Value::from("long"), Value::Int(next as i64), Value::Int(i64::MAX)]);
        let part = answer(&documents, &request).unwrap();
        read += part.args()[0].as_str().unwrap();
        next = part.args()[1].as_i64().unwrap() as usize;
    }
    assert!(read == long);
}

#[test]
fn malicious_document_requests_are_refused() {
    let folder = folder(&[("in/a", b"a"), ("secret", b"s")]);
    std::os::unix::fs::symlink(folder.path().join("secret"), folder.path().join("in/link")).unwrap();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("in/up")).unwrap();
    let documents = DocumentFolder::open(&folder.path().join("in")).unwrap();
    assert_eq!(ask(&documents, "list(0)"), r#"[document("a",1)]"#);
    for name in ["link", "up/secret", "../secret", "./a", "/etc/passwd", "in/a", "", "a\u{0}", "a/../a"] {
        assert_eq!(read(&documents, name), Err(format!("there is no document {name}")));
    }
    for request in ["list(-1)", "list(1.5)", "list(0, x)", "read(1)", "read(\"a\", -1)", "write(\"a\")", "7", "[]"] {
        assert!(ask(&documents, request).starts_with("no: "), "{request}");
    }
    assert_eq!(ask(&documents, "list(1e15, 1e15)"), "[]");
}

#[test]
fn unusable_offer_explains_reason() {
    let folder = folder(&[("a", b"")]);
    let why = |path: &str| DocumentFolder::open(&folder.path().join(path)).unwrap_err().to_string();
    assert!(why("b").starts_with("there is no folder "), "{}", why("b"));
    assert!(why("a").ends_with("a is no folder"), "{}", why("a"));
    let deep = (0..=DOCUMENT_FOLDERS_DEEP_MAX).map(|_| "d/").collect::<String>();
    std::fs::create_dir_all(folder.path().join(deep)).unwrap();
    assert!(why("").contains("is deeper than"), "{}", why(""));
    let file = std::fs::File::create(folder.path().join("d/big")).unwrap();
    file.set_len(DOCUMENT_BYTES_MAX + 1).unwrap();
    std::fs::remove_dir_all(folder.path().join("d/d")).unwrap();
    assert!(why("").contains("bytes: a document has at most"), "{}", why(""));
}

const READER: &str = "!begin.
+!begin <- .act(library, count, N); .act(library, list(0), L);
           for (.member(document(Name, Bytes), L)) { .act(library, read(Name), Text); .print(Name, \": \", Text, \", \", Bytes) };
           .print(N, \" documents\"); !stray.
+!stray <- .act(library, read(\"../x\")).
-!stray[error(E), error_msg(M)] <- .print(E, \": \", M); !other.
+!other <- .act(archive, count, _).
-!other[error(E), error_msg(M)] <- .print(E, \": \", M); .stopMAS.
";

const GRANT: &str = "[[grant]]\nwho = \"agent:reader\"\nenvironments = \"library\"\n";

fn reader(project: &str, arguments: &[&str]) -> super::CommandOutput {
    let folder = folder(&[("texts/a.txt", b"one"), ("texts/b.txt", b"three"), ("policy.toml", GRANT.as_bytes())]);
    std::fs::write(folder.path().join("reader.asl"), READER).unwrap();
    std::fs::write(folder.path().join("t.mas2j"), project).unwrap();
    folder.run(&[&["run", "."], arguments].concat())
}

const READ: &str = "[reader] a.txt: one, 3
[reader] b.txt: three, 5
[reader] 2 documents
[reader] action_failed: there is no document ../x
[reader] forbidden: the policy does not grant environment archive
";

#[test]
fn agents_in_agentspeak_read_documents() {
    let seen = reader("MAS t { agents: reader; }", &["--policy", "policy.toml", "--offer", "library=texts"]);
    assert_eq!((seen.out.as_str(), seen.err.as_str(), seen.code), (READ, "", Some(0)));
    let seen = reader("MAS t { offers: library = \"texts\"; agents: reader; }", &["--policy", "policy.toml"]);
    assert_eq!((seen.out.as_str(), seen.err.as_str(), seen.code), (READ, "", Some(0)));
}

#[test]
fn agents_move_to_documents() {
    let project = "MAS t { offers: library = \"texts\" at \"n2\"; agents: reader at \"n1\" \"guide.asl\"; }";
    let project = project.replace("reader at \"n1\" \"guide.asl\"", "reader \"guide.asl\" at \"n1\"");
    let guide = "!go. +!go <- !look; .move_to(n2); !look; .move_to(n1); !look; .stopMAS.
                 +!look <- .node(N); .act(library, count, C); .print(C, \" on \", N).
                 -!look[error_msg(M)] <- .node(N); .print(M, \", \", N).";
    let folder = folder(&[("texts/a.txt", b"one"), ("policy.toml", GRANT.as_bytes()), ("guide.asl", guide.as_bytes())]);
    std::fs::write(folder.path().join("t.mas2j"), project).unwrap();
    let seen = folder.run(&["run", ".", "--nodes", "2", "--policy", "policy.toml"]);
    let none = "this node has no environment library, n1";
    assert_eq!(seen.out, format!("[reader] {none}\n[reader] 1 on n2\n[reader] {none}\n"), "{}", seen.err);
    assert_eq!((seen.err.as_str(), seen.code), ("", Some(0)));
}

#[test]
fn bad_offer_is_reported_before_start() {
    let project = "MAS t { agents: reader; }";
    let why = |arguments: &[&str]| {
        let seen = reader(project, arguments);
        assert!(seen.out.is_empty() && seen.code != Some(0), "{}", seen.out);
        seen.err
    };
    assert!(why(&["--offer", "library=nowhere"]).contains("cannot offer library: there is no folder nowhere"));
    assert!(why(&["--offer", "library=policy.toml"]).contains("policy.toml is no folder"));
    assert!(why(&["--offer", "library"]).contains("as library=documents"));
    assert!(why(&["--offer", "l=texts", "--offer", "l=texts"]).contains("two offers of this node have the name l"));
    let seen = reader(project, &["--offer", "library=texts", "--for", "300ms"]);
    assert!(seen.err.contains("library is offered, but no agent may act on it"), "{}", seen.err);
    assert!(seen.out.is_empty(), "{}", seen.out);
}
