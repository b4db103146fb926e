//! WebAssembly module: its imports and exports (docs/design/device.md). No glue is generated; a host is a page of
//! JavaScript.

use std::cell::RefCell;

use whimbrel_platform::Time;
use whimbrel_platform::limits::DEVICE_ORDER_BYTES_MAX;

use crate::{DeviceHost, JsonHost};

#[link(wasm_import_module = "whim")]
unsafe extern "C" {
    /// Milliseconds of a clock that does not go back.
    safe fn now() -> f64;
    /// Milliseconds since 1970.
    safe fn wall() -> f64;
    /// 64 random bits.
    safe fn random() -> i64;
}

struct Page;

impl DeviceHost for Page {
    fn now(&self) -> Time {
        Time((now().max(0.0) * 1000.0).round() as u64)
    }

    fn wall_clock_ms(&self) -> u64 {
        wall().max(0.0) as u64
    }

    fn random(&self) -> u64 {
        random() as u64
    }
}

#[derive(Default)]
struct ModuleState {
    host: Option<JsonHost>,
    /// Input of the host: an order's text, then bytes.
    input: Vec<u8>,
    /// The answer's text, then bytes.
    output: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<ModuleState> = RefCell::default();
}

/// Returns room of this size, for an order and its bytes; 0 if it is too large.
// SAFETY: the module has no other function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn whim_input(bytes: u32) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        if bytes as usize > DEVICE_ORDER_BYTES_MAX {
            return std::ptr::null_mut();
        }
        state.input.clear();
        state.input.resize(bytes as usize, 0);
        state.input.as_mut_ptr()
    })
}

/// Starts a society on the platform whose name is in the first `name` bytes of the input.
// SAFETY: the module has no other function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn whim_begin(name: u32) {
    STATE.with_borrow_mut(|state| {
        let name = String::from_utf8_lossy(state.input.get(..name as usize).unwrap_or_default()).into_owned();
        state.host = Some(JsonHost::new(&name, Box::new(Page)));
    });
}

/// Carries out the order in the first `text` bytes of the input; the rest are the bytes that come with it. Returns
/// the number of bytes of the answer's text.
// SAFETY: the module has no other function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn whim_order(text: u32) -> u32 {
    STATE.with_borrow_mut(|state| {
        let ModuleState { host: Some(host), input, output } = state else { return 0 };
        let (order, bytes) = input.split_at_checked(text as usize).unwrap_or((input, &[]));
        let (answer, bytes) = host.order(&String::from_utf8_lossy(order), bytes);
        *output = answer.into_bytes();
        let length = output.len();
        output.extend(bytes);
        length as u32
    })
}

/// Returns the address of the answer.
// SAFETY: the module has no other function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn whim_output() -> *const u8 {
    STATE.with_borrow(|state| state.output.as_ptr())
}

/// Returns the length of the answer in bytes, text and bytes.
// SAFETY: the module has no other function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn whim_output_bytes() -> u32 {
    STATE.with_borrow(|state| state.output.len() as u32)
}
