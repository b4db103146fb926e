//! How deep terms may nest. What works on terms recurses over their levels, and a program that builds terms without end
//! must not take more stack than there is: no term that nests deeper gets into a variable, and nothing follows variables
//! deeper than that. Instead it is noted, which fails the step at work.

use std::cell::Cell;

use whimbrel_acl::Value;
pub use whimbrel_acl::limits::TERM_LEVELS_MAX;

thread_local! {
    static NOTED: Cell<bool> = const { Cell::new(false) };
}

/// Notes that something nested too deep.
#[cold]
pub fn note() {
    NOTED.set(true);
}

/// Whether something nested too deep.
#[inline]
pub fn noted() -> bool {
    NOTED.get()
}

/// The same; it is told once.
#[inline]
pub fn take() -> bool {
    NOTED.get() && NOTED.replace(false)
}

/// Whether a value nests no deeper than it may; noted if it does.
#[inline]
pub fn fits(value: &Value) -> bool {
    let fits = value.levels() <= TERM_LEVELS_MAX;
    if !fits {
        note();
    }
    fits
}

/// The value, or nothing worth having in its place if it nests too deep, which is noted.
#[inline]
pub fn checked(value: Value) -> Value {
    if fits(&value) { value } else { Value::Nil }
}
