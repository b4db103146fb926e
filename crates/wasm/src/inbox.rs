//! Messages of a guest, as they are passed to it.

use whimbrel_acl::{AclMessage, Performative, Template, Value};
use whimbrel_platform::Turn;

use crate::frame::{TooDeep, write_message};

/// Tells the sender of a message that the guest cannot read it.
#[cold]
pub(crate) fn refuse(message: &AclMessage, why: TooDeep, turn: &mut Turn<'_>) {
    let reason = Value::Str(format!("{} cannot read this: {why}", turn.aid).into());
    turn.outbox.send(message.make_reply(turn.aid, Performative::NotUnderstood).with_content(reason));
}

/// Takes the oldest message that matches and that the guest can read.
pub(crate) fn frame_of_next(turn: &mut Turn<'_>, template: &Template) -> Option<Vec<u8>> {
    loop {
        let message = turn.mailbox.take_matching(template)?;
        let mut frame = Vec::new();
        match write_message(&message, turn.services.platform(), &mut frame) {
            Ok(()) => return Some(frame),
            Err(why) => refuse(&message, why, turn),
        }
    }
}
