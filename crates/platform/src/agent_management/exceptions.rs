//! Why a request is not understood, refused, or failed (FIPA00023 6.3).

use whimbrel_acl::{Symbol, Value};

/// Why a message was not understood.
//= fipa00023 6.3.3
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misunderstanding {
    /// The receiver does not support this communicative act.
    UnsupportedAct(Symbol),
    /// The receiver supports the act, but not now.
    UnexpectedAct(Symbol),
    /// The receiver does not support the value of this message parameter.
    UnsupportedValue(&'static str),
    /// The receiver cannot read the value of this message parameter.
    UnrecognisedValue(&'static str),
}

impl Misunderstanding {
    /// The proposition, as content.
    pub fn to_value(&self) -> Value {
        match self {
            Self::UnsupportedAct(act) => proposition("unsupported-act", [act.as_str()]),
            Self::UnexpectedAct(act) => proposition("unexpected-act", [act.as_str()]),
            Self::UnsupportedValue(parameter) => proposition("unsupported-value", [parameter]),
            Self::UnrecognisedValue(parameter) => proposition("unrecognised-value", [parameter]),
        }
    }
}

/// Why a request was refused.
//= fipa00023 6.3.4
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The sender may not ask for this.
    Unauthorised,
    /// There is no such function here.
    UnsupportedFunction(Symbol),
    /// The function's argument of this type is missing.
    MissingArgument(&'static str),
    /// The function takes no argument of this type.
    UnexpectedArgument(Symbol),
    /// The function takes another number of arguments.
    UnexpectedArgumentCount,
    /// An object lacks a parameter.
    MissingParameter {
        /// The object's type.
        object: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// An object of this type has no such parameter.
    UnexpectedParameter {
        /// The object's type.
        object: &'static str,
        /// The parameter.
        parameter: Symbol,
    },
    /// A parameter's value cannot be read.
    UnrecognisedParameterValue {
        /// The object's type.
        object: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
}

impl Refusal {
    /// The proposition, as content.
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

/// Why a request that was agreed to failed.
//= fipa00023 6.3.5
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureReason {
    /// What was to be registered is registered.
    AlreadyRegistered,
    /// What was to be changed or removed is not registered.
    NotRegistered,
    /// Anything else, in words.
    InternalError(String),
}

impl FailureReason {
    /// The proposition, as content.
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
