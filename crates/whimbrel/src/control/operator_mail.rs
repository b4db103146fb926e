//! Messages of operators: agents through which people and scripts send messages and wait for answers.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use whimbrel_acl::{AclMessage, Aid, Encoding, MessageBody, Performative, Symbol, Text};
use whimbrel_operator::{Answer, Reason, Refusal, Sending};
use whimbrel_platform::ams::AgentState;
use whimbrel_platform::inspection::ReportTo;
use whimbrel_platform::limits::MESSAGE_RECEIVERS_MAX;
use whimbrel_runtime::{Agent, Context, Platform};

/// Interval at which the node checks that the waiting client is still connected.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Sender if none is given.
const SENDER: &str = "cli";
/// Agent that gets reports of what operators have agents do. In a society of several nodes, each has one.
const REPORTED_TO: &str = "operator";

/// Agents of operators, by name. They stay as long as the node does.
#[derive(Default)]
pub struct OperatorMail {
    boxes: Mutex<FxHashMap<Symbol, Arc<Mailslot>>>,
}

/// Slot that waits for an answer.
#[derive(Default)]
struct Mailslot {
    expected: Mutex<Vec<Expected>>,
}

/// Message whose answer is awaited.
struct Expected {
    ticket: Text,
    conversation: Option<Text>,
    asked: Vec<Symbol>,
    answer: SyncSender<Box<AclMessage>>,
}

impl Expected {
    /// Returns true if a message answers: by `:in-reply-to`, by its conversation, or, without either, by its sender.
    fn fits(&self, message: &AclMessage) -> bool {
        let extras = message.extras();
        match (&extras.in_reply_to, &extras.conversation_id) {
            (Some(ticket), _) => *ticket == self.ticket,
            (None, Some(conversation)) => self.conversation.as_ref() == Some(conversation),
            (None, None) => self.asked.contains(&message.sender.name) || message.sender.name.as_str() == "ams",
        }
    }
}

/// Agent of an operator: gives answers to the waiting callers, and prints other messages.
struct MailClerk {
    mailslot: Arc<Mailslot>,
    /// True to drop other messages: reports for which nobody waits any more.
    drops_others: bool,
}

