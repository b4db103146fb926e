//! Messages that create their receivers, on the node that serves its name.

use whimbrel_acl::{AclMessage, Aid, Performative, Value};

use crate::dead_letters::agent_atom;

/// The ontology of creations. No agent can name one that begins with a space.
const ONTOLOGY: &str = " creation";

/// The message by which `creator` creates an agent of this name.
pub fn creation(creator: Aid, name: Aid, content: Value) -> AclMessage {
    let mut message = AclMessage::new(Performative::Request, creator, name, content);
    message.extras_mut().ontology = Some(ONTOLOGY.into());
    message
}

/// Whether a message creates its receiver.
pub fn is_creation(message: &AclMessage) -> bool {
    message.extras().ontology.is_some_and(|ontology| ontology.as_str() == ONTOLOGY)
}

/// What the creator is told if there will be no such agent: a `failure` whose content is `[action(Creator, create(Name)),
/// not_created(Name, "Why")]`. `None` if no agent created it: then it is its own creator.
//= fipa00037 3.7
pub fn not_created(teller: Aid, creator: Aid, name: Aid, why: &str) -> Option<AclMessage> {
    if creator.name == name.name {
        return None;
    }
    let action = Value::term("action", [agent_atom(creator), Value::term("create", [agent_atom(name)])]);
    let reason = Value::term("not_created", [agent_atom(name), Value::from(why)]);
    Some(AclMessage::new(Performative::Failure, teller, creator, Value::list([action, reason])))
}

/// What the creator is told of an agent whose name another one has.
pub fn name_taken(teller: Aid, creator: Aid, name: Aid) -> Option<AclMessage> {
    not_created(teller, creator, name, &format!("an agent named {} exists already", name.name))
}
