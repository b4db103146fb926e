//! The WebAssembly modules of a society: compiled once, shared by all agents that run them.

#[cfg(not(feature = "wasm"))]
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
#[cfg(feature = "wasm")]
use std::sync::OnceLock;

use whimbrel_acl::{Symbol, Value};
use whimbrel_platform::durable::State;
use whimbrel_platform::inspection::QuotaSeen;
use whimbrel_platform::{AgentBody, Time};
#[cfg(feature = "wasm")]
use whimbrel_wasm::{Host, Module};

use crate::code_cache::CodeCache;

/// Returns true if a program of this name is a WebAssembly module, not an AgentSpeak program.
pub fn is_module(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("wasm"))
}

/// Compiled module of WebAssembly agents. Without the feature `wasm`, there is none.
#[derive(Clone)]
pub struct GuestCode {
    #[cfg(feature = "wasm")]
    module: Arc<Module>,
    #[cfg(feature = "wasm")]
    path: Symbol,
    #[cfg(not(feature = "wasm"))]
    never: Infallible,
}

/// Compiled modules of a society, and their host, which is made for the first of them.
#[derive(Default)]
pub struct GuestModules {
    #[cfg(feature = "wasm")]
    host: OnceLock<Result<Arc<Host>, String>>,
    #[cfg(feature = "wasm")]
    cache: Option<Arc<CodeCache>>,
}

#[cfg(feature = "wasm")]
mod hosted {
    use whimbrel_platform::durable::CodeHash;
    use whimbrel_wasm::{CompiledForms, HostOptions, KeptForms, ModuleHash, WasmAgent};

    use crate::code_cache::Form;

    use super::*;

    impl GuestCode {
        /// Returns a new agent.
        pub fn agent(&self, options: Vec<(Symbol, Value)>) -> Box<dyn AgentBody> {
            Box::new(WasmAgent::new(Arc::clone(&self.module), self.path, options))
        }

        /// Returns the module's file.
        pub fn path(&self) -> Symbol {
            self.path
        }

        /// Returns the SHA-256 of the module, in hexadecimal.
        pub fn hash(&self) -> String {
            self.module.hash.to_string()
        }

        /// Returns the SHA-256 of the module.
        pub fn sha256(&self) -> [u8; 32] {
            self.module.hash.0
        }

        /// Returns true if this is the SHA-256 of the module.
        pub fn is(&self, hash: [u8; 32]) -> bool {
            self.module.hash.0 == hash
        }

        /// Returns the module as it came.
        pub fn bytes(&self) -> Arc<[u8]> {
            Arc::clone(&self.module.bytes)
        }

        /// Returns true if an agent uses the module.
        pub fn is_used(&self) -> bool {
            Arc::strong_count(&self.module) > 1
        }

        /// Restores an agent from its stored state: see [`whimbrel_runtime::ProgramLoader::restore`].
        ///
        /// # Errors
        /// The module has another hash, or the state is none of such an agent.
        pub fn restore(&self, hash: [u8; 32], states: &[State], now: Time) -> Result<Box<dyn AgentBody>, String> {
            if !self.is(hash) {
                return Err(format!(
                    "{} has changed since the state of its agents was stored; --fresh begins anew",
                    self.path
                ));
            }
            Ok(Box::new(WasmAgent::restore(Arc::clone(&self.module), self.path, states, now)?))
        }
    }

    /// Compiled modules among the code that is kept.
    struct InCache(Arc<CodeCache>);

    impl KeptForms for InCache {
        fn find(&self, module: ModuleHash) -> Option<Vec<u8>> {
            self.0.find(CodeHash(module.0), Form::Compiled)
        }

        fn keep(&self, module: ModuleHash, form: &[u8]) {
            self.0.keep(CodeHash(module.0), Form::Compiled, form);
        }
    }

