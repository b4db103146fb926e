//! Messages: KQML's performatives as Jason understands them, questions and answers, percepts, replies of the
//! environment.

use whimbrel_acl::value::TermConversion;
use whimbrel_acl::{AclMessage, Aid, Annot, Annots, Extras, Performative, Structure, Symbol, Text, Value, sym};
use whimbrel_platform::limits::TURN_STEPS_AFTER_SENDING;
use whimbrel_platform::services::LogLevel;

use super::Cycle;
use super::foreign_calls::is_foreign_answer;
use super::literals::{step_event, structure};
use super::taught_plans::{taught_label, taught_plan};
use crate::code::{TriggerKind, TriggerOp};
use crate::logic::{levels, nest_sources};
use crate::mind::{Event, Feedback, IntentionId, IntentionPlace, Resumption, WaitFor};
use crate::syntax::quote;

/// Prefix of the identifiers of questions that an intention waits for.
const WAITED_FOR: &str = "samid";

/// Kind of a message by the answer that it expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedAnswer {
    /// No answer is expected.
    No,
    /// The answer is an ordinary message.
    Open,
    /// An intention waits for the answer.
    WaitedFor,
}

impl Cycle<'_> {
    /// Takes in one message.
    pub(super) fn receive(&mut self, message: Box<AclMessage>) {
        if let Err(message) = self.take_request(message) {
            self.receive_no_request(message);
        }
    }

    /// Takes in a message that is no request, or needs the regular path.
    pub(super) fn receive_no_request(&mut self, message: Box<AclMessage>) {
        let foreign = message.content.has_foreign() && !matches!(message.content, Value::Null);
        let mut message = if foreign { self.in_terms(message) } else { message };
        if !levels::fits(&message.content) {
            levels::take();
            let most = levels::TERM_LEVELS_MAX;
            let text = format!("a message from {} nests more than {most} levels deep: it is ignored", message.sender);
            self.log(LogLevel::Warning, &text);
            return;
        }
        if let Some(why) = self.unwelcome(&message) {
            self.turn_down(&message, why);
            return;
        }
        if self.minion_ended(&message) {
            return;
        }
        let content = std::mem::take(&mut message.content);
        if message.extras.is_some() && self.is_answer(&message, &content) {
            return;
        }
        let performative = kqml_name(message.performative);
        let sender = self.agent_name(message.sender);
        let mut content = content;
        if !self.mind.handles_messages {
            match self.receive_plainly(sender, performative, content) {
                None => {
                    if message.extras.is_none() {
                        self.spares.keep_message(message);
                    }
                    return;
                }
                Some(unhandled) => content = unhandled,
            }
        }
        if performative == sym::PERCEPT {
            self.perceive(&content);
            return;
        }
        let id = message.extras().reply_with.clone().unwrap_or_else(|| self.message_id());
        let name = Value::Atom(name_for_plans(message.performative));
        let args = [Value::Atom(sender), name, content, Value::Str(id)];
        let mut literal = Structure::new(sym::KQML_RECEIVED, args.into_iter().collect());
        literal.set_annots(self.conversation_annots(message.extras()));
        let event = step_event(literal, TriggerKind::Achieve);
        self.add_event(event);
    }

    /// Returns the annotations of `kqml_received` for a message in a conversation. A message of Jason's kind, without a
    /// conversation and a protocol, has none.
    fn conversation_annots(&self, extras: &Extras) -> Annots {
        if extras.conversation_id.is_none() && extras.protocol.is_none() {
            return Annots::new();
        }
        let annot = |name: &str, value: Value| Annot::new(Value::term(name, [value]));
        let text = |name: &str, text: &Text| annot(name, Value::Str(text.clone()));
        let protocol = extras.protocol.map(|name| annot("protocol", Value::from(name.as_str())));
        let conversation = extras.conversation_id.as_ref().map(|id| text("conversation", id));
        let asks = extras.reply_with.as_ref().map(|id| text("reply_with", id));
        let answers = extras.in_reply_to.as_ref().map(|id| text("in_reply_to", id));
        let reply_by = extras.reply_by_ms.map(|ms| annot("reply_by", Value::Num(ms as f64)));
        let reply_to = extras.reply_to.first().map(|aid| annot("reply_to", Value::Atom(self.agent_name(*aid))));
        [conversation, protocol, asks, answers, reply_by, reply_to].into_iter().flatten().collect()
    }

    /// Converts a message's content to a term. A content that nests too deep stays as it is, and is refused for that.
    #[cold]
    fn in_terms(&self, mut message: Box<AclMessage>) -> Box<AclMessage> {
        if message.content.levels() <= levels::TERM_LEVELS_MAX {
            let content = std::mem::take(&mut message.content);
            message.content = self.admit(content, &message.sender);
        }
        message
    }

    /// Converts a value from outside to a term: AgentSpeak has one type of numbers, and nulls are unbound variables.
    pub fn admit(&self, value: Value, from: &dyn std::fmt::Display) -> Value {
        let mut conversion = TermConversion::default();
        let value = conversion.value(value);
        if let Some(integer) = conversion.rounded {
            let number = Value::Num(integer as f64);
            let text = format!(
                "{integer} from {from} is rounded to {number}: numbers are exact up to 2^53; send what is beyond as text"
            );
            self.log(LogLevel::Warning, &text);
        }
        value
    }

    /// Returns the reason for refusing a message: it would have the agent do what its sender has no right to.
    fn unwelcome(&self, message: &AclMessage) -> Option<&'static str> {
        let performative = kqml_name(message.performative);
        if message.content.items().any(is_internal) || is_internal(&message.content) {
            return Some("these plans are the platform's own");
        }
        // An awaited answer is a value, whatever its sender and performative: its use is the agent's own decision.
        let teaches = matches!(performative, sym::TELL_HOW | sym::UNTELL_HOW) && !self.awaits(message);
        if teaches && !self.services.may_teach(message.sender, self.aid) {
            return Some("the policy forbids to give it plans");
        }
        let (percept, environment) = (performative == sym::PERCEPT, self.mind.environment);
        (percept && environment.is_some_and(|aid| aid.name != message.sender.name))
            .then_some("percepts come from its environment")
    }

    fn turn_down(&mut self, message: &AclMessage, why: &str) {
        self.log(LogLevel::Warning, &format!("a message from {} is refused: {why}", message.sender));
        let answers = message.extras().reply_with.clone();
        self.send(message.sender, Symbol::new(Performative::Refuse.as_str()), Value::from(why), None, answers);
    }

    /// Takes beliefs, goals, events and plans without a plan for the message: they are there for the next message.
    /// Returns any other content.
    fn receive_plainly(&mut self, sender: Symbol, performative: Symbol, content: Value) -> Option<Value> {
        match performative {
            sym::TELL | sym::UNTELL if quote::is_rule(&content) => self.take_rule(content, performative),
            sym::TELL | sym::ACHIEVE | sym::SIGNAL if content.is_literal() => {
                self.receive_literal(sender, performative, content)
            }
            sym::UNTELL if content.is_literal() && content.is_ground() => self.take_back(sender, content),
            sym::TELL_HOW | sym::UNTELL_HOW => self.take_lesson(sender, performative, content),
            _ => Some(content),
        }
    }

    /// Removes the sender from the sources of a belief.
    fn take_back(&mut self, sender: Symbol, told: Value) -> Option<Value> {
        let literal = sourced(told, sender)?;
        let mut scratch = crate::logic::Bindings::default();
        if let Some(changed) = self.mind.beliefs.delete(&literal, &mut scratch, self.image) {
            self.add_event(Event::external(TriggerOp::Delete, TriggerKind::Belief, changed));
        }
        None
    }

    /// Takes plans that another agent teaches, or takes them back. Returns them if that fails: the library's plan
    /// reports why.
    fn take_lesson(&mut self, sender: Symbol, performative: Symbol, content: Value) -> Option<Value> {
        let lessons: Vec<&Value> = if content.is_list() { content.items().collect() } else { vec![&content] };
        let is_taken = match performative {
            sym::TELL_HOW => {
                let plans = lessons.iter().map(|plan| taught_plan(plan)).collect::<Option<Vec<_>>>();
                plans.is_some_and(|plans| self.learn(plans, sender))
            }
            _ => {
                let labels = lessons.iter().map(|plan| taught_label(plan)).collect::<Option<Vec<_>>>();
                let source = Value::term(sym::SOURCE, [Value::Atom(sender)]);
                for label in labels.iter().flatten() {
                    self.remove_plan_source(label, &source);
                }
                labels.is_some()
            }
        };
        (!is_taken).then_some(content)
    }

    /// Takes a belief, a goal or an event. Returns any other content.
    fn receive_literal(&mut self, sender: Symbol, performative: Symbol, content: Value) -> Option<Value> {
        let mut literal = sourced(content, sender)?;
        match performative {
            sym::ACHIEVE => {
                let event = step_event(literal, TriggerKind::Achieve);
                if self.mind.has_meta_plans {
                    self.tell_pending(&event);
                }
                self.add_event(event);
            }
            sym::TELL => {
                let event = step_event(literal, TriggerKind::Belief);
                if let Some(changed) = self.mind.beliefs.add(event.literal.clone(), false) {
                    self.add_event(Event { literal: changed, ..event });
                }
            }
            _ => {
                let mut annots = std::mem::take(&mut literal.annots);
                annots.push(Annot::new(Value::Atom(sym::SIGNAL)));
                literal.set_annots(annots);
                self.add_event(step_event(literal, TriggerKind::Belief));
            }
        }
        None
    }

    /// Takes a rule that an agent tells, which becomes one of the agent's own until it is untold. Returns any other
    /// content.
    fn take_rule(&mut self, told: Value, performative: Symbol) -> Option<Value> {
        match quote::unquote_rule(&told) {
            Ok(rule) if performative == sym::TELL => self.add_rule(&rule, false),
            Ok(_) => drop(self.remove_plan_value(&told)),
            Err(_) => return Some(told),
        }
        None
    }

    /// Returns the name by which the program knows an agent: the local name if it is on this platform.
    pub fn agent_name(&self, aid: Aid) -> Symbol {
        if aid == self.aid || (aid.name == self.aid.name && aid.platform == sym::EMPTY) {
            return sym::SELF;
        }
        if aid.platform == sym::EMPTY || aid.platform == self.services.platform() {
            return aid.name;
        }
        Symbol::new(&aid.to_string())
    }

    /// Returns the agent that a program means by a name.
    pub fn agent_named(&self, name: Symbol) -> Aid {
        if name == sym::SELF {
            return self.aid;
        }
        let text = name.as_str();
        if !text.contains('@') {
            return Aid::local(name);
        }
        text.parse().unwrap_or_else(|_| Aid::local(name))
    }

    fn message_id(&mut self) -> Text {
        self.mind.messages += 1;
        Text::from(format!("mid{}", self.mind.messages))
    }

    /// Returns an identifier for a question.
    pub fn question_id(&mut self, question: ExpectedAnswer) -> Option<Text> {
        match question {
            ExpectedAnswer::No => None,
            ExpectedAnswer::Open => Some(self.message_id()),
            ExpectedAnswer::WaitedFor => {
                self.mind.messages += 1;
                Some(Text::from(format!("{WAITED_FOR}{}", self.mind.messages)))
            }
        }
    }

    /// Sends a message: a question with this identifier, or an answer to one.
    pub fn send(&mut self, to: Aid, performative: Symbol, content: Value, id: Option<Text>, answers: Option<Text>) {
        let mut message = AclMessage::new(performative_named(performative), self.aid, to, content);
        if id.is_some() || answers.is_some() {
            let extras = message.extras_mut();
            extras.reply_with = id;
            extras.in_reply_to = answers;
        }
        self.post(Box::new(message));
    }

    /// Sends a message with these parameters.
    pub fn send_with(&mut self, to: Aid, performative: Symbol, content: Value, extras: Extras) {
        let mut message = AclMessage::new(performative_named(performative), self.aid, to, content);
        if extras != Extras::default() {
            message.extras = Some(Box::new(extras));
        }
        self.post(Box::new(message));
    }

    /// Sends a message.
    pub(super) fn post(&mut self, message: Box<AclMessage>) {
        message.receivers.iter().for_each(|receiver| self.note_sent_to(*receiver));
        self.outbox.send(message);
    }

    /// Notes that a message was sent: intentions continue only for some more cycles of this turn. A message to
    /// oneself arrives in the next cycle, as in Jason: the turn ends with this one.
    #[inline]
    pub(super) fn note_sent_to(&mut self, receiver: Aid) {
        self.left_after_sending = self.left_after_sending.min(TURN_STEPS_AFTER_SENDING);
        if receiver.name == self.aid.name {
            self.cycles_left = 0;
        }
    }

    /// Returns true if an intention waits for this answer.
    fn awaits(&self, message: &AclMessage) -> bool {
        let quoted = message.extras().in_reply_to.as_ref();
        quoted.is_some_and(|quoted| self.mind.intentions.iter().any(|it| waits_for_answer(&it.place, quoted)))
    }

    /// Notes the answer if the message answers a question that an intention waits for. Returns true if so.
    fn is_answer(&mut self, message: &AclMessage, content: &Value) -> bool {
        let Some(quoted) = &message.extras().in_reply_to else { return false };
        if is_foreign_answer(message) {
            self.foreign_answered(message.performative, quoted, content);
            return true;
        }
        if self.mind.environment == Some(message.sender) {
            self.environment_answered(message, quoted, content);
            return true;
        }
        let asked = self.mind.intentions.iter().find(|intention| waits_for_answer(&intention.place, quoted));
        let Some(id) = asked.map(|intention| intention.id) else {
            // An unexpected answer is ignored if it came late, and news if it was never awaited.
            return self.is_late_answer(quoted);
        };
        if let Some((asked, why)) = undelivered(message, content) {
            self.question_undelivered(id, asked, why);
            return true;
        }
        let answer = self.answer_value(message, content);
        self.note_answer(id, message.sender, answer);
        true
    }

    /// Handles a question that did not reach its receiver: the step fails, unless the question went to others as
    /// well.
    fn question_undelivered(&mut self, id: IntentionId, asked: Symbol, why: Symbol) {
        let Some(intention) = self.mind.intentions.find_mut(id) else { return };
        let IntentionPlace::Waiting(wait) = &mut intention.place else { return };
        let WaitFor::Answer { missing, answers, many, target, .. } = &mut wait.until else { return };
        missing.retain(|aid| aid.name != asked && aid.to_string() != asked.as_str());
        if !*many {
            let message = format!("the question to {asked} could not be delivered: {why}");
            let annots = super::failure::error_annots(why.as_str(), Value::from(message));
            self.wake(id, Resumption::Failed(annots, why.as_str().to_owned()));
        } else if missing.is_empty() {
            let (value, target) = (Value::list(std::mem::take(answers)), target.clone());
            self.give_answer(id, &target, &value);
        }
    }

    fn is_late_answer(&self, quoted: &Text) -> bool {
        quoted.starts_with(WAITED_FOR)
    }

    /// Returns the answer as the program sees it: `false` if there is none, otherwise with its source.
    fn answer_value(&self, message: &AclMessage, content: &Value) -> Value {
        if kqml_name(message.performative) == sym::UNTELL {
            return Value::Bool(false);
        }
        let sender = if message.sender.name == self.aid.name { self.aid.name } else { self.agent_name(message.sender) };
        if content.is_list() {
            let items = content.items().map(|item| with_source(item, sender));
            return Value::list(items.collect::<Vec<_>>());
        }
        with_source(content, sender)
    }

    fn note_answer(&mut self, id: IntentionId, from: Aid, answer: Value) {
        let Some(intention) = self.mind.intentions.find_mut(id) else { return };
        let IntentionPlace::Waiting(wait) = &mut intention.place else { return };
        let WaitFor::Answer { missing, answers, many, target, .. } = &mut wait.until else { return };
        missing.retain(|aid| aid.name != from.name);
        answers.push(answer);
        if !missing.is_empty() && *many {
            return;
        }
        let value = if *many { Value::list(std::mem::take(answers)) } else { answers.pop().unwrap_or_default() };
        let target = target.clone();
        self.give_answer(id, &target, &value);
    }

    /// Handles the end of an agent that was asked: `end` is the answer to those who wait for one.
    pub(super) fn answered_by_end(&mut self, asked: Aid, end: &Value) {
        let waits = |place: &IntentionPlace| match place {
            IntentionPlace::Waiting(wait) => {
                matches!(&wait.until, WaitFor::Answer { missing, .. } if missing.iter().any(|aid| aid.name == asked.name))
            }
            _ => false,
        };
        let waiting = self.mind.intentions.iter().filter(|intention| waits(&intention.place));
        let waiting: Vec<IntentionId> = waiting.map(|intention| intention.id).collect();
        waiting.into_iter().for_each(|id| self.note_answer(id, asked, end.clone()));
    }

    fn give_answer(&mut self, id: IntentionId, target: &Value, value: &Value) {
        let value = value.clone();
        let question = match self.mind.intentions.find(id).map(|intention| &intention.place) {
            Some(IntentionPlace::Waiting(wait)) => match &wait.until {
                WaitFor::Answer { id, .. } => id.clone(),
                _ => return,
            },
            _ => return,
        };
        self.take_up(Some(id));
        let mark = self.bindings.mark();
        let highest = crate::logic::variables(&value).iter().map(|var| var.slot + 1).max().unwrap_or(0);
        let base = self.bindings.extend(highest);
        let unified = self.bindings.unify(target, &crate::logic::Bindings::rename(&value, base));
        if !unified {
            self.bindings.undo(mark);
        }
        self.put_down(Some(id));
        if levels::noted() {
            self.wait_failed_for_excess(id);
        } else if unified {
            self.wake(id, Resumption::Answered(question));
        } else {
            let annots = super::failure::error_annots("ask_failed", Value::from("reply of the ask does not unify"));
            self.wake(id, Resumption::Failed(annots, "ask_failed".to_owned()));
        }
    }

    pub(super) fn answer_timed_out(&mut self, id: IntentionId) {
        let Some(intention) = self.mind.intentions.find_mut(id) else { return };
        let IntentionPlace::Waiting(wait) = &mut intention.place else { return };
        let WaitFor::Answer { answers, many, target, .. } = &mut wait.until else { return };
        let value = if *many { Value::list(std::mem::take(answers)) } else { Value::Atom(sym::TIMEOUT) };
        let target = target.clone();
        self.give_answer(id, &target, &value);
    }

    /// Sends an action to the environment, which is an agent: `request`, with the action as content.
    pub(super) fn send_action(&mut self, environment: Aid, serial: u64, action: Value) {
        let mut message = AclMessage::new(Performative::Request, self.aid, environment, action);
        let extras = message.extras_mut();
        extras.protocol = Some(sym::ENVIRONMENT);
        extras.reply_with = Some(Text::from(serial.to_string()));
        self.post(Box::new(message));
    }

    fn environment_answered(&mut self, message: &AclMessage, quoted: &Text, content: &Value) {
        let Ok(serial) = quoted.parse::<u64>() else { return };
        let is_awaited = |until: &WaitFor| matches!(*until, WaitFor::Action(s, _) if s == serial);
        let acted = self
            .mind
            .intentions
            .iter()
            .find(|intention| matches!(&intention.place, IntentionPlace::Waiting(wait) if is_awaited(&wait.until)));
        let Some(id) = acted.map(|intention| intention.id) else { return };
        let result = match message.performative {
            Performative::Inform | Performative::Agree => Ok(()),
            _ => Err(failure_annots(content)),
        };
        self.mind.feedback.push_back(Feedback { intention: id, result });
    }

    /// Handles the full set of percepts, or `percepts(Added, Removed)`.
    fn perceive(&mut self, content: &Value) {
        let (gone, came) = match (content.functor(), content.args()) {
            (Some(functor), [added, removed]) if functor == sym::PERCEPTS => self.change_percepts(added, removed),
            _ => {
                let percepts: Vec<Structure> = content.items().cloned().filter_map(structure).collect();
                self.mind.beliefs.perceive(&percepts, self.image)
            }
        };
        for literal in gone {
            self.add_event(Event::external(TriggerOp::Delete, TriggerKind::Belief, literal));
        }
        for literal in came {
            self.add_event(Event::external(TriggerOp::Add, TriggerKind::Belief, literal));
        }
    }

    fn change_percepts(&mut self, added: &Value, removed: &Value) -> (Vec<Structure>, Vec<Structure>) {
        let mut scratch = crate::logic::Bindings::default();
        let mut percept = |value: &Value| {
            let literal = structure(value.clone())?;
            Some(literal.with_annots(Annots::from_iter([Annot::Source(sym::PERCEPT)])))
        };
        let gone: Vec<Structure> = removed.items().filter_map(&mut percept).collect();
        let came: Vec<Structure> = added.items().filter_map(&mut percept).collect();
        let gone = gone.iter().filter_map(|p| self.mind.beliefs.delete(p, &mut scratch, self.image)).collect();
        let came = came.into_iter().filter_map(|p| self.mind.beliefs.add(p, false)).collect();
        (gone, came)
    }

    /// Logs that a message could not be delivered.
    pub fn undeliverable(&self, to: Aid, why: &str) {
        self.log(LogLevel::Warning, &format!("message to {to} was not delivered: {why}"));
    }
}

