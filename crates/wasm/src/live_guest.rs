//! Guest in memory: an instance of its module, and the operations on it.

use std::borrow::Cow;
use std::sync::Arc;

use wasmtime::{
    Global, Instance, Memory, ModuleExport, Store, TypedFunc, UpdateDeadline, Val, WasmParams, WasmResults,
};
use whimbrel_platform::Turn;
use whimbrel_platform::limits::GUEST_UNWOUND_BYTES;
use whimbrel_platform::policy::Terms;

use crate::bytes::{BadBytes, StateReader, put_varint};
use crate::call_state::{CallState, SuspendableCall};
use crate::guest::{Breach, Guest, TurnAccess};
use crate::memory_image;
use crate::module::Module;

/// Bytes of a page of WebAssembly memory.
pub(crate) const PAGE: usize = 64 << 10;
/// Header of the unwind area: end of the saved data, and end of the area.
const UNWOUND_HEAD_BYTES: usize = 8;
/// Least bytes of an inbox that a guest is asked for: most messages need no more, so it is asked once.
const INBOX_BYTES_MIN: usize = 512;

/// Guest in memory; see the module.
pub(crate) struct Live {
    pub store: Store<Guest>,
    instance: Instance,
    memory: Memory,
    handle: TypedFunc<(i32, i32), i32>,
    /// Inbox that the guest provided: address, length, and used length.
    inbox: (u32, usize, usize),
    /// Bytes that the suspended call saved.
    unwound: usize,
    module: Arc<Module>,
}

/// Difference of an instance's memory and globals from its module's.
#[derive(Default)]
pub(crate) struct GuestImage<'a> {
    /// Pages of memory beyond those of the module.
    pub more_pages: u64,
    /// Changed globals and changed bytes; empty if there are neither.
    pub changes: Cow<'a, [u8]>,
}

impl GuestImage<'_> {
    /// Checks whether the difference fits an instance of this module.
    pub fn check(&self, module: &Module) -> Result<(), BadBytes> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let mut input = StateReader::new(&self.changes);
        for _ in 0..input.length()? {
            let (index, _) = (input.length()?, input.varint()?);
            module.globals.get(index).ok_or(BadBytes)?;
        }
        let pages = usize::try_from(self.more_pages).map_err(|_| BadBytes)?;
        let len = pages.checked_mul(PAGE).and_then(|more| more.checked_add(module.image.len)).ok_or(BadBytes)?;
        memory_image::check_changes(len, &mut input)
    }
}

