//! Doors to other agent platforms: options of a node, and the platform as the doors see it.

pub mod a2a;
pub mod mtp;
