//! Compiled module, shared by all its agents.

use std::sync::Arc;

use wasmtime::{InstancePre, ModuleExport, Store};
use whimbrel_platform::policy::Terms;

use crate::abi;
use crate::admission::{AdmissionError, Admitted, ModuleHash, MutableGlobal, admit};
use crate::call_state::CallState;
use crate::guest::Guest;
use crate::host::Host;
use crate::memory_image::First;

/// Compiled module; see the module's comment.
pub struct Module {
    /// Hash of the module.
    pub hash: ModuleHash,
    /// Bytes of the module before admission: other nodes may ask for them.
    pub bytes: Arc<[u8]>,
    pub(crate) host: Arc<Host>,
    pub(crate) pre: InstancePre<Guest>,
    pub(crate) exports: Exports,
    pub(crate) image: First,
    /// Values of the mutable globals in a new instance.
    pub(crate) globals: Vec<u64>,
    /// Index of the global that is the stack pointer, if no data are below the stack.
    pub(crate) stack_pointer: Option<usize>,
    /// True if the module's agents can be suspended, and move, in the middle of a call.
    pub suspends: bool,
}

/// Exports of the module, so that no agent looks up names.
pub(crate) struct Exports {
    pub memory: ModuleExport,
    pub inbox: ModuleExport,
    pub handle: ModuleExport,
    pub start: Option<ModuleExport>,
    pub timer: Option<ModuleExport>,
    pub before_move: Option<ModuleExport>,
    pub after_move: Option<ModuleExport>,
    pub stop: Option<ModuleExport>,
    pub stop_unwind: Option<ModuleExport>,
    pub start_rewind: Option<ModuleExport>,
    pub globals: Vec<ModuleExport>,
}

impl Exports {
    fn find(module: &wasmtime::Module, globals: &[MutableGlobal]) -> Option<Self> {
        let find = |name: &str| module.get_export_index(name);
        Some(Self {
            memory: find(abi::MEMORY)?,
            inbox: find("whim_inbox")?,
            handle: find("whim_handle")?,
            start: find("whim_start"),
            timer: find("whim_timer"),
            before_move: find("whim_before_move"),
            after_move: find("whim_after_move"),
            stop: find("whim_stop"),
            stop_unwind: find("asyncify_stop_unwind"),
            start_rewind: find("asyncify_start_rewind"),
            globals: globals.iter().map(|global| find(&global.export)).collect::<Option<_>>()?,
        })
    }
}

fn cannot(error: impl std::fmt::Display) -> AdmissionError {
    AdmissionError::Instantiation(error.to_string())
}

impl Module {
    /// Returns the host.
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    pub(crate) fn compile(host: &Arc<Host>, bytes: &[u8]) -> Result<Self, AdmissionError> {
        let admitted = admit(bytes)?;
        let compiled = compiled(host, &admitted)?;
        let exports = Exports::find(&compiled, &admitted.globals)
            .ok_or_else(|| AdmissionError::Uncapturable("an export is missing".to_owned()))?;
        let pre = host.linker.instantiate_pre(&compiled).map_err(|error| cannot(format!("{error:#}")))?;
        let (image, globals) = first_state(host, &pre, &exports)?;
        let Admitted { hash, stack_pointer, suspends, .. } = admitted;
        let stack_pointer = stack_pointer.filter(|index| is_stack_first(&image, globals.get(*index)));
        Ok(Self {
            hash,
            bytes: bytes.into(),
            host: Arc::clone(host),
            pre,
            exports,
            image,
            globals,
            stack_pointer,
            suspends,
        })
    }
}

/// Returns the module as machine code, from storage or compiled now.
fn compiled(host: &Host, admitted: &Admitted) -> Result<wasmtime::Module, AdmissionError> {
    if let Some(kept) = host.compiled.as_ref().and_then(|forms| forms.find(&host.engine, admitted)) {
        return Ok(kept);
    }
    let compiled = wasmtime::Module::new(&host.engine, &admitted.bytes)
        .map_err(|error| AdmissionError::Invalid(format!("{error:#}")))?;
    if let Some(forms) = &host.compiled {
        forms.keep(&compiled, admitted);
    }
    Ok(compiled)
}

/// Checks that the stack is at the beginning of the memory: all is zero below its top, and all data are above.
fn is_stack_first(image: &First, top: Option<&u64>) -> bool {
    top.and_then(|top| usize::try_from(*top).ok()).is_some_and(|top| image.is_empty_below(top) && !image.is_empty())
}

/// Returns memory and globals of a new instance.
fn first_state(host: &Host, pre: &InstancePre<Guest>, exports: &Exports) -> Result<(First, Vec<u64>), AdmissionError> {
    let guest = Guest::new(CallState::default(), Arc::new(Terms::default()), Arc::clone(&host.names));
    let mut store = Store::new(&host.engine, guest);
    let ticks = u64::from(store.data().terms.call_cpu_ms) / crate::host::TICK.as_millis() as u64;
    store.set_epoch_deadline(ticks.max(1) + 1);
    host.clock.want();
    let _slot = host.residency.take_slot();
    let instance = pre.instantiate(&mut store).map_err(|error| cannot(format!("{error:#}")))?;
    let abi = instance.get_typed_func::<(), i32>(&mut store, "whim_abi").map_err(cannot)?;
    let version = abi.call(&mut store, ()).map_err(|error| cannot(format!("{error:#}")))?;
    if version != abi::VERSION {
        return Err(AdmissionError::Version(version));
    }
    // `whim_abi` may have changed the instance; agents begin with a new one.
    drop(store);
    let guest = Guest::new(CallState::default(), Arc::new(Terms::default()), Arc::clone(&host.names));
    let mut store = Store::new(&host.engine, guest);
    store.set_epoch_deadline(ticks.max(1) + 1);
    let instance = pre.instantiate(&mut store).map_err(|error| cannot(format!("{error:#}")))?;
    let memory = instance.get_module_export(&mut store, &exports.memory).and_then(wasmtime::Extern::into_memory);
    let image = First::of(memory.ok_or_else(|| cannot("it has no memory"))?.data(&store));
    let globals = exports.globals.iter().map(|export| {
        let global = instance.get_module_export(&mut store, export).and_then(wasmtime::Extern::into_global);
        global.map_or(0, |global| crate::live_guest::bits(global.get(&mut store)))
    });
    let globals = globals.collect();
    Ok((image, globals))
}
