//! Host functions: the operations of the node for an agent, imported as in docs/design/wasm-agents.md. Outside of
//! WebAssembly, where tests run, [`crate::testing`] takes the node's place.

#[cfg(target_arch = "wasm32")]
mod imports {
    #[link(wasm_import_module = "whim")]
    unsafe extern "C" {
        pub fn send(frame: *const u8, len: usize) -> i32;
        pub fn take(template: *const u8, len: usize) -> i32;
        pub fn read(to: *mut u8, cap: usize) -> i32;
        pub fn reason(to: *mut u8, cap: usize) -> i32;
        pub fn name(to: *mut u8, cap: usize) -> i32;
        pub fn node(to: *mut u8, cap: usize) -> i32;
        pub fn timer(ms: i64, tag: i64) -> i32;
        pub fn cancel(tag: i64) -> i32;
        pub fn timer_left(tag: i64) -> i64;
        pub fn now() -> i64;
        pub fn random(to: *mut u8, len: usize) -> i32;
        pub fn log(level: i32, text: *const u8, len: usize);
        pub fn print(text: *const u8, len: usize);
        pub fn register(service: *const u8, len: usize, kind: *const u8, kind_len: usize) -> i32;
        pub fn deregister(service: *const u8, len: usize, kind: *const u8, kind_len: usize) -> i32;
        pub fn search(service: *const u8, len: usize, kind: *const u8, kind_len: usize) -> i32;
        pub fn exists(name: *const u8, len: usize) -> i32;
        pub fn join(topic: *const u8, len: usize) -> i32;
        pub fn leave(topic: *const u8, len: usize) -> i32;
        pub fn act(environment: *const u8, len: usize, action: *const u8, action_len: usize) -> i32;
        pub fn storage_get(key: *const u8, len: usize) -> i32;
        pub fn storage_put(key: *const u8, len: usize, value: *const u8, value_len: usize) -> i32;
        pub fn storage_delete(key: *const u8, len: usize) -> i32;
        pub fn storage_list(prefix: *const u8, len: usize, after: *const u8, after_len: usize) -> i32;
        pub fn depart(node: *const u8, len: usize) -> i32;
        pub fn depart_clone(node: *const u8, len: usize, name: *const u8, name_len: usize) -> i32;
        pub fn discard(from: *const u8, len: usize);
        pub fn recalled() -> i32;
        pub fn set_lifetime(ms: i64) -> i32;
        pub fn life() -> i64;
        pub fn on_failure(frame: *const u8, len: usize) -> i32;
        pub fn stop();
        pub fn receive(template: *const u8, len: usize, ms: i64) -> i32;
        pub fn sleep(ms: i64);
        pub fn move_to(node: *const u8, len: usize) -> i32;
        pub fn clone_to(node: *const u8, len: usize, name: *const u8, name_len: usize) -> i32;
    }
}

/// Host functions with slices in place of addresses: safe, since a caller with a slice owns its address.
#[cfg(target_arch = "wasm32")]
mod node {
    use super::imports;

    macro_rules! calls {
        ($($name:ident($($slice:ident),*) $(-> $result:ty)?;)*) => {
            $(pub fn $name($($slice: &[u8]),*) $(-> $result)? {
                // SAFETY: each address comes with the length of the slice that it is of.
                unsafe { imports::$name($($slice.as_ptr(), $slice.len()),*) }
            })*
        };
    }

    calls! {
        send(frame) -> i32;
        take(template) -> i32;
        print(text);
        register(service, kind) -> i32;
        deregister(service, kind) -> i32;
        search(service, kind) -> i32;
        exists(name) -> i32;
        join(topic) -> i32;
        leave(topic) -> i32;
        act(environment, action) -> i32;
        storage_get(key) -> i32;
        storage_put(key, value) -> i32;
        storage_delete(key) -> i32;
        storage_list(prefix, after) -> i32;
        depart(node) -> i32;
        depart_clone(node, name) -> i32;
        discard(unused);
        recalled() -> i32;
        life() -> i64;
        on_failure(frame) -> i32;
        stop();
        now() -> i64;
        move_to(node) -> i32;
        clone_to(node, name) -> i32;
    }

    macro_rules! fills {
        ($($name:ident)*) => {
            $(pub fn $name(to: &mut [u8]) -> i32 {
                // SAFETY: the node writes no more than there is room for.
                unsafe { imports::$name(to.as_mut_ptr(), to.len()) }
            })*
        };
    }

    fills! { read reason name node random }

    pub fn log(level: i32, text: &[u8]) {
        // SAFETY: as above.
        unsafe { imports::log(level, text.as_ptr(), text.len()) }
    }

    pub fn timer(ms: i64, tag: i64) -> i32 {
        // SAFETY: takes no address.
        unsafe { imports::timer(ms, tag) }
    }

    pub fn cancel(tag: i64) -> i32 {
        // SAFETY: takes no address.
        unsafe { imports::cancel(tag) }
    }

    pub fn timer_left(tag: i64) -> i64 {
        // SAFETY: takes no address.
        unsafe { imports::timer_left(tag) }
    }

    pub fn set_lifetime(ms: i64) -> i32 {
        // SAFETY: takes no address.
        unsafe { imports::set_lifetime(ms) }
    }

    pub fn receive(template: &[u8], ms: i64) -> i32 {
        // SAFETY: as above.
        unsafe { imports::receive(template.as_ptr(), template.len(), ms) }
    }

    pub fn sleep(ms: i64) {
        // SAFETY: takes no address.
        unsafe { imports::sleep(ms) }
    }
}

#[cfg(target_arch = "wasm32")]
pub(crate) use node::*;

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::testing::node::*;

use crate::error::Error;

/// Turns a negative result into an error.
pub(crate) fn check(result: i32) -> Result<i32, Error> {
    if result < 0 { Err(Error::because(result)) } else { Ok(result) }
}

/// Fetches the result whose length the last call returned.
pub(crate) fn fetch(len: i32) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; check(len)? as usize];
    read(&mut bytes);
    Ok(bytes)
}

/// Fetches a text of any length.
pub(crate) fn text(call: fn(&mut [u8]) -> i32) -> String {
    let mut bytes = vec![0; 64];
    let len = call(&mut bytes).max(0) as usize;
    if len > bytes.len() {
        bytes.resize(len, 0);
        call(&mut bytes);
    }
    bytes.truncate(len);
    String::from_utf8_lossy(&bytes).into_owned()
}
