//! Doors to other agent platforms, on the HTTP port of a node. Their protocols are in `whimbrel-interop`.

pub mod a2a;
