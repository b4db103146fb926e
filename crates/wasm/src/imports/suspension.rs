//! Imports that suspend a guest in the middle of a call: `receive`, `sleep`, `move_to`, `clone_to`.
//!
//! The module was prepared by binaryen's asyncify. The first call of such an import tells the guest to unwind: each
//! function on its stack saves its variables into the page that the node added to the memory, and returns. When the
//! condition is met, the node calls the same export again. The functions rewind by the saved variables, and the
//! import is called a second time: now it returns the answer.

use wasmtime::{Caller, Linker};
use whimbrel_platform::limits::GUEST_UNWOUND_BYTES;

use super::lifecycle::hop;
use super::messages::take_matching;
use super::{Result, breach, later, parts, region};
use crate::abi::{MODULE, code};
use crate::call_state::WaitCondition;
use crate::frame::read_template;
use crate::guest::{Breach, CallPhase, Guest};
use crate::live_guest::PAGE;

pub(super) fn add_to(linker: &mut Linker<Guest>) -> Result<()> {
    linker.func_wrap(MODULE, "receive", receive)?;
    linker.func_wrap(MODULE, "sleep", |mut caller: Caller<'_, Guest>, ms: i64| -> Result<()> {
        suspend(&mut caller, |caller| {
            let now = caller.data_mut().turn.with(|turn| turn.services.now()).unwrap_or_default();
            Ok(Ok(WaitCondition::Until(later(now, ms.max(0)))))
        })
        .map(|_| ())
    })?;
    linker.func_wrap(MODULE, "move_to", |mut caller: Caller<'_, Guest>, ptr: i32, len: i32| -> Result<i32> {
        suspend(&mut caller, |caller| ask_to_hop(caller, (ptr, len), None))
    })?;
    linker.func_wrap(
        MODULE,
        "clone_to",
        |mut caller: Caller<'_, Guest>, ptr: i32, len: i32, name: i32, name_len: i32| -> Result<i32> {
            suspend(&mut caller, |caller| ask_to_hop(caller, (ptr, len), Some((name, name_len))))
        },
    )?;
    Ok(())
}

fn ask_to_hop(
    caller: &mut Caller<'_, Guest>,
    node: (i32, i32),
    clone: Option<(i32, i32)>,
) -> Result<std::result::Result<WaitCondition, i32>> {
    Ok(hop(caller, node, clone)?.map(|hop| {
        caller.data_mut().requests.hop = Some(hop);
        WaitCondition::Hop
    }))
}

fn receive(mut caller: Caller<'_, Guest>, ptr: i32, len: i32, ms: i64) -> Result<i32> {
    suspend(&mut caller, |caller| {
        let (memory, guest) = parts(caller)?;
        let bytes = region(memory, ptr, len)?;
        let template = match guest.naming(|_| read_template(bytes)).map_err(breach)? {
            Ok(template) => template,
            Err(error) => return Ok(Err(guest.refuse(code::MALFORMED, error.to_string()))),
        };
        if let Some(length) = take_matching(guest, &template) {
            return Ok(Err(length));
        }
        let now = guest.turn.with(|turn| turn.services.now()).unwrap_or_default();
        Ok(Ok(WaitCondition::Message { template: bytes.to_vec(), until: later(now, ms) }))
    })
}

/// Suspends the call. The first time, `wait` returns the condition, or an immediate answer. The second time, the call
/// returns the answer that is ready.
fn suspend(
    caller: &mut Caller<'_, Guest>,
    wait: impl FnOnce(&mut Caller<'_, Guest>) -> Result<std::result::Result<WaitCondition, i32>>,
) -> Result<i32> {
    if let CallPhase::Rewinding(answer) = caller.data().course {
        caller.data_mut().course = CallPhase::Straight;
        asyncify(caller, "asyncify_stop_rewind", None)?;
        return Ok(answer);
    }
    match wait(caller)? {
        Err(answer) => Ok(answer),
        Ok(_) if !caller.data().may_suspend => {
            Err(breach(Breach::Nonsense("it cannot wait in whim_before_move, in whim_stop, or during instantiation")))
        }
        Ok(wait) => {
            let at = unwind_area(caller)?;
            caller.data_mut().course = CallPhase::Unwinding(wait);
            asyncify(caller, "asyncify_start_unwind", Some(at))?;
            Ok(0)
        }
    }
}

fn asyncify(caller: &mut Caller<'_, Guest>, name: &str, at: Option<u32>) -> Result<()> {
    let function = caller.get_export(name).and_then(wasmtime::Extern::into_func);
    let Some(function) = function else {
        return Err(breach(Breach::Suspension("its module was prepared in an unknown way")));
    };
    match at {
        Some(at) => function.typed::<i32, ()>(&*caller)?.call(caller, at as i32),
        None => function.typed::<(), ()>(&*caller)?.call(caller, ()),
    }
}

/// Returns the address of the area to which calls are unwound: room at the end of the memory, unknown to the guest.
fn unwind_area(caller: &mut Caller<'_, Guest>) -> Result<u32> {
    let memory = caller.data().memory.ok_or_else(|| breach(Breach::Suspension("it has no memory yet")))?;
    let mut at = caller.data().call_state.unwind_at;
    if at == 0 {
        let before = memory.grow(&mut *caller, (GUEST_UNWOUND_BYTES / PAGE) as u64)?;
        at = before as u32 * PAGE as u32;
        caller.data_mut().call_state.unwind_at = at;
    }
    // Header of binaryen's `Asyncify`: next address to save to, and end of the area.
    let (first, end) = (at.saturating_add(8), at.saturating_add(GUEST_UNWOUND_BYTES as u32));
    let (memory, _) = parts(caller)?;
    let place = memory.get_mut(at as usize..first as usize).ok_or_else(|| breach(Breach::OutsideMemory))?;
    let (start, limit) = place.split_at_mut(4);
    start.copy_from_slice(&first.to_le_bytes());
    limit.copy_from_slice(&end.to_le_bytes());
    Ok(at)
}
