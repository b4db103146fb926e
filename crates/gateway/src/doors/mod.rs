//! Doors to other agent platforms: the shells around the protocols of `whimbrel-interop`.

pub mod a2a;
mod door_clients;
mod event_stream;
pub mod mcp;
pub mod mtp;
pub mod xmpp;
