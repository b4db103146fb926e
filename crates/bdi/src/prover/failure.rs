//! Failures of internal actions and of steps.

use whimbrel_acl::{Symbol, Value};

use crate::code::CallExpr;

/// Reason of a failure, in words. It is never empty, so that every reader learns the fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureText(String);

/// Reason of a failure for which none was given.
const UNTOLD: &str = "no reason is known";

impl<T: Into<String>> From<T> for FailureText {
    fn from(text: T) -> Self {
        let text = text.into();
        Self(if text.trim().is_empty() { UNTOLD.to_owned() } else { text })
    }
}

/// Failure of an internal action: a failure plan finds its parts as annotations.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// `error(..)`
    pub error: Symbol,
    /// `error_msg(..)`: a [`FailureText`], empty if the action answered no, or a program's own message.
    pub(crate) message: Option<Value>,
    /// Further annotations.
    pub annots: Vec<Value>,
}

impl Failure {
    /// Creates a failure of this kind.
    pub fn new(error: &str, reason: impl Into<FailureText>) -> Self {
        let FailureText(reason) = reason.into();
        Self { error: Symbol::new(error), message: Some(Value::from(reason)), annots: Vec::new() }
    }

    /// Creates the failure of an action that answered no, without a message.
    pub fn said_no() -> Self {
        Self { error: Symbol::new("ia_failed"), message: Some(Value::from("")), annots: Vec::new() }
    }

    /// Creates the failure of a call to an internal action that does not exist.
    pub fn unknown_action(name: Symbol) -> Self {
        let like = crate::syntax::similar_action(name.as_str());
        let advice = like.map(|like| format!(": did you mean .{like}?")).unwrap_or_default();
        // Jason tries such a call as an action on the environment, which fails like this.
        Self::new("action_failed", format!("there is no internal action {name}{advice}"))
    }

    /// Creates a failure whose message comes from elsewhere: a program, or the environment.
    pub fn told(error: Symbol, message: Option<Value>, annots: Vec<Value>) -> Self {
        Self { error, message, annots }
    }

    /// Returns the content of `error_msg(..)` and the further annotations.
    pub fn into_message(self) -> (Option<Value>, Vec<Value>) {
        (self.message, self.annots)
    }

    /// Creates the failure for a wrong argument: `Wrong argument for internal action 'name': what`.
    pub fn wrong_argument(call: &CallExpr, what: &str) -> Self {
        let name = call.name.as_str();
        let name = name.rsplit('.').next().unwrap_or(name);
        Self::new("wrong_arguments", format!("Wrong argument for internal action '{name}': {what}"))
    }

    /// Creates the failure for a wrong number of arguments, in Jason's words.
    pub fn wrong_count(call: &CallExpr) -> Self {
        let name = call.name.as_str();
        let arity = crate::syntax::action_arity(name.strip_prefix("jason.stdlib").unwrap_or(name)).unwrap_or(0..=0);
        let expected = match (*arity.start(), *arity.end()) {
            (1, 1) => "One argument is expected.".to_owned(),
            (least, most) if least == most => format!("{least} arguments are expected."),
            (least, most) => format!("From {least} to {} arguments are expected.", most.min(i32::MAX as usize)),
        };
        let name = name.rsplit('.').next().unwrap_or(name);
        let message =
            format!("The internal action '{name}' has not received the required number of argument(s). {expected}");
        Self::new("wrong_arguments", message)
    }

    /// Returns the message as text.
    pub fn message(&self) -> String {
        match &self.message {
            Some(Value::Str(text)) => text.to_string(),
            Some(other) => other.to_string(),
            None => self.error.to_string(),
        }
    }
}
