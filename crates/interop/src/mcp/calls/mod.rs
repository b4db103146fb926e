//! Calls of clients, as a state machine without I/O.

mod proxies;
mod reading;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Text, Value};
use whimbrel_platform::Time;
use whimbrel_platform::limits::{
    MCP_ANSWER_PATIENCE_MS, MCP_OPEN_CALLS_EACH_MAX, MCP_QUESTION_PATIENCE_MS, MCP_QUESTIONS_EACH_MAX,
};

use self::proxies::CallProxies;
pub use self::proxies::StartCallProxy;
use self::reading::{AnswerReading, reading};
use super::error::McpError;
use super::headers::{ClientCapabilities, McpLogLevel};
use super::question::{AgentInquiry, InputRequest, inquiry_of};
use crate::json::{JsonMembers, text_of};

/// Protocol of FIPA that calls follow.
const PROTOCOL: &str = "fipa-request";
/// Step of progress that an agent reports without a larger number.
const SMALL_STEP: f64 = 0.001;

/// Number of a client: a token's holder, or all without a token together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallerId(u32);

/// Number of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// Present moment, by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct CallMoment {
    /// Time of the platform.
    pub now: Time,
    /// Milliseconds since 1970-01-01 UTC.
    pub wall_ms: u64,
}

/// Call that begins.
#[derive(Clone, Debug)]
pub struct NewCall {
    /// Client.
    pub caller: CallerId,
    /// Agent that is called.
    pub agent: Aid,
    /// Performative of the message to the agent.
    pub performative: Performative,
    /// Content of the message to the agent.
    pub content: Value,
    /// Ontology of the message to the agent.
    pub ontology: Option<Symbol>,
    /// Name of the tool, prompt or resource, with the arguments: a continued call has the same.
    pub asked: (String, JsonMembers),
    /// Capabilities of the client.
    pub capabilities: ClientCapabilities,
    /// Answers that the client gave already, by the keys of questions.
    pub answers: JsonMembers,
    /// Random number for the conversation, which nobody can guess.
    pub conversation: u128,
    /// True if a question ends the request, which continues by another one.
    pub parks: bool,
}

/// Question of a call that the client is to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingQuestion {
    /// Call.
    pub call: CallId,
    /// Number of the question in the call.
    pub number: u32,
}

/// Event of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallEvent {
    /// The agent works.
    Progress {
        /// Work done; it grows with each event.
        progress: f64,
        /// All work, if known.
        total: Option<f64>,
        /// Words of the agent.
        message: String,
    },
    /// The agent logs something.
    Log {
        /// Importance.
        level: McpLogLevel,
        /// Words or data.
        data: Json,
    },
    /// The agent asks the client.
    Asked {
        /// Question.
        question: PendingQuestion,
        /// Requests without an answer.
        requests: Vec<InputRequest>,
    },
    /// The call is over.
    Done(CallOutcome),
}

/// Outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallOutcome {
    /// Content of the agent's answer.
    Told(Value),
    /// The agent refused, or did not understand, and says why.
    Refused(String),
    /// The agent failed, or does not answer.
    Failed(String),
}

/// Output of a [`CallServer`].
#[derive(Clone, Debug)]
pub enum CallOutput {
    /// Message to an agent.
    Acl(Box<AclMessage>),
    /// Event of a call.
    Event(CallId, CallEvent),
}

/// Calls of all clients of a node.
///
/// Inputs are calls of clients ([`handle_call`](Self::handle_call)), further requests about them
/// ([`handle_resumed`](Self::handle_resumed), [`handle_answer`](Self::handle_answer),
/// [`handle_cancel`](Self::handle_cancel)), messages of agents to the agents that stand for clients
/// ([`handle_message`](Self::handle_message)) and their ends ([`handle_gone`](Self::handle_gone)), and time
/// ([`handle_timeout`](Self::handle_timeout)). After each of them, take all outputs of
/// [`poll_output`](Self::poll_output), and wait until [`poll_timeout`](Self::poll_timeout) at most. The last event of a
/// call is [`CallEvent::Done`]; a call that parks also ends its request with [`CallEvent::Asked`].
#[derive(Default)]
pub struct CallServer {
    proxies: CallProxies,
    calls: FxHashMap<CallId, CallEntry>,
    timers: BTreeSet<(Time, CallId)>,
    outputs: VecDeque<CallOutput>,
    /// Number of the next call.
    next: u64,
}

