//! Host of all guests of a node: the engine, its pool of memories, compiled modules, and the clock that interrupts
//! guests.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use rustc_hash::FxHashMap;
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, Linker, PoolingAllocationConfig};
use whimbrel_platform::Time;
use whimbrel_platform::inspection::QuotaSeen;
use whimbrel_platform::limits::GUEST_MEMORY_BYTES_MAX;
use whimbrel_platform::policy::Terms;

use crate::admission::{AdmissionError, ModuleHash};
use crate::compiled_modules::CompiledForms;
use crate::guest::Guest;
use crate::imports;
use crate::module::Module;
use crate::owner_usage::Owners;
use crate::provenance::Provenance;
use crate::recent_usage::RecentUsage;
use crate::residency::Residency;
use crate::touched_pages::TouchedPages;

/// Interval at which guests are interrupted, and their time is checked.
pub const TICK: Duration = Duration::from_millis(5);
/// Ticks for which the clock continues after its last use: a call that began or was interrupted.
const CLOCK_IDLE_TICKS: u32 = 3_000;
/// Memory mappings that a process needs for everything else.
const MAPPINGS_RESERVED: u32 = 16_384;
/// Most memory mappings of an instance.
const MAPPINGS_PER_INSTANCE: u32 = 4;
/// Linux's default of `vm.max_map_count`.
const MAPPINGS_DEFAULT: u32 = 65_530;
/// Most guests in memory at once, however many mappings the system allows.
const SLOTS_MAX: u32 = 250_000;
/// Fewest guests in memory; with fewer slots there is no host.
const SLOTS_MIN: u32 = 16;
/// Slots beyond those that are given out: several threads may look for one at a time, and modules are tried out.
const SLOTS_SPARE: u32 = 64;
/// Bytes of a memory that stay with its slot when an instance goes. To zero them is cheaper than to give them back.
const KEEP_RESIDENT_BYTES: usize = 64 << 10;
/// Bytes of the native stack that a guest may use.
const STACK_BYTES_MAX: usize = 512 << 10;
/// Most terms, and provenances, that are searched for equal ones to share.
const SHARED_MAX: usize = 64;
/// Most elements of a guest's table of functions.
const TABLE_ELEMENTS_MAX: usize = 20_000;

/// Error of a node that cannot run guests.
#[derive(Debug, thiserror::Error)]
#[error("no WebAssembly agents can run here: {0}")]
pub struct HostError(String);

/// Options of a host.
#[derive(Clone, Default)]
pub struct HostOptions {
    /// Guests in memory at once; others are kept as bytes. By default as many as the system allows
    /// (`vm.max_map_count`).
    pub slots: Option<u32>,
    /// Storage of compiled modules.
    pub compiled: Option<CompiledForms>,
}

/// Host of guests, shared by all of them.
pub struct Host {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<Guest>,
    pub(crate) residency: Residency,
    /// Slots that were asked for.
    wanted: u32,
    pub(crate) clock: Arc<EpochClock>,
    pub(crate) touched_pages: TouchedPages,
    pub(crate) compiled: Option<CompiledForms>,
    modules: Mutex<FxHashMap<ModuleHash, Weak<Module>>>,
    /// Held while a module is compiled.
    compiling: Mutex<()>,
    /// Terms of guests: few, each shared by many guests.
    terms: Mutex<Vec<Arc<Terms>>>,
    /// Provenances of guests, shared likewise.
    provenances: Mutex<Vec<Arc<Provenance>>>,
    pub(crate) owners: Owners,
    pub(crate) recent_usage: RecentUsage,
    /// Bytes of names that guests created: the process keeps them for ever.
    pub(crate) names: Arc<AtomicU64>,
    ticker: Option<JoinHandle<()>>,
}

impl Host {
    /// Creates a host.
    ///
    /// # Errors
    /// The engine cannot be set up: there is not enough address space, or this machine is not supported.
    pub fn new(options: HostOptions) -> Result<Arc<Self>, HostError> {
        let wrong = |error: wasmtime::Error| HostError(format!("{error:#}"));
        let wanted = options.slots.unwrap_or_else(slots_of_system).clamp(1, SLOTS_MAX);
        let (engine, slots) = engine_of(wanted).map_err(wrong)?;
        let mut linker = Linker::new(&engine);
        imports::add_to(&mut linker).map_err(wrong)?;
        let clock = Arc::new(EpochClock::default());
        let ticker = clock.start(engine.clone()).map_err(|error| HostError(error.to_string()))?;
        Ok(Arc::new(Self {
            engine,
            linker,
            residency: Residency::new(slots),
            wanted,
            clock,
            touched_pages: TouchedPages::new(),
            compiled: options.compiled,
            modules: Mutex::default(),
            compiling: Mutex::default(),
            terms: Mutex::default(),
            provenances: Mutex::default(),
            owners: Owners::default(),
            recent_usage: RecentUsage::default(),
            names: Arc::default(),
            ticker: Some(ticker),
        }))
    }

    /// Admits and compiles a module, or finds it if it is in use.
    ///
    /// # Errors
    /// The module cannot run here.
    pub fn module(self: &Arc<Self>, bytes: &[u8]) -> Result<Arc<Module>, AdmissionError> {
        let hash = ModuleHash::of(bytes);
        if let Some(module) = self.module_by_hash(hash) {
            return Ok(module);
        }
        // One compilation at a time: a second request for the same module finds it, and memory use stays bounded.
        let _alone = self.compiling.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = self.module_by_hash(hash) {
            return Ok(module);
        }
        let module = Arc::new(Module::compile(self, bytes)?);
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        modules.retain(|_, module| module.strong_count() > 0);
        modules.insert(hash, Arc::downgrade(&module));
        Ok(module)
    }

