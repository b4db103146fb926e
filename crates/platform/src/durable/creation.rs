//! Messages that create their receivers; the node that serves the receiver's name handles them.

use whimbrel_acl::{AclMessage, Aid, Performative, Value, sym};

use crate::dead_letters::agent_atom;

/// Ontology of creations. Agents cannot name it, because it begins with a space.
const ONTOLOGY: &str = " creation";

/// Returns the message by which `creator` creates an agent of this name.
pub fn creation(creator: Aid, name: Aid, content: Value) -> AclMessage {
    let mut message = AclMessage::new(Performative::Request, creator, name, content);
    message.extras_mut().ontology = Some(ONTOLOGY.into());
    message
}

/// Returns true if a message creates its receiver.
pub fn is_creation(message: &AclMessage) -> bool {
    message.extras().ontology.is_some_and(|ontology| ontology.as_str() == ONTOLOGY)
}

/// Returns the `failure` for the creator of an agent that could not be created. Its content is `[action(Creator,
/// create(Name)), not_created(Name, "Why")]`. Returns `None` if no agent created it: then the AMS of a node did, or in
/// earlier releases the agent itself.
//= fipa00037 3.7
pub fn not_created(teller: Aid, creator: Aid, name: Aid, why: &str) -> Option<AclMessage> {
    if creator.name == name.name || creator.name == sym::AMS {
        return None;
    }
    let action = Value::term("action", [agent_atom(creator), Value::term("create", [agent_atom(name)])]);
    let reason = Value::term("not_created", [agent_atom(name), Value::from(why)]);
    Some(AclMessage::new(Performative::Failure, teller, creator, Value::list([action, reason])))
}

/// Returns the `failure` for the creator of an agent whose name is taken.
pub fn name_taken(teller: Aid, creator: Aid, name: Aid) -> Option<AclMessage> {
    not_created(teller, creator, name, &format!("an agent named {} exists already", name.name))
}
