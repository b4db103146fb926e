//! Doors to other agent platforms: the shells around the protocols of `whimbrel-interop`.

pub mod a2a;
pub mod mtp;
pub mod xmpp;
