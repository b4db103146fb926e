//! Interaction protocols of Whimbrel's library: the scripts of `conformance/protocols`, and agents that include them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value as Json;
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Text, Value};
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig, load};
use whimbrel_platform::{AgentBody, Next, Turn};
use whimbrel_testkit::Simulation;
use whimbrel_testkit::script_fields::{is, names, text};

fn body(text: &str) -> Box<dyn AgentBody> {
    let loaded = load(text, &Text::from("test.asl"), &mut NoFiles);
    let (image, warnings) = loaded.unwrap_or_else(|e| panic!("{:#?}\n{text}", e.diagnostics));
    assert!(warnings.is_empty(), "{warnings:#?}");
    Box::new(Agent::new(AgentConfig::new(image)))
}

const CONFORMANCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/protocols");

// ---- Tables

fn atom(name: &str) -> String {
    name.replace('-', "_")
}

fn listed(items: &[String]) -> String {
    match items {
        [] => "[]".to_owned(),
        _ => format!("[\n      {}\n   ]", items.join(",\n      ")),
    }
}

/// Returns the table of a protocol as AgentSpeak.
fn table(protocol: &Json, file: &str) -> String {
    let text = |field: &str| protocol[field].as_str().unwrap();
    let mut moves = Vec::new();
    for rule in protocol["moves"].as_array().unwrap() {
        let (by, to) = (rule["by"].as_str().unwrap(), atom(rule["to"].as_str().unwrap()));
        for from in names(rule, "from") {
            moves.extend(names(rule, "say").map(|say| format!("move({}, {by}, {}, {to})", atom(from), atom(say))));
        }
    }
    let states = protocol["states"].as_object().unwrap();
    let deadlines = states.iter().filter_map(|(state, facts)| Some((state, facts.get("deadline")?)));
    let deadlines = deadlines.map(|(state, deadline)| {
        let late = deadline.get("late").and_then(Json::as_object).into_iter().flatten();
        let late = late.map(|(say, answer)| format!("late({}, {})", atom(say), atom(answer.as_str().unwrap())));
        let late = late.collect::<Vec<_>>().join(", ");
        format!("deadline({}, {}, [{late}])", atom(state), atom(deadline["to"].as_str().unwrap()))
    });
    let ends = protocol["ends"].as_object().unwrap().keys().map(|end| atom(end)).collect::<Vec<_>>();
    format!(
        "// {} ({}): who may say what next. Made from conformance/protocols/{file}: edit that.\n\n\
         conversation::protocol(\n   \"{}\",\n   {},\n   {},\n   [{}]\n).\n",
        text("title"),
        text("document"),
        text("name"),
        listed(&moves),
        listed(&deadlines.collect::<Vec<_>>()),
        ends.join(", ")
    )
}

#[test]
fn tables_are_those_of_the_data() {
    let mut count = 0;
    for entry in std::fs::read_dir(CONFORMANCE).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let others = ["exceptions", "languages"];
        let Some(name) = file.strip_suffix(".json").filter(|name| !others.contains(name)) else { continue };
        let protocol = serde_json::from_slice(&std::fs::read(format!("{CONFORMANCE}/{file}")).unwrap()).unwrap();
        let (_, found) = whimbrel_bdi::load_library(&format!("$whimbrel/tables/{}.asl", atom(name))).unwrap();
        assert_eq!(found.text, table(&protocol, &file));
        count += 1;
    }
    let tables = whimbrel_bdi::library_names().filter(|name| name.contains("/tables/")).count();
    assert_eq!(tables, count);
}

// ---- Scripts

