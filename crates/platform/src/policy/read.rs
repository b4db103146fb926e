//! Reader of rules: every text or list of texts is checked as it is read, so that the file's parser can tell the place.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Action, Pattern, PatternError, PolicyRule, Who};
use crate::ams::{NameFault, name_fault};
use crate::links::is_node_name;
use crate::topics::Cast;

/// Reason why a text in a policy is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// Party that is named in no known way.
    #[error("{0:?} names nobody: expected `*`, `agent:NAME`, `node:NAME`, `session:NAME` or `stranger`")]
    Who(String),
    /// Name that is no pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Pattern that matches nothing that this act is ever done to.
    #[error("`{key} = {pattern:?}` has no effect: {why}")]
    NoEffect {
        /// Act or grant of the rule.
        key: &'static str,
        /// Pattern.
        pattern: String,
        /// Reason why the rule can match nothing.
        why: String,
    },
    /// Party that the rule's `who` cannot match.
    #[error("`who = {0:?}` has no effect: no {1} is called so")]
    NobodyCalledSo(String, &'static str),
    /// Rule about no party.
    #[error("a rule about nobody: `who` is an empty list")]
    Nobody,
    /// Rule without an act.
    #[error(
        "a rule that says nothing: expected `create`, `kill`, `move`, `register`, `send`, `publish`, `subscribe`, `code` or `teach`"
    )]
    Nothing,
}

/// Text or list of texts, each read as a `T`.
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

/// Value that is written as a text.
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
            Some(("agent", name)) => Ok(Self::Agent(named(text, name, "agent")?)),
            Some(("node", name)) => Ok(Self::Node(named(text, name, "node")?)),
            Some(("session", name)) => Ok(Self::Session(named(text, name, "session")?)),
            _ => Err(RuleError::Who(text.to_owned())),
        }
    }
}

/// Reads a pattern of names that agents, nodes or sessions can have.
fn named(whole: &str, name: &str, what: &'static str) -> Result<Pattern, RuleError> {
    let pattern = Pattern::new(name)?;
    let is_odd = name.contains(['@', '?']) || name.contains(char::is_control);
    let is_cast = what != "node" && Cast::split_text(name).is_some();
    if is_odd || is_cast || (what == "node" && !is_node_name(&name.replace('*', "n"))) {
        return Err(RuleError::NobodyCalledSo(whole.to_owned(), what));
    }
    Ok(pattern)
}

/// Checks that the pattern can match something that an act is done to.
pub(super) fn check_effect(action: Action, pattern: &Pattern) -> Result<(), RuleError> {
    let text = pattern.as_str();
    let cast = Cast::split_text(text);
    let why = match (action, cast) {
        (Action::Publish, Some((Cast::Broadcast, topic))) => {
            Some(format!("topics are named without `topic:`: say {topic:?}"))
        }
        (Action::Publish, Some(_)) => Some("what is written to a group is `send`".to_owned()),
        (Action::Subscribe, Some((Cast::Broadcast, topic))) => {
            Some(format!("topics are named without `topic:`: say {topic:?}"))
        }
        (Action::Send | Action::Subscribe, Some((Cast::Anycast, group))) => {
            Some(format!("a group is `group:{group}`, however one of its members is chosen"))
        }
        (Action::Send, Some((Cast::Broadcast, topic))) => {
            Some(format!("to write to a topic is `publish`: say `publish = {topic:?}`"))
        }
        (Action::Create | Action::Kill | Action::Move | Action::Teach, Some(_)) => {
            Some("no agent is called so".to_owned())
        }
        (Action::Code, _) if !CODES.iter().any(|code| pattern.may_begin(code)) => {
            Some("code is named `asl:HASH` or `wasm:HASH`".to_owned())
        }
        (Action::Create, None)
            if name_fault(&text.replace('*', "")).is_some_and(|fault| {
                !text.contains('*') || matches!(fault, NameFault::Character(_) | NameFault::Pattern(_))
            }) =>
        {
            name_fault(&text.replace('*', "")).map(|fault| format!("no agent is created under that name: {fault}"))
        }
        (Action::Kill | Action::Move | Action::Teach | Action::Send, None) if text.contains(['@', '?']) => {
            Some("agents are named by their local names, without `@` and `?`".to_owned())
        }
        _ => None,
    };
    match why {
        Some(why) => Err(RuleError::NoEffect { key: action.as_str(), pattern: text.to_owned(), why }),
        None => Ok(()),
    }
}