/// Reads the AMS's report that a message was not delivered: its receiver, and the reason. Answers to questions to the
/// AMS itself are left alone.
fn undelivered(message: &AclMessage, content: &Value) -> Option<(Symbol, Symbol)> {
    if message.performative != Performative::Failure || message.sender.name != sym::AMS {
        return None;
    }
    let word = content.items().find(|it| it.functor().is_some_and(|name| name.as_str() == "undelivered"))?;
    match word.args() {
        [Value::Atom(asked), Value::Atom(why)] => Some((*asked, *why)),
        _ => None,
    }
}

pub(super) fn waits_for_answer(place: &IntentionPlace, quoted: &Text) -> bool {
    match place {
        IntentionPlace::Waiting(wait) => matches!(&wait.until, WaitFor::Answer { id, .. } if id == quoted),
        _ => false,
    }
}

fn failure_annots(content: &Value) -> Vec<Value> {
    let text = match content {
        Value::Str(text) => text.to_string(),
        other => other.to_string(),
    };
    let message = Value::term(sym::ERROR_MSG, [Value::from(text)]);
    vec![message, Value::term(sym::FAILURE_REASON, [content.clone()])]
}

/// FIPA's performatives whose names are no atoms, with the atoms that plans use for them.
const HYPHENATED: [(Performative, &str); 9] = [
    (Performative::AcceptProposal, "accept_proposal"),
    (Performative::InformIf, "inform_if"),
    (Performative::InformRef, "inform_ref"),
    (Performative::NotUnderstood, "not_understood"),
    (Performative::QueryIf, "query_if"),
    (Performative::QueryRef, "query_ref"),
    (Performative::RejectProposal, "reject_proposal"),
    (Performative::RequestWhen, "request_when"),
    (Performative::RequestWhenever, "request_whenever"),
];