/// Program that plays a script: it says what it is told to say, and prints verdicts.
fn player() -> String {
    let tables = whimbrel_bdi::library_names().filter(|name| name.contains("/tables/"));
    let includes = tables.map(|name| format!("{{ include(\"{name}\") }}\n")).collect::<String>();
    format!(
        "{{ include(\"$whimbrel/conversation.asl\") }}\n{includes}
        +!say(C, To, Protocol, Performative, Content, Parameters)
           : not conversation::state(C, To, _)
           <- !conversation::begin(C, To, Protocol);
              !conversation::say(C, To, Performative, Content, Parameters).
        +!say(C, To, _, Performative, Content, Parameters)
           <- !conversation::say(C, To, Performative, Content, Parameters).
        -!say(_, _, _, _, _, _)[error_msg(Why)] <- .print(\"error: \", Why).
        +!report(C, Other) : conversation::state(C, Other, State) <- .print(Other, \" \", State).
        +!report(C, Other) <- .print(Other, \" none\").
        +conversation::judged(C, From, Performative, Verdict) <- .print(Verdict)."
    )
}

/// Agent that keeps what it gets.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<AclMessage>>>);

impl AgentBody for Sink {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        while let Some(message) = turn.mailbox.take() {
            self.0.lock().unwrap().push(*message.into_message());
        }
        Next::Wait
    }
}

/// One player of a script, with the messages of all others.
struct PlayerReplay<'s> {
    script: &'s Json,
    protocol: &'s str,
    player: &'s str,
    simulation: Simulation,
    sink: Sink,
    quotes: HashMap<(String, String, String), String>,
    reply_by: HashMap<(String, String), u64>,
    held: Vec<AclMessage>,
}

impl<'s> PlayerReplay<'s> {
    fn new(script: &'s Json, protocol: &'s str, player: &'s str, program: &str) -> Self {
        let (mut simulation, sink) = (Simulation::new(7), Sink::default());
        simulation.spawn(player, body(program));
        for other in script["players"].as_object().unwrap().keys().filter(|other| *other != player) {
            simulation.spawn(other, Box::new(sink.clone()));
        }
        simulation.run_for(1);
        let (quotes, reply_by, held) = (HashMap::new(), HashMap::new(), Vec::new());
        Self { script, protocol, player, simulation, sink, quotes, reply_by, held }
    }

    fn run(mut self) {
        for step in self.script["steps"].as_array().unwrap() {
            self.step(step);
            self.simulation.run_for(2);
        }
        let ends = self.script["ends"][self.player].as_object().unwrap();
        for (other, end) in ends {
            let report = Value::term("report", [Value::from("c"), Value::atom(other.as_str())]);
            self.command(report);
            let expected = format!("[{}] {other} {}", self.player, atom(end.as_str().unwrap()));
            assert_eq!(self.simulation.output().last(), Some(&expected), "{:?}", self.simulation.output());
        }
        assert!(self.sink.0.lock().unwrap().is_empty(), "not in the script: {:?}", self.sink.0);
        assert_eq!(self.simulation.log(), Vec::<String>::new());
    }

    fn command(&mut self, goal: Value) {
        let to = Aid::local(self.player);
        self.simulation.send(AclMessage::new(Performative::Request, Aid::local("script"), to, goal));
        self.simulation.run_for(2);
    }

    fn step(&mut self, step: &Json) {
        if let Some(player) = text(step, "deadline") {
            if player == self.player {
                self.simulation.run_for(2_500);
            }
        } else if let Some(player) = text(step, "take") {
            let from = Aid::local(text(step, "from").unwrap());
            if let Some(place) = self.held.iter().position(|held| held.sender == from).filter(|_| player == self.player)
            {
                let message = self.held.remove(place);
                self.deliver(message, step);
            }
        } else {
            for to in names(step, "to") {
                self.say(text(step, "by").unwrap(), to, step);
            }
        }
    }

    fn now_ms(&self) -> u64 {
        self.simulation.services().wall_clock_ms()
    }

    fn say(&mut self, by: &str, to: &str, step: &Json) {
        let conversation = text(step, "conversation").map_or("c".to_owned(), |suffix| format!("c.{suffix}"));
        if is(step, "late")
            && let Some(due) = self.reply_by.get(&(by.to_owned(), to.to_owned()))
        {
            let ms = due.saturating_sub(self.now_ms());
            self.simulation.run_for(ms);
        }
        let message = self.message(by, to, &conversation, step);
        let extras = message.extras();
        if let Some(id) = &extras.reply_with {
            self.quotes.insert((to.to_owned(), by.to_owned(), conversation), id.to_string());
        }
        if let Some(ms) = extras.reply_by_ms {
            self.reply_by.insert((to.to_owned(), by.to_owned()), ms);
        }
        if by == self.player {
            self.own(&message, step);
        } else if to == self.player {
            match is(step, "held") {
                true => self.held.push(message),
                false => self.deliver(message, step),
            }
        }
    }

    /// Returns the message of a step.
    fn message(&self, by: &str, to: &str, conversation: &str, step: &Json) -> AclMessage {
        let content = match step.get("content") {
            Some(Json::String(text)) => Value::from(text.as_str()),
            Some(Json::Number(number)) => Value::Num(number.as_f64().unwrap()),
            _ => Value::atom("null"),
        };
        let performative = Performative::named(Symbol::new(text(step, "say").unwrap()));
        let mut message = AclMessage::new(performative, Aid::local(by), Aid::local(to), content)
            .in_conversation(conversation)
            .with_protocol(self.protocol);
        let quotes = match step.get("quotes") {
            Some(quotes) => quotes.as_str(),
            None => self.quotes.get(&(by.to_owned(), to.to_owned(), conversation.to_owned())).map(String::as_str),
        };
        let extras = message.extras_mut();
        extras.reply_with = text(step, "id").map(Text::from);
        extras.in_reply_to = quotes.map(Text::from);
        extras.reply_by_ms = step.get("reply_by").and_then(Json::as_u64).map(|ms| self.now_ms() + ms);
        message
    }

    /// Has the player say something, unless its library does so by itself, and checks what it sends.
    fn own(&mut self, expected: &AclMessage, step: &Json) {
        let extras = expected.extras();
        let conversation = extras.conversation_id.clone().unwrap();
        if !is(step, "auto") {
            let said = |name: &str, text: &Text| Value::term(name, [Value::Str(text.clone())]);
            let quotes = extras.in_reply_to.as_ref().filter(|_| step.get("quotes").is_some());
            let reply_by = extras.reply_by_ms.map(|ms| Value::term("reply_by", [Value::Num(ms as f64)]));
            let asks = extras.reply_with.as_ref().map(|id| said("reply_with", id));
            let parameters = [asks, reply_by, quotes.map(|id| said("in_reply_to", id))].into_iter().flatten();
            let terms = [
                Value::Str(conversation.clone()),
                Value::Atom(expected.receivers[0].name),
                Value::from(self.protocol),
                Value::atom(atom(expected.performative.as_str()).as_str()),
                expected.content.clone(),
                Value::list(parameters.collect::<Vec<_>>()),
            ];
            self.command(Value::term("say", terms));
        }
        let mut heard = self.sink.0.lock().unwrap();
        assert!(!heard.is_empty(), "{step}: {:?}", self.simulation.output());
        let message = heard.remove(0);
        let found = message.extras();
        assert_eq!((message.performative, &message.receivers), (expected.performative, &expected.receivers), "{step}");
        assert_eq!((&found.conversation_id, found.protocol), (&Some(conversation), extras.protocol), "{step}");
        if !is(step, "auto") {
            assert_eq!(found.in_reply_to, extras.in_reply_to, "{step}");
        } else if step.get("content").is_some() {
            assert_eq!(message.content, expected.content, "{step}");
        }
    }

    fn deliver(&mut self, message: AclMessage, step: &Json) {
        self.simulation.send(message);
        self.simulation.run_for(2);
        let verdict = text(step, "verdict").unwrap_or("ok");
        let expected = format!("[{}] {verdict}", self.player);
        assert_eq!(self.simulation.output().last(), Some(&expected), "{step}: {:?}", self.simulation.output());
    }
}

#[test]
fn scripts_have_same_verdicts() {
    let program = player();
    for entry in std::fs::read_dir(format!("{CONFORMANCE}/scripts")).unwrap() {
        let file: Json = serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
        for script in file["scripts"].as_array().unwrap() {
            let breaks: Vec<&str> = names(script, "breaks").collect();
            for player in script["players"].as_object().unwrap().keys().filter(|it| !breaks.contains(&it.as_str())) {
                println!("{} as {player}", script["name"]);
                PlayerReplay::new(script, text(&file, "protocol").unwrap(), player, &program).run();
            }
        }
    }
}

// ---- Agents

/// Runs agents for twenty simulated seconds, and returns what they print, sorted.
fn society(agents: &[(&str, &str)]) -> Vec<String> {
    let mut simulation = Simulation::new(3);
    for (name, text) in agents {
        simulation.spawn(name, body(text));
    }
    simulation.run_for(20_000);
    assert_eq!(simulation.log(), Vec::<String>::new());
    let mut output = simulation.output();
    output.sort();
    output
}

/// Returns a program with includes of these files.
fn program(includes: &[&str], text: &str) -> String {
    let includes = includes.iter().map(|name| format!("{{ include(\"$whimbrel/{name}.asl\") }}\n"));
    includes.collect::<String>() + text
}

#[test]
fn request_is_performed_refused_or_failed() {
    let asker = program(
        &["request"],
        r#"!go. +!go <- !try(paint); !try(fly); !try(spill); !try(sleep); !try(nothing).
           +!try(X) <- !request(bob, X, 500, R); .print(X, " ", R).
           -!try(nothing)[error(E)] <- .print("nothing ", E).
           -!try(X)[error(E), error_msg(R)] <- .print(X, " ", E, " ", R)."#,
    );
    let bob = program(
        &["request"],
        r#"+!agree_to(X) : X \== fly. -!agree_to(fly) <- .fail_with(refuse, no_wings).
           +!perform(paint, painted)[source(ada)].
           +!perform(spill, _) <- .fail_with(oops, spilt).
           +!perform(sleep, _) <- .wait(5000)."#,
    );
    let expected = [
        "[ada] fly refused no_wings",
        "[ada] nothing failed",
        "[ada] paint painted",
        "[ada] sleep silent bob did not answer in time",
        "[ada] spill failed spilt",
    ];
    assert_eq!(society(&[("ada", &asker), ("bob", &bob)]), expected);
}

#[test]
fn contract_net_goes_to_least_offer() {
    let initiator = program(
        &["contract_net"],
        "!go. +!go <- !contract_net(fence, [ada, bruno, chloe, nobody], 500, Outcomes); .print(Outcomes).",
    );
    let bidder = program(
        &["contract_net"],
        r#"+!propose_for(Task, Price)[source(A)] : price(Task, Price) <- .print("for ", A).
           +!perform(Task, built(Task)).
           +!rejected(Task, Price) <- .print("not for ", Price).
        "#,
    );
    let ada = format!("{bidder} price(fence, 40).");
    let bruno = format!("{bidder} price(fence, 35).");
    let printed = society(&[("ada", &ada), ("bruno", &bruno), ("chloe", &bidder), ("ivan", &initiator)]);
    let expected = ["[ada] for ivan", "[ada] not for 40", "[bruno] for ivan", "[ivan] [done(bruno,35,built(fence))]"];
    assert_eq!(printed, expected);
}

#[test]
fn query_is_answered_from_beliefs() {
    let asker = program(
        &["query"],
        r#"!go. +!go <- !query_if(bob, raining, 500, A); !query_if(bob, snowing, 500, B); .print(A, " ", B);
           !query_ref(bob, price(tea, _), 500, price(tea, P)); .print(P); !query_ref(bob, price(gold, _), 500, _).
           -!go[error(E)] <- .print(E)."#,
    );
    let bob = program(&["query"], "raining. price(tea, 3).");
    let expected = ["[ada] 3", "[ada] failed", "[ada] true false"];
    assert_eq!(society(&[("ada", &asker), ("bob", &bob)]), expected);
}

#[test]
fn request_when_waits_for_its_condition() {
    let asker =
        program(&["request_when"], r#"!go. +!go <- !request_when(bob, water(roses), dry(roses), 500, R); .print(R)."#);
    let bob = program(
        &["request_when"],
        r#"!go. +!go <- .wait(3000); .print("dry now"); +dry(roses). +!perform(water(X), wet(X)) <- .print("watering")."#,
    );
    let expected = ["[ada] wet(roses)", "[bob] dry now", "[bob] watering"];
    assert_eq!(society(&[("ada", &asker), ("bob", &bob)]), expected);
}

#[test]
fn proposal_is_accepted_or_rejected() {
    let asker = program(
        &["propose"],
        r#"!go. +!go <- !propose(bob, tea, 500, A); !propose(bob, rum, 500, B); .print(A, " ", B)."#,
    );
    let bob = program(&["propose"], r#"+!accept(tea). +!accept(rum) <- .fail_with(no, "not before noon")."#);
    let expected = ["[ada] accepted(tea) rejected(\"not before noon\")"];
    assert_eq!(society(&[("ada", &asker), ("bob", &bob)]), expected);
}

#[test]
fn subscription_gets_news_until_cancelled() {
    let reader = program(
        &["subscribe"],
        r#"!go. +!go <- !subscribe(press, sport, 500, S); .wait(1250); !unsubscribe(S); .print("enough");
           !subscribe(press, gossip, 500, _).
           -!go[error(E), error_msg(R)] <- .print(E, " ", R).
           +!told(T, N)[source(A)] <- .print(A, " ", T, " ", N)."#,
    );
    let press = program(
        &["subscribe"],
        r#"!go(1). +!go(N) : N < 5 <- .wait(500); !announce(sport, N mod 2); !go(N + 1). +!go(_).
           +!agree_to(sport). +!agree_to(gossip) <- .fail_with(refuse, "never")."#,
    );
    let expected = ["[ada] enough", "[ada] press sport 0", "[ada] press sport 1", "[ada] refused never"];
    assert_eq!(society(&[("ada", &reader), ("press", &press)]), expected);
}

#[test]
fn iterated_contract_net_improves_offers() {
    let initiator = program(
        &["iterated_contract_net"],
        "!go. +!go <- !iterated_contract_net(fence, [bruno, chloe], 500, Outcomes); .print(Outcomes).",
    );
    let bidder = program(
        &["iterated_contract_net"],
        r#"+!propose_for(fence, P) : price(P) <- -+price(P - 10). +!perform(fence, built)."#,
    );
    let (bruno, chloe) = (format!("{bidder} price(50)."), format!("{bidder} price(45)."));
    let expected = ["[ivan] [done(chloe,35,built)]"];
    assert_eq!(society(&[("ivan", &initiator), ("bruno", &bruno), ("chloe", &chloe)]), expected);
}

#[test]
fn broker_returns_answers_of_others() {
    let asker = program(&["brokering"], "!go. +!go <- .wait(100); !broker(bob, shop, price(tea), 500, A); .print(A).");
    let bob = program(&["brokering"], "");
    let shop = program(&["request"], "!go. +!go <- .df_register(shop). +!perform(price(tea), P) : price(P).");
    let chloe = format!("{shop} price(3).");
    let expected = ["[ada] [answer(chloe,3)]"];
    assert_eq!(society(&[("ada", &asker), ("bob", &bob), ("chloe", &chloe), ("dan", &shop)]), expected);
}

#[test]
fn cancelled_broker_says_no_more() {
    let asker =
        program(&["brokering"], r#"!go. +!go <- !broker(bob, shop, price(tea), 300, _). -!go[error(E)] <- .print(E)."#);
    let bob = program(&["brokering"], r#"+!find_agents("shop", [chloe])."#);
    let chloe = program(&["request"], "+!perform(price(tea), 3) <- .wait(1000).");
    assert_eq!(society(&[("ada", &asker), ("bob", &bob), ("chloe", &chloe)]), ["[ada] silent"]);
}

#[test]
fn recruited_agents_answer_themselves() {
    let asker = program(
        &["recruiting"],
        r#"!go. +!go <- !recruit(bob, shop, price(tea), 500, A); .print(A); !recruit(bob, bank, money, 500, _).
           -!go[error(E), error_msg(R)] <- .print(E, " ", R)."#,
    );
    let bob = program(&["recruiting"], r#"+!find_agents("shop", [chloe]). +!find_agents("bank", [])."#);
    let chloe = program(&["request"], "+!perform(price(tea), 3).");
    let expected = ["[ada] [answer(chloe,3)]", "[ada] failed no agent offers bank"];
    assert_eq!(society(&[("ada", &asker), ("bob", &bob), ("chloe", &chloe)]), expected);
}

/// Runs an auction of sally's, with bidders who pay at most 22 and 31. Returns what all print.
fn auction(file: &str, goal: &str) -> Vec<String> {
    let seller = program(&[file], &format!("!go. +!go <- !{goal}; .print(Outcome)."));
    let bidder = |most: u32| {
        let plans = r#"+!bid_for(_, P) : most(M) & P <= M.
           +!won(G, P) <- .print("won for ", P). +!lost(G) <- .print("lost")."#;
        program(&[file], &format!("{plans} most({most})."))
    };
    society(&[("sally", &seller), ("bruno", &bidder(22)), ("chloe", &bidder(31))])
}

#[test]
fn english_auction_goes_to_highest_bid() {
    let printed = auction("auction_english", "english_auction(vase, [bruno, chloe], auction(10, 5, 300), Outcome)");
    assert_eq!(printed, ["[bruno] lost", "[chloe] won for 25", "[sally] sold(chloe,25)"]);
}

#[test]
fn dutch_auction_goes_to_first_bid() {
    let printed = auction("auction_dutch", "dutch_auction(tulips, [bruno, chloe], auction(50, 10, 5, 300), Outcome)");
    assert_eq!(printed, ["[bruno] lost", "[chloe] won for 30", "[sally] sold(chloe,30)"]);
}

#[test]
fn auctioneer_takes_bid_that_came_first() {
    for (file, price) in [("auction_english", "auction(10, 50, 300)"), ("auction_dutch", "auction(10, 10, 5, 300)")] {
        let goal =
            file.split_once('_').map(|(_, kind)| format!("{kind}_auction(vase, [bruno, chloe], {price}, Outcome)"));
        let seller = program(&[file], &format!("!go. +!go <- !{}; .print(Outcome).", goal.unwrap()));
        let slow = program(&[file], "+!bid_for(_, 10) <- .wait(100).");
        let quick = program(&[file], r#"+!bid_for(_, 10). +!won(_, P) <- .print("won for ", P)."#);
        let expected = ["[chloe] won for 10", "[sally] sold(chloe,10)"];
        assert_eq!(society(&[("sally", &seller), ("bruno", &slow), ("chloe", &quick)]), expected, "{file}");
    }
}

// ---- Agents in other languages

/// Builds a map as other languages send it.
fn record(entries: &[(&str, Value)]) -> Value {
    Value::map(entries.iter().map(|(key, value)| (Value::from(*key), value.clone())))
}

/// One agent with this program; all that it sends to `other` is kept.
struct Correspondence {
    simulation: Simulation,
    sink: Sink,
    protocol: &'static str,
}

impl Correspondence {
    fn new(protocol: &'static str, program: &str) -> Self {
        let (mut simulation, sink) = (Simulation::new(7), Sink::default());
        simulation.spawn("me", body(program));
        simulation.spawn("other", Box::new(sink.clone()));
        simulation.run_for(1);
        Self { simulation, sink, protocol }
    }

    /// Returns the performatives and contents of what the agent sends after a message of `other`.
    fn say(&mut self, performative: Performative, conversation: &str, content: Value) -> Vec<(Performative, Value)> {
        let message = AclMessage::new(performative, Aid::local("other"), Aid::local("me"), content);
        self.simulation.send(message.in_conversation(conversation).with_protocol(self.protocol));
        self.simulation.run_for(100);
        self.sent()
    }

    fn sent(&self) -> Vec<(Performative, Value)> {
        self.sink.0.lock().unwrap().drain(..).map(|message| (message.performative, message.content)).collect()
    }
}

#[test]
fn bidder_reads_and_sends_map_values() {
    let bidder = program(&["auction_dutch"], r#"+!bid_for("jug", P) : P <= 20. +!won(G, P) <- .print(G, " ", P)."#);
    let mut talk = Correspondence::new("fipa-auction-dutch", &bidder);
    let call = |price: i64| record(&[("goods", "jug".into()), ("price", Value::Int(price))]);
    assert_eq!(talk.say(Performative::Inform, "c", record(&[("goods", "jug".into())])), []);
    let refused = talk.say(Performative::Cfp, "c", call(30));
    assert_eq!(refused.iter().map(|said| said.0).collect::<Vec<_>>(), [Performative::Refuse]);
    let bid = (Performative::Propose, record(&[("price", Value::Num(20.0))]));
    assert_eq!(talk.say(Performative::Cfp, "c", call(20)), [bid]);
    talk.say(Performative::AcceptProposal, "c", call(20));
    assert_eq!(talk.simulation.output(), ["[me] jug 20"]);
}

#[test]
fn auctioneer_sends_map_values() {
    let seller = program(&["auction_english"], "!go. +!go <- !english_auction(jug, [other], auction(10, 5, 50), _).");
    let mut talk = Correspondence::new("fipa-auction-english", &seller);
    talk.simulation.run_for(200);
    let goods = || ("goods", Value::atom("jug"));
    let said = [
        (Performative::Inform, record(&[goods()])),
        (Performative::Cfp, record(&[goods(), ("price", Value::Num(10.0))])),
        (Performative::Inform, record(&[goods()])),
    ];
    assert_eq!(talk.sent(), said);
}

#[test]
fn broker_reads_and_sends_map_values() {
    let broker = program(&["brokering"], r#"+!find_agents("shop", [shop, nobody])."#);
    let mut talk = Correspondence::new("fipa-brokering", &broker);
    talk.simulation.spawn("shop", body(&program(&["request"], r#"+!perform("tea", 3)."#)));
    let proxy = record(&[
        ("service", "shop".into()),
        ("performative", "request".into()),
        ("content", "tea".into()),
        ("max", Value::Int(1)),
    ]);
    let answer = record(&[("agent", "shop".into()), ("content", Value::Num(3.0))]);
    let said = talk.say(Performative::Proxy, "c", proxy);
    let done = (Performative::Inform, Value::list(["shop".into()]));
    assert_eq!(said[1..], [done, (Performative::Inform, Value::list([answer]))], "{said:?}");
}

#[test]
fn publisher_keeps_newest_questions() {
    let press = program(
        &["subscribe"],
        r#"+!subscribed(sport, A) : conversation::subscriber(C, A, sport)
              <- for (.range(N, 1, 200)) {
                    .concat("r", N, Id);
                    !conversation::say(C, A, inform, N, [reply_with(Id)])
                 };
                 ?conversation::machine(C, A, _, _, _, _, Trail, [Newest|Older], _);
                 .print(.length(Trail), " ", 1 + .length(Older), " ", Newest)."#,
    );
    let mut talk = Correspondence::new("fipa-subscribe", &press);
    assert_eq!(talk.say(Performative::Subscribe, "c", Value::atom("sport")).len(), 201);
    assert_eq!(talk.simulation.output(), [r#"[me] 2 64 question("r200",active)"#]);
}

#[test]
fn late_offer_is_forgotten() {
    let bidder = program(
        &["contract_net"],
        "!count. +!count <- .wait(69000); .count(conversation::offered(_, _, _, _), N); .print(N).
         +!propose_for(fence, 3) <- .wait(200).",
    );
    let mut talk = Correspondence::new("fipa-contract-net", &bidder);
    let mut call = AclMessage::new(Performative::Cfp, Aid::local("other"), Aid::local("me"), Value::atom("fence"));
    call.extras_mut().reply_by_ms = Some(talk.simulation.services().wall_clock_ms() + 100);
    talk.simulation.send(call.in_conversation("c").with_protocol("fipa-contract-net"));
    talk.simulation.run_for(70_000);
    assert_eq!((talk.sent(), talk.simulation.output()), (vec![], vec!["[me] 0".to_owned()]));
}

#[test]
fn query_about_data_is_refused() {
    let mut talk = Correspondence::new("fipa-query", &program(&["query"], "raining. tea. +!agree_to(_)."));
    let questions = [Value::from("raining"), record(&[("tea", Value::Int(3))]), Value::list([]), Value::Null];
    for (number, question) in questions.into_iter().enumerate() {
        for (ask, name) in [(Performative::QueryIf, "if"), (Performative::QueryRef, "ref")] {
            let said = talk.say(ask, &format!("{name}{number}"), question.clone());
            let [(Performative::Refuse, Value::Str(why))] = &said[..] else { panic!("{ask} {question}: {said:?}") };
            assert!(why.ends_with(": ask for a literal, such as raining or price(tea, P)"), "{why}");
        }
    }
    let asked = talk.say(Performative::QueryIf, "c", Value::atom("raining"));
    assert_eq!(asked[1..], [(Performative::Inform, Value::Bool(true))], "{asked:?}");
}

#[test]
fn capital_names_are_agents() {
    let asker = program(
        &["brokering", "recruiting", "contract_net", "auction_english"],
        r#"!go. +!go <- !broker("Bob", shop, price(tea), 500, A); .print(A); !met(A);
              !recruit("Bob", shop, price(tea), 500, B); .print(B); !met(B);
              !contract_net(fence, ["Ada"], 500, C); .print(C);
              !english_auction(vase, ["Ada"], auction(10, 5, 300), sold(W, P)); .print(W, " ", P).
           +!met([answer(A, _)]) : .atom(A) <- .send(A, tell, thanks)."#,
    );
    let bob = program(&["brokering", "recruiting"], r#"+!find_agents("shop", ["Ada"])."#);
    let ada = program(
        &["request", "contract_net", "auction_english"],
        r#"+!perform(price(tea), 3). +!propose_for(fence, 7). +!perform(fence, built). +!bid_for(vase, 10).
           +thanks[source(A)] <- .print("from ", A)."#,
    );
    let expected = [
        "[Ada] from ivan",
        "[ivan] Ada 10",
        "[ivan] [answer(Ada,3)]",
        "[ivan] [answer(Ada,3)]",
        "[ivan] [done(Ada,7,built)]",
    ];
    assert_eq!(society(&[("ivan", &asker), ("Bob", &bob), ("Ada", &ada)]), expected);
}

#[test]
fn request_without_content_fits_no_plan() {
    let mut talk = Correspondence::new("fipa-request", &program(&["request"], "+!perform(paint, painted)."));
    let refused = (Performative::Refuse, "there is no plan for it".into());
    assert_eq!(talk.say(Performative::Request, "c", Value::Null), [refused]);
}

#[test]
fn request_when_of_other_form_is_performed() {
    let mut talk = Correspondence::new(
        "fipa-request-when",
        &program(&["request_when"], r#"+!perform("water, when it is dry", watered) <- .wait(50)."#),
    );
    let said = talk.say(Performative::RequestWhen, "c", "water, when it is dry".into());
    let expected =
        [(Performative::Agree, "water, when it is dry".into()), (Performative::Inform, Value::atom("watered"))];
    assert_eq!(said, expected);
}
