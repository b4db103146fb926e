//! Doors to other agent platforms: the gateway's protocols, over a platform of this process.

pub mod mtp;
