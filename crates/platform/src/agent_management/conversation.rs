//! One request to a service agent, from its message to the last answer (FIPA00026).

use std::borrow::Cow;

use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value, sl};

use super::ONTOLOGY;
use super::exceptions::{FailureReason, Misunderstanding, Refusal};
use crate::Outbox;
use crate::dead_letters::sending;

/// What an agent is asked to do.
pub(super) struct Asked {
    /// The whole expression `action(Actor, Function)`, as it is quoted in answers.
    pub action: Value,
    /// The function's name.
    pub function: Symbol,
    /// Its arguments.
    pub args: Vec<Value>,
}

/// What came of what was asked.
pub(super) enum Outcome {
    /// It is done.
    Done,
    /// It gave this.
    Result(Value),
}

impl Asked {
    /// Reads `[action(Actor, Function)]`; the list and the `action` may be left out.
    pub fn read(content: &Value, actor: &Value) -> Result<Self, Misunderstanding> {
        let unreadable = Misunderstanding::UnrecognisedValue("content");
        let expression = the_only_expression(content).ok_or(unreadable.clone())?;
        let (action, function) = match (expression.functor().map(Symbol::as_str), expression.args()) {
            (Some("action"), [_, function]) => (expression.clone(), function.clone()),
            _ => (Value::term("action", [actor.clone(), expression.clone()]), expression.clone()),
        };
        let name = match &function {
            Value::Record(record) if record.fields.is_empty() => record.name,
            other => other.functor().ok_or(unreadable)?,
        };
        Ok(Self { action, function: name, args: function.args().to_vec() })
    }

    /// Reads a standing search: `[action(df, search(...))]` or `[iota(X, result(action(df, search(...)), X))]`.
    //= fipa00023 4.1.4
    pub fn read_subscription(content: &Value, actor: &Value) -> Result<Self, Misunderstanding> {
        let expression = the_only_expression(content).ok_or(Misunderstanding::UnrecognisedValue("content"))?;
        let described = match (expression.functor().map(Symbol::as_str), expression.args()) {
            (Some("iota" | "any" | "all"), [_, described]) => described,
            _ => expression,
        };
        match (described.functor().map(Symbol::as_str), described.args()) {
            (Some("result"), [action, _]) => Self::read(action, actor),
            _ => Self::read(described, actor),
        }
    }
}

/// The profile of SL that the message's `:language` names.
fn profile_of(message: &AclMessage) -> Option<sl::Profile> {
    sl::Profile::of_language(message.extras().language?.as_str())
}

/// A message's content as a value: text in SL is read, anything else is taken as it is.
pub(super) fn content_of(message: &AclMessage) -> Result<Cow<'_, Value>, Misunderstanding> {
    match (&message.content, profile_of(message)) {
        (Value::Str(text), Some(profile)) => match sl::text_to_value(text, profile) {
            Ok(value) => Ok(Cow::Owned(value)),
            Err(_) => Err(Misunderstanding::UnrecognisedValue("content")),
        },
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

/// Whether `message` is one that no agent answers, lest two agents answer each other for ever.
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

/// The answers to one message, sent as they are made.
pub(super) struct Answers<'a> {
    pub message: &'a AclMessage,
    pub me: Aid,
    pub outbox: &'a mut Outbox,
}

impl Answers<'_> {
    /// The message names this ontology or none.
    pub fn check_ontology(&self) -> Result<(), Misunderstanding> {
        match self.message.extras().ontology {
            Some(ontology) if !ontology.as_str().eq_ignore_ascii_case(ONTOLOGY) => {
                Err(Misunderstanding::UnsupportedValue("ontology"))
            }
            _ => Ok(()),
        }
    }

    pub fn agree(&mut self, asked: &Asked) {
        self.send(Performative::Agree, [asked.action.clone(), Value::Bool(true)]);
    }

    pub fn refuse(&mut self, asked: &Asked, reason: &Refusal) {
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

    pub fn report(&mut self, asked: &Asked, outcome: Result<Outcome, FailureReason>) {
        let action = asked.action.clone();
        match outcome {
            Ok(Outcome::Done) => self.send(Performative::Inform, [Value::term("done", [action])]),
            Ok(Outcome::Result(value)) => self.send(Performative::Inform, [Value::term("result", [action, value])]),
            Err(reason) => self.send(Performative::Failure, [action, reason.to_value()]),
        }
    }

    /// Text is answered with text.
    fn send<const N: usize>(&mut self, performative: Performative, expressions: [Value; N]) {
        let mut answer = self.message.make_reply(self.me, performative);
        answer.content = Value::list(expressions);
        if matches!(self.message.content, Value::Str(_))
            && let Some(profile) = profile_of(self.message)
            && let Ok(text) = sl::value_to_text(&answer.content, profile)
        {
            answer.content = Value::from(text);
        }
        self.outbox.send(answer);
    }
}
