//! Scripts of `conformance/protocols`, replayed with dialogues on both sides; and random orders of messages.

use std::collections::{BTreeMap, HashMap, VecDeque};

use proptest::prelude::*;
use serde_json::Value as Json;
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Text, Value};
use whimbrel_platform::protocols::{Dialogue, Dialogues, MessageVerdict, ProtocolRole, Saying, protocols};
use whimbrel_testkit::script_fields::{is, names, text};

/// One script, while it is replayed.
struct ScriptReplay<'s> {
    script: &'s Json,
    protocol: &'s str,
    now_ms: u64,
    /// Dialogues of the players that behave.
    players: BTreeMap<&'s str, Dialogues>,
    /// Newest reply-with that a player got from another one in a conversation, and the newest reply-by.
    quotes: HashMap<(Aid, Aid, Text), Text>,
    reply_by: HashMap<(Aid, Aid), u64>,
    /// Automatic answers that were not sent yet.
    answers: VecDeque<AclMessage>,
    held: VecDeque<AclMessage>,
}

fn performative(name: &str) -> Performative {
    Performative::named(Symbol::new(name))
}

impl<'s> ScriptReplay<'s> {
    fn new(script: &'s Json, protocol: &'s str) -> Self {
        let breaks: Vec<&str> = names(script, "breaks").collect();
        let players = script["players"].as_object().unwrap().keys().map(String::as_str);
        let behaving = players.filter(|player| !breaks.contains(player));
        let dialogues = |player: &'s str| (player, Dialogues::new(Aid::local(player), Symbol::new("here")));
        Self {
            script,
            protocol,
            now_ms: 1_000_000,
            players: behaving.map(dialogues).collect(),
            quotes: HashMap::new(),
            reply_by: HashMap::new(),
            answers: VecDeque::new(),
            held: VecDeque::new(),
        }
    }

    fn run(mut self) {
        for step in self.script["steps"].as_array().unwrap() {
            if let Some(player) = text(step, "deadline") {
                let other = Aid::local(text(step, "with").unwrap());
                let dialogue = self.players[player].find("c", other).unwrap();
                self.now_ms = dialogue.poll_timeout().expect("a deadline");
                let late = self.players.get_mut(player).unwrap().handle_timeout(self.now_ms);
                assert!(late.contains(&(Text::from("c"), other)), "{step}");
            } else if let Some(player) = text(step, "take") {
                let from = Aid::local(text(step, "from").unwrap());
                let place = self.held.iter().position(|held| held.sender == from).unwrap();
                let message = self.held.remove(place).unwrap();
                self.deliver(player, message, step);
            } else {
                self.say(step);
            }
        }
        assert!(self.answers.is_empty(), "not in the script: {:?}", self.answers);
        for (player, ends) in self.script["ends"].as_object().unwrap() {
            for (other, end) in ends.as_object().unwrap() {
                let dialogue = self.players[player.as_str()].find("c", Aid::local(other.as_str())).unwrap();
                assert_eq!(Some(dialogue.state()), end.as_str(), "{player} with {other}");
            }
        }
    }

    fn say(&mut self, step: &Json) {
        let by = text(step, "by").unwrap();
        for to in names(step, "to") {
            let message = match is(step, "auto") {
                true => self.automatic(by, to, step),
                false => self.message(by, to, step),
            };
            self.note(&message, Aid::local(to));
            match is(step, "held") {
                true => self.held.push_back(message),
                false => self.deliver(to, message, step),
            }
        }
    }

    fn automatic(&mut self, by: &str, to: &str, step: &Json) -> AclMessage {
        let message = self.answers.pop_front().unwrap_or_else(|| panic!("no automatic answer: {step}"));
        assert_eq!((message.sender, message.receivers[0]), (Aid::local(by), Aid::local(to)), "{step}");
        assert_eq!(message.performative, performative(text(step, "say").unwrap()), "{step}");
        if let Some(content) = text(step, "content") {
            assert_eq!(message.content, Value::from(content), "{step}");
        }
        message
    }

