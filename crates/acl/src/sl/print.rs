//! Trees to text.

use std::fmt::{self, Display, Formatter};

use super::{
    ActionExpression, ContentExpression, Identifying, SlContent, SlTerm, Wff, is_operator_of_formulas,
    is_operator_of_terms, is_word,
};
use crate::tokens::write_literal;

/// A string in quotes, or by its length where quotes cannot carry it.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        write_literal(&mut out, self.0);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}

/// Writes a symbol: as a word, unless it is none or `reserved` gives the word another meaning.
fn symbol(f: &mut Formatter<'_>, name: &str, reserved: fn(&str) -> bool) -> fmt::Result {
    if is_word(name) && !reserved(name) { f.write_str(name) } else { Quoted(name).fmt(f) }
}

fn group<T: Display>(f: &mut Formatter<'_>, head: &str, items: &[T]) -> fmt::Result {
    write!(f, "({head}")?;
    items.iter().try_for_each(|item| write!(f, " {item}"))?;
    f.write_str(")")
}

impl Display for SlContent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (place, expression) in self.expressions.iter().enumerate() {
            write!(f, "{}{expression}", if place == 0 { "(" } else { " " })?;
        }
        f.write_str(")")
    }
}

impl Display for ContentExpression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identifying(expression) => expression.fmt(f),
            Self::Action(action) => action.fmt(f),
            Self::Proposition(formula) => formula.fmt(f),
        }
    }
}

impl Display for Wff {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::True => f.write_str("true"),
            Self::False => f.write_str("false"),
            Self::Symbol(name) => symbol(f, name.as_str(), |name| matches!(name, "true" | "false")),
            Self::Predicate(name, arguments) => {
                f.write_str("(")?;
                symbol(f, name.as_str(), is_operator_of_formulas)?;
                arguments.iter().try_for_each(|argument| write!(f, " {argument}"))?;
                f.write_str(")")
            }
            Self::Equal(one, other) => write!(f, "(= {one} {other})"),
            Self::Result(action, result) => write!(f, "(result {action} {result})"),
            Self::Not(formula) => write!(f, "(not {formula})"),
            Self::Binary(operator, one, other) => write!(f, "({} {one} {other})", operator.word()),
            Self::Quantified(quantifier, variable, formula) => {
                write!(f, "({} ?{variable} {formula})", quantifier.word())
            }
            Self::Modal(operator, agent, formula) => write!(f, "({} {agent} {formula})", operator.word()),
            Self::Happens(operator, action, None) => write!(f, "({} {action})", operator.word()),
            Self::Happens(operator, action, Some(formula)) => write!(f, "({} {action} {formula})", operator.word()),
        }
    }
}

impl Display for SlTerm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "?{name}"),
            Self::Integer(n) => n.fmt(f),
            Self::Float(n) => write!(f, "{n:?}"),
            Self::Word(name) => symbol(f, name.as_str(), |_| false),
            Self::Literal(text) => Quoted(text).fmt(f),
            // Bytes that are no text cannot be written as text; the nearest text stands for them.
            Self::Bytes(bytes) => Quoted(&String::from_utf8_lossy(bytes)).fmt(f),
            Self::Time(text) => f.write_str(text),
            Self::Function(name, arguments) => {
                f.write_str("(")?;
                symbol(f, name.as_str(), is_operator_of_terms)?;
                arguments.iter().try_for_each(|argument| write!(f, " {argument}"))?;
                f.write_str(")")
            }
            Self::Frame(name, parameters) => {
                f.write_str("(")?;
                symbol(f, name.as_str(), is_operator_of_terms)?;
                parameters.iter().try_for_each(|(name, value)| write!(f, " :{name} {value}"))?;
                f.write_str(")")
            }
            Self::Action(action) => action.fmt(f),
            Self::Sequence(items) => group(f, "sequence", items),
            Self::Set(items) => group(f, "set", items),
            Self::Identifying(expression) => expression.fmt(f),
        }
    }
}

impl Display for Identifying {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "({} {} {})", self.operator.word(), self.term, self.description)
    }
}

impl Display for ActionExpression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Action(agent, term) => write!(f, "(action {agent} {term})"),
            Self::Either(one, other) => write!(f, "(| {one} {other})"),
            Self::Then(first, next) => write!(f, "(; {first} {next})"),
        }
    }
}
