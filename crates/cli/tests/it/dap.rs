//! The debug adapter, driven over its protocol.

use std::io::{BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::RunningProcess;
use super::control::SocietyFolder;
use super::editors::read_framed;

/// Longest wait for a message.
const PATIENCE: Duration = Duration::from_secs(120);

const SHOP: &str = "MAS shop { agents: bob; amy; }";
const BOB: &str = r#"stock(tea, 3).
stock(beer, 0).
!open.
+!open <- .print("open").
// Serves a guest.
+!serve(Who)
   <- !bring(tea, Who);
      .print("served ", Who).
+!bring(What, Who)
   <- ?stock(What, N);
      -+stock(What, N - 1);
      +brought([What, to(Who)]).
+!break <- .print("breaking");
   !glue.
+!leave <- .kill_agent(bob).
"#;
const AMY: &str = "!rest.\n+!rest.\n";

fn shop() -> SocietyFolder {
    SocietyFolder::with(&[
        ("shop.mas2j", SHOP),
        ("bob.asl", BOB),
        ("amy.asl", AMY),
        ("late.asl", "!late.\n+!late\n  <- .print(late).\n"),
        ("broken.asl", "+!go <- .\n"),
    ])
}

/// Client of a running adapter.
struct DapClient {
    process: RunningProcess,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Events that came before an answer.
    events: Vec<Value>,
    requests: i64,
    folder: String,
}

impl DapClient {
    fn start(site: &SocietyFolder) -> Self {
        let mut client = Self::started(site);
        let offered = client.ask("initialize", json!({ "adapterID": "whimbrel" }));
        assert_eq!(offered["supportsConfigurationDoneRequest"], true);
        client
    }

    /// Starts an adapter, to which nothing was said.
    fn started(site: &SocietyFolder) -> Self {
        let mut command = site.command(&["dap"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = RunningProcess(command.spawn().unwrap());
        let input = process.0.stdin.take();
        let mut output = BufReader::new(process.0.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read_framed(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let folder = site.scratch.path().to_string_lossy().into_owned();
        Self { process, input, messages, events: Vec::new(), requests: 0, folder }
    }

    /// Starts the society of the folder with these breakpoints in the program of bob.
    fn launch(site: &SocietyFolder, lines: &[u32], filters: &[&str]) -> (Self, Value) {
        let mut client = Self::start(site);
        // Some clients send null for what they leave out.
        client.ask("launch", json!({ "program": site.scratch.path().join("shop.mas2j"), "args": null, "cwd": null }));
        client.event("initialized");
        let set = client.set_lines("bob.asl", lines);
        client.ask("setExceptionBreakpoints", json!({ "filters": filters }));
        client.ask("configurationDone", Value::Null);
        (client, set)
    }

    fn send(&mut self, command: &str, arguments: &Value) -> i64 {
        self.requests += 1;
        let request = json!({ "seq": self.requests, "type": "request", "command": command, "arguments": arguments });
        let text = request.to_string();
        let input = self.input.as_mut().unwrap();
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.requests
    }

    #[track_caller]
    fn read(&mut self) -> Value {
        match self.messages.recv_timeout(PATIENCE) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => panic!("no message; events: {:?}", self.events),
            Err(RecvTimeoutError::Disconnected) => panic!("the adapter ended; events: {:?}", self.events),
        }
    }

    #[track_caller]
    fn answer(&mut self, command: &str, arguments: &Value) -> Value {
        let number = self.send(command, arguments);
        self.answer_to(number)
    }

    #[track_caller]
    fn answer_to(&mut self, number: i64) -> Value {
        loop {
            let message = self.read();
            if message["request_seq"] == number {
                return message;
            }
            self.events.push(message);
        }
    }

    #[track_caller]
    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        let answer = self.answer(command, &arguments);
        assert_eq!(answer["success"], true, "{answer}");
        answer["body"].clone()
    }

    #[track_caller]
    fn refused(&mut self, command: &str, arguments: Value) -> String {
        let answer = self.answer(command, &arguments);
        assert_eq!(answer["success"], false, "{answer}");
        assert_eq!(answer["body"]["error"]["showUser"], true, "{answer}");
        answer["message"].as_str().unwrap().to_owned()
    }

    /// Returns the body of the next event of this name.
    #[track_caller]
    fn event(&mut self, name: &str) -> Value {
        self.event_that(|event| event["event"] == name)["body"].clone()
    }

    #[track_caller]
    fn event_that(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.events.iter().position(&is_it) {
            return self.events.remove(place);
        }
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let message = self.read();
            if is_it(&message) {
                return message;
            }
            self.events.push(message);
        }
        panic!("no such event in {:?}", self.events);
    }

    /// Waits until the society has printed this. Lines may come together in one event: those after this one stay.
    #[track_caller]
    fn printed(&mut self, text: &str) -> Value {
        let event = self.event_that(|event| event["body"]["output"].as_str().is_some_and(|lines| lines.contains(text)));
        let after = event["body"]["output"].as_str().and_then(|lines| lines.split_once(text)?.1.split_once('\n'));
        if let Some((_, rest)) = after.filter(|(_, rest)| !rest.is_empty()) {
            let mut later = event.clone();
            later["body"]["output"] = rest.into();
            self.events.insert(0, later);
        }
        event
    }

    #[track_caller]
    fn set_lines(&mut self, file: &str, lines: &[u32]) -> Value {
        let wanted: Vec<Value> = lines.iter().map(|line| json!({ "line": line })).collect();
        let path = Path::new(&self.folder).join(file);
        self.ask("setBreakpoints", json!({ "source": { "path": path }, "breakpoints": wanted }))["breakpoints"].clone()
    }

    #[track_caller]
    fn thread(&mut self, name: &str) -> i64 {
        let threads = self.ask("threads", Value::Null)["threads"].clone();
        let found = threads.as_array().unwrap().iter().find(|thread| thread["name"] == name);
        found.unwrap_or_else(|| panic!("{name} in {threads}"))["id"].as_i64().unwrap()
    }

    /// Returns the frames of a paused agent with a place each: `+!serve(ann) (p__3) 7`.
    #[track_caller]
    fn stack(&mut self, thread: i64) -> (Vec<String>, Vec<i64>) {
        let stack = self.ask("stackTrace", json!({ "threadId": thread }))["stackFrames"].clone();
        let frames = stack.as_array().unwrap().clone();
        let shown = frames.iter().map(|frame| format!("{} {}", frame["name"].as_str().unwrap(), frame["line"]));
        (shown.collect(), frames.iter().map(|frame| frame["id"].as_i64().unwrap()).collect())
    }

    /// Returns a scope of a frame: `N = 3` and so on.
    #[track_caller]
    fn scope(&mut self, frame: i64, name: &str) -> Vec<String> {
        let scopes = self.ask("scopes", json!({ "frameId": frame }))["scopes"].clone();
        let scope = scopes.as_array().unwrap().iter().find(|scope| scope["name"] == name).unwrap().clone();
        self.variables(&scope["variablesReference"])
    }

    fn variables(&mut self, reference: &Value) -> Vec<String> {
        let found = self.ask("variables", json!({ "variablesReference": reference }))["variables"].clone();
        let shown = |it: &Value| format!("{} = {}", it["name"].as_str().unwrap(), it["value"].as_str().unwrap());
        found.as_array().unwrap().iter().map(shown).collect()
    }

    fn evaluate(&mut self, expression: &str, frame: Option<i64>, context: &str) -> String {
        let arguments = json!({ "expression": expression, "frameId": frame, "context": context });
        self.ask("evaluate", arguments)["result"].as_str().unwrap().to_owned()
    }

    /// Ends the session in order.
    fn leave(mut self) -> Option<i32> {
        self.ask("disconnect", json!({}));
        self.process.0.wait().unwrap().code()
    }
}

fn runs(site: &SocietyFolder) -> usize {
    site.json(&["ps", "--json"])["nodes"].as_array().map_or(0, Vec::len)
}

#[test]
fn breakpoint_shows_stack_and_variables() {
    let site = shop();
    let (mut client, set) = DapClient::launch(&site, &[4, 9, 40], &[]);
    assert_eq!((&set[0]["verified"], &set[0]["line"]), (&json!(true), &json!(4)));
    assert_eq!((&set[1]["verified"], &set[1]["line"]), (&json!(true), &json!(10)));
    assert_eq!(set[1]["message"], "no step begins in line 9: moved to line 10");
    assert_eq!(
        (&set[2]["verified"], &set[2]["message"]),
        (&json!(false), &json!("no plan of bob.asl has a step in line 40 or after it"))
    );
    // The first plan of the agent is not missed.
    let stopped = client.event("stopped");
    assert_eq!((&stopped["reason"], &stopped["hitBreakpointIds"]), (&json!("breakpoint"), &json!([set[0]["id"]])));
    let bob = stopped["threadId"].as_i64().unwrap();
    assert_eq!(bob, client.thread("bob"));
    assert_eq!(client.stack(bob).0, ["+!open (p__1) 4"]);
    client.ask("continue", json!({ "threadId": bob }));
    client.printed("[bob] open");
    client.evaluate("bob: !!serve(ann)", None, "repl");
    let stopped = client.event("stopped");
    assert_eq!((&stopped["reason"], &stopped["threadId"]), (&json!("breakpoint"), &json!(bob)));
    let (shown, frames) = client.stack(bob);
    assert_eq!(shown, ["+!bring(tea,ann) (p__3) 10", "+!serve(ann) (p__2) 7"]);
    assert_eq!(client.scope(frames[0], "Variables"), ["What = tea", "Who = ann"]);
    assert_eq!(client.scope(frames[0], "Beliefs"), ["stock(tea,3) = self", "stock(beer,0) = self"]);
    assert_eq!(
        client.scope(frames[0], "Goals"),
        ["!serve(ann) = executing, intention 3", "!bring(tea,ann) = executing, intention 3"]
    );
    assert_eq!(client.evaluate("What", Some(frames[0]), "watch"), "tea");
    assert_eq!(client.evaluate("stock(What, N)", Some(frames[0]), "watch"), "What = tea, N = 3");
    assert_eq!(client.evaluate("stock", Some(frames[0]), "hover"), "stock(tea,3)\nstock(beer,0)");
    client.set_lines("bob.asl", &[12]);
    client.ask("continue", json!({ "threadId": bob }));
    assert_eq!(client.event("stopped")["reason"], "breakpoint");
    client.ask("next", json!({ "threadId": bob }));
    assert_eq!(client.event("stopped")["reason"], "step");
    let (shown, frames) = client.stack(bob);
    assert_eq!(shown, ["+!serve(ann) (p__2) 8"]);
    let frame = client.ask("evaluate", json!({ "expression": "?brought(X)", "frameId": frames[0], "context": "repl" }));
    assert_eq!(frame["result"], "X = [tea,to(ann)]");
    assert_eq!(client.leave(), Some(0));
    assert_eq!(runs(&site), 0);
}

/// Requests in the order and form of Visual Studio Code 1.139.
#[test]
fn vscode_requests_reach_breakpoint() {
    let site = shop();
    let mut client = DapClient::started(&site);
    let hello = json!({
        "clientID": "vscode", "clientName": "Visual Studio Code", "adapterID": "whimbrel", "pathFormat": "path",
        "linesStartAt1": true, "columnsStartAt1": true, "supportsVariableType": true, "supportsVariablePaging": true,
        "supportsRunInTerminalRequest": true, "locale": "en", "supportsProgressReporting": true,
        "supportsInvalidatedEvent": true, "supportsMemoryReferences": true, "supportsMemoryEvent": true,
        "supportsArgsCanBeInterpretedByShell": true, "supportsStartDebuggingRequest": true,
        "supportsANSIStyling": true,
    });
    let offered = client.ask("initialize", hello);
    let filters = offered["exceptionBreakpointFilters"].as_array().unwrap().clone();
    let bob = site.scratch.path().join("bob.asl");
    let launch = json!({
        "type": "whimbrel", "request": "launch", "name": "Debug bob.asl", "program": bob, "__configurationTarget": 6,
        "__sessionId": "0e4b5e8c-7d3d-4ad3-8a0e-6f9b8d1d2c3e",
    });
    let launched = client.send("launch", &launch);
    client.event("initialized");
    let lines = json!({
        "source": { "name": "bob.asl", "path": bob }, "lines": [4], "sourceModified": false,
        "breakpoints": [{ "line": 4, "column": 7 }],
    });
    assert_eq!(client.ask("setBreakpoints", lines)["breakpoints"][0]["verified"], true);
    let chosen: Vec<&Value> = filters.iter().filter(|it| it["default"] == true).map(|it| &it["filter"]).collect();
    client.ask("setExceptionBreakpoints", json!({ "filters": chosen }));
    client.ask("configurationDone", Value::Null);
    let is_answer = |message: &Value| message["request_seq"] == launched;
    assert_eq!(client.event_that(is_answer)["success"], true);
    let stopped = client.event("stopped");
    assert_eq!(client.thread("bob"), stopped["threadId"]);
    let top = json!({ "threadId": stopped["threadId"], "startFrame": 0, "levels": 1 });
    let frame = client.ask("stackTrace", top)["stackFrames"][0].clone();
    assert_eq!((&frame["line"], &frame["source"]["path"]), (&json!(4), &json!(bob)));
    client.ask("disconnect", json!({ "restart": false, "terminateDebuggee": true }));
    assert_eq!(client.process.0.wait().unwrap().code(), Some(0));
    assert_eq!(runs(&site), 0);
}

#[test]
fn conditions_counts_and_texts_of_breakpoints() {
    let site = SocietyFolder::with(&[
        ("count.mas2j", "MAS count { agents: bob; }"),
        (
            "bob.asl",
            "limit(4).\n!count(1).\n+!count(N) : N < 9\n  <- X = N * 2;\n     !count(N + 1).\n+!count(_) <- .print(end).\n",
        ),
    ]);
    let mut client = DapClient::start(&site);
    client.ask("launch", json!({ "program": site.scratch.path().join("count.mas2j") }));
    let set = |client: &mut DapClient, breakpoints: Value| {
        let source = json!({ "path": site.scratch.path().join("bob.asl") });
        client.ask("setBreakpoints", json!({ "source": source, "breakpoints": breakpoints }))["breakpoints"].clone()
    };
    let wrong = json!([
        { "line": 5, "condition": "limit(" }, { "line": 5, "hitCondition": "some" }, { "line": 5, "logMessage": "{N" },
    ]);
    for (shown, why) in set(&mut client, wrong).as_array().unwrap().iter().zip(["no formula", "no count", "without }"])
    {
        assert!(shown["verified"] == false && shown["message"].as_str().unwrap().contains(why), "{shown}");
    }
    let right = json!([
        { "line": 5, "condition": "limit(M) & X > M", "hitCondition": "% 2", "logMessage": "" },
        { "line": 5, "condition": "", "hitCondition": "<= 2", "logMessage": "N is {N}, twice {X}" },
    ]);
    let shown = set(&mut client, right);
    client.ask("configurationDone", Value::Null);
    client.printed("[bob] N is 1, twice 2");
    client.printed("[bob] N is 2, twice 4");
    for number in [4, 6, 8] {
        let stopped = client.event("stopped");
        assert_eq!(
            (&stopped["reason"], &stopped["hitBreakpointIds"]),
            (&json!("breakpoint"), &json!([shown[0]["id"]]))
        );
        let (_, frames) = client.stack(stopped["threadId"].as_i64().unwrap());
        assert_eq!(client.scope(frames[0], "Variables"), [format!("N = {number}"), format!("X = {}", number * 2)]);
        client.ask("continue", json!({ "threadId": stopped["threadId"] }));
    }
    client.printed("[bob] end");
    assert_eq!(client.leave(), Some(0));
}

#[test]
fn stop_on_entry_pauses_each_agent() {
    let site = shop();
    let mut client = DapClient::start(&site);
    client.ask("launch", json!({ "program": site.scratch.path().join("shop.mas2j"), "stopOnEntry": true }));
    client.ask("configurationDone", Value::Null);
    // amy has a plan without steps: there is nothing to pause before.
    let stopped = client.event("stopped");
    let bob = stopped["threadId"].as_i64().unwrap();
    assert_eq!((&stopped["reason"], bob), (&json!("entry"), client.thread("bob")));
    assert_eq!(client.stack(bob).0, ["+!open (p__1) 4"]);
    client.ask("continue", json!({ "threadId": bob }));
    client.printed("[bob] open");
    // Agents that begin later do not pause.
    site.out(&["create", "carl", &site.scratch.path().join("late.asl").to_string_lossy()]);
    client.printed("[carl] late");
    assert_eq!(client.leave(), Some(0));
}

#[test]
fn steps_enter_and_leave_plans() {
    let site = shop();
    let (mut client, _) = DapClient::launch(&site, &[7], &[]);
    client.printed("[bob] open");
    client.evaluate("bob: !!serve(ann)", None, "repl");
    let bob = client.event("stopped")["threadId"].as_i64().unwrap();
    for (order, place) in [("stepIn", 10), ("stepIn", 11), ("stepOut", 8)] {
        client.ask(order, json!({ "threadId": bob }));
        assert_eq!(client.event("stopped")["reason"], "step", "{order}");
        let (shown, _) = client.stack(bob);
        assert!(shown[0].ends_with(&format!(" {place}")), "{order}: {shown:?}");
    }
    client.ask("next", json!({ "threadId": bob, "granularity": "instruction" }));
    client.printed("served ann");
    client.event("stopped");
    client.ask("pause", json!({ "threadId": bob }));
    client.ask("continue", json!({ "threadId": bob }));
    assert!(client.refused("continue", json!({ "threadId": bob })).contains("it is not paused"));
    assert!(client.refused("stackTrace", json!({ "threadId": bob })).contains("bob is running: pause it first"));
    let amy = client.thread("amy");
    client.ask("pause", json!({ "threadId": amy }));
    assert_eq!(client.event("stopped")["reason"], "pause");
    assert_eq!(client.stack(amy).0, ["no intention: the agent waits for events 0"]);
    let (_, frames) = client.stack(amy);
    let told = client.evaluate("+tired", Some(frames[0]), "repl");
    assert!(told.contains("performs this when it continues"), "{told}");
    assert_eq!(client.leave(), Some(0));
}

#[test]
fn failures_pause_agents() {
    let site = shop();
    let (mut client, _) = DapClient::launch(&site, &[], &["unhandled"]);
    client.printed("[bob] open");
    client.evaluate("bob: !!break", None, "repl");
    let stopped = client.event("stopped");
    let failure = "bob.asl:14: !glue failed: no plan for +!glue/0";
    assert_eq!(stopped["reason"], "exception");
    assert!(stopped["text"].as_str().unwrap().ends_with(failure), "{stopped}");
    let bob = stopped["threadId"].as_i64().unwrap();
    assert_eq!(client.stack(bob).0, ["+!break (p__4) 14"]);
    let info = client.ask("exceptionInfo", json!({ "threadId": bob }));
    assert_eq!(info["breakMode"], "unhandled");
    client.ask("continue", json!({ "threadId": bob }));
    assert!(client.printed("glue")["body"]["category"] == "stderr");
    assert!(
        client.refused("setExceptionBreakpoints", json!({ "filters": ["some"] })).contains("there is no filter `some`")
    );
    assert_eq!(client.leave(), Some(0));
}

#[test]
fn wrong_requests_are_explained() {
    let site = shop();
    let mut client = DapClient::start(&site);
    assert!(client.refused("threads", Value::Null).contains("needs a society"));
    assert!(client.refused("launch", json!({})).contains("`program` is missing"));
    let nowhere = site.scratch.path().join("nowhere.asl");
    assert!(client.refused("launch", json!({ "program": nowhere })).contains("there is no such file"));
    let broken = site.scratch.path().join("broken.asl");
    let refused = client.refused("launch", json!({ "program": broken }));
    assert!(refused.contains("the society ended at once") && refused.contains("broken.asl"), "{refused}");
    assert!(client.refused("launch", json!({ "program": broken, "args": ["--nodes", "2"] })).contains("attach"));
    assert!(client.refused("launch", json!({ "program": 7 })).contains("not as the protocol has them"));
    assert!(client.refused("attach", json!({ "pid": "x" })).contains("expected the number of a process"));
    assert!(client.refused("attach", json!({})).contains("no society runs here"));
    assert!(client.refused("frobnicate", json!({})).contains("needs a society"));
    client.ask("launch", json!({ "program": site.scratch.path().join("shop.mas2j") }));
    assert!(client.refused("frobnicate", json!({})).contains("there is no request `frobnicate`"));
    assert!(client.refused("launch", json!({})).contains("has a society already"));
    let set = client.set_lines("late.asl", &[1]);
    assert_eq!(set[0]["message"], "no agent of this society runs late.asl; its programs: amy.asl, bob.asl");
    client.ask("configurationDone", Value::Null);
    assert!(client.refused("stackTrace", json!({ "threadId": 99 })).contains("there is no thread 99"));
    assert!(client.refused("scopes", json!({ "frameId": 99 })).contains("frame 99 is gone"));
    assert!(client.refused("evaluate", json!({ "expression": "open" })).contains("which agent?"));
    assert!(
        client.refused("evaluate", json!({ "expression": "nobody: open" })).contains("there is no agent named nobody")
    );
    assert!(client.refused("evaluate", json!({ "expression": "bob: open(" })).contains("is no formula"));
    // A program that comes later has its breakpoints then.
    client.printed("[bob] open");
    site.out(&["create", "carl", &site.scratch.path().join("late.asl").to_string_lossy()]);
    assert_eq!(client.leave(), Some(0));
}

#[test]
fn society_ends_with_its_client() {
    let site = shop();
    let (mut client, _) = DapClient::launch(&site, &[4], &[]);
    client.event("stopped");
    drop(client.input.take());
    assert_eq!(client.process.0.wait().unwrap().code(), Some(1));
    assert_eq!(runs(&site), 0);
    // A killed adapter takes the society with it, too.
    let (mut client, _) = DapClient::launch(&site, &[4], &[]);
    client.event("stopped");
    client.process.0.kill().unwrap();
    client.process.0.wait().unwrap();
    site.until(|| runs(&site) == 0);
}

#[test]
fn ended_society_is_told() {
    let site = shop();
    let (mut client, _) = DapClient::launch(&site, &[], &[]);
    client.printed("[bob] open");
    // The society may end before it answers.
    client.send("evaluate", &json!({ "expression": "bob: .stopMAS(0, 3)", "context": "repl" }));
    assert_eq!(client.event("exited")["exitCode"], 3);
    client.event("terminated");
    assert_eq!(client.leave(), Some(0));
    let (mut client, _) = DapClient::launch(&site, &[], &[]);
    client.ask("terminate", Value::Null);
    client.event("terminated");
    assert_eq!((client.leave(), runs(&site)), (Some(0), 0));
    // Some clients close the connection then, without a word.
    let (mut client, _) = DapClient::launch(&site, &[], &[]);
    client.ask("terminate", Value::Null);
    client.event("terminated");
    drop(client.input.take());
    assert_eq!(client.process.0.wait().unwrap().code(), Some(0));
}

#[test]
fn ended_agent_leaves_its_breakpoint() {
    let site = shop();
    let (mut client, _) = DapClient::launch(&site, &[4], &[]);
    let bob = client.event("stopped")["threadId"].as_i64().unwrap();
    site.out(&["kill", "bob"]);
    let exited = client.event_that(|event| event["event"] == "thread" && event["body"]["reason"] == "exited");
    assert_eq!(exited["body"]["threadId"], bob);
    assert!(client.refused("stackTrace", json!({ "threadId": bob })).contains("there is no agent named bob"));
    assert_eq!(client.leave(), Some(0));
}

#[test]
fn two_clients_share_a_society() {
    let site = shop();
    let running = site.start(&["run", "shop.mas2j"], 1);
    let attach = |lines: &[u32]| {
        let mut client = DapClient::start(&site);
        client.ask("attach", json!({ "pid": running.0.id() }));
        client.event("initialized");
        client.set_lines("bob.asl", lines);
        client.ask("configurationDone", Value::Null);
        client
    };
    let (mut first, mut second) = (attach(&[10]), attach(&[8]));
    site.out(&["achieve", "bob", "serve(ann)"]);
    let stopped = first.event("stopped");
    assert_eq!(second.event("stopped")["reason"], "breakpoint");
    first.ask("continue", json!({ "threadId": stopped["threadId"] }));
    // The other one's breakpoint counts, too, and both are told of the next pause.
    let is_next = |event: &Value| {
        event["event"] == "stopped" && event["body"]["description"].as_str().unwrap_or_default().contains("line 8 ")
    };
    let bob = second.event_that(is_next)["body"]["threadId"].as_i64().unwrap();
    assert_eq!(first.event_that(is_next)["body"]["threadId"], stopped["threadId"]);
    assert_eq!(first.stack(stopped["threadId"].as_i64().unwrap()).0[0], "+!serve(ann)[source(cli)] (p__2) 8");
    // When a client leaves, the breakpoints of the other stay.
    assert_eq!(first.leave(), Some(0));
    second.ask("continue", json!({ "threadId": bob }));
    second.printed("served ann");
    site.out(&["achieve", "bob", "serve(eve)"]);
    site.until(|| site.json(&["mind", "bob", "--json"])["paused"] == true);
    // Agents continue when the last client is gone, and the society stays.
    second.process.0.kill().unwrap();
    site.until(|| site.json(&["mind", "bob", "--json"])["paused"] == false);
    assert_eq!(runs(&site), 1);
}

#[test]
fn late_agents_pause_too() {
    let site = shop();
    let (mut client, _) = DapClient::launch(&site, &[], &[]);
    let set = client.set_lines("late.asl", &[3]);
    assert_eq!(set[0]["verified"], false);
    std::fs::write(site.scratch.path().join("second.asl"), "!go. +!go <- .create_agent(carl, \"late.asl\").").unwrap();
    site.out(&["load", "bob", &site.scratch.path().join("second.asl").to_string_lossy(), "--goals"]);
    let changed = client.event_that(|event| event["event"] == "breakpoint");
    assert_eq!(changed["body"]["breakpoint"]["verified"], true);
    client.evaluate("bob: .create_agent(dora, \"late.asl\")", None, "repl");
    let stopped = client.event("stopped");
    let number = stopped["threadId"].as_i64().unwrap();
    assert_eq!(client.thread("dora"), number);
    assert_eq!(client.leave(), Some(0));
}

#[test]
fn hundreds_of_agents_stay_usable() {
    let site = SocietyFolder::with(&[
        ("crowd.mas2j", "MAS crowd { agents: w #400; }"),
        ("w.asl", "!go.\n+!go : .my_name(w250)\n  <- .print(first);\n     .print(second).\n+!go."),
    ]);
    let mut client = DapClient::start(&site);
    client.ask("launch", json!({ "program": site.scratch.path().join("crowd.mas2j") }));
    client.set_lines("w.asl", &[3]);
    client.ask("configurationDone", Value::Null);
    let stopped = client.event("stopped");
    let threads = client.ask("threads", Value::Null)["threads"].as_array().unwrap().clone();
    assert_eq!((threads.len(), &threads[0]["name"], &threads[0]["id"]), (101, &json!("w250"), &stopped["threadId"]));
    client.ask("next", json!({ "threadId": stopped["threadId"] }));
    client.printed("[w250] first");
    client.event("stopped");
    // Any agent can be paused by its name.
    assert_eq!(client.evaluate("pause w400", None, "repl"), "w400 is paused");
    let other = client.event("stopped");
    assert_eq!(other["preserveFocusHint"], true);
    assert_eq!(client.leave(), Some(0));
}

#[test]
fn flood_of_output_delays_no_request() {
    let site = SocietyFolder::with(&[
        ("flood.mas2j", "MAS flood { agents: w #50; }"),
        ("w.asl", "!go.\n+!go\n  <- .print(line);\n     !go.\n"),
    ]);
    let mut client = DapClient::start(&site);
    client.ask("launch", json!({ "program": site.scratch.path().join("flood.mas2j") }));
    client.ask("configurationDone", Value::Null);
    client.printed("came too fast and are not shown");
    let w7 = client.thread("w7");
    client.ask("pause", json!({ "threadId": w7 }));
    client.event_that(|event| event["event"] == "stopped" && event["body"]["threadId"] == w7);
    assert!(client.events.len() < 5_000, "{}", client.events.len());
    assert_eq!(client.leave(), Some(0));
}

#[test]
fn strange_input_ends_the_adapter() {
    let site = shop();
    let mut client = DapClient::start(&site);
    client.input.as_mut().unwrap().write_all(b"Content-Length: 2\r\n\r\n{{").unwrap();
    assert_eq!(client.process.0.wait().unwrap().code(), Some(1));
    let mut client = DapClient::start(&site);
    client.input.as_mut().unwrap().write_all(b"Content-Length: 2\r\n\r\n[]").unwrap();
    client.printed("a message has no `type`");
    assert_eq!(client.leave(), Some(0));
}
