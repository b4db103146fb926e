//! The crate `whimbrel-guest`, which is built into the program.

macro_rules! guest_crate {
    ($($file:literal)*) => {
        /// Files of the crate `whimbrel-guest`, with which agents in Rust are written.
        pub const GUEST_CRATE: &[(&str, &str)] = &[$((
            concat!("whimbrel-guest/", $file),
            include_str!(concat!("../../../guest/rust/", $file)),
        )),*];
    };
}

guest_crate! {
    "Cargo.toml" "macro/Cargo.toml" "macro/src/lib.rs" "src/advice.rs" "src/agent.rs" "src/allocator.rs" "src/blocking.rs" "src/calls.rs"
    "src/context.rs" "src/documents.rs" "src/error.rs" "src/frame.rs" "src/heap.rs" "src/host.rs" "src/lib.rs" "src/message.rs" "src/patterns.rs"
    "src/storage.rs" "src/tasks.rs" "src/testing.rs" "src/value.rs"
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_guest_crate_is_whole() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest/rust/src");
        for entry in std::fs::read_dir(sources).expect("the crate is there") {
            let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
            let file = format!("whimbrel-guest/src/{name}");
            assert!(GUEST_CRATE.iter().any(|(known, _)| *known == file), "{file} is missing");
        }
    }
}
