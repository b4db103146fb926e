//! FIPA SL, the content language of FIPA00008: texts, their trees, and content values.
//!
//! [`SlContent::parse`] reads text by the grammar of the full language or one of its profiles SL0, SL1 and SL2; a
//! tree's `Display` writes it. [`text_to_value`] and [`value_to_text`] map content values by this table:
//!
//! | SL | value |
//! |---|---|
//! | content `(e1 e2)` | list of the expressions |
//! | word `bob` | atom; `true` and `false` booleans. An atom that is no word is written as a string |
//! | string `"two words"`, byte-length-encoded string | text; bytes if it is no UTF-8 |
//! | number | integer or double |
//! | time `20250101T000000000Z` | `datetime(Ms)`, since 1970-01-01 UTC |
//! | time `+00000001T000000000` | `duration(Ms)` |
//! | `(f a b)` | term `f(a, b)` |
//! | `(f :p a :q b)`, `(f)` | record `f{p: a, q: b}`, `f{}` |
//! | `(sequence a b)` | list `[a, b]` |
//! | `(set a b)` | term `set(a, b)`; the atom `set` if it is empty |
//! | `?x` | variable `x`; equal names share a slot |
//!
//! Formulas and expressions are terms of their operators: `not(p)`, `forall(X, p)`, `iota(X, p)`,
//! `action(agent, term)`, `;(first, then)`.

mod parse;
mod print;
mod values;

use crate::codec::{DecodeError, EncodeError};
use crate::{Symbol, Text, Value};

/// Profile of the language: all of it, or one of its subsets. Each includes those before it.
//= fipa00008 4
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Actions, whether they are done, their results, and predicates.
    //= fipa00008 4.1
    Sl0,
    /// With `not`, `and` and `or`.
    //= fipa00008 4.2
    Sl1,
    /// With quantifiers before formulas, modal operators and identifying expressions, so that it can still be decided
    /// whether a formula follows from others.
    //= fipa00008 4.3
    Sl2,
    /// The whole language.
    //= fipa00008 2
    Sl,
}

impl Profile {
    /// Returns the profile that a `:language` names, in any case; `None` if it is not SL.
    pub fn of_language(language: &str) -> Option<Self> {
        let all = [Self::Sl0, Self::Sl1, Self::Sl2, Self::Sl];
        all.into_iter().find(|profile| profile.language().eq_ignore_ascii_case(language))
    }

    /// Returns the name of the profile in `:language`.
    pub fn language(self) -> &'static str {
        match self {
            Self::Sl0 => "fipa-sl0",
            Self::Sl1 => "fipa-sl1",
            Self::Sl2 => "fipa-sl2",
            Self::Sl => "fipa-sl",
        }
    }
}

/// A message's content: one expression or several.
//= fipa00008 2.1 Content
#[derive(Clone, Debug, PartialEq)]
pub struct SlContent {
    /// The expressions; at least one.
    pub expressions: Vec<ContentExpression>,
}

/// Content expression: action, proposition or identifying reference.
//= fipa00008 2.1 ContentExpression
#[derive(Clone, Debug, PartialEq)]
pub enum ContentExpression {
    /// An object that fits a description.
    Identifying(Identifying),
    /// Action to take.
    Action(ActionExpression),
    /// Something that is true or not.
    Proposition(Wff),
}

/// A well-formed formula.
//= fipa00008 2.1 Wff
#[derive(Clone, Debug, PartialEq)]
pub enum Wff {
    /// `true`
    True,
    /// `false`
    False,
    /// A proposition without arguments.
    Symbol(Symbol),
    /// A predicate of at least one argument.
    Predicate(Symbol, Vec<SlTerm>),
    /// `(= a b)`: both are the same object.
    Equal(SlTerm, SlTerm),
    /// `(result a b)`: the result of `a` is `b`.
    Result(SlTerm, SlTerm),
    /// `(not p)`
    Not(Box<Self>),
    /// `(and p q)` and its like.
    Binary(BinaryOp, Box<Self>, Box<Self>),
    /// `(forall ?x p)` and `(exists ?x p)`.
    Quantified(Quantifier, Symbol, Box<Self>),
    /// Formula that an agent believes, is uncertain of, wants or intends.
    Modal(ModalOp, SlTerm, Box<Self>),
    /// Action that can take place or has taken place. The formula was true just before (or will be after).
    Happens(ActionOp, ActionExpression, Option<Box<Self>>),
}

/// A connective.
//= fipa00008 2.1 BinaryLogicalOp
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names say it")]
pub enum BinaryOp {
    And,
    Or,
    Implies,
    Equiv,
}

/// A quantifier.
//= fipa00008 2.1 Quantifier
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names say it")]
pub enum Quantifier {
    Forall,
    Exists,
}

/// An attitude.
//= fipa00008 2.1 ModalOp
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModalOp {
    /// `B`
    Believes,
    /// `U`
    Uncertain,
    /// `PG`: has the persistent goal.
    PersistentGoal,
    /// `I`
    Intends,
}

