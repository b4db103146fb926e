//! The WebAssembly modules of a society: compiled once, shared by all agents that run them.

use std::path::Path;

use whimbrel_acl::{Symbol, Value};
use whimbrel_platform::durable::State;
use whimbrel_platform::{AgentBody, Time};

/// Whether a program of this name is a WebAssembly module, and no AgentSpeak program.
pub fn is_module(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("wasm"))
}

#[cfg(feature = "wasm")]
mod hosted {
    use std::sync::{Arc, OnceLock};

    use whimbrel_wasm::{Host, HostOptions, Module, WasmAgent};

    use super::*;

    /// What agents are made of that are a module's.
    #[derive(Clone)]
    pub struct GuestCode {
        module: Arc<Module>,
        path: Symbol,
    }

    impl GuestCode {
        /// A new agent.
        pub fn agent(&self, options: Vec<(Symbol, Value)>) -> Box<dyn AgentBody> {
            Box::new(WasmAgent::new(Arc::clone(&self.module), self.path, options))
        }

        /// The module's file.
        pub fn path(&self) -> Symbol {
            self.path
        }

        /// Its SHA-256, in hexadecimal.
        pub fn hash(&self) -> String {
            self.module.hash.to_string()
        }

        /// Whether this is its SHA-256.
        pub fn is(&self, hash: [u8; 32]) -> bool {
            self.module.hash.0 == hash
        }

        /// An agent as it was kept; [`whimbrel_runtime::ProgramLoader::restore`].
        ///
        /// # Errors
        /// The module has another hash, or the state is none of such an agent.
        pub fn restore(&self, hash: [u8; 32], states: &[State], now: Time) -> Result<Box<dyn AgentBody>, String> {
            if !self.is(hash) {
                return Err(format!(
                    "{} is not the module any more that its state is of; --fresh begins anew",
                    self.path
                ));
            }
            Ok(Box::new(WasmAgent::restore(Arc::clone(&self.module), self.path, states, now)?))
        }
    }

    /// Runs them; nothing, until there is the first.
    #[derive(Default)]
    pub struct Guests {
        host: OnceLock<Result<Arc<Host>, String>>,
    }

    impl Guests {
        /// The module with these bytes, which are in that file.
        ///
        /// # Errors
        /// It cannot run here: why.
        pub fn code(&self, file: &Path, bytes: &[u8]) -> Result<GuestCode, String> {
            let made = || Host::new(HostOptions::default()).map_err(|error| error.to_string());
            let host = self.host.get_or_init(made).as_ref().map_err(Clone::clone)?;
            let module = host.module(bytes).map_err(|error| format!("{}: {error}", file.display()))?;
            Ok(GuestCode { module, path: Symbol::new(&file.to_string_lossy()) })
        }
    }
}

#[cfg(not(feature = "wasm"))]
mod hosted {
    use super::*;

    /// There is none.
    #[derive(Clone)]
    pub struct GuestCode(Never);

    #[derive(Clone)]
    enum Never {}

    impl GuestCode {
        /// A new agent.
        pub fn agent(&self, _options: Vec<(Symbol, Value)>) -> Box<dyn AgentBody> {
            match self.0 {}
        }

        /// The module's file.
        pub fn path(&self) -> Symbol {
            match self.0 {}
        }

        /// Its SHA-256, in hexadecimal.
        pub fn hash(&self) -> String {
            match self.0 {}
        }

        /// Whether this is its SHA-256.
        pub fn is(&self, _hash: [u8; 32]) -> bool {
            match self.0 {}
        }

        /// An agent as it was kept.
        ///
        /// # Errors
        /// None: there is no such agent.
        pub fn restore(&self, _hash: [u8; 32], _states: &[State], _now: Time) -> Result<Box<dyn AgentBody>, String> {
            match self.0 {}
        }
    }

    /// Nothing runs them.
    #[derive(Default)]
    pub struct Guests;

    impl Guests {
        /// This program was built without.
        ///
        /// # Errors
        /// Always.
        pub fn code(&self, file: &Path, _bytes: &[u8]) -> Result<GuestCode, String> {
            let file = file.display();
            Err(format!("{file} is a WebAssembly module, and this whimbrel was built without them (feature `wasm`)"))
        }
    }
}

pub use hosted::{GuestCode, Guests};

impl std::fmt::Debug for Guests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guests")
    }
}

impl std::fmt::Debug for GuestCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GuestCode")
    }
}
