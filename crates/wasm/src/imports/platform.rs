//! Imports for the platform: names, clock, randomness, output, the DF, topics, environments.

use wasmtime::{Caller, Linker};
use whimbrel_acl::{Aid, Symbol, Value};
use whimbrel_platform::Turn;
use whimbrel_platform::limits::GUEST_CALL_MESSAGES_MAX;
use whimbrel_platform::services::{LogLevel, OfferError};

use super::{Result, breach, copy_out, later, no_text, parts, region, region_mut, text};
use crate::abi::{MODULE, code};
use crate::frame::{read_value, write_value};
use crate::guest::Guest;

/// Most random bytes of one call.
const RANDOM_BYTES_MAX: i32 = 64 << 10;

pub(super) fn add_to(linker: &mut Linker<Guest>) -> Result<()> {
    linker.func_wrap(MODULE, "name", name)?;
    linker.func_wrap(MODULE, "node", node)?;
    linker.func_wrap(MODULE, "timer", timer)?;
    linker.func_wrap(MODULE, "cancel", cancel)?;
    linker.func_wrap(MODULE, "timer_left", timer_left)?;
    linker.func_wrap(MODULE, "now", now)?;
    linker.func_wrap(MODULE, "random", random)?;
    linker.func_wrap(MODULE, "log", log)?;
    linker.func_wrap(MODULE, "print", print)?;
    linker.func_wrap(MODULE, "register", |caller: Caller<'_, Guest>, s: i32, sl: i32, k: i32, kl: i32| {
        offer(caller, (s, sl), (k, kl), |turn, service, kind| {
            turn.services.df_register(turn.aid, service, kind).map(|()| true)
        })
    })?;
    linker.func_wrap(MODULE, "deregister", |caller: Caller<'_, Guest>, s: i32, sl: i32, k: i32, kl: i32| {
        offer(caller, (s, sl), (k, kl), |turn, service, kind| Ok(turn.services.df_deregister(turn.aid, service, kind)))
    })?;
    linker.func_wrap(MODULE, "search", search)?;
    linker.func_wrap(MODULE, "exists", exists)?;
    linker.func_wrap(MODULE, "join", join)?;
    linker.func_wrap(MODULE, "leave", leave)?;
    linker.func_wrap(MODULE, "act", act)?;
    Ok(())
}

fn name(mut caller: Caller<'_, Guest>, ptr: i32, cap: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let name = guest.turn.with(|turn| turn.aid.at(turn.services.platform()).to_string()).unwrap_or_default();
    copy_out(memory, ptr, cap, name.as_bytes())
}

fn node(mut caller: Caller<'_, Guest>, ptr: i32, cap: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let node = guest.turn.with(|turn| turn.services.node()).map_or("", Symbol::as_str);
    copy_out(memory, ptr, cap, node.as_bytes())
}

fn timer(mut caller: Caller<'_, Guest>, ms: i64, tag: i64) -> Result<i32> {
    let (_, guest) = parts(&mut caller)?;
    let Some(now) = guest.turn.with(|turn| turn.services.now()) else {
        return Ok(guest.refuse(code::DENIED, "timers are not permitted in this call"));
    };
    guest.call_state.cancel_timer(tag);
    if guest.call_state.timers.len() >= guest.terms.timers {
        return Ok(guest.refuse(code::FULL, format!("too many timers: the limit is {}", guest.terms.timers)));
    }
    guest.call_state.set_timer(later(now, ms.max(0)), tag);
    Ok(0)
}

fn cancel(mut caller: Caller<'_, Guest>, tag: i64) -> Result<i32> {
    let (_, guest) = parts(&mut caller)?;
    let was_set = guest.call_state.cancel_timer(tag);
    Ok(if was_set { 0 } else { guest.refuse(code::UNKNOWN, "no such timer") })
}

fn timer_left(mut caller: Caller<'_, Guest>, tag: i64) -> Result<i64> {
    let (_, guest) = parts(&mut caller)?;
    let now = guest.turn.with(|turn| turn.services.now()).unwrap_or_default();
    Ok(match guest.call_state.timer(tag) {
        Some(due) => (due.max(now) - now).as_micros().div_ceil(1_000) as i64,
        None => i64::from(guest.refuse(code::UNKNOWN, "no such timer")),
    })
}

fn now(mut caller: Caller<'_, Guest>) -> Result<i64> {
    let (_, guest) = parts(&mut caller)?;
    if !guest.terms.clock {
        return Ok(i64::from(guest.deny("the clock")));
    }
    Ok(guest.turn.with(|turn| turn.services.wall_clock_ms() as i64).unwrap_or(i64::from(code::DENIED)))
}

fn random(mut caller: Caller<'_, Guest>, ptr: i32, len: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let room = region_mut(memory, ptr, len)?;
    if !guest.terms.random {
        return Ok(guest.deny("random numbers"));
    }
    if !(0..=RANDOM_BYTES_MAX).contains(&len) {
        return Ok(guest.refuse(code::MALFORMED, format!("too many random bytes: the limit is {RANDOM_BYTES_MAX}")));
    }
    guest.turn.with(|turn| {
        for chunk in room.chunks_mut(8) {
            let bytes = turn.services.random().to_le_bytes();
            chunk.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
        }
    });
    Ok(0)
}