    impl GuestModules {
        /// Returns an empty collection of modules, with a cache of compiled code.
        pub fn new(cache: Option<Arc<CodeCache>>) -> Self {
            Self { host: OnceLock::new(), cache }
        }

        fn host(&self) -> Result<Arc<Host>, String> {
            let forms = |cache: &Arc<CodeCache>| {
                let place = Arc::new(InCache(Arc::clone(cache)));
                cache.key().map(|key| CompiledForms::new(key, place))
            };
            let compiled = self.cache.as_ref().and_then(forms);
            let host =
                Host::new(HostOptions { compiled, ..HostOptions::default() }).map_err(|error| error.to_string())?;
            if let Some(wanted) = host.slots_wanted_in_vain() {
                eprintln!(
                    "whimbrel: {} WebAssembly agents are in memory at once, not {wanted}: there are no addresses for more (see `ulimit -v`)",
                    host.slots()
                );
            }
            Ok(host)
        }

        /// Returns each owner's name, and usage of quotas on this node.
        pub fn owners(&self, now: Time) -> Vec<(String, Vec<QuotaSeen>)> {
            let host = self.host.get().and_then(|host| host.as_ref().ok());
            host.map(|host| host.owners(now)).unwrap_or_default()
        }

        /// Returns the module with these bytes, which are in that file.
        ///
        /// # Errors
        /// It cannot run here: why.
        pub fn code(&self, file: &Path, bytes: &[u8]) -> Result<GuestCode, String> {
            let host = self.host.get_or_init(|| self.host()).as_ref().map_err(Clone::clone)?;
            let module = host.module(bytes).map_err(|error| format!("{}: {error}", file.display()))?;
            Ok(GuestCode { module, path: Symbol::new(&file.to_string_lossy()) })
        }
    }
}

#[cfg(not(feature = "wasm"))]
mod absent {
    use super::*;
    use crate::build_parts::WASM_ABSENT;

    impl GuestCode {
        /// Returns a new agent.
        pub fn agent(&self, _options: Vec<(Symbol, Value)>) -> Box<dyn AgentBody> {
            match self.never {}
        }

        /// Returns the module's file.
        pub fn path(&self) -> Symbol {
            match self.never {}
        }

        /// Returns the SHA-256 of the module, in hexadecimal.
        pub fn hash(&self) -> String {
            match self.never {}
        }

        /// Returns the SHA-256 of the module.
        pub fn sha256(&self) -> [u8; 32] {
            match self.never {}
        }

        /// Returns true if this is the SHA-256 of the module.
        pub fn is(&self, _hash: [u8; 32]) -> bool {
            match self.never {}
        }

        /// Returns the module as it came.
        pub fn bytes(&self) -> Arc<[u8]> {
            match self.never {}
        }

        /// Returns true if an agent uses the module.
        pub fn is_used(&self) -> bool {
            match self.never {}
        }

        /// Restores no agent.
        ///
        /// # Errors
        /// None: there is no such agent.
        pub fn restore(&self, _hash: [u8; 32], _states: &[State], _now: Time) -> Result<Box<dyn AgentBody>, String> {
            match self.never {}
        }
    }

    impl GuestModules {
        /// Makes an empty set of modules.
        pub fn new(_cache: Option<Arc<CodeCache>>) -> Self {
            Self {}
        }

        /// Returns no owner.
        pub fn owners(&self, _now: Time) -> Vec<(String, Vec<QuotaSeen>)> {
            Vec::new()
        }

        /// Loads no module, because this program was built without WebAssembly.
        ///
        /// # Errors
        /// Always.
        pub fn code(&self, file: &Path, _bytes: &[u8]) -> Result<GuestCode, String> {
            Err(format!("{} is a WebAssembly module: {WASM_ABSENT}", file.display()))
        }
    }
}

impl std::fmt::Debug for GuestModules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guests")
    }
}

impl std::fmt::Debug for GuestCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GuestCode")
    }
}
