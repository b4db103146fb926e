//! Conversation of one request to a service agent, from its message to the last answer (FIPA00026).

use std::borrow::Cow;

use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value, sl};

use super::ONTOLOGY;
use super::exceptions::{FailureReason, Misunderstanding, RequestRefusal};
use crate::Outbox;
use crate::dead_letters::sending;

/// Request to a service agent.
pub(super) struct ServiceRequest {
    /// Whole expression `action(Actor, Function)`, as it is quoted in answers.
    pub action: Value,
    /// Name of the function, as it was written.
    pub function: Symbol,
    /// Arguments of the function.
    pub args: Vec<Value>,
    /// Identifying expression around the action, if there is one: `iota(X, result(Action, X))`. The answer is an
    /// equation with it.
    pub question: Option<Value>,
}

/// Outcome of a request.
pub(super) enum ActionResult {
    /// Action that is done.
    Done,
    /// Result of a search.
    Result(Value),
}

impl ServiceRequest {
    /// Reads `[action(Actor, Function)]`; the list and the `action` may be left out.
    pub fn read(content: &Value, actor: &Value) -> Result<Self, Misunderstanding> {
        let unreadable = Misunderstanding::UnrecognisedValue("content");
        let expression = the_only_expression(content).ok_or(unreadable.clone())?;
        let (action, function) = match expression.args() {
            [_, function] if is_named(expression, "action") => (expression.clone(), function.clone()),
            _ => (Value::term("action", [actor.clone(), expression.clone()]), expression.clone()),
        };
        let (name, args) = match &function {
            // A record is a function whose arguments have names.
            Value::Record(record) => (record.name, record.fields.iter().map(|(_, value)| value.clone()).collect()),
            other => (other.functor().ok_or(unreadable)?, other.args().to_vec()),
        };
        Ok(Self { action, function: name, args, question: None })
    }

    /// Reads a subscription or a question: `[action(df, search(...))]` or `[iota(X, result(action(df, search(...)),
    /// X))]`.
    //= fipa00023 4.1.4
    pub fn read_question(content: &Value, actor: &Value) -> Result<Self, Misunderstanding> {
        let expression = the_only_expression(content).ok_or(Misunderstanding::UnrecognisedValue("content"))?;
        let (described, question) = match expression.args() {
            [_, described] if is_identifying(expression) => (described, Some(expression.clone())),
            _ => (expression, None),
        };
        let asked = match described.args() {
            [action, _] if is_named(described, "result") => Self::read(action, actor)?,
            _ => Self::read(described, actor)?,
        };
        Ok(Self { question, ..asked })
    }

    /// Returns the function's name as FIPA writes it; JADE reads it in any case.
    pub fn function_name(&self) -> String {
        self.function.as_str().to_ascii_lowercase()
    }

    /// Returns the question that each [`finding`] of a subscription answers: in SL, if the question was in SL.
    pub fn as_subscribed(&self, message: &AclMessage) -> Value {
        let asked = self.question.as_ref().unwrap_or(&self.action);
        match language_of(message) {
            Some(language) => in_sl(Value::list([asked.clone()]), language),
            None => asked.clone(),
        }
    }
}

fn is_named(expression: &Value, name: &str) -> bool {
    expression.functor().is_some_and(|functor| functor.as_str().eq_ignore_ascii_case(name))
}

/// Returns true if an expression asks for the objects that match a description.
//= fipa00008 2.1 IdentifyingExpression
fn is_identifying(expression: &Value) -> bool {
    ["iota", "any", "all"].iter().any(|operator| is_named(expression, operator))
}

/// Returns the answer to `asked` with the objects found: an equation for a question, else the result of the action. It
/// is text if `asked` is text.
pub(crate) fn finding(asked: &Value, found: Value, language: Option<Symbol>) -> Value {
    let Value::Str(text) = asked else { return Value::list([proposition(asked, found)]) };
    let profile = language.and_then(|name| sl::Profile::of_language(name.as_str())).unwrap_or(sl::Profile::Sl);
    match sl::text_to_value(text, sl::Profile::Sl).ok().and_then(|asked| asked.items().next().cloned()) {
        Some(asked) => in_sl(Value::list([proposition(&asked, found)]), profile),
        None => Value::list([proposition(asked, found)]),
    }
}

fn proposition(asked: &Value, found: Value) -> Value {
    let name = if is_identifying(asked) { "=" } else { "result" };
    Value::term(name, [asked.clone(), found])
}

/// Returns a content as SL text of this profile, or of full SL if the profile cannot express it; unchanged if SL
/// cannot, either.
fn in_sl(content: Value, profile: sl::Profile) -> Value {
    let written = sl::value_to_text(&content, profile).or_else(|_| sl::value_to_text(&content, sl::Profile::Sl));
    written.map_or(content, Value::from)
}

/// Returns the SL profile of a message's content: that of its `:language`, or SL0 for text without one, since these
/// agents understand no other language. `None` if the content is no text.
//= fipa00023 6.1
fn language_of(message: &AclMessage) -> Option<sl::Profile> {
    matches!(message.content, Value::Str(_)).then_some(())?;
    match message.extras().language {
        Some(language) => sl::Profile::of_language(language.as_str()),
        None => Some(sl::Profile::Sl0),
    }
}