/// Error after which a guest cannot continue.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LiveError {
    /// The guest violated a rule or a quota.
    #[error(transparent)]
    Breach(#[from] Breach),
    /// The guest trapped, or the engine refused it.
    #[error("{0}")]
    Trap(String),
    /// The guest answered with this number.
    #[error("it answered {0}")]
    Answer(i32),
    /// The state is invalid.
    #[error(transparent)]
    BadState(#[from] BadBytes),
    /// All slots in memory are taken.
    #[error("the node has its maximum of WebAssembly agents in memory")]
    NoRoom,
}

impl LiveError {
    fn of(error: wasmtime::Error) -> Self {
        if let Some(breach) = error.downcast_ref::<Breach>() {
            return Self::Breach(breach.clone());
        }
        match error.downcast_ref::<wasmtime::Trap>() {
            Some(trap) => Self::Trap(trap.to_string()),
            None if error.downcast_ref::<wasmtime::PoolConcurrencyLimitError>().is_some() => Self::NoRoom,
            None => Self::Trap(format!("{error:#}")),
        }
    }
}

/// Returns the bits of a number.
pub(crate) fn bits(value: Val) -> u64 {
    match value {
        Val::I32(n) => u64::from(n as u32),
        Val::I64(n) => n as u64,
        Val::F32(bits) => u64::from(bits),
        Val::F64(bits) => bits,
        _ => 0,
    }
}

impl Live {
    /// Creates an instance in the module's initial state.
    pub fn new(module: &Arc<Module>, call_state: CallState, terms: Arc<Terms>) -> Result<Self, LiveError> {
        let host = &module.host;
        let mut store = Store::new(&host.engine, Guest::new(call_state, terms, Arc::clone(&host.names)));
        store.limiter(|guest| guest);
        let clock = Arc::clone(&host.clock);
        store.epoch_deadline_callback(move |mut context| {
            // The clock must not stop during a call, however long that takes.
            clock.want();
            context.data_mut().tick().map_err(wasmtime::Error::new)?;
            Ok(UpdateDeadline::Continue(1))
        });
        host.clock.want();
        begin_call(&mut store);
        let instance = module.pre.instantiate(&mut store).map_err(LiveError::of)?;
        let missing = || LiveError::Trap("an export is missing".to_owned());
        let memory = instance.get_module_export(&mut store, &module.exports.memory);
        let memory = memory.and_then(wasmtime::Extern::into_memory).ok_or_else(missing)?;
        let handle = instance.get_module_export(&mut store, &module.exports.handle);
        let handle = handle.and_then(wasmtime::Extern::into_func).ok_or_else(missing)?;
        let handle = handle.typed(&store).map_err(LiveError::of)?;
        store.data_mut().memory = Some(memory);
        Ok(Self { store, instance, memory, handle, inbox: (0, 0, 0), unwound: 0, module: Arc::clone(module) })
    }

    /// Creates an instance from a captured difference.
    pub fn restore(
        module: &Arc<Module>,
        call_state: CallState,
        image: &GuestImage<'_>,
        terms: Arc<Terms>,
    ) -> Result<Self, LiveError> {
        let mut live = Self::new(module, call_state, terms)?;
        if image.more_pages > 0 {
            let grow = live.memory.grow(&mut live.store, image.more_pages);
            grow.map_err(LiveError::of)?;
        }
        if image.changes.is_empty() {
            return Ok(live);
        }
        let mut input = StateReader::new(&image.changes);
        for _ in 0..input.length()? {
            let (index, value) = (input.length()?, input.varint()?);
            live.set_global(index, value)?;
        }
        memory_image::apply_changes(live.memory.data_mut(&mut live.store), &mut input)?;
        Ok(live)
    }

    /// Captures the difference from the module. The guest is in no call, or suspended.
    pub fn capture(&mut self) -> GuestImage<'static> {
        self.clear_inbox();
        let (module, mut changes) = (Arc::clone(&self.module), Vec::new());
        let globals: Vec<u64> = (0..module.globals.len()).map(|index| self.global(index)).collect();
        let changed = globals.iter().zip(&module.globals).enumerate().filter(|(_, (now, first))| now != first);
        put_varint(changed.clone().count() as u64, &mut changes);
        for (index, (value, _)) in changed {
            put_varint(index as u64, &mut changes);
            put_varint(*value, &mut changes);
        }
        let memory = self.memory.data(&self.store);
        let more_pages = (memory.len().saturating_sub(module.image.len) / PAGE) as u64;
        module.image.write_changes(memory, self.stack_top(&globals), &module.host.touched_pages, &mut changes);
        GuestImage { more_pages, changes: changes.into() }
    }

    /// Returns the address below which no data is alive.
    fn stack_top(&self, globals: &[u64]) -> usize {
        let Some(index) = self.module.stack_pointer else { return 0 };
        let (now, first) = (globals.get(index), self.module.globals.get(index));
        now.into_iter().chain(first).min().and_then(|top| usize::try_from(*top).ok()).unwrap_or(0)
    }

    fn find_global(&mut self, index: usize) -> Option<Global> {
        let export = self.module.exports.globals.get(index)?;
        self.instance.get_module_export(&mut self.store, export)?.into_global()
    }

    fn global(&mut self, index: usize) -> u64 {
        self.find_global(index).map_or(0, |global| bits(global.get(&mut self.store)))
    }

    fn set_global(&mut self, index: usize, value: u64) -> Result<(), LiveError> {
        let global = self.find_global(index).ok_or(BadBytes)?;
        let value = match global.get(&mut self.store) {
            Val::I32(_) => Val::I32(value as u32 as i32),
            Val::I64(_) => Val::I64(value as i64),
            Val::F32(_) => Val::F32(value as u32),
            Val::F64(_) => Val::F64(value),
            _ => return Err(BadBytes.into()),
        };
        global.set(&mut self.store, value).map_err(LiveError::of)
    }

    /// Zeroes the inbox, if the guest no longer needs its content.
    fn clear_inbox(&mut self) {
        if self.store.data().call_state.suspended.is_some() {
            return;
        }
        let (at, _, used) = self.inbox;
        self.clear(at, used);
        self.inbox.2 = 0;
    }

    /// Zeroes a region.
    pub fn clear(&mut self, at: u32, length: usize) {
        let region = at as usize..(at as usize).saturating_add(length);
        if let Some(region) = self.memory.data_mut(&mut self.store).get_mut(region) {
            region.fill(0);
        }
    }

    /// Writes bytes into the guest's inbox, and returns address and length.
    pub fn hand_over(&mut self, bytes: &[u8]) -> Result<(u32, u32), LiveError> {
        if self.inbox.1 < bytes.len() || self.inbox.0 == 0 {
            let wanted = bytes.len().max(INBOX_BYTES_MIN);
            let export = self.module.exports.inbox;
            let at: i32 = self.call_export(&export, wanted as i32)?;
            if at == 0 {
                return Err(Breach::Nonsense("it returned no buffer for its input (whim_inbox)").into());
            }
            self.inbox = (at as u32, wanted, 0);
        }
        let (at, ..) = self.inbox;
        self.inbox.2 = self.inbox.2.max(bytes.len());
        let room = self.memory.data_mut(&mut self.store).get_mut(at as usize..at as usize + bytes.len());
        room.ok_or(Breach::OutsideMemory)?.copy_from_slice(bytes);
        Ok((at, bytes.len() as u32))
    }

    /// Leaves the inbox to a guest that waits: it may still need the content. The next message gets a new inbox.
    pub fn keep_inbox(&mut self) {
        self.inbox = (0, 0, 0);
    }

    /// Runs `call` while the guest has this turn.
    pub fn during<R>(&mut self, turn: &mut Turn<'_>, call: impl FnOnce(&mut Self) -> R) -> R {
        TurnAccess::during(self, |live| live.store.data_mut(), turn, call)
    }

    /// Returns the size of the guest's memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.data_size(&self.store) as u64
    }

    /// Returns the export to call before the guest moves by its own will.
    pub fn before_move(&self) -> Option<ModuleExport> {
        self.module.exports.before_move
    }

    /// Calls an export that may suspend, and returns its answer.
    pub fn call(&mut self, call: SuspendableCall) -> Result<i32, LiveError> {
        let exports = &self.module.exports;
        match call {
            SuspendableCall::Handle { ptr, len } => {
                let Self { store, handle, module, .. } = self;
                enter(store, module, |store| handle.call(store, (ptr as i32, len as i32)))
            }
            SuspendableCall::Start { ptr, len } => self.call_optional(exports.start, (ptr as i32, len as i32)),
            SuspendableCall::AfterMove { ptr, len } => self.call_optional(exports.after_move, (ptr as i32, len as i32)),
            SuspendableCall::Timer(tag) => self.call_optional(exports.timer, tag),
        }
    }

    fn call_optional<P: WasmParams>(&mut self, export: Option<ModuleExport>, params: P) -> Result<i32, LiveError> {
        export.map_or(Ok(0), |export| self.call_export(&export, params))
    }

    /// Calls an export.
    pub fn call_export<P: WasmParams, R: WasmResults>(
        &mut self,
        export: &ModuleExport,
        params: P,
    ) -> Result<R, LiveError> {
        let function = self.instance.get_module_export(&mut self.store, export).and_then(wasmtime::Extern::into_func);
        let function = function.ok_or_else(|| LiveError::Trap("an export is missing".to_owned()))?;
        let function = function.typed::<P, R>(&self.store);
        let function = function.map_err(LiveError::of)?;
        enter(&mut self.store, &self.module, |store| function.call(store, params))
    }

    /// Ends the unwinding of a call: the call has left its export, and its data are saved in memory.
    pub fn stop_unwinding(&mut self) -> Result<(), LiveError> {
        let export = self.module.exports.stop_unwind.ok_or(Breach::Suspension("its module was not prepared"))?;
        self.call_export(&export, ())
    }

    /// Prepares the rewinding of the export that is called next, to the place where it waited.
    pub fn start_rewinding(&mut self) -> Result<(), LiveError> {
        let export = self.module.exports.start_rewind.ok_or(Breach::Suspension("its module was not prepared"))?;
        let at = self.store.data().call_state.unwind_at;
        self.unwound = self.unwound_from(at as usize);
        self.call_export(&export, at as i32)
    }

    /// Zeroes the saved data of a call, so that they do not travel.
    pub fn clear_unwound(&mut self) {
        let at = self.store.data().call_state.unwind_at;
        self.clear(at, self.unwound);
    }

    /// Returns the length of the saved data. binaryen's `Asyncify` keeps their end in front of them.
    fn unwound_from(&self, at: usize) -> usize {
        let end = self.memory.data(&self.store).get(at..).and_then(|area| area.first_chunk());
        let end = end.map_or(at, |end| u32::from_le_bytes(*end) as usize);
        // The guest may have overwritten this number.
        end.saturating_sub(at).clamp(UNWOUND_HEAD_BYTES, GUEST_UNWOUND_BYTES)
    }
}

fn enter<R>(
    store: &mut Store<Guest>,
    module: &Module,
    call: impl FnOnce(&mut Store<Guest>) -> wasmtime::Result<R>,
) -> Result<R, LiveError> {
    module.host.clock.want();
    begin_call(store);
    call(store).map_err(LiveError::of)
}

/// Begins a call: its time is checked from the next tick on.
fn begin_call(store: &mut Store<Guest>) {
    store.data_mut().meter.begin_call();
    store.set_epoch_deadline(1);
}
