//! Agents that bring their programs along to nodes that have none, in processes.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use super::{CommandOutput, Scratch, whimbrel};

/// A node that others can join, and where.
struct JoinableNode(Child, String);

impl JoinableNode {
    fn run(scratch: &Scratch, file: &str) -> Self {
        let mut command = whimbrel();
        command.args(["run", file, "--listen", "127.0.0.1:0", "--token", "t", "--code-cache", "off"]);
        command.current_dir(scratch.path().join("home")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it begins");
        let mut noted = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let address = noted.find_map(|line| Some(line.split_once("join at ")?.1.to_owned())).expect("it listens");
        // What else it notes is read, lest it wait for a reader.
        std::thread::spawn(move || noted.for_each(drop));
        Self(child, address)
    }

    /// The second node, without any project, until the platform ends; and what the first one said.
    fn joined(self, scratch: &Scratch, more: &[&str]) -> (CommandOutput, String) {
        let mut command = whimbrel();
        command.args(["join", &self.1, "--name", "n2", "--token", "t", "--quiet"]).args(more);
        let visited = CommandOutput::from(command.current_dir(scratch.path().join("away")).output().expect("it runs"));
        let home = self.0.wait_with_output().expect("it ends");
        (visited, String::from_utf8(home.stdout).expect("it is text"))
    }
}

/// A folder with these files in `home`, and an empty one beside it.
fn scratch(files: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::new();
    for folder in ["home/parts", "away"] {
        std::fs::create_dir_all(scratch.path().join(folder)).expect("it can be made");
    }
    for (name, text) in files {
        std::fs::write(scratch.path().join("home").join(name), text).expect("it can be written");
    }
    scratch
}

/// Returns the stored file of the second node with this extension.
fn kept(scratch: &Scratch, ending: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(scratch.path().join("away/cache")).into_iter().flatten();
    let mut files = entries.map(|entry| entry.expect("it can be read").path());
    files.find(|file| file.extension().is_some_and(|found| found == ending))
}

const TRIP: &str = "
{ include(\"parts/greeting.asl\") }
!go.
+!go : .nodes(All) & .member(n2, All) <- .move_to(n2); .node(N); !greet(N); .move_to(n1); .node(H); .print(\"home on \", H); .stopMAS.
+!go <- .wait(10); !go.
-!go[error(E), error_msg(M)] <- .print(E, \": \", M); .stopMAS.
";

const GREETING: (&str, &str) = ("parts/greeting.asl", "+!greet(N) <- .print(\"hello from \", N).\n");

#[test]
fn program_travels_with_its_includes() {
    let scratch = scratch(&[("trip.asl", TRIP), GREETING]);
    let visit = |more: &[&str]| {
        let (away, home) = JoinableNode::run(&scratch, "trip.asl").joined(&scratch, more);
        assert_eq!((away.out.as_str(), away.err.as_str(), away.code), ("[trip] hello from n2\n", "", Some(0)));
        assert_eq!(home, "[trip] home on n1\n");
    };
    visit(&["--code-cache", "off"]);
    assert_eq!(kept(&scratch, "asl"), None);
    visit(&["--code-cache", "cache"]);
    let file = kept(&scratch, "asl").expect("it is kept");
    let bundle = std::fs::read(&file).expect("it can be read");
    visit(&["--code-cache", "cache"]);
    // What is kept is believed no more than what comes.
    let changed: Vec<u8> = bundle.iter().map(|byte| if *byte == b'h' { b'j' } else { *byte }).collect();
    assert_ne!(changed, bundle);
    std::fs::write(&file, changed).expect("it can be written");
    visit(&["--code-cache", "cache"]);
    assert_eq!(std::fs::read(&file).expect("it can be read"), bundle);
}

#[test]
fn policy_admits_permitted_code() {
    let scratch = scratch(&[("trip.asl", TRIP), GREETING]);
    let policy =
        |rules: &str| std::fs::write(scratch.path().join("away/policy.toml"), rules).expect("it can be written");
    let guarded = ["--policy", "policy.toml", "--audit", "audit.jsonl", "--code-cache", "off"];
    policy("[[deny]]\nwho = \"stranger\"\nsend = \"*\"\n");
    let (away, home) = JoinableNode::run(&scratch, "trip.asl").joined(&scratch, &guarded);
    assert_eq!(away.out, "", "{}", away.err);
    let why = "[trip] refused: node n2 cannot take it: its program is not there, and the policy there takes none from \
               elsewhere (code = \"asl:";
    assert!(home.starts_with(why), "{home}");
    let audit = std::fs::read_to_string(scratch.path().join("away/audit.jsonl")).expect("it is written");
    assert!(audit.contains("\"who\":\"agent:trip of node:n1\",\"action\":\"code\",\"object\":\"asl:"), "{audit}");
    // As the message says.
    let (_, rest) = home.split_once("(code = \"").expect("it says how");
    let (object, _) = rest.split_once('"').expect("it is quoted");
    policy(&format!("[[allow]]\nwho = \"node:n1\"\ncode = \"{object}\"\n"));
    let traced = [&guarded[..], &["--trace"]].concat();
    let (away, home) = JoinableNode::run(&scratch, "trip.asl").joined(&scratch, &traced);
    assert_eq!((away.out.as_str(), home.as_str()), ("[trip] hello from n2\n", "[trip] home on n1\n"), "{}", away.err);
    for what in ["agent trip came from node n1", "agent trip left for node n1"] {
        assert!(away.err.contains(what), "{}", away.err);
    }
}

#[cfg(feature = "wasm")]
const TOUR: &str = "MAS tour { agents: traveller \"traveller.wasm\"; guide; }";

#[cfg(feature = "wasm")]
const GUIDE: &str = "
!begin.
+!begin : .nodes(All) & .member(n2, All) <- .send(traveller, request, tour([n2, n1, n2])).
+!begin <- .wait(10); !begin.
+sum(_, Moves, Node) <- .print(Moves, \" moves, on \", Node); .stopMAS.
";

#[cfg(feature = "wasm")]
#[test]
fn travelling_module_is_compiled_once() {
    let scratch = scratch(&[("tour.mas2j", TOUR), ("guide.asl", GUIDE)]);
    let module = super::examples::repository().join("guest/examples/traveller-rust.wasm");
    if std::fs::copy(&module, scratch.path().join("home/traveller.wasm")).is_err() {
        assert!(std::env::var_os(super::agent_build::REQUIRED).is_none(), "it is not built: make guests");
        eprintln!("skipped: {} is not built: make guests", module.display());
        return;
    }
    let visit = || {
        let (away, home) = JoinableNode::run(&scratch, "tour.mas2j").joined(&scratch, &["--code-cache", "cache"]);
        assert_eq!((home.as_str(), away.err.as_str()), ("[guide] 3 moves, on n2\n", ""));
    };
    visit();
    assert_eq!(std::fs::read(kept(&scratch, "wasm").expect("it is kept")).ok(), std::fs::read(module).ok());
    let file = kept(&scratch, "compiled").expect("it is kept");
    let compiled = std::fs::read(&file).expect("it can be read");
    let number = |file: &PathBuf| std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(file).expect("it is there"));
    let before = number(&file);
    visit();
    assert_eq!(number(&file), before, "it is not compiled again");
    // Machine code that another user compiled from it is never run.
    let mut forged = compiled.clone();
    let middle = forged.len() / 2;
    forged[middle] ^= 1;
    std::fs::write(&file, &forged).expect("it can be written");
    visit();
    assert_ne!(std::fs::read(&file).expect("it can be read"), forged);
}