/// Returns a message's content as a value: text in SL is parsed, whichever profile its language names; other content is
/// taken as it is.
pub(super) fn content_of(message: &AclMessage) -> Result<Cow<'_, Value>, Misunderstanding> {
    match (&message.content, language_of(message)) {
        (Value::Str(text), Some(_)) => match sl::text_to_value(text, sl::Profile::Sl) {
            Ok(value) => Ok(Cow::Owned(value)),
            Err(_) => Err(Misunderstanding::UnrecognisedValue("content")),
        },
        (Value::Str(_), None) => Err(Misunderstanding::UnsupportedValue("language")),
        (content, _) => Ok(Cow::Borrowed(content)),
    }
}

fn the_only_expression(content: &Value) -> Option<&Value> {
    if !content.is_list() {
        return Some(content);
    }
    let mut expressions = content.items();
    let first = expressions.next()?;
    expressions.next().is_none().then_some(first)
}

/// Returns the content of the `failure` in place of a search's results, which cannot be handed over: `[action,
/// internal-error(...)]`, in SL if the results are. `None` if the message has no results of a search.
//= fipa00023 6.3.5
pub(crate) fn too_many_results(answer: &AclMessage, why: &str) -> Option<Value> {
    let content = content_of(answer).ok()?;
    let expression = the_only_expression(&content)?;
    let asked = match expression.args() {
        [asked, _] if is_named(expression, "result") || is_identifying(asked) => asked.clone(),
        _ => return None,
    };
    let text = format!("too many results: give max-results, or ask for less ({why})");
    let told = Value::list([asked, FailureReason::InternalError(text).to_value()]);
    Some(match language_of(answer) {
        Some(profile) => in_sl(told, profile),
        None => told,
    })
}

/// Returns true if `message` must not be answered, because two agents could answer each other for ever.
pub(super) fn is_answer(message: &AclMessage) -> bool {
    matches!(
        message.performative,
        Performative::Agree
            | Performative::Failure
            | Performative::Inform
            | Performative::NotUnderstood
            | Performative::Refuse
    )
}

/// Returns a set as a sequence: JADE takes a set for a single result.
fn as_sequence(value: Value) -> Value {
    let is_set = value.functor().is_some_and(|functor| functor.as_str() == "set") && !value.is_list();
    if is_set { Value::list(value.args().to_vec()) } else { value }
}

/// Answers to one message, sent as they are made.
pub(super) struct Answers<'a> {
    pub message: &'a AclMessage,
    pub me: Aid,
    pub outbox: &'a mut Outbox,
}

impl Answers<'_> {
    /// Checks that the message names this ontology or none.
    pub fn check_ontology(&self) -> Result<(), Misunderstanding> {
        match self.message.extras().ontology {
            Some(ontology) if !ontology.as_str().eq_ignore_ascii_case(ONTOLOGY) => {
                Err(Misunderstanding::UnsupportedValue("ontology"))
            }
            _ => Ok(()),
        }
    }

    pub fn agree(&mut self, asked: &ServiceRequest) {
        self.send(Performative::Agree, [asked.action.clone(), Value::Bool(true)]);
    }

    pub fn refuse(&mut self, asked: &ServiceRequest, reason: &RequestRefusal) {
        self.send(Performative::Refuse, [asked.action.clone(), reason.to_value()]);
    }

    //= fipa00023 6.3.1
    pub fn not_understood(&mut self, reason: &Misunderstanding) {
        let act = Value::term(
            "action",
            [crate::dead_letters::agent_atom(self.message.sender), sending(self.message, self.me)],
        );
        self.send(Performative::NotUnderstood, [act, reason.to_value()]);
    }

    pub fn report(&mut self, asked: &ServiceRequest, outcome: Result<ActionResult, FailureReason>) {
        let action = asked.action.clone();
        match outcome {
            Ok(ActionResult::Done) => self.send(Performative::Inform, [Value::term("done", [action])]),
            Ok(ActionResult::Result(value)) => {
                let asked = asked.question.as_ref().unwrap_or(&action);
                let value = if self.asks_from_elsewhere() { as_sequence(value) } else { value };
                self.send(Performative::Inform, [proposition(asked, value)]);
            }
            Err(reason) => self.send(Performative::Failure, [action, reason.to_value()]),
        }
    }

    /// Returns true if the asker is an agent of another platform.
    fn asks_from_elsewhere(&self) -> bool {
        !self.message.sender.contact().addresses.is_empty()
    }

    /// Sets the language of an answer in text, if the question named none.
    pub fn name_language(&self, answer: &mut AclMessage) {
        let known = self.message.extras().language.is_some() || language_of(self.message).is_none();
        if !known {
            answer.extras_mut().language = Some(Symbol::new(sl::Profile::Sl.language()));
        }
    }

    /// Sends an answer; text is answered with text.
    fn send<const N: usize>(&mut self, performative: Performative, expressions: [Value; N]) {
        let mut answer = self.message.make_reply(self.me, performative);
        answer.content = Value::list(expressions);
        if let Some(profile) = language_of(self.message) {
            answer.content = in_sl(answer.content, profile);
            self.name_language(&mut answer);
        }
        self.outbox.send(answer);
    }
}
