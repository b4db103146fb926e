//! Parts that this build leaves out, and their commands.

use whimbrel::build_parts::{NATS_ABSENT, WASM_ABSENT};

/// Error text of a build without the feature `bench`.
const BENCH_ABSENT: &str = "this build has no benchmarks: run `make build` (Cargo feature `bench`)";

/// Parts that this build has.
const PRESENT: BuildParts =
    BuildParts { nats: cfg!(feature = "nats"), wasm: cfg!(feature = "wasm"), bench: cfg!(feature = "bench") };

/// Parts of the program that a build can have.
#[derive(Clone, Copy)]
struct BuildParts {
    nats: bool,
    wasm: bool,
    bench: bool,
}

/// Returns the names of the parts that this build leaves out.
pub fn absent_parts() -> Vec<&'static str> {
    PRESENT.absent()
}

/// Returns the error for a command that only some builds have, if this build lacks it.
pub fn absent_command(name: &str) -> Option<&'static str> {
    PRESENT.absent_command(name)
}

impl BuildParts {
    fn absent(self) -> Vec<&'static str> {
        let parts = [("NATS", self.nats), ("WebAssembly", self.wasm), ("benchmarks", self.bench)];
        parts.into_iter().filter(|(_, is_present)| !is_present).map(|(name, _)| name).collect()
    }

    fn absent_command(self, name: &str) -> Option<&'static str> {
        match name {
            "up" | "engine" | "chaos" | "failover" if !self.nats => Some(NATS_ABSENT),
            "agent" | "mobility" if !self.wasm => Some(WASM_ABSENT),
            "bench" | "chaos" if !self.bench => Some(BENCH_ABSENT),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_commands_name_their_part() {
        let quick = BuildParts { nats: false, wasm: false, bench: false };
        assert_eq!(quick.absent_command("engine"), Some(NATS_ABSENT));
        assert_eq!(quick.absent_command("agent"), Some(WASM_ABSENT));
        assert_eq!(quick.absent_command("bench"), Some(BENCH_ABSENT));
        assert_eq!(quick.absent_command("agents"), None);
        assert_eq!(quick.absent(), ["NATS", "WebAssembly", "benchmarks"]);
        let full = BuildParts { nats: true, wasm: true, bench: true };
        assert_eq!((full.absent_command("engine"), full.absent()), (None, Vec::new()));
    }
}