/// Call with all that the server knows of it.
struct CallEntry {
    call: NewCall,
    proxy: u32,
    /// Agent that stands for the client.
    stand_in: Aid,
    conversation: Text,
    reply_with: Text,
    inquiry: Option<AgentInquiry>,
    questions: u32,
    /// Progress that the client was told.
    progress: Option<f64>,
    /// True if the agent counts its work.
    counts: bool,
    /// True while no request of the client waits for events.
    is_parked: bool,
    /// Outcome that came while the call was parked.
    outcome: Option<CallOutcome>,
    timer: Time,
}

impl CallServer {
    /// Returns the number of the client of this name.
    pub fn caller(&mut self, name: &str) -> CallerId {
        self.proxies.caller(name)
    }

    /// Returns the next output.
    pub fn poll_output(&mut self) -> Option<CallOutput> {
        self.outputs.pop_front()
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(time, _)| *time)
    }

    /// Returns the number of open calls.
    pub fn open_calls(&self) -> usize {
        self.calls.len()
    }

    /// Begins a call.
    ///
    /// # Errors
    /// The client has too many open calls, or no agent can be started for it.
    pub fn handle_call(
        &mut self,
        call: NewCall,
        at: CallMoment,
        start: StartCallProxy<'_>,
    ) -> Result<CallId, McpError> {
        if self.proxies.open_calls_of(call.caller) >= MCP_OPEN_CALLS_EACH_MAX {
            let message = format!("the client has {MCP_OPEN_CALLS_EACH_MAX} open calls: wait for some of them");
            return Err(McpError::too_many(message));
        }
        let id = CallId(self.next);
        let begun = self.proxies.begin(call.caller, id, start);
        let (proxy, stand_in) =
            begun.map_err(|why| McpError::internal(format!("the client has no agent here: {why}")))?;
        self.next += 1;
        let conversation = Text::from(format!("mcp-{:032x}", call.conversation).as_str());
        let reply_with = Text::from(format!("{}/1", conversation.as_str()).as_str());
        let mut request = AclMessage::new(call.performative, stand_in, call.agent, call.content.clone());
        let extras = request.extras_mut();
        extras.conversation_id = Some(conversation.clone());
        extras.reply_with = Some(reply_with.clone());
        extras.reply_by_ms = Some(at.wall_ms + MCP_ANSWER_PATIENCE_MS);
        extras.ontology = call.ontology;
        if call.performative == Performative::Request {
            extras.protocol = Some(Symbol::new(PROTOCOL));
        }
        self.outputs.push_back(CallOutput::Acl(Box::new(request)));
        let timer = at.now + Duration::from_millis(MCP_ANSWER_PATIENCE_MS);
        self.timers.insert((timer, id));
        let entry = CallEntry {
            call,
            proxy,
            stand_in,
            conversation,
            reply_with,
            inquiry: None,
            questions: 0,
            progress: None,
            counts: false,
            is_parked: false,
            outcome: None,
            timer,
        };
        self.calls.insert(id, entry);
        Ok(id)
    }

    /// Continues a call that parked: the client repeats it with answers.
    ///
    /// # Errors
    /// The call is over, another client's, another call, or the question is answered already.
    pub fn handle_resumed(
        &mut self,
        question: PendingQuestion,
        caller: CallerId,
        asked: &(String, JsonMembers),
        answers: JsonMembers,
        at: CallMoment,
    ) -> Result<(), McpError> {
        let stale = || McpError::invalid_params("`requestState` is of a call that is over: call again without it");
        let entry = self.calls.get_mut(&question.call).ok_or_else(stale)?;
        let is_same = entry.call.caller == caller && entry.call.asked == *asked;
        if !is_same || entry.questions != question.number || !entry.is_parked {
            return Err(stale());
        }
        entry.is_parked = false;
        entry.call.answers.extend(answers);
        match entry.outcome.take() {
            Some(outcome) => self.finish(question.call, outcome),
            None => self.try_answer(question.call, at),
        }
        Ok(())
    }

    /// Takes the client's answer to a request of an agent, or `None` if the client has none. Returns false if the
    /// question is not open.
    pub fn handle_answer(
        &mut self,
        question: PendingQuestion,
        key: &str,
        answer: Option<Json>,
        at: CallMoment,
    ) -> bool {
        let Some(entry) = self.calls.get_mut(&question.call) else { return false };
        let Some(inquiry) = entry.inquiry.as_ref().filter(|_| entry.questions == question.number) else { return false };
        let Some(request) = inquiry.requests.iter().find(|request| request.key == key) else { return false };
        match answer.filter(|answer| request.is_answered_by(answer)) {
            Some(answer) => {
                entry.call.answers.insert(key.to_owned(), answer);
                let is_open = !inquiry.open(&entry.call.answers).is_empty();
                if !is_open {
                    self.try_answer(question.call, at);
                }
            }
            None => self.refuse_question(question.call, "the client has no valid answer to the agent's question"),
        }
        true
    }

    /// Calls a call off.
    pub fn handle_cancel(&mut self, id: CallId) {
        let Some(entry) = self.calls.get(&id) else { return };
        if entry.outcome.is_none() {
            self.outputs.push_back(CallOutput::Acl(Box::new(entry.cancel())));
        }
        self.remove(id);
    }

    /// Ends a call whose agent is not to answer.
    pub fn handle_sent(&mut self, id: CallId) {
        self.remove(id);
    }

    /// Takes a message of an agent to the agent of this number. Returns false if it is about no open call.
    pub fn handle_message(&mut self, proxy: u32, message: &AclMessage, at: CallMoment) -> bool {
        let Some(id) = self.proxies.call_of(proxy) else { return false };
        let Some(entry) = self.calls.get_mut(&id) else { return false };
        if !entry.is_meant(message) || entry.outcome.is_some() {
            return false;
        }
        match reading(message) {
            AnswerReading::Working { done, total, message } => {
                entry.progress = Some(entry.progress_after(done));
                let event = CallEvent::Progress { progress: entry.progress.unwrap_or_default(), total, message };
                self.tell(id, event);
                self.set_timer(id, at, MCP_ANSWER_PATIENCE_MS);
            }
            AnswerReading::Logged { level, data } => {
                self.tell(id, CallEvent::Log { level, data });
                self.set_timer(id, at, MCP_ANSWER_PATIENCE_MS);
            }
            AnswerReading::Outcome(outcome) => self.finish(id, outcome),
            AnswerReading::Asked => {
                entry.inquiry = Some(inquiry_of(message));
                self.ask(id, at);
            }
        }
        true
    }

    /// Notes that the agent of this number ended: its call fails.
    pub fn handle_gone(&mut self, proxy: u32) {
        if let Some(id) = self.proxies.handle_gone(proxy) {
            self.finish(id, CallOutcome::Failed("the agent that stands for the client was ended".to_owned()));
        }
    }

    /// Lets time pass.
    pub fn handle_timeout(&mut self, at: CallMoment) {
        while let Some((time, id)) = self.timers.first().copied()
            && time <= at.now
        {
            self.timers.pop_first();
            let Some(entry) = self.calls.get(&id) else { continue };
            if entry.outcome.is_none() {
                self.outputs.push_back(CallOutput::Acl(Box::new(entry.cancel())));
            }
            if entry.is_parked {
                self.remove(id);
                continue;
            }
            let patience = Duration::from_millis(MCP_ANSWER_PATIENCE_MS).as_secs();
            let why = match entry.inquiry {
                Some(_) => "the client did not answer the agent's question in time".to_owned(),
                None => format!("{} did not answer within {patience} seconds", entry.call.agent.name),
            };
            self.finish(id, CallOutcome::Failed(why));
        }
    }

    /// Returns the client of the agent of this number, and the name of what it calls.
    pub fn describe(&self, proxy: u32) -> Option<(String, String)> {
        let client = self.proxies.client_of(proxy)?.to_owned();
        let call = self.proxies.call_of(proxy).and_then(|id| self.calls.get(&id));
        Some((client, call.map_or_else(String::new, |entry| entry.call.asked.0.clone())))
    }

    /// Passes the agent's question on, or answers it with what the client said already.
    fn ask(&mut self, id: CallId, at: CallMoment) {
        let Some(entry) = self.calls.get_mut(&id) else { return };
        let Some(inquiry) = &mut entry.inquiry else { return };
        let needed: Vec<_> = inquiry.requests.iter().map(|request| request.method.capability()).collect();
        inquiry.restrict(entry.call.capabilities);
        if inquiry.requests.is_empty() {
            let why = format!("the agent asks something, and the client does not declare {}", needed.join(", "));
            return self.refuse_question(id, &why);
        }
        entry.questions += 1;
        if entry.questions > MCP_QUESTIONS_EACH_MAX {
            return self.refuse_question(id, "the agent asks too often");
        }
        self.try_answer(id, at);
    }

    /// Answers the agent's question if all its requests have answers; else asks for them.
    fn try_answer(&mut self, id: CallId, at: CallMoment) {
        let Some(entry) = self.calls.get_mut(&id) else { return };
        let Some(inquiry) = &entry.inquiry else { return };
        let requests = inquiry.open(&entry.call.answers);
        if requests.is_empty() {
            let (performative, content) = inquiry.answer(&entry.call.answers);
            let answer = entry.answer(performative, content);
            for request in &inquiry.requests {
                // The same key may be asked again.
                entry.call.answers.remove(&request.key);
            }
            entry.inquiry = None;
            self.outputs.push_back(CallOutput::Acl(Box::new(answer)));
            return self.set_timer(id, at, MCP_ANSWER_PATIENCE_MS);
        }
        let question = PendingQuestion { call: id, number: entry.questions };
        entry.is_parked = entry.call.parks;
        self.outputs.push_back(CallOutput::Event(id, CallEvent::Asked { question, requests }));
        self.set_timer(id, at, MCP_QUESTION_PATIENCE_MS);
    }

    /// Refuses the agent's question, and ends the call.
    fn refuse_question(&mut self, id: CallId, why: &str) {
        let Some(entry) = self.calls.get(&id) else { return };
        let refusal = entry.answer(Performative::Refuse, Value::from(why));
        self.outputs.push_back(CallOutput::Acl(Box::new(refusal)));
        self.finish(id, CallOutcome::Failed(why.to_owned()));
    }

    fn tell(&mut self, id: CallId, event: CallEvent) {
        if self.calls.get(&id).is_some_and(|entry| !entry.is_parked) {
            self.outputs.push_back(CallOutput::Event(id, event));
        }
    }

    /// Ends a call, or keeps its outcome for the client's next request.
    fn finish(&mut self, id: CallId, outcome: CallOutcome) {
        let Some(entry) = self.calls.get_mut(&id) else { return };
        if entry.is_parked {
            entry.outcome = Some(outcome);
            return;
        }
        self.outputs.push_back(CallOutput::Event(id, CallEvent::Done(outcome)));
        self.remove(id);
    }

    fn remove(&mut self, id: CallId) {
        if let Some(entry) = self.calls.remove(&id) {
            self.timers.remove(&(entry.timer, id));
            self.proxies.end(entry.proxy);
        }
    }

    fn set_timer(&mut self, id: CallId, at: CallMoment, patience_ms: u64) {
        let Some(entry) = self.calls.get_mut(&id) else { return };
        self.timers.remove(&(entry.timer, id));
        entry.timer = at.now + Duration::from_millis(patience_ms);
        self.timers.insert((entry.timer, id));
    }
}

