//! Reasons why a request is not understood, refused, or failed (FIPA00023 6.3).

use whimbrel_acl::{Symbol, Value};

/// Reason why a message was not understood.
//= fipa00023 6.3.3
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misunderstanding {
    /// Communicative act that the receiver does not support.
    UnsupportedAct(Symbol),
    /// Communicative act that the receiver supports, but not now.
    UnexpectedAct(Symbol),
    /// Message parameter whose value the receiver does not support.
    UnsupportedValue(&'static str),
    /// Message parameter whose value the receiver cannot read.
    UnrecognisedValue(&'static str),
}

impl Misunderstanding {
    /// Returns the proposition, as content.
    pub fn to_value(&self) -> Value {
        match self {
            Self::UnsupportedAct(act) => proposition("unsupported-act", [act.as_str()]),
            Self::UnexpectedAct(act) => proposition("unexpected-act", [act.as_str()]),
            Self::UnsupportedValue(parameter) => proposition("unsupported-value", [parameter]),
            Self::UnrecognisedValue(parameter) => proposition("unrecognised-value", [parameter]),
        }
    }
}

/// Reason why a request was refused.
//= fipa00023 6.3.4
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestRefusal {
    /// Sender that may not ask for this.
    Unauthorised,
    /// Unknown function.
    UnsupportedFunction(Symbol),
    /// Missing argument of this type.
    MissingArgument(&'static str),
    /// Argument of this type that the function does not take.
    UnexpectedArgument(Symbol),
    /// Wrong number of arguments.
    UnexpectedArgumentCount,
    /// Missing parameter of an object.
    MissingParameter {
        /// Type of the object.
        object: &'static str,
        /// Parameter.
        parameter: &'static str,
    },
    /// Parameter that an object of this type does not have.
    UnexpectedParameter {
        /// Type of the object.
        object: &'static str,
        /// Parameter.
        parameter: Symbol,
    },
    /// Parameter whose value cannot be read.
    UnrecognisedParameterValue {
        /// Type of the object.
        object: &'static str,
        /// Parameter.
        parameter: &'static str,
    },
}

impl RequestRefusal {
    /// Returns the proposition, as content.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Unauthorised => Value::atom("unauthorised"),
            Self::UnsupportedFunction(function) => proposition("unsupported-function", [function.as_str()]),
            Self::MissingArgument(argument) => proposition("missing-argument", [argument]),
            Self::UnexpectedArgument(argument) => proposition("unexpected-argument", [argument.as_str()]),
            Self::UnexpectedArgumentCount => Value::atom("unexpected-argument-count"),
            Self::MissingParameter { object, parameter } => proposition("missing-parameter", [object, parameter]),
            Self::UnexpectedParameter { object, parameter } => {
                proposition("unexpected-parameter", [object, parameter.as_str()])
            }
            Self::UnrecognisedParameterValue { object, parameter } => {
                proposition("unrecognised-parameter-value", [object, parameter])
            }
        }
    }
}

/// Reason why a request failed that was agreed to.
//= fipa00023 6.3.5
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureReason {
    /// Entry that is registered already.
    AlreadyRegistered,
    /// Entry that is not registered, and so cannot be changed or removed.
    NotRegistered,
    /// Other reason, in words.
    InternalError(String),
}

impl FailureReason {
    /// Returns the proposition, as content.
    pub fn to_value(&self) -> Value {
        match self {
            Self::AlreadyRegistered => Value::atom("already-registered"),
            Self::NotRegistered => Value::atom("not-registered"),
            Self::InternalError(text) => proposition("internal-error", [text.as_str()]),
        }
    }
}

fn proposition<const N: usize>(name: &str, arguments: [&str; N]) -> Value {
    Value::term(name, arguments.map(Value::from))
}