/// Returns the performative that a plan means by a name.
fn performative_named(name: Symbol) -> Performative {
    if matches!(name, sym::ACHIEVE | sym::TELL) {
        return Performative::Other(name);
    }
    match Performative::named(name) {
        Performative::Other(name) => {
            let fipa = HYPHENATED.iter().find(|(_, atom)| *atom == name.as_str());
            fipa.map_or(Performative::Other(name), |(performative, _)| *performative)
        }
        fipa => fipa,
    }
}

/// Returns the name that plans use for a performative: FIPA's own, as atoms; a plan of the library gives their
/// meaning in KQML.
fn name_for_plans(performative: Performative) -> Symbol {
    match performative {
        Performative::Other(name) => name,
        fipa => {
            let atom = HYPHENATED.iter().find(|(performative, _)| *performative == fipa);
            Symbol::new(atom.map_or(fipa.as_str(), |(_, atom)| atom))
        }
    }
}

/// Returns KQML's name of a performative, also for FIPA's with the same meaning to an AgentSpeak agent.
pub(super) fn kqml_name(performative: Performative) -> Symbol {
    match performative {
        Performative::Other(name) => name,
        Performative::Inform => sym::TELL,
        Performative::Request => sym::ACHIEVE,
        Performative::QueryRef | Performative::QueryIf => sym::ASK_ONE,
        Performative::Cancel => sym::UNACHIEVE,
        other => Symbol::new(other.as_str()),
    }
}

/// Returns true for content that only plans of the library use among themselves: journeys, and received messages,
/// which contain an unverified sender.
fn is_internal(content: &Value) -> bool {
    matches!(content, Value::Term(term) if is_internal_goal(term))
}

/// Returns true if a literal is such a goal.
pub(super) fn is_internal_goal(literal: &Structure) -> bool {
    literal.namespace == sym::WHIMBREL
        || matches!(literal.functor, sym::KQML_RECEIVED | sym::KQML_BELIEVE | sym::KQML_PURSUE)
}

/// Returns a literal as told by an agent, which becomes the source of its sources.
pub fn sourced(content: Value, sender: Symbol) -> Option<Structure> {
    let mut literal = structure(content)?;
    if literal.annots.is_empty() {
        literal.annots.push(Annot::Source(sender));
        return Some(literal);
    }
    let nested = nest_sources(&literal.annots, &Value::Atom(sender));
    literal.set_annots(nested);
    Some(literal)
}

fn with_source(value: &Value, sender: Symbol) -> Value {
    if crate::syntax::quote::is_code(value) {
        return value.clone();
    }
    sourced(value.clone(), sender).map_or_else(|| value.clone(), Structure::into_value)
}
