//! Limits of the message transport to other platforms over HTTP.

/// Bytes of one message to or from another platform, with its envelope.
pub const MTP_POST_BYTES_MAX: usize = 8 << 20;
/// Connections at a time to the port for messages of other platforms.
pub const MTP_CONNECTIONS_MAX: usize = 1_024;
/// Connections at a time from one address to that port.
pub const MTP_CONNECTIONS_EACH_MAX: usize = 64;
/// Time in which a message from another platform must have arrived after its head (milliseconds).
pub const MTP_BODY_PATIENCE_MS: u64 = 30_000;
/// Time after which an idle connection from another platform is closed (milliseconds).
pub const MTP_IDLE_MS: u64 = 120_000;
/// Bytes of names that strangers may make a process keep by messages over HTTP.
pub const MTP_NAME_BYTES_MAX: u64 = 64 << 20;
/// Bytes of names that strangers at one address may make a process keep by such messages.
pub const MTP_NAME_BYTES_EACH_MAX: u64 = 16 << 20;
/// Addresses whose strangers' names are counted apart; those beyond share one count.
pub const MTP_STRANGERS_MAX: usize = 4_096;
/// Messages to other platforms that wait; further ones fail at once.
pub const MTP_QUEUED_MAX: usize = 131_072;
/// Messages that wait for one platform.
pub const MTP_QUEUED_EACH_MAX: usize = 65_536;
/// Bytes of messages to other platforms that wait.
pub const MTP_QUEUED_BYTES_MAX: usize = 256 << 20;
/// Connections to one address of another platform: messages between two agents always take the same one.
pub const MTP_LANES: u64 = 4;
/// Addresses of one agent that are tried, in their order.
pub const MTP_ADDRESSES_MAX: usize = 8;
/// Time for which messages wait for a platform that cannot be reached; then they fail (milliseconds).
pub const MTP_DEADLINE_MS: u64 = 10_000;
/// Pause after all addresses of an agent failed (milliseconds); it doubles each time.
pub const MTP_PAUSE_MS: u64 = 100;
/// Time for which an address that failed is tried after others (milliseconds).
pub const MTP_DOWN_MS: u64 = 30_000;
/// Addresses that are remembered as failed.
pub const MTP_DOWN_ADDRESSES_MAX: usize = 1_024;
/// Time in which a connection to another platform must be made (milliseconds).
pub const MTP_CONNECT_PATIENCE_MS: u64 = 3_000;
/// Time in which another platform must answer (milliseconds).
pub const MTP_ANSWER_PATIENCE_MS: u64 = 30_000;
/// Bytes of another platform's answer.
pub const MTP_ANSWER_BYTES_MAX: usize = 64 << 10;
/// Agents of other platforms whose addresses are remembered.
pub const MTP_CONTACTS_MAX: usize = 16_384;
/// Time for which an idle connection to another platform is used again (milliseconds). JADE closes its end after a
/// minute.
pub const MTP_REUSE_MS: u64 = 30_000;
