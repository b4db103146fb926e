//! Substitutes for answers that are too long for a client: the client gets a `failure` and does not wait in vain.

use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value, sym};

use crate::agent_management::too_many_results;

/// Returns a `failure` in place of an answer that is too long for its client, for the reason `why`; `None` if the
/// message answers nothing. For an answer of a directory it comes from that directory (FIPA00023 6.3.5); for any other,
/// from the AMS.
//= fipa00023 6.3.5
pub(super) fn answer_instead(answer: &AclMessage, to: Aid, platform: Symbol, why: &str) -> Option<AclMessage> {
    let extras = answer.extras();
    if extras.in_reply_to.is_none() && extras.conversation_id.is_none() {
        return None;
    }
    let home = answer.sender.platform == sym::EMPTY || answer.sender.platform == platform;
    let is_directory = home && (answer.sender.name == sym::DF || answer.sender.name == sym::AMS);
    let results = if is_directory { too_many_results(answer, why) } else { None };
    let sender = if results.is_some() { answer.sender } else { Aid::local(sym::AMS) };
    let content = results
        .unwrap_or_else(|| Value::from(format!("an answer of {} could not be handed over: {why}", answer.sender)));
    let mut failure =
        AclMessage { extras: answer.extras.clone(), ..AclMessage::new(Performative::Failure, sender, to, content) };
    let quoted = failure.extras_mut();
    quoted.reply_with = None;
    quoted.reply_to.clear();
    quoted.user.clear();
    Some(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHY: &str = "a message of 9 bytes";

    fn instead(answer: &AclMessage) -> Option<(String, String)> {
        let failure = answer_instead(answer, Aid::local("bob"), "home".into(), WHY)?;
        assert_eq!((failure.performative, &failure.extras().in_reply_to), (Performative::Failure, &Some("q1".into())));
        Some((failure.sender.to_string(), failure.content.to_string()))
    }

    fn answer(from: &str, content: impl Into<Value>) -> AclMessage {
        let mut answer = AclMessage::new(Performative::Inform, Aid::local(from), Aid::local("bob"), content);
        answer.extras_mut().in_reply_to = Some("q1".into());
        answer
    }

    #[test]
    fn too_many_results_are_failure() {
        let results = Value::term("set", vec![Value::atom("entry"); 3]);
        let found = Value::list([Value::term(
            "result",
            [Value::term("action", [Value::atom("df"), Value::atom("search")]), results],
        )]);
        let told = r#"[action(df,search),internal-error("too many results: give max-results, or ask for less (a message of 9 bytes)")]"#;
        assert_eq!(instead(&answer("df", found.clone())), Some(("df".into(), told.into())));
        assert_eq!(instead(&answer("ams", found.clone())).unwrap().0, "ams");
        let (sender, content) = instead(&answer("df2", found)).unwrap();
        assert_eq!((sender.as_str(), content.contains("an answer of df2 could not be handed over")), ("ams", true));
    }

    #[test]
    fn sl_results_get_sl_failure() {
        let text = "((result (action (agent-identifier :name df@home) (search (df-agent-description) (search-constraints))) (set (df-agent-description :name (agent-identifier :name bob@home)))))";
        let answer = answer("df", text).with_language("fipa-sl0");
        let (sender, content) = instead(&answer).unwrap();
        assert_eq!(sender, "df");
        assert!(content.contains("((action (agent-identifier :name df@home) (search "), "{content}");
        assert!(content.contains("(internal-error "), "{content}");
    }

    #[test]
    fn unanswering_message_has_no_substitute() {
        let news = AclMessage::new(Performative::Inform, Aid::local("amy"), Aid::local("bob"), "long");
        assert_eq!(instead(&news), None);
    }
}
