//! Rules as they are written: every text or list of texts checked as it is read, so that whoever parses the file can
//! tell the place.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Action, Pattern, PatternError, Rule, Who};

/// Why something in a policy is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// It names somebody in no known way.
    #[error("{0:?} names nobody: expected `*`, `agent:NAME`, `node:NAME`, `session:NAME` or `stranger`")]
    Who(String),
    /// The name in it is no pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// It is about nobody.
    #[error("a rule about nobody: `who` is an empty list")]
    Nobody,
    /// It says nothing.
    #[error(
        "a rule that says nothing: expected `create`, `kill`, `move`, `register`, `send`, `publish`, `subscribe` or `code`"
    )]
    Nothing,
}

/// A text or a list of texts, each read as a `T`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OneOrMore<T>(Vec<T>);

impl<T> OneOrMore<T> {
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }
}

impl<T> Default for OneOrMore<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// What is written as a text.
trait FromText: Sized {
    fn from_text(text: &str) -> Result<Self, RuleError>;
}

impl FromText for Pattern {
    fn from_text(text: &str) -> Result<Self, RuleError> {
        Ok(Self::new(text)?)
    }
}

impl FromText for Who {
    fn from_text(text: &str) -> Result<Self, RuleError> {
        match text.split_once(':') {
            None if text == "*" => Ok(Self::Everybody),
            None if text == "stranger" => Ok(Self::Stranger),
            Some(("agent", name)) => Ok(Self::Agent(Pattern::new(name)?)),
            Some(("node", name)) => Ok(Self::Node(Pattern::new(name)?)),
            Some(("session", name)) => Ok(Self::Session(Pattern::new(name)?)),
            _ => Err(RuleError::Who(text.to_owned())),
        }
    }
}

/// One text of a list.
struct Checked<T>(T);

impl<'de, T: FromText> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        T::from_text(&text).map(Self).map_err(D::Error::custom)
    }
}

struct OneOrMoreVisitor<T>(PhantomData<T>);

impl<'de, T: FromText> Visitor<'de> for OneOrMoreVisitor<T> {
    type Value = OneOrMore<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(OneOrMore(vec![T::from_text(text).map_err(E::custom)?]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Checked(one)) = texts.next_element()? {
            all.push(one);
        }
        Ok(OneOrMore(all))
    }
}

impl<'de, T: FromText> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMoreVisitor(PhantomData))
    }
}

/// A rule as it stands in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRule {
    who: OneOrMore<Who>,
    #[serde(default)]
    create: OneOrMore<Pattern>,
    #[serde(default)]
    kill: OneOrMore<Pattern>,
    #[serde(default)]
    r#move: OneOrMore<Pattern>,
    #[serde(default)]
    register: OneOrMore<Pattern>,
    #[serde(default)]
    send: OneOrMore<Pattern>,
    #[serde(default)]
    publish: OneOrMore<Pattern>,
    #[serde(default)]
    subscribe: OneOrMore<Pattern>,
    #[serde(default)]
    code: OneOrMore<Pattern>,
    #[serde(default)]
    teach: OneOrMore<Pattern>,
}

impl TryFrom<RawRule> for Rule {
    type Error = RuleError;

    fn try_from(raw: RawRule) -> Result<Self, RuleError> {
        let RawRule { who, create, kill, r#move, register, send, publish, subscribe, code, teach } = raw;
        let objects: [Vec<Pattern>; Action::ALL.len()] =
            [create, kill, r#move, register, send, publish, subscribe, code, teach].map(|patterns| patterns.0);
        if who.0.is_empty() {
            return Err(RuleError::Nobody);
        }
        if objects.iter().all(Vec::is_empty) {
            return Err(RuleError::Nothing);
        }
        Ok(Self { who: who.0, objects })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Policy;
    use super::*;

    #[track_caller]
    fn refused(json: &str, why: &str) {
        let error = serde_json::from_str::<Policy>(json).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn rules_are_read_by_name() {
        let all = r#"{"allow": [{"who": ["*", "stranger", "agent:a", "node:n", "session:s"], "create": "a", "kill": "b",
            "move": "c", "register": "d", "send": ["e", "f"], "publish": "g", "subscribe": "h", "code": "i"}]}"#;
        let policy: Policy = serde_json::from_str(all).unwrap();
        let session = super::super::Principal::Session { name: "s".into(), node: "n".into() };
        for (action, object) in Action::ALL.into_iter().zip(["a", "b", "c", "d", "f", "g", "h", "i"]) {
            assert_eq!(policy.verdict(session, action, object), super::super::Verdict::Allowed, "{action}");
            assert_eq!(policy.verdict(session, action, "z"), super::super::Verdict::Unsaid, "{action}");
        }
        assert_eq!(policy.rules(), 1);
        assert_eq!(serde_json::from_str::<Policy>("{}").unwrap(), Policy::DEFAULT);
    }

    #[test]
    fn what_is_no_rule_is_told() {
        refused(r#"{"alow": []}"#, "unknown field `alow`");
        refused(r#"{"allow": [{"send": "*"}]}"#, "missing field `who`");
        refused(r#"{"allow": [{"who": "*"}]}"#, "a rule that says nothing");
        refused(r#"{"allow": [{"who": [], "send": "*"}]}"#, "a rule about nobody");
        refused(r#"{"allow": [{"who": "amy", "send": "*"}]}"#, r#""amy" names nobody: expected `*`, `agent:NAME`"#);
        refused(r#"{"allow": [{"who": "agent:", "send": "*"}]}"#, "an empty pattern");
        refused(r#"{"allow": [{"who": "*", "sned": "*"}]}"#, "unknown field `sned`, expected one of");
        refused(r#"{"deny": [{"who": "*", "send": 3}]}"#, "expected a text or a list of texts");
        refused(r#"{"deny": [{"who": "*", "send": ["a", ""]}]}"#, "an empty pattern");
    }
}
