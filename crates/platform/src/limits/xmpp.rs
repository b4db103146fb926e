//! Limits of the connection to an XMPP server.

/// Bytes of one stanza. Prosody takes 512 KiB from a component.
pub const XMPP_STANZA_BYTES_MAX: usize = 512 << 10;
/// Levels of elements in a stanza.
pub const XMPP_LEVELS_MAX: usize = 16;
/// Elements and attributes of a stanza.
pub const XMPP_PARTS_MAX: usize = 4_096;
/// Bytes of an address.
pub const XMPP_ADDRESS_BYTES_MAX: usize = 3_071;
/// Messages that were sent and may still come back, because nobody has their address; the oldest is forgotten.
pub const XMPP_SENT_MAX: usize = 65_536;
/// Bytes of those messages.
pub const XMPP_SENT_BYTES_MAX: usize = 64 << 20;
/// Questions of agents whose answers may name them in `reply-with`; the oldest is forgotten.
pub const XMPP_QUESTIONS_MAX: usize = 65_536;
/// Subscriptions to the presence of agents; further ones are refused.
pub const XMPP_SUBSCRIPTIONS_MAX: usize = 65_536;
/// Bytes of names that strangers may make a process keep by messages over XMPP.
pub const XMPP_NAME_BYTES_MAX: u64 = 64 << 20;
/// Messages to the XMPP server that wait; further ones fail at once.
pub const XMPP_QUEUED_MAX: usize = 65_536;
/// Number of waiting messages from which on senders slow down.
pub const XMPP_QUEUED_SOFT: usize = 1_024;
/// Bytes that are ready to be written before further messages are encoded.
pub const XMPP_WRITTEN_BYTES_SOFT: usize = 256 << 10;
/// Time in which a message must have been given to the XMPP server; then it fails (milliseconds).
pub const XMPP_DEADLINE_MS: u64 = 10_000;
/// Time in which the XMPP server must have accepted a connection and the component (milliseconds).
pub const XMPP_OPEN_PATIENCE_MS: u64 = 5_000;
/// Shortest and longest pause between attempts to connect to the XMPP server (milliseconds).
pub const XMPP_PAUSE_MIN_MS: u64 = 100;
/// See [`XMPP_PAUSE_MIN_MS`].
pub const XMPP_PAUSE_MAX_MS: u64 = 5_000;
