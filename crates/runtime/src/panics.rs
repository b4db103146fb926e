//! Panics of agents and of what they bring along: caught, so that they end no worker, and told as text.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs work whose panic must not end the caller. Returns the panic's text, if there is one.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| panic_text(&*panic))
}

/// Returns the text of a panic.
#[cold]
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("with a value that is no text"))
}