    /// Returns a module that is in use.
    pub fn module_by_hash(&self, hash: ModuleHash) -> Option<Arc<Module>> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner).get(&hash)?.upgrade()
    }

    /// Shares these terms with guests that have equal ones.
    pub(crate) fn share(&self, terms: Terms) -> Arc<Terms> {
        shared(&self.terms, Arc::new(terms))
    }

    /// Shares this provenance with guests that have an equal one.
    pub(crate) fn share_provenance(&self, provenance: Arc<Provenance>) -> Arc<Provenance> {
        shared(&self.provenances, provenance)
    }

    /// Returns the number of guests in memory.
    pub fn live(&self) -> u32 {
        self.residency.live()
    }

    /// Lists the quotas of each owner of guests with their use, by name.
    pub fn owners(&self, now: Time) -> Vec<(String, Vec<QuotaSeen>)> {
        self.owners.quotas(now)
    }

    /// Returns the number of slots.
    pub fn slots(&self) -> u32 {
        self.residency.slots()
    }

    /// Returns the number of slots that was asked for, if the system has addresses for fewer only.
    pub fn slots_wanted_in_vain(&self) -> Option<u32> {
        (self.slots() < self.wanted).then_some(self.wanted)
    }
}

/// Returns an equal item that is shared already, or else shares this one.
fn shared<T: PartialEq>(all: &Mutex<Vec<Arc<T>>>, thing: Arc<T>) -> Arc<T> {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(shared) = all.iter().find(|shared| **shared == thing) {
        return Arc::clone(shared);
    }
    if all.len() >= SHARED_MAX {
        all.retain(|shared| Arc::strong_count(shared) > 1);
    }
    if all.len() < SHARED_MAX {
        all.push(Arc::clone(&thing));
    }
    thing
}

impl Drop for Host {
    fn drop(&mut self) {
        self.clock.stop.store(true, Ordering::Release);
        if let Some(ticker) = self.ticker.take() {
            ticker.thread().unpark();
            // The thread never panics, and nobody could be told.
            let _ = ticker.join();
        }
    }
}

/// Creates an engine with this number of slots. If there are too few addresses, tries a quarter, again and again.
fn engine_of(wanted: u32) -> wasmtime::Result<(Engine, u32)> {
    let mut slots = wanted;
    loop {
        match Engine::new(&config(slots + SLOTS_SPARE)) {
            Ok(engine) => return Ok((engine, slots)),
            Err(error) if slots <= SLOTS_MIN => return Err(error),
            Err(_) => slots = (slots / 4).max(SLOTS_MIN),
        }
    }
}

fn config(slots: u32) -> Config {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_core_instances(slots)
        .total_memories(slots)
        .total_tables(slots)
        .max_memory_size(GUEST_MEMORY_BYTES_MAX)
        .table_elements(TABLE_ELEMENTS_MAX)
        .max_unused_warm_slots(slots)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        // Where the kernel can tell which pages were written, only those are reset, and none is given back for that.
        .pagemap_scan(Enabled::Auto)
        .table_keep_resident(KEEP_RESIDENT_BYTES);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .memory_reservation(GUEST_MEMORY_BYTES_MAX as u64)
        .memory_may_move(false)
        .memory_guard_size(64 << 10)
        // A stranger's module must take no more than one processor, and the memory for one of its functions.
        .parallel_compilation(false)
        .max_wasm_stack(STACK_BYTES_MAX)
        .epoch_interruption(true);
    config
}

/// Returns the number of instances that fit into the memory mappings of a process.
fn slots_of_system() -> u32 {
    let mappings = std::fs::read_to_string("/proc/sys/vm/max_map_count");
    let mappings = mappings.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(MAPPINGS_DEFAULT);
    mappings.saturating_sub(MAPPINGS_RESERVED) / MAPPINGS_PER_INSTANCE
}

/// Clock that counts ticks while guests are called; each tick may interrupt one.
#[derive(Default)]
pub(crate) struct EpochClock {
    /// True if a guest was called since the last tick.
    wanted: AtomicBool,
    idle: AtomicBool,
    stop: AtomicBool,
    thread: Mutex<Option<std::thread::Thread>>,
}

impl EpochClock {
    fn start(self: &Arc<Self>, engine: Engine) -> std::io::Result<JoinHandle<()>> {
        let clock = Arc::clone(self);
        let ticker = std::thread::Builder::new().name("wasm-clock".into()).spawn(move || clock.run(&engine))?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(ticker.thread().clone());
        Ok(ticker)
    }

    fn run(&self, engine: &Engine) {
        let mut unwanted = 0;
        while !self.stop.load(Ordering::Acquire) {
            unwanted = if self.wanted.swap(false, Ordering::AcqRel) { 0 } else { unwanted + 1 };
            if unwanted > CLOCK_IDLE_TICKS {
                self.idle.store(true, Ordering::SeqCst);
                // A caller sets `wanted` before it looks at `idle`.
                if !self.wanted.load(Ordering::SeqCst) {
                    std::thread::park();
                }
                self.idle.store(false, Ordering::Release);
                continue;
            }
            std::thread::sleep(TICK);
            engine.increment_epoch();
        }
    }

    /// Keeps the clock running: a guest is about to be called, or was interrupted.
    #[inline]
    pub fn want(&self) {
        if !self.wanted.load(Ordering::Relaxed) {
            self.wanted.store(true, Ordering::SeqCst);
            if self.idle.load(Ordering::SeqCst)
                && let Some(thread) = &*self.thread.lock().unwrap_or_else(PoisonError::into_inner)
            {
                thread.unpark();
            }
        }
    }
}