/// Prefixes of code names.
const CODES: [&str; 2] = ["asl:", "wasm:"];

/// Text of a list.
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

/// Rule as it stands in a file.
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

impl TryFrom<RawRule> for PolicyRule {
    type Error = RuleError;

    fn try_from(raw: RawRule) -> Result<Self, RuleError> {
        let RawRule { who, create, kill, r#move, register, send, publish, subscribe, code, teach } = raw;
        let objects: [Vec<Pattern>; Action::ALL.len()] =
            [create, kill, r#move, register, send, publish, subscribe, code, teach].map(|patterns| patterns.0);
        if who.0.is_empty() {
            return Err(RuleError::Nobody);
        }
        for (action, patterns) in Action::ALL.into_iter().zip(&objects) {
            patterns.iter().try_for_each(|pattern| check_effect(action, pattern))?;
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
            "move": "c", "register": "d", "send": ["e", "f"], "publish": "g", "subscribe": "h", "code": "asl:i"}]}"#;
        let policy: Policy = serde_json::from_str(all).unwrap();
        let session = super::super::Principal::Session { name: "s".into(), node: "n".into() };
        for (action, object) in Action::ALL.into_iter().zip(["a", "b", "c", "d", "f", "g", "h", "asl:i"]) {
            assert_eq!(policy.verdict(session, action, object), super::super::Verdict::Allowed, "{action}");
            assert_eq!(policy.verdict(session, action, "z"), super::super::Verdict::Unsaid, "{action}");
        }
        assert_eq!(policy.rules(), 1);
        assert_eq!(serde_json::from_str::<Policy>("{}").unwrap(), Policy::DEFAULT);
    }

    #[test]
    fn ineffective_rules_are_refused() {
        for (says, why) in [
            (r#""publish": "topic:weather""#, "say \"weather\""),
            (r#""subscribe": "topic:*""#, "say \"*\""),
            (r#""send": "topic:weather""#, "say `publish = \"weather\"`"),
            (r#""send": "any:crew""#, "`group:crew`"),
            (r#""publish": "group:crew""#, "`send`"),
            (r#""kill": "group:crew""#, "no agent is called so"),
            (r#""create": "AMS""#, "the platform's own"),
            (r#""create": "bob?""#, "stands for other names"),
            (r#""move": "bob@home""#, "local names"),
            (r#""code": "boss""#, "`asl:HASH` or `wasm:HASH`"),
            (r#""code": "sha*""#, "`asl:HASH` or `wasm:HASH`"),
        ] {
            refused(&format!(r#"{{"deny": [{{"who": "*", {says}}}]}}"#), why);
        }
        for who in ["agent:bob@home", "agent:group:x", "node:n 1", "node:@", "session:a?"] {
            refused(&format!(r#"{{"deny": [{{"who": "{who}", "send": "*"}}]}}"#), "has no effect");
        }
        for fine in [
            r#""who": "node:n*", "code": ["*", "asl:*", "wasm:0f*", "w*"]"#,
            r#""who": "agent:a b*", "move": ["session:*", "boss_minion*"], "kill": "ams""#,
            r#""who": "*", "send": ["group:crew", "*", "top*"], "subscribe": ["group:*", "a/*"], "create": ["*", "c*i"]"#,
        ] {
            let text = format!(r#"{{"deny": [{{{fine}}}]}}"#);
            assert!(
                serde_json::from_str::<Policy>(&text).is_ok(),
                "{text}: {:?}",
                serde_json::from_str::<Policy>(&text)
            );
        }
    }

    #[test]
    fn malformed_rules_are_refused() {
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
