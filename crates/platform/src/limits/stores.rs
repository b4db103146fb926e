//! Limits of stores: journals, segments, logs of conversations.

/// Messages in one piece of facts: those that receivers have handled, and those that senders know to be handled.
pub const FACTS_MAX: usize = 10_000;
/// Bytes of a log of conversations; beyond that, its oldest messages are dropped.
pub const CONVERSATION_LOG_BYTES_MAX: u64 = 256 << 20;
/// Bytes of one message in a log of conversations; the content of a longer one is cut.
pub const CONVERSATION_MESSAGE_BYTES_MAX: usize = 64 << 10;
/// Characters to which such a content is cut.
pub const CONVERSATION_CUT_CHARS: usize = 2_000;
/// Bytes of messages that wait to be written to a log of conversations; further ones are left out, and counted.
pub const CONVERSATION_WAITING_BYTES_MAX: usize = 16 << 20;
/// Entries that are written to a log of conversations together.
pub const CONVERSATION_PASSAGE_ENTRIES_MAX: usize = 1_024;
/// Bytes of such entries, roughly.
pub const CONVERSATION_PASSAGE_BYTES_MAX: usize = 256 << 10;
/// Partitions of a store at most: each owner keeps an entry for each.
pub const STORE_PARTITIONS_MAX: u16 = 16_384;
/// Partitions of a store, if no other number was asked for. A society in NATS asks for 16.
pub const STORE_PARTITIONS: u16 = 256;
/// Bytes of one frame in an embedded store's journal; other stores take less.
pub const STORE_FRAME_BYTES_MAX: usize = 16 << 20;
/// Bytes of memory for reading the records of one frame of a journal.
pub const FRAME_MEMORY_BYTES_MAX: usize = 1 << 30;
/// Bytes of one frame from which on further steps go into the next.
pub const FRAME_BYTES: usize = 256 << 10;
/// Bytes of a key in an embedded store's coordination.
pub const STORE_KEY_BYTES_MAX: usize = 512;
/// Bytes of a value in an embedded store's coordination.
pub const STORE_VALUE_BYTES_MAX: usize = 512 << 10;
/// Bytes of all such keys and values together: they are kept in memory, and rewritten in each of a journal's files.
pub const STORE_COORD_BYTES_MAX: usize = 32 << 20;
/// Bytes of one blob in an embedded store.
pub const STORE_BLOB_BYTES_MAX: usize = 1 << 30;
/// Streams for the journals of a store in NATS, if no other number was asked for. Each has a leader of its own, so the
/// loss of one server delays only what it led.
pub const STORE_NATS_STREAMS: u16 = 6;
/// Time of a request to NATS after which its outcome is unknown (milliseconds).
pub const STORE_NATS_REQUEST_MS: u64 = 2_000;
/// Longest attempt to connect to a NATS server (milliseconds).
pub const STORE_NATS_CONNECT_MS: u64 = 1_000;
/// Interval at which the connection to a NATS server is checked (milliseconds).
pub const STORE_NATS_PING_MS: u64 = 1_000;
/// Requests without any answer after which another server is tried.
pub const STORE_NATS_TIMEOUTS_MAX: u32 = 2;
/// Time for which repeatable requests are tried (milliseconds): NATS takes 4 to 9 s to choose new leaders.
pub const STORE_NATS_PATIENCE_MS: u64 = 15_000;
/// Longest pause between two tries (milliseconds).
pub const STORE_NATS_PAUSE_MS_MAX: u64 = 50;
/// Time to wait for one more server to describe itself (milliseconds).
pub const STORE_NATS_SERVERS_WAIT_MS: u64 = 150;
/// Bytes of a message's headers, and of all that surrounds its payload.
pub const STORE_NATS_HEADER_BYTES_MAX: usize = 1_024;
/// Frames in one message of a journal.
pub const STORE_NATS_FRAMES_PER_MESSAGE_MAX: usize = 4_096;
/// Messages of a partition whose places its owner remembers; others are searched for.
pub const STORE_NATS_INDEX_MAX: usize = 65_536;
/// Bytes of one chunk of a blob.
pub const STORE_NATS_CHUNK_BYTES_MAX: usize = 512 << 10;
/// Chunks of one blob on their way at once.
pub const STORE_NATS_CHUNKS_AT_ONCE: usize = 8;
/// Messages that wait for a watch of keys; beyond that, the watch starts anew.
pub const STORE_NATS_WATCH_EVENTS_MAX: usize = 65_536;
/// Messages of a journal that a reader asks for one by one, before it has the rest sent.
pub const STORE_NATS_ASKED_FOR: u32 = 16;
/// Longest silence of the engine towards a watch (milliseconds).
pub const STORE_NATS_BEAT_MS: u64 = 1_000;
/// Beats that may be missed before the engine counts as away.
pub const STORE_NATS_BEATS_MISSED_MAX: u32 = 3;
/// Time for which the engine remembers the identifiers of messages (seconds).
pub const STORE_NATS_REMEMBER_S: u64 = 120;
/// Time for which the engine remembers that a key was removed (seconds).
pub const STORE_NATS_REMOVED_S: u64 = 3_600;
/// Bytes of the name of a store.
pub const STORE_NAME_BYTES_MAX: usize = 64;
/// Bytes of the state of a durable agent written in Rust: with the messages of a step, it fits into a frame of any
/// store.
pub const DURABLE_STATE_BYTES_MAX: usize = 512 << 10;
/// Bytes of garbage in the journals of a node's partitions, beyond the live bytes, at which one of them is compacted.
pub const JOURNAL_GARBAGE_BYTES: u64 = 32 << 20;
/// Bytes that a node writes between two checks of garbage.
pub const JOURNAL_TIDY_BYTES: u64 = 256 << 10;
/// Frames of one partition that an embedded store keeps at once: each takes a slot in memory, also one that is missing.
pub const JOURNAL_FRAMES_MAX: u64 = 1 << 26;
/// Highest place of a frame in an embedded store, which no journal reaches. A record with a higher place is damaged,
/// although its checksum fits.
pub const JOURNAL_PLACE_MAX: u64 = 1 << 60;