impl CallEntry {
    /// Returns true if a message is about this call, not about an earlier one of the same stand-in.
    fn is_meant(&self, message: &AclMessage) -> bool {
        let extras = message.extras();
        match (&extras.in_reply_to, &extras.conversation_id) {
            (Some(quoted), _) if *quoted == self.reply_with => true,
            (_, Some(conversation)) => *conversation == self.conversation,
            (Some(_), None) => false,
            (None, None) => message.sender.name == self.call.agent.name,
        }
    }

    /// Returns the next progress, which the protocol demands to grow: what the agent says, or a step more.
    fn progress_after(&mut self, done: Option<f64>) -> f64 {
        self.counts |= done.is_some();
        let step = if self.counts { SMALL_STEP } else { 1.0 };
        let least = self.progress.map(|before| before + step);
        match (done.filter(|done| done.is_finite()), self.progress) {
            (Some(done), Some(before)) if done > before => done,
            (Some(done), None) => done,
            _ => least.unwrap_or_default(),
        }
    }

    fn message(&self, performative: Performative, content: Value) -> AclMessage {
        let mut message = AclMessage::new(performative, self.stand_in, self.call.agent, content);
        message.extras_mut().conversation_id = Some(self.conversation.clone());
        message
    }

    /// Returns the answer to the agent's question.
    fn answer(&self, performative: Performative, content: Value) -> AclMessage {
        let mut answer = self.message(performative, content);
        answer.extras_mut().in_reply_to = self.inquiry.as_ref().and_then(|inquiry| inquiry.reply_with.clone());
        answer
    }

    fn cancel(&self) -> AclMessage {
        let mut cancel = self.message(Performative::Cancel, self.call.content.clone());
        let extras = cancel.extras_mut();
        extras.in_reply_to = Some(self.reply_with.clone());
        if self.call.performative == Performative::Request {
            extras.protocol = Some(Symbol::new(PROTOCOL));
        }
        cancel
    }
}

impl CallOutcome {
    pub(super) fn failed(content: &Value) -> Self {
        Self::Failed(said_or(content, "the agent failed"))
    }

    pub(super) fn refused(content: &Value, otherwise: &str) -> Self {
        Self::Refused(said_or(content, otherwise))
    }
}

fn said_or(content: &Value, otherwise: &str) -> String {
    let said = text_of(content);
    if said.is_empty() { otherwise.to_owned() } else { said }
}
