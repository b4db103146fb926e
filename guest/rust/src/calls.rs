//! Calls of the node into the agent.

use std::cell::{Cell, RefCell};

use crate::agent::Arrival;
use crate::context::{Context, Level};
use crate::host;
use crate::message::Message;
use crate::value::Value;

/// Outcome of a call: an error if the agent cannot continue.
pub type Outcome = Result<(), String>;

/// Calls of the node.
pub trait Calls {
    fn start(&mut self, options: Value) -> Outcome;
    fn message(&mut self, message: Message) -> Outcome;
    fn timer(&mut self, tag: i64) -> Outcome;
    fn arrival(&mut self, arrival: Arrival) -> Outcome;
    fn departure(&mut self) {}
    fn stop(&mut self) {}
}

thread_local! {
    /// Agent of the module; `None` while it is called.
    static AGENT: RefCell<Option<Box<dyn Calls>>> = const { RefCell::new(None) };
    /// Buffer that the node writes into. It is kept, since most messages fit into it.
    static INBOX: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Returns a buffer for `len` bytes from the node.
pub fn inbox(len: i32) -> i32 {
    INBOX.with(|inbox| {
        let mut room = inbox.take();
        let len = len.max(1) as usize;
        if room.len() < len {
            room = vec![0; len.max(256)];
        }
        let address = room.as_mut_ptr();
        inbox.set(room);
        address as usize as i32
    })
}

/// Starts the agent.
pub fn start(make: fn() -> Box<dyn Calls>, ptr: i32, len: i32) -> i32 {
    std::panic::set_hook(Box::new(|panic| Context.log(Level::Error, panic.to_string())));
    // SAFETY: the node has filled that buffer, and nobody uses it until the call is over.
    let bytes = unsafe { handed_over(ptr, len) };
    let options = Value::decode(bytes).unwrap_or_default();
    called(make, |agent| agent.start(options))
}

/// Passes a message to the agent.
pub fn handle(make: fn() -> Box<dyn Calls>, ptr: i32, len: i32) -> i32 {
    // SAFETY: as above.
    let bytes = unsafe { handed_over(ptr, len) };
    called(make, |agent| match Message::decode(bytes) {
        Ok(message) => agent.message(message),
        Err(error) => Err(format!("malformed message from the node: {error}")),
    })
}

/// Passes a timer to the agent.
pub fn timer(make: fn() -> Box<dyn Calls>, tag: i64) -> i32 {
    called(make, |agent| agent.timer(tag))
}

/// Tells the agent that it has arrived, or stayed.
pub fn arrival(make: fn() -> Box<dyn Calls>, ptr: i32, len: i32) -> i32 {
    // SAFETY: as above.
    let bytes = unsafe { handed_over(ptr, len) };
    let arrival = Arrival::of(&Value::decode(bytes).unwrap_or_default());
    called(make, |agent| agent.arrival(arrival))
}

/// Tells the agent that it is about to leave.
pub fn departure(make: fn() -> Box<dyn Calls>) {
    called(make, |agent| {
        agent.departure();
        Ok(())
    });
    // The content of the buffer was read long since.
    INBOX.with(|inbox| {
        let room = inbox.take();
        host::discard(&room);
        inbox.set(room);
    });
}

/// Tells the agent that it is ended.
pub fn stop(make: fn() -> Box<dyn Calls>) {
    called(make, |agent| {
        agent.stop();
        Ok(())
    });
}

/// Calls the agent, which is made at the first call. An agent that is suspended in a call hears nothing.
fn called(make: fn() -> Box<dyn Calls>, call: impl FnOnce(&mut dyn Calls) -> Outcome) -> i32 {
    let made = AGENT.with(|agent| agent.borrow_mut().take());
    let mut agent = made.unwrap_or_else(make);
    let outcome = call(agent.as_mut());
    AGENT.with(|place| *place.borrow_mut() = Some(agent));
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            Context.log(Level::Error, failure);
            1
        }
    }
}

/// Bytes that the node has handed over.
///
/// # Safety
/// `ptr` is an address of `len` bytes that nobody changes as long as the result is used.
unsafe fn handed_over<'a>(ptr: i32, len: i32) -> &'a [u8] {
    if len <= 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(ptr as usize as *const u8, len as usize) }
}

/// Exports the calls of the node for an agent of this kind. `#[agent]` writes this.
#[doc(hidden)]
#[macro_export]
macro_rules! export {
    (handlers $agent:ty) => {
        $crate::export!(calls ::std::boxed::Box::<$crate::Handlers<$agent>>::default());
    };
    (task $body:ident) => {
        $crate::export!(calls $crate::task(|ctx| $crate::boxed($body(ctx))));
    };
    (body $body:ident) => {
        $crate::export!(calls ::std::boxed::Box::new($crate::Body(|ctx| $crate::IntoOutcome::into_outcome($body(ctx)))));
    };
    (calls $agent:expr) => {
        const _: () = {
            use $crate::calls;

            fn make() -> ::std::boxed::Box<dyn calls::Calls> {
                $agent
            }

            #[unsafe(no_mangle)]
            extern "C" fn whim_abi() -> i32 {
                $crate::ABI
            }

            #[unsafe(no_mangle)]
            extern "C" fn whim_inbox(len: i32) -> i32 {
                calls::inbox(len)
            }

            #[unsafe(no_mangle)]
            extern "C" fn whim_start(ptr: i32, len: i32) -> i32 {
                calls::start(make, ptr, len)
            }

            #[unsafe(no_mangle)]
            extern "C" fn whim_handle(ptr: i32, len: i32) -> i32 {
                calls::handle(make, ptr, len)
            }

            #[unsafe(no_mangle)]
            extern "C" fn whim_timer(tag: i64) -> i32 {
                calls::timer(make, tag)
            }

            #[unsafe(no_mangle)]
            extern "C" fn whim_before_move() {
                calls::departure(make)
            }

            #[unsafe(no_mangle)]
            extern "C" fn whim_after_move(ptr: i32, len: i32) -> i32 {
                calls::arrival(make, ptr, len)
            }

            #[unsafe(no_mangle)]
            extern "C" fn whim_stop() {
                calls::stop(make)
            }
        };
    };
}
