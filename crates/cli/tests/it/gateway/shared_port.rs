//! Several processes at one port, nodes of one platform. A client that comes to another process than before is sent to
//! the one that has its session or its agent.

use super::*;

/// Processes at one port; ended with the test.
struct Processes {
    first: HttpNode,
    others: Vec<Child>,
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.others {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns the text after these words in one of a process's first lines.
fn told(lines: &mut impl Iterator<Item = String>, words: &str) -> String {
    let line = lines.find(|line| line.contains(words)).expect("it says where it is");
    line.split(words).nth(1).expect("an address").trim().to_owned()
}

impl Processes {
    fn start(count: usize) -> Self {
        let others = vec![&["--http-reuse-port"][..]; count - 1];
        Self::with(&["--http-reuse-port"], &others).0
    }

    /// A node, and others that joined it, with these options: where the last one's console is, too.
    fn with(options: &[&str], others: &[&[&str]]) -> (Self, String) {
        const TOKEN: [&str; 2] = ["--token", "secret-of-the-nodes"];
        let scratch = market();
        let mut child = command(&scratch, &[options, &TOKEN[..], &["--listen", "127.0.0.1:0"]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let joined = told(&mut lines, "others can join at ");
        let console = told(&mut lines, "the console is at http://");
        std::thread::spawn(move || lines.for_each(drop));
        let address = console.split('/').next().expect("an address").to_owned();
        let mut last = address.clone();
        let join = |options: &&[&str]| {
            let at = if options.contains(&"--http-reuse-port") { &address } else { "127.0.0.1:0" };
            let mut command = whimbrel();
            command.args(["join", &joined, "--http", at, "--http-token", ADMIN, "--listen", "127.0.0.1:0"]);
            command.args(*options).args(TOKEN).env("WHIMBREL_RUN_DIR", scratch.path().join("run"));
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
            let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
            last = told(&mut lines, "the console is at http://").split('/').next().expect("an address").to_owned();
            std::thread::spawn(move || lines.for_each(drop));
            child
        };
        let others = others.iter().map(join).collect();
        (Self { first: HttpNode { child, address, scratch }, others }, last)
    }

    /// A session's socket at this address, after a hello.
    fn at(address: &str, hello: &str) -> (Socket, Value) {
        let stream = TcpStream::connect(address).expect("it listens");
        let mut socket = Socket::over(stream, address, "/session", "whimbrel.v1", &[]).expect("it is one");
        socket.say(hello);
        let answer = socket.hear().expect("it answers");
        (socket, answer)
    }

    /// Returns the answer of the shared port when another process gives it than before.
    fn elsewhere<T>(&self, mut ask: impl FnMut(&str) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(told) = ask(&self.first.address) {
                return told;
            }
            assert!(begin.elapsed() < PATIENCE, "it is the same process each time");
        }
    }

    /// Returns the address of the process in this answer.
    fn address_in(&self, told: &Value) -> String {
        let text = told["text"].as_str().expect("where");
        assert!(text.starts_with(':'), "at the same host: {text}");
        let host = self.first.address.split(':').next().expect("a host");
        format!("{host}{text}")
    }
}

const HELLO: &str = r#"{"type":"hello","versions":[1],"token":"admin-of-the-tests","follows":true}"#;

#[test]
fn shared_port_redirects_session_without_loss() {
    let processes = Processes::start(3);
    let (mut socket, welcome) = Processes::at(&processes.first.address, HELLO);
    socket.say(r#"{"type":"create","number":1,"agent":0,"name":"guest"}"#);
    assert_eq!(socket.next()["type"], "created");
    drop(socket);
    for text in ["a", "b", "c"] {
        let message = format!(r#"{{"message":{{"performative":"inform","receivers":["guest"],"content":"{text}"}}}}"#);
        // Whichever process is asked may have to hear of the agent first.
        let begin = Instant::now();
        while processes.first.ask("POST", "/messages", ADMIN, &message).status != 200 {
            assert!(begin.elapsed() < PATIENCE, "no process knows the agent");
        }
    }
    let (session, secret) = (&welcome["session"], &welcome["secret"]);
    let resume = format!(
        r#"{{"type":"hello","versions":[1],"resume":{{"session":{session},"secret":{secret},"received":1}},"follows":true}}"#
    );
    let told = processes.elsewhere(|address| {
        let (_, answer) = Processes::at(address, &resume);
        (answer["type"] == "error").then_some(answer)
    });
    assert_eq!(told["code"], "elsewhere", "{told}");
    let (mut socket, again) = Processes::at(&processes.address_in(&told), &resume);
    assert_eq!((&again["type"], &again["session"]), (&"welcome".into(), session), "{again}");
    let mut heard: Vec<String> = (0..3).map(|_| socket.next()["message"]["content"].to_string()).collect();
    heard.sort();
    assert_eq!(heard, [r#""a""#, r#""b""#, r#""c""#], "each once; by way of which process, the port decides");
    // A process that there never was has no sessions.
    let nowhere = resume.replace(session.as_str().expect("a name"), "n9.0123");
    let (_, refused) = Processes::at(&processes.first.address, &nowhere);
    assert_eq!(refused["code"], "session-gone", "{refused}");
    // A client without `follows` gets an error that it knows.
    let stays = resume.replace(r#","follows":true"#, "");
    let gone = processes.elsewhere(|address| {
        let (_, answer) = Processes::at(address, &stays);
        (answer["type"] == "error").then_some(answer)
    });
    assert_eq!(gone["code"], "session-gone", "{gone}");
}

#[test]
fn proxied_node_redirects_to_proxy() {
    const PUBLIC: &str = "n2.bees.example:443";
    let (processes, second) = Processes::with(&[], &[&["--http-public", PUBLIC]]);
    let stream = TcpStream::connect(&second).expect("it listens");
    let mut socket =
        Socket::over(stream, "n2.bees.example", "/session", "whimbrel.v1", &[]).expect("by that name, too");
    socket.say(HELLO);
    let welcome = socket.hear().expect("it answers");
    assert_eq!(welcome["type"], "welcome", "{welcome}");
    let (session, secret) = (&welcome["session"], &welcome["secret"]);
    let resume = format!(
        r#"{{"type":"hello","versions":[1],"resume":{{"session":{session},"secret":{secret},"received":0}},"follows":true}}"#
    );
    let (_, told) = Processes::at(&processes.first.address, &resume);
    assert_eq!((&told["code"], &told["text"]), (&"elsewhere".into(), &PUBLIC.into()), "{told}");
}

#[test]
fn shared_port_redirects_kept_agent() {
    let processes = Processes::start(3);
    let create = r#"{"type":"create","number":1,"agent":0,"name":"guest"}"#;
    let (mut socket, _) = Processes::at(&processes.first.address, HELLO);
    socket.say(create);
    socket.say(r#"{"type":"keep","number":2,"agent":0,"policy":"wait","holds":false}"#);
    socket.say(r#"{"type":"save","number":3,"agent":0,"upto":0,"code":"ts:guest","state":"c3RhdGU=","also":[]}"#);
    assert_eq!(socket.next()["type"], "created");
    assert_eq!(socket.next()["type"], "saved");
    socket.say(r#"{"type":"bye"}"#);
    while socket.hear().is_some() {}
    let refused = processes.elsewhere(|address| {
        let (mut socket, _) = Processes::at(address, HELLO);
        socket.say(create);
        let told = socket.next();
        socket.say(r#"{"type":"bye"}"#);
        (told["type"] == "refused").then_some(told)
    });
    assert_eq!((&refused["code"], &refused["of"]), (&"elsewhere".into(), &1.into()), "{refused}");
    let address = processes.address_in(&refused);
    let begin = Instant::now();
    let state = loop {
        let (mut socket, _) = Processes::at(&address, HELLO);
        socket.say(create);
        let told = socket.next();
        if told["type"] == "state" {
            break told;
        }
        // An earlier client said good-bye just now, if it came to the right process while it looked for another one.
        assert!(told["code"] == "name-taken" && begin.elapsed() < PATIENCE, "{told}");
    };
    assert_eq!((&state["code"], &state["state"]), (&"ts:guest".into(), &"c3RhdGU=".into()), "{state}");
}
