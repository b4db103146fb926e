//! Meaning of an agent's message for the call that it is about.

use serde_json::Value as Json;
use whimbrel_acl::{AclMessage, Performative, Symbol, Value};

use super::CallOutcome;
use crate::json::{json_of, text_of};
use crate::kqml::fipa_of;
use crate::mcp::headers::McpLogLevel;

/// Parameter of an agent's `inform`: false if more is to come.
const LAST_PARAMETER: &str = "X-mcp-last";

/// Meaning of a message.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AnswerReading {
    /// The agent works.
    Working { done: Option<f64>, total: Option<f64>, message: String },
    /// The agent logs something.
    Logged { level: McpLogLevel, data: Json },
    /// The agent asks the client.
    Asked,
    /// The call is over.
    Outcome(CallOutcome),
}

/// Returns the meaning of an agent's message.
pub(super) fn reading(message: &AclMessage) -> AnswerReading {
    use Performative as P;
    let content = &message.content;
    let words = || AnswerReading::Working { done: None, total: None, message: text_of(content) };
    match fipa_of(message.performative) {
        P::Inform | P::Confirm | P::Disconfirm => informed(message),
        P::Failure => AnswerReading::Outcome(CallOutcome::failed(content)),
        P::Refuse => AnswerReading::Outcome(CallOutcome::refused(content, "the agent refused")),
        P::NotUnderstood => AnswerReading::Outcome(CallOutcome::refused(content, "the agent did not understand")),
        P::Cancel => AnswerReading::Outcome(CallOutcome::Failed("the agent called it off".to_owned())),
        P::Propose
        | P::QueryIf
        | P::QueryRef
        | P::Request
        | P::RequestWhen
        | P::RequestWhenever
        | P::InformIf
        | P::InformRef
        | P::Cfp
        | P::Subscribe => AnswerReading::Asked,
        P::Agree | P::AcceptProposal | P::RejectProposal | P::Propagate | P::Proxy | P::Other(_) => words(),
    }
}

fn informed(message: &AclMessage) -> AnswerReading {
    let content = &message.content;
    let functor = content.functor().map(|functor| functor.as_str());
    match (functor, content.args()) {
        (Some("progress"), [done]) => return working(done, None, ""),
        (Some("progress"), [done, total]) => return working(done, Some(total), ""),
        (Some("progress"), [done, total, words]) => return working(done, Some(total), &text_of(words)),
        (Some("log"), [level, data]) => {
            if let Some(level) = McpLogLevel::named(&text_of(level)) {
                return AnswerReading::Logged { level, data: json_of(data) };
            }
        }
        _ => {}
    }
    if is_last(message) {
        AnswerReading::Outcome(CallOutcome::Told(content.clone()))
    } else {
        AnswerReading::Working { done: None, total: None, message: text_of(content) }
    }
}

fn working(done: &Value, total: Option<&Value>, words: &str) -> AnswerReading {
    AnswerReading::Working { done: done.as_f64(), total: total.and_then(Value::as_f64), message: words.to_owned() }
}

/// Returns false if the agent says that more is to come, also as text: codecs of FIPA know nothing else.
fn is_last(message: &AclMessage) -> bool {
    let wanted = |(name, _): &&(Symbol, Value)| name.as_str().eq_ignore_ascii_case(LAST_PARAMETER);
    let value = message.extras().user.iter().find(wanted).map(|(_, value)| value);
    value.is_none_or(|value| value.as_bool() != Some(false) && text_of(value) != "false")
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::Aid;

    use super::*;

    fn said(performative: Performative, content: impl Into<Value>) -> AclMessage {
        AclMessage::new(performative, Aid::local("bob"), Aid::local("mcp_1"), content)
    }

    #[test]
    fn performatives_have_meanings() {
        let readings = Performative::FIPA.map(|performative| reading(&said(performative, "x")));
        let count = |is_wanted: fn(&AnswerReading) -> bool| readings.iter().filter(|it| is_wanted(it)).count();
        assert_eq!(count(|it| matches!(it, AnswerReading::Working { .. })), 5);
        assert_eq!(count(|it| *it == AnswerReading::Asked), 10);
        assert_eq!(count(|it| matches!(it, AnswerReading::Outcome(CallOutcome::Told(_)))), 3);
        assert_eq!(count(|it| matches!(it, AnswerReading::Outcome(CallOutcome::Refused(_)))), 2);
        assert_eq!(count(|it| matches!(it, AnswerReading::Outcome(CallOutcome::Failed(_)))), 2);
    }

    #[test]
    fn informs_may_be_progress() {
        let half = Value::term("progress", [Value::Int(1), Value::Int(2), Value::from("half")]);
        let working = AnswerReading::Working { done: Some(1.0), total: Some(2.0), message: "half".into() };
        assert_eq!(reading(&said(Performative::Inform, half)), working);
        let log = Value::term("log", [Value::atom("info"), Value::from("x")]);
        let logged = AnswerReading::Logged { level: McpLogLevel::Info, data: "x".into() };
        assert_eq!(reading(&said(Performative::Inform, log)), logged);
        let mut early = said(Performative::Inform, "soon");
        early.extras_mut().user.push((LAST_PARAMETER.into(), Value::Bool(false)));
        assert!(matches!(reading(&early), AnswerReading::Working { .. }));
    }
}