    fn message(&mut self, by: &str, to: &str, step: &Json) -> AclMessage {
        let (from, to) = (Aid::local(by), Aid::local(to));
        if is(step, "late") {
            self.now_ms = self.now_ms.max(self.reply_by[&(from, to)]);
        }
        let conversation =
            Text::from(text(step, "conversation").map_or("c".to_owned(), |suffix| format!("c.{suffix}")));
        let mut message = AclMessage::new(performative(text(step, "say").unwrap()), from, to, Value::Null)
            .with_protocol(self.protocol)
            .in_conversation(conversation.clone());
        let extras = message.extras_mut();
        extras.reply_with = text(step, "id").map(Text::from);
        extras.in_reply_to = match step.get("quotes") {
            Some(quotes) => quotes.as_str().map(Text::from),
            None => self.quotes.get(&(from, to, conversation)).cloned(),
        };
        extras.reply_by_ms = step.get("reply_by").and_then(Json::as_u64).map(|ms| self.now_ms + ms);
        if let Some(player) = self.players.get_mut(by) {
            player.say(&message, self.now_ms).unwrap_or_else(|error| panic!("{step}: {error}"));
        }
        message
    }

    /// Notes what the receiver may quote and has to keep.
    fn note(&mut self, message: &AclMessage, to: Aid) {
        let extras = message.extras();
        if let Some(id) = &extras.reply_with {
            let conversation = extras.conversation_id.clone().unwrap();
            self.quotes.insert((to, message.sender, conversation), id.clone());
        }
        if let Some(ms) = extras.reply_by_ms {
            self.reply_by.insert((to, message.sender), ms);
        }
    }

    fn deliver(&mut self, to: &str, message: AclMessage, step: &Json) {
        let Some(player) = self.players.get_mut(to) else { return };
        let judged = player.take(&message, self.now_ms).expect("a protocol's message");
        assert_eq!(judged.verdict.name(), text(step, "verdict").unwrap_or("ok"), "{to}: {step}");
        self.answers.extend(judged.answer);
    }
}

/// The crate has its own copies, because its package has nothing from outside its folder.
#[test]
fn data_equals_conformance() {
    let crate_folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let (own, shared) = (crate_folder.join("src/protocols/data"), crate_folder.join("../../conformance/protocols"));
    let mut count = 0;
    for file in std::fs::read_dir(&own).unwrap() {
        let name = file.unwrap().file_name();
        let read = |folder: &std::path::Path| std::fs::read_to_string(folder.join(&name)).unwrap();
        assert_eq!(read(&own), read(&shared), "copy {} from conformance/protocols", name.display());
        count += 1;
    }
    assert_eq!(count, protocols().len() + 1);
}

#[test]
fn scripts_have_same_verdicts() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/protocols/scripts");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file: Json = serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
        for script in file["scripts"].as_array().unwrap() {
            println!("{}", script["name"]);
            ScriptReplay::new(script, text(&file, "protocol").unwrap()).run();
            count += 1;
        }
    }
    assert!(count >= protocols().len() * 5, "{count} scripts");
}

proptest! {
    /// Whatever comes in whatever order, a dialogue ends once, and says what is allowed otherwise.
    #[test]
    fn random_orders_end_dialogues_once(
        protocol in 0..protocols().len(),
        inputs in prop::collection::vec((any::<prop::sample::Index>(), 0..4u8, prop::option::of(0..4u8), 0..50u64), 0..40),
    ) {
        let protocol = &protocols()[protocol];
        let said: Vec<&str> = protocol.moves.iter().flat_map(|rule| rule.say.iter().map(String::as_str)).collect();
        let mut dialogue = Dialogue::new(protocol, ProtocolRole::Initiator);
        let (mut end, mut now_ms) = (None, 0);
        for (number, (which, kind, quoted, ms)) in inputs.into_iter().enumerate() {
            now_ms += ms;
            let said = Saying {
                performative: performative(said[which.index(said.len())]),
                reply_with: Some(Text::from(number.to_string())),
                in_reply_to: quoted.map(|number| Text::from(number.to_string())),
                reply_by_ms: Some(now_ms + 20),
            };
            match kind {
                0 => drop(dialogue.say(&said, now_ms)),
                1 => drop(dialogue.handle_timeout(now_ms)),
                2 => drop(dialogue.take(ProtocolRole::Platform, &said, now_ms)),
                _ => {
                    let before = dialogue.state();
                    let verdict = dialogue.take(ProtocolRole::Participant, &said, now_ms);
                    let is_fitting = verdict == MessageVerdict::Ok;
                    prop_assert!(!is_fitting || dialogue.state() != before || before != "broken");
                }
            }
            prop_assert!(protocol.states.contains_key(dialogue.state()) || dialogue.is_over());
            if let Some(end) = end {
                prop_assert_eq!(dialogue.state(), end);
            }
            end = dialogue.is_over().then(|| dialogue.state());
        }
    }
}
