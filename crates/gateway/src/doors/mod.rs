//! Doors to other agent platforms: the shells around the protocols of `whimbrel-interop`.

pub mod mtp;
