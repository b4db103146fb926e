//! Imports that end or move the guest after its call: `stop`, `set_lifetime`, `depart`, `depart_clone`, `discard`,
//! `recalled`; and `life`.

use std::time::Duration;

use wasmtime::{Caller, Linker};
use whimbrel_acl::Symbol;
use whimbrel_platform::mobility::{HopMode, HopRequest};

use super::{Result, breach, no_text, parts, region, text};
use crate::abi::{MODULE, code};
use crate::guest::Guest;

/// Regions that a guest may discard in one call.
const DISCARDED_MAX: usize = 1_024;

pub(super) fn add_to(linker: &mut Linker<Guest>) -> Result<()> {
    linker.func_wrap(MODULE, "stop", |mut caller: Caller<'_, Guest>| -> Result<()> {
        parts(&mut caller)?.1.requests.stop = true;
        Ok(())
    })?;
    linker.func_wrap(MODULE, "set_lifetime", set_lifetime)?;
    linker.func_wrap(MODULE, "life", |mut caller: Caller<'_, Guest>| -> Result<i64> {
        let (_, guest) = parts(&mut caller)?;
        if guest.call_state.life == 0 {
            // Drawn once, so the guest cannot use it as a source of random numbers.
            guest.call_state.life = guest.turn.with(|turn| turn.services.random()).unwrap_or_default().max(1);
        }
        Ok(guest.call_state.life as i64)
    })?;
    linker.func_wrap(MODULE, "recalled", |mut caller: Caller<'_, Guest>| -> Result<i32> {
        Ok(parts(&mut caller)?.1.call_state.recalls as i32)
    })?;
    linker.func_wrap(MODULE, "discard", |mut caller: Caller<'_, Guest>, ptr: i32, len: i32| -> Result<()> {
        let (memory, guest) = parts(&mut caller)?;
        region(memory, ptr, len)?;
        if guest.requests.discard.len() < DISCARDED_MAX {
            guest.requests.discard.push((ptr as u32, len as u32));
        }
        Ok(())
    })?;
    linker.func_wrap(MODULE, "depart", |mut caller: Caller<'_, Guest>, ptr: i32, len: i32| -> Result<i32> {
        depart(&mut caller, (ptr, len), None)
    })?;
    linker.func_wrap(
        MODULE,
        "depart_clone",
        |mut caller: Caller<'_, Guest>, ptr: i32, len: i32, name: i32, name_len: i32| -> Result<i32> {
            depart(&mut caller, (ptr, len), Some((name, name_len)))
        },
    )?;
    Ok(())
}

/// Has the guest, or the clone that it names, depart when the call is over.
fn depart(caller: &mut Caller<'_, Guest>, node: (i32, i32), clone: Option<(i32, i32)>) -> Result<i32> {
    let hop = match hop(caller, node, clone)? {
        Ok(hop) => hop,
        Err(code) => return Ok(code),
    };
    let guest = caller.data_mut();
    if guest.requests.hop.is_some() {
        return Ok(guest.refuse(code::FULL, "too many hops in one call: the limit is 1"));
    }
    guest.requests.hop = Some(hop);
    Ok(0)
}

/// Limits the lifetime of the guest; a shorter limit stays.
fn set_lifetime(mut caller: Caller<'_, Guest>, ms: i64) -> Result<i32> {
    let (_, guest) = parts(&mut caller)?;
    let lifetime = Duration::from_millis(ms.max(0) as u64);
    let is_set = guest.turn.with(|turn| {
        let until = turn.services.directory().and_then(|directory| directory.with_ams(|ams| ams.ties(turn.aid).until));
        let now = turn.services.now();
        until.is_some_and(|until| until <= now + lifetime) || turn.services.set_lifetime(turn.aid, lifetime)
    });
    let is_set = is_set.unwrap_or_default();
    Ok(if is_set { 0 } else { guest.refuse(code::DENIED, "agents of this platform have no lifetime") })
}

/// Reads the destination of a guest, or of the clone that it names; or returns the negative answer.
pub(super) fn hop(
    caller: &mut Caller<'_, Guest>,
    node: (i32, i32),
    clone: Option<(i32, i32)>,
) -> Result<std::result::Result<HopRequest, i32>> {
    let (memory, guest) = parts(caller)?;
    let name = clone.map_or(Ok(Some("")), |(ptr, len)| text(memory, ptr, len, guest))?;
    let (Some(node), Some(name)) = (text(memory, node.0, node.1, guest)?, name) else {
        return Ok(Err(no_text(guest)));
    };
    if node.is_empty() {
        return Ok(Err(guest.refuse(code::MALFORMED, "destination without a name")));
    }
    let request = guest.naming(|_| {
        let mode = if clone.is_some() { HopMode::Clone(Symbol::new(name)) } else { HopMode::Move };
        HopRequest { to: Symbol::new(node), mode }
    });
    request.map(Ok).map_err(breach)
}