impl Agent for MailClerk {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        let mut expected = locked(&self.mailslot.expected);
        match expected.iter().position(|expected| expected.fits(&message)) {
            // The result of an `agree` is still to come (FIPA00026): the caller decides how long to wait.
            Some(index) if message.performative == Performative::Agree => {
                if let Some(expected) = expected.get(index) {
                    let _ = expected.answer.try_send(message.into_message());
                }
            }
            Some(index) => {
                let expected = expected.remove(index);
                let _ = expected.answer.try_send(message.into_message());
            }
            None if self.drops_others => {}
            None => {
                drop(expected);
                let AclMessage { performative, sender, content, .. } = &*message;
                ctx.print(&format!("{performative} from {sender}: {content}"));
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refuse(reason: Reason, text: impl Into<String>) -> Refusal {
    Refusal { reason, text: text.into(), node: None }
}

impl OperatorMail {
    /// Sends a message, and waits for its answer if requested. `nobody` reports that there is no such agent.
    pub fn send(
        &self,
        platform: &Platform,
        sending: Sending,
        nobody: impl Fn(&str) -> Refusal,
        gone: &dyn Fn() -> bool,
    ) -> Result<Answer, Refusal> {
        let mut message = read(&sending, platform.services().platform())?;
        let unknown = message.receivers.iter().find(|receiver| !platform.services().exists(**receiver));
        if let Some(receiver) = unknown {
            return Err(nobody(&receiver.to_string()));
        }
        let from = if message.sender == Aid::NOBODY { Symbol::new(SENDER) } else { message.sender.name };
        let letters = self.letters(platform, from, false)?;
        message.sender = Aid::local(from);
        let Some(wait_ms) = sending.wait_ms else {
            platform.send(message);
            return Ok(Answer::Sent { from: from.as_str().to_owned() });
        };
        let Some(letters) = letters else {
            let text = format!("{from} is an agent of the society: answers go to it, so do not wait for one here");
            return Err(refuse(Reason::BadRequest, text));
        };
        let wait = Duration::from_millis(wait_ms);
        let answer = letters.ask(platform, message, wait, gone)?;
        Ok(Answer::Reply { message: written(&answer)? })
    }

    /// Has an agent of this node begin something, and waits for its report. `node` is the name of this node, if there
    /// are others.
    pub fn await_report(
        &self,
        platform: &Platform,
        node: Option<&str>,
        begin: impl FnOnce(ReportTo) -> Result<(), Refusal>,
        at_most: Duration,
        gone: &dyn Fn() -> bool,
    ) -> Result<Box<AclMessage>, Refusal> {
        let name = Symbol::new(&node.map_or_else(|| REPORTED_TO.to_owned(), |node| format!("{REPORTED_TO}_{node}")));
        let taken = || refuse(Reason::BadState, format!("{name} is an agent of the society, and cannot get reports"));
        let letters = self.letters(platform, name, true)?.ok_or_else(taken)?;
        let ticket = Text::from(format!("report-{:016x}", platform.services().random()));
        let (answer, answers) = sync_channel(2);
        let expected = Expected { ticket: ticket.clone(), conversation: None, asked: Vec::new(), answer };
        locked(&letters.expected).push(expected);
        let begun = begin(ReportTo { who: Aid::local(name), ticket: ticket.clone() });
        let report = begun.map(|()| first_answer(&answers, at_most, gone));
        locked(&letters.expected).retain(|expected| expected.ticket != ticket);
        report?.ok_or_else(|| refuse(Reason::NoAnswer, format!("no outcome within {at_most:?}")))
    }

    /// Returns the mailbox of the agent of this name, created if it does not exist; `None` for an agent of the society.
    fn letters(&self, platform: &Platform, name: Symbol, drops_others: bool) -> Result<Option<Arc<Mailslot>>, Refusal> {
        let mut boxes = locked(&self.boxes);
        let exists = platform.services().exists(Aid::local(name));
        if let Some(letters) = boxes.get(&name).filter(|_| exists) {
            return Ok(Some(Arc::clone(letters)));
        }
        if exists {
            return Ok(None);
        }
        let letters = Arc::<Mailslot>::default();
        let clerk = MailClerk { mailslot: Arc::clone(&letters), drops_others };
        let spawned = platform.spawn_service(name, clerk);
        spawned.map_err(|error| refuse(Reason::BadRequest, error.to_string()))?;
        boxes.insert(name, Arc::clone(&letters));
        Ok(Some(letters))
    }
}

impl Mailslot {
    /// Sends a question and waits for its outcome. `agree` is the outcome only if nothing follows it in time.
    fn ask(
        &self,
        platform: &Platform,
        mut question: Box<AclMessage>,
        at_most: Duration,
        gone: &dyn Fn() -> bool,
    ) -> Result<Box<AclMessage>, Refusal> {
        let ticket = Text::from(format!("cli-{:016x}", platform.services().random()));
        let extras = question.extras_mut();
        let ticket = extras.reply_with.get_or_insert(ticket).clone();
        let conversation = extras.conversation_id.clone();
        let asked: Vec<Symbol> = question.receivers.iter().map(|receiver| receiver.name).collect();
        // An `agree`, and what follows.
        let (answer, answers) = sync_channel(2);
        let expected = Expected { ticket: ticket.clone(), conversation, asked: asked.clone(), answer };
        locked(&self.expected).push(expected);
        platform.send(question);
        let answer = first_answer(&answers, at_most, gone);
        locked(&self.expected).retain(|expected| expected.ticket != ticket);
        answer.ok_or_else(|| no_answer(platform, &asked, at_most))
    }
}

/// Says that there is no answer, and which of those asked cannot answer.
fn no_answer(platform: &Platform, asked: &[Symbol], at_most: Duration) -> Refusal {
    let state = |name: Symbol| platform.services().directory()?.with_ams(|ams| ams.state(Aid::local(name)))?;
    let is_suspended = |name: &&Symbol| state(**name) == Some(AgentState::Suspended);
    let mut text = format!("no answer from {} within {at_most:?}", names(asked.iter()));
    let suspended: Vec<&Symbol> = asked.iter().filter(is_suspended).collect();
    if let Some(first) = suspended.first() {
        let are = if suspended.len() == 1 { "is" } else { "are" };
        text += &format!(": {} {are} suspended (`whimbrel resume {first}`)", names(suspended.iter().copied()));
    }
    refuse(Reason::NoAnswer, text)
}

fn names<'a>(names: impl Iterator<Item = &'a Symbol>) -> String {
    names.map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Waits for an answer. `agree` is the answer only if nothing follows it in time. Returns `None` if there is no answer
/// in time, or if the caller has gone.
fn first_answer(
    answers: &Receiver<Box<AclMessage>>,
    at_most: Duration,
    gone: &dyn Fn() -> bool,
) -> Option<Box<AclMessage>> {
    let begun = Instant::now();
    let mut agreed = None;
    loop {
        let left = at_most.saturating_sub(begun.elapsed());
        match answers.recv_timeout(left.min(LOOK_EVERY)) {
            Ok(answer) if answer.performative == Performative::Agree => agreed = Some(answer),
            Ok(answer) => return Some(answer),
            Err(_) if !left.is_zero() && !gone() => {}
            Err(_) => return agreed,
        }
    }
}

fn read(sending: &Sending, home: Symbol) -> Result<Box<AclMessage>, Refusal> {
    let bad = |why: String| refuse(Reason::BadRequest, format!("no message: {why}"));
    let bytes = serde_json::to_vec(&sending.message).map_err(|error| bad(error.to_string()))?;
    let mut message = Encoding::Json.decode(&bytes).map_err(|error| bad(error.to_string()))?;
    message.name_each_once(home);
    if message.receivers.is_empty() {
        return Err(bad("it names no receiver".to_owned()));
    }
    if let Some(count) = message.excess_receivers() {
        return Err(bad(format!("it names {count} receivers: at most {MESSAGE_RECEIVERS_MAX}")));
    }
    Ok(Box::new(message))
}

fn written(message: &AclMessage) -> Result<serde_json::Value, Refusal> {
    let bad = |why: String| refuse(Reason::BadRequest, format!("the answer cannot be written: {why}"));
    let bytes = Encoding::Json.encode(message).map_err(|error| bad(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))
}
