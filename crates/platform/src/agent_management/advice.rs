//! Placement advice from the agent `ams`: `query-ref advise(Node, Job)`, or `askOne` in KQML. So any agent that can
//! send a message can ask for it, in whatever language it is written. The function is not FIPA's: see
//! docs/guide/mobility.md.

use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value, sym};

use crate::advice::{Advice, AdviseError, DocumentJob};
use crate::{Outbox, Services};

/// Answers a message that asks for advice; returns false for all others. The answer is an `inform` whose content is
/// [`advice(Choice, Go_ms, Ask_ms, Why)`](crate::advice::Advice::to_value), or a `failure` whose content is
/// `no_advice(Error, Why)`.
pub(super) fn answer(message: &AclMessage, me: Aid, services: &dyn Services, outbox: &mut Outbox) -> bool {
    let is_advise = |content: &Value| content.functor().is_some_and(|name| name.as_str() == "advise");
    let is_question = matches!(message.performative, Performative::QueryRef | Performative::Other(sym::ASK_ONE));
    if !is_question || !is_advise(&message.content) {
        return false;
    }
    let (failed, informed) =
        (message.make_reply(me, Performative::Failure), message.make_reply(me, Performative::Inform));
    let answer = move |outcome: Result<Advice, AdviseError>| match outcome {
        Ok(advice) => AclMessage { content: advice.to_value(), ..informed },
        Err(error) => {
            let why = [Value::atom(error.name()), Value::from(error.to_string())];
            AclMessage { content: Value::term("no_advice", why), ..failed }
        }
    };
    let (node, job) = match message.content.args() {
        [node, job] => (name_of(node), DocumentJob::read(job)),
        _ => (Symbol::default(), DocumentJob::read(&message.content)),
    };
    if let Some(answer) = services.advise(message.sender, node, job, Box::new(answer)) {
        outbox.send(answer);
    }
    true
}

fn name_of(value: &Value) -> Symbol {
    match value {
        Value::Str(text) => Symbol::new(text),
        other => Symbol::new(&other.to_string()),
    }
}