/// Operator on an action: feasible or done.
//= fipa00008 2.1 ActionOp
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names say it")]
pub enum ActionOp {
    Feasible,
    Done,
}

/// An object.
//= fipa00008 2.1 Term
#[derive(Clone, Debug, PartialEq)]
pub enum SlTerm {
    /// `?x`
    Variable(Symbol),
    /// A whole number.
    Integer(i64),
    /// Any other number. Those too large for 64 bits become the nearest double.
    Float(f64),
    /// A string written as a word.
    Word(Symbol),
    /// A string in quotes.
    Literal(Text),
    /// A string by its length, that is no text.
    Bytes(Vec<u8>),
    /// A time, as it is written.
    Time(Text),
    /// `(f a b)`
    Function(Symbol, Vec<Self>),
    /// `(f :p a :q b)`, with at least one parameter.
    Frame(Symbol, Vec<(Symbol, Self)>),
    /// An action as an object.
    Action(Box<ActionExpression>),
    /// `(sequence a b)`
    Sequence(Vec<Self>),
    /// `(set a b)`
    Set(Vec<Self>),
    /// An object by its description.
    Identifying(Box<Identifying>),
}

/// `(iota ?x p)`, `(any ?x p)`, `(all ?x p)`: the object, any object, all objects for which `p` is true.
//= fipa00008 2.1 IdentifyingExpression
#[derive(Clone, Debug, PartialEq)]
pub struct Identifying {
    /// Operator that selects among the objects.
    pub operator: ReferentialOp,
    /// Term to return for each match.
    pub term: SlTerm,
    /// The description.
    pub description: Wff,
}

/// Operator that selects among the objects of a description.
//= fipa00008 2.1 ReferentialOperator
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names say it")]
pub enum ReferentialOp {
    Iota,
    Any,
    All,
}

/// Action.
//= fipa00008 2.1 ActionExpression
#[derive(Clone, Debug, PartialEq)]
pub enum ActionExpression {
    /// `(action agent term)`
    Action(SlTerm, SlTerm),
    /// `(| a b)`: one or the other.
    Either(Box<Self>, Box<Self>),
    /// `(; a b)`: one after the other.
    Then(Box<Self>, Box<Self>),
}

impl SlContent {
    /// Parses content of this profile.
    ///
    /// # Errors
    /// The text is no such content: the error names what was expected, or the construct that the profile lacks, and
    /// the place.
    pub fn parse(text: &str, profile: Profile) -> Result<Self, DecodeError> {
        parse::content(text.as_bytes(), profile)
    }
}

/// Converts SL text to a content value: a list of its expressions.
///
/// # Errors
/// The same as those of [`SlContent::parse`].
pub fn text_to_value(text: &str, profile: Profile) -> Result<Value, DecodeError> {
    Ok(values::from_content(&SlContent::parse(text, profile)?))
}

/// Returns the SL text of a content value: of a list's elements as expressions, or of one expression.
///
/// # Errors
/// [`EncodeError::Inexpressible`] if the profile has no expression for it.
pub fn value_to_text(value: &Value, profile: Profile) -> Result<String, EncodeError> {
    let text = values::to_content(value)?.to_string();
    match SlContent::parse(&text, profile) {
        Ok(_) => Ok(text),
        Err(error) => Err(EncodeError::Inexpressible(error.kind.to_string())),
    }
}

/// The operators by their words.
macro_rules! operators {
    ($($type:ident { $($variant:ident = $word:literal),* })*) => {
        $(impl $type {
            /// Returns the word in the text.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            /// Returns the operator of this word.
            pub fn of_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        })*
    };
}

operators! {
    BinaryOp { And = "and", Or = "or", Implies = "implies", Equiv = "equiv" }
    Quantifier { Forall = "forall", Exists = "exists" }
    ModalOp { Believes = "B", Uncertain = "U", PersistentGoal = "PG", Intends = "I" }
    ActionOp { Feasible = "feasible", Done = "done" }
    ReferentialOp { Iota = "iota", Any = "any", All = "all" }
}

/// Checks whether a word in a formula's first place is an operator, not a predicate.
fn is_operator_of_formulas(word: &str) -> bool {
    matches!(word, "not" | "=" | "result" | "true" | "false" | "action" | "|" | ";")
        || BinaryOp::of_word(word).is_some()
        || Quantifier::of_word(word).is_some()
        || ModalOp::of_word(word).is_some()
        || ActionOp::of_word(word).is_some()
        || ReferentialOp::of_word(word).is_some()
}

/// Checks whether a word in a term's first place is an operator, not a function.
fn is_operator_of_terms(word: &str) -> bool {
    matches!(word, "action" | "|" | ";" | "sequence" | "set") || ReferentialOp::of_word(word).is_some()
}

/// Checks whether `text` is a word of SL.
//= fipa00008 2.2 Word
fn is_word(text: &str) -> bool {
    crate::tokens::is_bare(text)
        && !matches!(text.as_bytes().first(), Some(b'0'..=b'9' | b':' | b'-' | b'?'))
        && !crate::tokens::is_integer(text)
        && !crate::tokens::is_float(text)
        && !crate::codec::date::is_time(text)
}
