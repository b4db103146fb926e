//! Interface of guests: names and types of their exports and imports (docs/design/wasm-agents.md).

use wasmparser::{FuncType, ValType};

/// Version of the interface.
pub const VERSION: i32 = 1;
/// Name of the module that all imports are from.
pub const MODULE: &str = "whim";
/// Name of the exported memory.
pub const MEMORY: &str = "memory";

/// Function that a guest exports.
pub struct Export {
    pub name: &'static str,
    /// Signature, as in the documentation.
    pub signature: &'static str,
    pub is_optional: bool,
    params: &'static [ValType],
    results: &'static [ValType],
}

impl Export {
    const fn new(
        name: &'static str,
        signature: &'static str,
        params: &'static [ValType],
        results: &'static [ValType],
    ) -> Self {
        Self { name, signature, is_optional: false, params, results }
    }

    const fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }

    pub fn fits(&self, found: &FuncType) -> bool {
        found.params() == self.params && found.results() == self.results
    }
}

const I: ValType = ValType::I32;

/// All exports of a guest.
pub const EXPORTS: [Export; 8] = [
    Export::new("whim_abi", "a function () -> i32", &[], &[I]),
    Export::new("whim_inbox", "a function (i32) -> i32", &[I], &[I]),
    Export::new("whim_handle", "a function (i32, i32) -> i32", &[I, I], &[I]),
    Export::new("whim_start", "a function (i32, i32) -> i32", &[I, I], &[I]).optional(),
    Export::new("whim_timer", "a function (i64) -> i32", &[ValType::I64], &[I]).optional(),
    Export::new("whim_before_move", "a function ()", &[], &[]).optional(),
    Export::new("whim_after_move", "a function (i32, i32) -> i32", &[I, I], &[I]).optional(),
    Export::new("whim_stop", "a function ()", &[], &[]).optional(),
];

/// Names of all imports that a guest may use.
pub const IMPORTS: [&str; 36] = [
    "send",
    "take",
    "read",
    "reason",
    "name",
    "node",
    "timer",
    "cancel",
    "timer_left",
    "now",
    "random",
    "log",
    "print",
    "register",
    "deregister",
    "search",
    "exists",
    "join",
    "leave",
    "act",
    "storage_get",
    "storage_put",
    "storage_delete",
    "storage_list",
    "depart",
    "depart_clone",
    "discard",
    "recalled",
    "set_lifetime",
    "life",
    "on_failure",
    "stop",
    "receive",
    "sleep",
    "move_to",
    "clone_to",
];

/// Imports that suspend the guest in the middle of a call.
pub const SUSPENDING: [&str; 4] = ["receive", "sleep", "move_to", "clone_to"];

/// Results of imports that fail.
pub mod code {
    pub const DENIED: i32 = -1;
    pub const QUOTA: i32 = -2;
    pub const MALFORMED: i32 = -3;
    pub const UNKNOWN: i32 = -4;
    pub const TIMEOUT: i32 = -5;
    pub const STAYED: i32 = -6;
    pub const FULL: i32 = -7;
}

#[cfg(test)]
mod tests {
    use super::IMPORTS;

    #[test]
    fn fuzzed_guest_has_each_import() {
        let scripted = include_str!("../../../fuzz/src/guest.wat");
        let has = |name: &&str| scripted.contains(&format!(r#"(import "whim" "{name}" "#));
        assert_eq!(IMPORTS.iter().filter(|name| !has(name)).collect::<Vec<_>>(), [&""; 0]);
    }
}
