//! Effects of an agent's message on the task that it is about.

use whimbrel_acl::{AclMessage, Performative, Symbol, Value};

use crate::kqml::fipa_of;

/// Parameter of an agent's `inform`: the artifact that it belongs to.
pub const ARTIFACT_PARAMETER: &str = "X-a2a-artifact";
/// Parameter of an agent's `inform`: true if it continues the artifact.
pub const APPEND_PARAMETER: &str = "X-a2a-append";
/// Parameter of an agent's `inform`: false if more is to come.
pub const LAST_PARAMETER: &str = "X-a2a-last";
/// Parameter of an agent's first answer: true to answer by a message, without a task.
pub const MESSAGE_PARAMETER: &str = "X-a2a-message";

/// Effect of a message on a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reaction {
    /// The agent works, and says this.
    Working,
    /// The message is a result; more is to come.
    Result(ResultPlace),
    /// The message is the last result.
    Completed(ResultPlace),
    /// The message is the answer, without a task.
    Answered,
    /// The agent failed.
    Failed,
    /// The agent refused, or did not understand.
    Rejected,
    /// The agent asks the client.
    Asked,
    /// The task is called off.
    Canceled,
    /// The agent does not call it off, and says why.
    KeptOn,
}

/// Artifact that a result belongs to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ResultPlace {
    /// Identifier of the artifact, if the agent named one.
    pub artifact: Option<String>,
    /// True if the result continues the artifact.
    pub appends: bool,
    /// True if nothing will be appended.
    pub is_last: bool,
}

/// Facts about a task that decide what a message means.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReactionFacts {
    /// True if the task was asked to end, and the message may be the answer to that.
    pub answers_cancel: bool,
    /// True if the message answers something that the client said after the task began.
    pub answers_later: bool,
    /// True if the task goes on after each result: a subscription.
    pub goes_on: bool,
    /// True if the client may still be answered without a task.
    pub is_unknown: bool,
}

/// Returns the effect of an agent's message.
pub(super) fn reaction(message: &AclMessage, facts: ReactionFacts) -> Reaction {
    use Performative as P;
    let performative = fipa_of(message.performative);
    if facts.answers_cancel {
        match performative {
            P::Inform | P::Agree | P::Confirm => return Reaction::Canceled,
            P::Refuse | P::Failure | P::NotUnderstood => return Reaction::KeptOn,
            _ => {}
        }
    }
    match performative {
        P::Inform | P::Confirm | P::Disconfirm => informed(message, facts),
        P::Failure => Reaction::Failed,
        P::NotUnderstood if facts.answers_later => Reaction::Working,
        P::Refuse | P::NotUnderstood => Reaction::Rejected,
        P::Propose
        | P::QueryIf
        | P::QueryRef
        | P::Request
        | P::RequestWhen
        | P::RequestWhenever
        | P::InformIf
        | P::InformRef
        | P::Cfp
        | P::Subscribe => Reaction::Asked,
        P::Cancel => Reaction::Canceled,
        P::Agree | P::AcceptProposal | P::RejectProposal | P::Propagate | P::Proxy | P::Other(_) => Reaction::Working,
    }
}

fn informed(message: &AclMessage, facts: ReactionFacts) -> Reaction {
    if facts.is_unknown && flag(message, MESSAGE_PARAMETER) == Some(true) {
        return Reaction::Answered;
    }
    let said_last = flag(message, LAST_PARAMETER);
    let place = ResultPlace {
        artifact: parameter(message, ARTIFACT_PARAMETER)
            .map(|name| name.as_str().map_or_else(|| name.to_string(), str::to_owned)),
        appends: flag(message, APPEND_PARAMETER) == Some(true),
        is_last: said_last != Some(false),
    };
    match said_last {
        Some(false) => Reaction::Result(place),
        None if facts.goes_on => Reaction::Result(ResultPlace { is_last: false, ..place }),
        _ => Reaction::Completed(place),
    }
}

fn parameter<'a>(message: &'a AclMessage, name: &str) -> Option<&'a Value> {
    let wanted = |(other, _): &&(Symbol, Value)| other.as_str().eq_ignore_ascii_case(name);
    message.extras().user.iter().find(wanted).map(|(_, value)| value)
}

/// Returns a parameter that is true or false, also as text: codecs of FIPA know nothing else.
fn flag(message: &AclMessage, name: &str) -> Option<bool> {
    let value = parameter(message, name)?;
    value.as_bool().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_acl::Aid;

    fn said(performative: Performative) -> AclMessage {
        AclMessage::new(performative, Aid::local("bob"), Aid::local("a2a_1"), "x")
    }

    #[test]
    fn performatives_have_effects() {
        let facts = ReactionFacts::default();
        let effects = Performative::FIPA.map(|performative| reaction(&said(performative), facts));
        let count = |wanted: &Reaction| effects.iter().filter(|effect| *effect == wanted).count();
        assert_eq!(count(&Reaction::Working), 5);
        assert_eq!(count(&Reaction::Asked), 10);
        assert_eq!(count(&Reaction::Rejected), 2);
        assert_eq!((count(&Reaction::Failed), count(&Reaction::Canceled)), (1, 1));
        assert_eq!(effects.iter().filter(|effect| matches!(effect, Reaction::Completed(_))).count(), 3);
    }

    #[test]
    fn subscription_goes_on() {
        let facts = ReactionFacts { goes_on: true, ..ReactionFacts::default() };
        assert!(matches!(reaction(&said(Performative::Inform), facts), Reaction::Result(_)));
        let mut last = said(Performative::Inform);
        last.extras_mut().user.push((LAST_PARAMETER.into(), Value::Bool(true)));
        assert!(matches!(reaction(&last, facts), Reaction::Completed(_)));
    }

    #[test]
    fn cancel_is_answered() {
        let facts = ReactionFacts { answers_cancel: true, ..ReactionFacts::default() };
        assert_eq!(reaction(&said(Performative::Inform), facts), Reaction::Canceled);
        assert_eq!(reaction(&said(Performative::Refuse), facts), Reaction::KeptOn);
        assert_eq!(reaction(&said(Performative::QueryRef), facts), Reaction::Asked);
    }
}
