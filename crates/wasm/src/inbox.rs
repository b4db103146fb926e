//! What comes to a guest, as it is handed over.

use whimbrel_acl::{AclMessage, Performative, Template, Value};
use whimbrel_platform::Turn;

use crate::frame::write_message;

/// Writes a message for a guest; false if it cannot be written, and its sender is told so.
pub(crate) fn write(message: &AclMessage, turn: &mut Turn<'_>, frame: &mut Vec<u8>) -> bool {
    let written = write_message(message, turn.services.platform(), frame);
    if let Err(why) = written {
        let reason = Value::Str(format!("{} cannot read this: {why}", turn.aid).into());
        turn.outbox.send(message.make_reply(turn.aid, Performative::NotUnderstood).with_content(reason));
    }
    written.is_ok()
}

/// Takes the oldest message that fits and that the guest can read.
pub(crate) fn frame_of_next(turn: &mut Turn<'_>, template: &Template) -> Option<Vec<u8>> {
    loop {
        let message = turn.mailbox.take_matching(template)?;
        let mut frame = Vec::new();
        if write(&message, turn, &mut frame) {
            return Some(frame);
        }
    }
}
