//! Protocols of other agent platforms, as data and as state machines without I/O, clock and sockets. The shells around
//! them are in `whimbrel-gateway`.
#![forbid(unsafe_code)]

/// FIPA's message transport over HTTP, as JADE speaks it.
pub mod mtp;
