//! Imports for storage on the node, beside the guest's memory: `storage_get`, `storage_put`, `storage_delete`,
//! `storage_list`.

use wasmtime::{Caller, Linker};
use whimbrel_acl::Value;
use whimbrel_platform::limits::STORAGE_KEYS_LISTED_MAX;
use whimbrel_platform::storage::{Holder, NodeStorage, StorageError};

use super::platform::hold_value;
use super::{Result, breach, no_text, parts, region, text};
use crate::abi::{MODULE, code};
use crate::guest::Guest;

pub(super) fn add_to(linker: &mut Linker<Guest>) -> Result<()> {
    linker.func_wrap(MODULE, "storage_get", get)?;
    linker.func_wrap(MODULE, "storage_put", put)?;
    linker.func_wrap(MODULE, "storage_delete", delete)?;
    linker.func_wrap(MODULE, "storage_list", list)?;
    Ok(())
}

/// Calls `work` with the guest's storage, if storage is granted; or returns the negative answer.
fn with<R>(guest: &mut Guest, work: impl FnOnce(&NodeStorage, &Holder) -> R) -> std::result::Result<R, i32> {
    let Some(holder) = guest.used.holder() else { return Err(guest.deny("storage")) };
    let done = guest.turn.with(|turn| turn.services.storage().map(|storage| work(storage, holder))).flatten();
    done.ok_or_else(|| guest.refuse(code::UNKNOWN, "this node has no storage"))
}

/// Returns the code of either outcome as the answer of an import.
fn answered(outcome: std::result::Result<i32, i32>) -> Result<i32> {
    Ok(outcome.unwrap_or_else(|code| code))
}

fn get(mut caller: Caller<'_, Guest>, ptr: i32, len: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let Some(key) = text(memory, ptr, len, guest)? else { return Ok(no_text(guest)) };
    answered(with(guest, |storage, holder| storage.value(holder, key)).map(|found| match found {
        Some(value) => guest.hold(value.to_vec()),
        None => guest.refuse(code::UNKNOWN, "no value for this key"),
    }))
}

fn put(mut caller: Caller<'_, Guest>, ptr: i32, len: i32, value: i32, value_len: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let Some(key) = text(memory, ptr, len, guest)? else { return Ok(no_text(guest)) };
    let (value, room) = (region(memory, value, value_len)?, guest.terms.room);
    let put = with(guest, |storage, holder| storage.put(holder, key, value, room));
    Ok(match put {
        Err(code) => code,
        Ok(Ok(())) => 0,
        Ok(Err(error @ (StorageError::Key(_) | StorageError::Value(_)))) => {
            guest.refuse(code::MALFORMED, error.to_string())
        }
        Ok(Err(error @ StorageError::Entries)) => guest.refuse(code::FULL, error.to_string()),
        // Other agents took the room.
        Ok(Err(error @ StorageError::Full)) => guest.refuse(code::QUOTA, error.to_string()),
        Ok(Err(error)) => return Err(breach(error.into())),
    })
}

fn delete(mut caller: Caller<'_, Guest>, ptr: i32, len: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let Some(key) = text(memory, ptr, len, guest)? else { return Ok(no_text(guest)) };
    answered(with(guest, |storage, holder| storage.delete(holder, key)).map(|was_there| match was_there {
        true => 0,
        false => guest.refuse(code::UNKNOWN, "no value for this key"),
    }))
}

fn list(mut caller: Caller<'_, Guest>, ptr: i32, len: i32, after: i32, after_len: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let (Some(prefix), Some(after)) = (text(memory, ptr, len, guest)?, text(memory, after, after_len, guest)?) else {
        return Ok(no_text(guest));
    };
    let keys = with(guest, |storage, holder| storage.keys(holder, prefix, after, STORAGE_KEYS_LISTED_MAX));
    answered(keys.map(|keys| hold_value(guest, &Value::list(keys.into_iter().map(Value::from)))))
}