/// Passes a line of text to `write`, unless this call has too many.
fn line(mut caller: Caller<'_, Guest>, (ptr, len): (i32, i32), write: impl FnOnce(&mut Turn<'_>, &str)) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    guest.check_length(region(memory, ptr, len)?.len()).map_err(breach)?;
    let Some(text) = text(memory, ptr, len, guest)? else { return Ok(no_text(guest)) };
    guest.requests.lines += 1;
    if guest.requests.lines > GUEST_CALL_MESSAGES_MAX || !guest.may_say(text.len()) {
        return Ok(
            guest.refuse(code::FULL, format!("too many lines in one call: the limit is {GUEST_CALL_MESSAGES_MAX}"))
        );
    }
    guest.count_said(1).map_err(breach)?;
    guest.turn.with(|turn| write(turn, text));
    Ok(0)
}

fn log(caller: Caller<'_, Guest>, level: i32, ptr: i32, len: i32) -> Result<()> {
    let level = match level {
        0 => LogLevel::Debug,
        1 => LogLevel::Info,
        2 => LogLevel::Warning,
        _ => LogLevel::Severe,
    };
    line(caller, (ptr, len), |turn, text| turn.services.log(turn.aid, level, text)).map(|_| ())
}

fn print(caller: Caller<'_, Guest>, ptr: i32, len: i32) -> Result<()> {
    line(caller, (ptr, len), |turn, text| turn.services.print(turn.aid, text)).map(|_| ())
}

fn offer(
    mut caller: Caller<'_, Guest>,
    service: (i32, i32),
    kind: (i32, i32),
    change: fn(&mut Turn<'_>, &str, &str) -> std::result::Result<bool, OfferError>,
) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let (service, kind) = (text(memory, service.0, service.1, guest)?, text(memory, kind.0, kind.1, guest)?);
    let (Some(service), Some(kind)) = (service, kind) else { return Ok(no_text(guest)) };
    let changed = guest.naming(|guest| guest.turn.with(|turn| change(turn, service, kind))).map_err(breach)?;
    Ok(match changed {
        Some(Err(error @ OfferError::Forbidden(_))) => guest.refuse(code::DENIED, error.to_string()),
        Some(Err(error)) => guest.refuse(code::FULL, error.to_string()),
        Some(Ok(false)) => guest.refuse(code::UNKNOWN, "no such service registered"),
        _ => 0,
    })
}

fn search(mut caller: Caller<'_, Guest>, s: i32, sl: i32, k: i32, kl: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let (Some(service), Some(kind)) = (text(memory, s, sl, guest)?, text(memory, k, kl, guest)?) else {
        return Ok(no_text(guest));
    };
    let search = |guest: &mut Guest| guest.turn.with(|turn| turn.services.df_search(service, kind));
    let found = guest.naming(search).map_err(breach)?.unwrap_or_default();
    let names = Value::list(found.into_iter().map(|aid| Value::Str(aid.to_string().into())));
    Ok(hold_value(guest, &names))
}

/// Reads the name of an agent; `None` if it is invalid.
fn aid(memory: &[u8], ptr: i32, len: i32, guest: &mut Guest) -> Result<Option<Aid>> {
    let Some(name) = text(memory, ptr, len, guest)? else { return Ok(None) };
    guest.naming(|_| name.parse().ok()).map_err(breach)
}

fn no_name(guest: &mut Guest) -> i32 {
    guest.refuse(code::MALFORMED, "no name")
}

fn exists(mut caller: Caller<'_, Guest>, ptr: i32, len: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let Some(aid) = aid(memory, ptr, len, guest)? else { return Ok(no_name(guest)) };
    Ok(i32::from(guest.turn.with(|turn| turn.services.exists(aid)).unwrap_or_default()))
}

fn join(mut caller: Caller<'_, Guest>, ptr: i32, len: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let Some(to) = aid(memory, ptr, len, guest)? else { return Ok(no_name(guest)) };
    match guest.turn.with(|turn| turn.services.join(turn.aid, to)) {
        Some(Err(error)) => Ok(guest.refuse(code::UNKNOWN, error.to_string())),
        _ => Ok(0),
    }
}

fn leave(mut caller: Caller<'_, Guest>, ptr: i32, len: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let Some(from) = aid(memory, ptr, len, guest)? else { return Ok(no_name(guest)) };
    let left = guest.turn.with(|turn| turn.services.leave(turn.aid, from)).unwrap_or_default();
    Ok(if left { 0 } else { guest.refuse(code::UNKNOWN, "not joined") })
}

fn act(mut caller: Caller<'_, Guest>, env: i32, env_len: i32, ptr: i32, len: i32) -> Result<i32> {
    let (memory, guest) = parts(&mut caller)?;
    let Some(name) = text(memory, env, env_len, guest)? else { return Ok(no_text(guest)) };
    let request = region(memory, ptr, len)?;
    guest.check_length(request.len()).map_err(breach)?;
    if !guest.terms.grants_environment(name) {
        return Ok(guest.deny(&format!("environment {name}")));
    }
    let found = guest.turn.with(|turn| Some((turn.aid, turn.services.environment(name)?))).flatten();
    let Some((agent, environment)) = found else {
        return Ok(guest.refuse(code::UNKNOWN, format!("no environment {name} here")));
    };
    let request = match guest.naming(|_| read_value(request)).map_err(breach)? {
        Ok(request) => request,
        Err(error) => return Ok(guest.refuse(code::MALFORMED, error.to_string())),
    };
    match environment.act(agent, &request) {
        Ok(answer) => Ok(hold_value(guest, &answer)),
        Err(reason) => Ok(guest.refuse(code::UNKNOWN, reason)),
    }
}

/// Keeps a value for the guest to fetch, and returns its length.
pub(super) fn hold_value(guest: &mut Guest, value: &Value) -> i32 {
    let mut bytes = Vec::new();
    match write_value(value, &mut bytes) {
        Ok(()) => guest.hold(bytes),
        Err(why) => guest.refuse(code::MALFORMED, format!("the answer cannot be encoded: {why}")),
    }
}
