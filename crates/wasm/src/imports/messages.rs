//! Messages: `send`, `on_failure`, `take`, `read`, `reason`.

use wasmtime::{Caller, Linker};
use whimbrel_acl::{AclMessage, Template, sym};
use whimbrel_platform::limits::{
    GUEST_CALL_BYTES_MAX, GUEST_CALL_MESSAGES_MAX, GUEST_LAST_WORDS_BYTES_MAX, MESSAGE_RECEIVERS_MAX,
};
use whimbrel_platform::topics::Cast;

use super::{Result, breach, copy_out, parts, region};
use crate::abi::{MODULE, code};
use crate::agent::is_to_agents;
use crate::frame::{read_message, read_template};
use crate::guest::Guest;
use crate::inbox::frame_of_next;

pub(super) fn add_to(linker: &mut Linker<Guest>) -> Result<()> {
    linker.func_wrap(MODULE, "send", send)?;
    linker.func_wrap(MODULE, "on_failure", on_failure)?;
    linker.func_wrap(MODULE, "take", take)?;
    linker.func_wrap(MODULE, "read", |mut caller: Caller<'_, Guest>, ptr: i32, cap: i32| -> Result<i32> {
        let (memory, guest) = parts(&mut caller)?;
        let held = std::mem::take(&mut guest.call_state.held);
        copy_out(memory, ptr, cap, &held)
    })?;
    linker.func_wrap(MODULE, "reason", |mut caller: Caller<'_, Guest>, ptr: i32, cap: i32| -> Result<i32> {
        let (memory, guest) = parts(&mut caller)?;
        copy_out(memory, ptr, cap, guest.reason.as_bytes())
    })?;
    Ok(())
}

fn send(mut caller: Caller<'_, Guest>, ptr: i32, len: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let bytes = region(memory, ptr, len)?;
    let length = bytes.len();
    guest.check_length(length).map_err(breach)?;
    let Some(sender) = guest.turn.with(|turn| turn.aid) else {
        return Ok(guest.refuse(code::DENIED, "messages are not permitted in this call"));
    };
    match guest.naming(|_| read_message(bytes, sender)).map_err(breach)? {
        Ok(mut message) => {
            message.name_each_once(guest.turn.with(|turn| turn.services.platform()).unwrap_or(sym::EMPTY));
            dispatch(guest, message, length)
        }
        Err(error) => Ok(guest.refuse(code::MALFORMED, error.to_string())),
    }
}

fn dispatch(guest: &mut Guest, message: AclMessage, length: usize) -> Result<i32> {
    for receiver in &message.receivers {
        if let Some((Cast::Broadcast, topic)) = Cast::split(receiver.name)
            && !guest.terms.grants_topic(topic)
        {
            return Ok(guest.deny(&format!("topic {topic}")));
        }
    }
    if let Some(count) = message.excess_receivers() {
        let why = format!("too many receivers: {count}, the limit is {MESSAGE_RECEIVERS_MAX}");
        return Ok(guest.refuse(code::FULL, why));
    }
    let receivers = message.receivers.len() as u32;
    guest.requests.sent = guest.requests.sent.saturating_add(receivers);
    if guest.requests.sent > GUEST_CALL_MESSAGES_MAX || !guest.may_say(length) {
        let most = format!(
            "too many messages in one call: the limits are {GUEST_CALL_MESSAGES_MAX} messages and {GUEST_CALL_BYTES_MAX} bytes"
        );
        return Ok(guest.refuse(code::FULL, most));
    }
    guest.count_said(receivers).map_err(breach)?;
    guest.turn.with(|turn| turn.outbox.send_of(message, length));
    Ok(0)
}

/// Keeps a message that is sent if the guest fails; an empty one removes it.
fn on_failure(mut caller: Caller<'_, Guest>, ptr: i32, len: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let bytes = region(memory, ptr, len)?;
    guest.check_length(bytes.len()).map_err(breach)?;
    if bytes.len() > GUEST_LAST_WORDS_BYTES_MAX {
        let why = format!("last message too long: {} bytes, the limit is {GUEST_LAST_WORDS_BYTES_MAX}", bytes.len());
        return Ok(guest.refuse(code::MALFORMED, why));
    }
    let Some(sender) = guest.turn.with(|turn| turn.aid) else {
        return Ok(guest.refuse(code::DENIED, "messages are not permitted in this call"));
    };
    if !bytes.is_empty() {
        match guest.naming(|_| read_message(bytes, sender)).map_err(breach)? {
            Ok(message) if is_to_agents(&message) => {}
            Ok(_) => return Ok(guest.refuse(code::DENIED, "a last message goes to agents, not to topics and groups")),
            Err(error) => return Ok(guest.refuse(code::MALFORMED, error.to_string())),
        }
    }
    guest.call_state.last_words = bytes.to_vec();
    Ok(0)
}

fn take(mut caller: Caller<'_, Guest>, ptr: i32, len: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let bytes = region(memory, ptr, len)?;
    let template = match guest.naming(|_| read_template(bytes)).map_err(breach)? {
        Ok(template) => template,
        Err(error) => return Ok(guest.refuse(code::MALFORMED, error.to_string())),
    };
    match take_matching(guest, &template) {
        Some(length) => Ok(length),
        None => Ok(guest.refuse(code::UNKNOWN, "no matching message")),
    }
}

/// Takes the oldest message that matches, for the guest to fetch, and returns its length.
pub(super) fn take_matching(guest: &mut Guest, template: &Template) -> Option<i32> {
    let frame = guest.turn.with(|turn| frame_of_next(turn, template)).flatten();
    frame.map(|frame| guest.hold(frame))
}
