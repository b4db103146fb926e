//! Imports of guests: the functions of module `whim` (docs/design/wasm-agents.md).

mod lifecycle;
mod messages;
mod platform;
mod storage;
mod suspension;

use std::time::Duration;

use wasmtime::{Caller, Linker};
use whimbrel_platform::Time;

use crate::abi::code;
use crate::guest::{Breach, Guest};

type Result<T> = wasmtime::Result<T>;

/// Adds all imports.
pub(crate) fn add_to(linker: &mut Linker<Guest>) -> Result<()> {
    messages::add_to(linker)?;
    platform::add_to(linker)?;
    lifecycle::add_to(linker)?;
    storage::add_to(linker)?;
    suspension::add_to(linker)
}

fn breach(breach: Breach) -> wasmtime::Error {
    wasmtime::Error::new(breach)
}

/// Returns the guest's memory, and the guest.
fn parts<'a>(caller: &'a mut Caller<'_, Guest>) -> Result<(&'a mut [u8], &'a mut Guest)> {
    let memory =
        caller.data().memory.ok_or_else(|| breach(Breach::Nonsense("it calls an import during instantiation")))?;
    Ok(memory.data_and_store_mut(caller))
}

fn range(ptr: i32, len: i32) -> std::ops::Range<usize> {
    let (ptr, len) = (ptr as u32 as usize, len as u32 as usize);
    // Both have 32 bits.
    ptr..ptr + len
}

fn region(memory: &[u8], ptr: i32, len: i32) -> Result<&[u8]> {
    memory.get(range(ptr, len)).ok_or_else(|| breach(Breach::OutsideMemory))
}

fn region_mut(memory: &mut [u8], ptr: i32, len: i32) -> Result<&mut [u8]> {
    memory.get_mut(range(ptr, len)).ok_or_else(|| breach(Breach::OutsideMemory))
}

/// Reads text; `None` if it is no UTF-8 or longer than a message may be.
fn text<'a>(memory: &'a [u8], ptr: i32, len: i32, guest: &Guest) -> Result<Option<&'a str>> {
    let bytes = region(memory, ptr, len)?;
    Ok(std::str::from_utf8(bytes).ok().filter(|text| text.len() <= guest.terms.message_bytes))
}

fn no_text(guest: &mut Guest) -> i32 {
    guest.refuse(code::MALFORMED, "text not UTF-8, or too long")
}

/// Copies as much of `bytes` as there is room for, and returns their whole length.
fn copy_out(memory: &mut [u8], ptr: i32, cap: i32, bytes: &[u8]) -> Result<i32> {
    let room = region_mut(memory, ptr, cap)?;
    let count = bytes.len().min(room.len());
    if let (Some(to), Some(from)) = (room.get_mut(..count), bytes.get(..count)) {
        to.copy_from_slice(from);
    }
    Ok(i32::try_from(bytes.len()).unwrap_or(i32::MAX))
}

/// Returns the time `ms` milliseconds after `now`; never, if `ms` is negative.
fn later(now: Time, ms: i64) -> Time {
    match u64::try_from(ms) {
        Ok(ms) => now + Duration::from_millis(ms),
        Err(_) => Time::NEVER,
    }
}
