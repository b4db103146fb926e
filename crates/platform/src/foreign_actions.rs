//! Foreign actions: internal actions that the host of a society carries out in another language, such as functions in
//! Python.

use std::sync::Arc;

use whimbrel_acl::{Aid, Symbol, Text, Value};

/// Prefix of the names of foreign actions in programs: `py.fun`.
pub const PREFIX: &str = "py.";
/// File of a project's functions, in its folder.
pub const ACTIONS_FILE: &str = "actions.py";
/// Protocol of the messages that answer calls.
pub const PROTOCOL: &str = "whimbrel-actions";
/// Name under which a mind lists the party that an intention with a call waits for.
pub const ANSWERER: &str = "python";
/// Functor of an answer with the failure of a call: `failed(Error, Message, Annotations)`.
const FAILED: &str = "failed";

/// Call of a foreign action.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignCall {
    /// Agent that calls.
    pub agent: Aid,
    /// Name of the function, without the prefix.
    pub name: Text,
    /// Arguments: unbound variables are numbered from 0.
    pub args: Vec<Value>,
}

/// Failure of a call: the failure event has its parts as annotations.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignFailure {
    /// Content of `error(..)`.
    pub error: Symbol,
    /// Content of `error_msg(..)`.
    pub message: String,
    /// Further annotations.
    pub annots: Vec<Value>,
}

impl ForeignFailure {
    /// Creates a failure without further annotations.
    pub fn new(error: &str, message: impl Into<String>) -> Self {
        Self { error: Symbol::new(error), message: message.into(), annots: Vec::new() }
    }

    /// Returns the failure as the content of a message.
    pub fn to_value(&self) -> Value {
        let annots = Value::list(self.annots.clone());
        Value::term(FAILED, [Value::Atom(self.error), Value::from(self.message.as_str()), annots])
    }

    /// Reads the failure from the content of a message. Any other content is the message of a failure.
    pub fn of_value(content: &Value) -> Self {
        match (content.functor().map(|name| name.as_str()), content.args()) {
            (Some(FAILED), [Value::Atom(error), Value::Str(message), annots]) => {
                Self { error: *error, message: message.to_string(), annots: annots.items().cloned().collect() }
            }
            _ => Self::new("action_failed", content.to_string()),
        }
    }
}

/// Solutions of a call, found on demand: each has the values of the call's last arguments, as many in each.
pub type ForeignSolutions = Box<dyn Iterator<Item = Vec<Value>>>;

/// Port of a host that carries out foreign actions.
pub trait ForeignActions: Send + Sync {
    /// Begins a call and returns at once. The agent gets the answer as a message from the AMS with this protocol
    /// ([`PROTOCOL`]), in reply to `ticket`: an `inform` with the list of the values of the last arguments in the first
    /// solution, or a `failure` ([`ForeignFailure::to_value`]).
    fn begin(&self, call: ForeignCall, ticket: Text);

    /// Makes a call, and waits for its first solution, as long as the host allows.
    ///
    /// # Errors
    /// The call failed, or took too long.
    fn solve(&self, call: ForeignCall) -> Result<ForeignSolutions, ForeignFailure>;
}

/// Host of foreign actions, shared by all agents of a node.
pub type SharedForeignActions = Arc<dyn ForeignActions>;

/// Returns a literal's functor and arguments as the call of a foreign action.
pub fn call_of(agent: Aid, name: &str, args: Vec<Value>) -> ForeignCall {
    ForeignCall { agent, name: Text::from(name.strip_prefix(PREFIX).unwrap_or(name)), args }
}

/// Returns true if an internal action of this name is a foreign action.
pub fn is_foreign(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_survives_its_message() {
        let annots = vec![Value::term("py_line", [Value::Num(7.0)])];
        let failure = ForeignFailure { annots, ..ForeignFailure::new("unknown", "KeyError: 'x' (actions.py:7)") };
        assert_eq!(ForeignFailure::of_value(&failure.to_value()), failure);
        assert_eq!(ForeignFailure::of_value(&Value::atom("lost")).message, "lost");
    }

    #[test]
    fn prefix_alone_is_no_action() {
        assert!(is_foreign("py.fun") && !is_foreign("py.") && !is_foreign("python.fun") && !is_foreign(".py"));
    }
}
