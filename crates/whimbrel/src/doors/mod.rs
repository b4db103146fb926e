//! Doors to other agent platforms: options of a node, and the society as the doors see it.

pub mod a2a;
