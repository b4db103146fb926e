//! Limits of A2A: requests of other platforms' agents.

/// Bytes of a request's body.
pub const A2A_BODY_BYTES_MAX: usize = 1 << 20;
/// Time for a request's body to arrive.
pub const A2A_BODY_PATIENCE_MS: u64 = 30_000;
/// Levels of a request's JSON.
pub const A2A_JSON_LEVELS_MAX: usize = 64;
/// Bytes of an identifier that a client chooses: of a message, a context, a task.
pub const A2A_ID_BYTES_MAX: usize = 256;
/// Bytes of new names that all requests may make the process keep.
pub const A2A_NAMES_BYTES_MAX: u64 = 1 << 20;
/// Tasks of one client that are not over; a further message is refused.
pub const A2A_OPEN_TASKS_EACH_MAX: usize = 1_024;
/// Tasks of one client that are over and can still be read; the oldest are forgotten.
pub const A2A_DONE_TASKS_EACH_MAX: usize = 1_024;
/// Bytes of one client's tasks; those that are over are forgotten first.
pub const A2A_TASKS_BYTES_EACH_MAX: usize = 64 << 20;
/// Bytes of a task's messages and artifacts; a task that exceeds them fails.
pub const A2A_TASK_BYTES_MAX: usize = 8 << 20;
/// Contexts of one client without an open task; the agent that stands for the longest idle one is used again.
pub const A2A_IDLE_CONTEXTS_EACH_MAX: usize = 64;
/// Time for an agent's first answer to a message; then the task fails.
pub const A2A_ANSWER_PATIENCE_MS: u64 = 300_000;
/// Time for an agent's answer to a cancellation; then the task is cancelled without one.
pub const A2A_CANCEL_PATIENCE_MS: u64 = 3_000;
/// Time for which a stream waits for the agent's first answer, before it begins with the task.
pub const A2A_FIRST_EVENT_MS: u64 = 250;
/// Tasks of one page of a list.
pub const A2A_PAGE_TASKS_MAX: usize = 100;
/// Open streams of events of a node.
pub const A2A_STREAMS_MAX: usize = 4_096;
/// Open streams of one client.
pub const A2A_STREAMS_EACH_MAX: usize = 512;
/// Events that wait for the client of a stream; a slower client loses the stream and may subscribe again.
pub const A2A_STREAM_EVENTS_MAX: usize = 256;
/// Interval of comments that keep an idle stream open.
pub const A2A_KEEPALIVE_MS: u64 = 15_000;
/// Time for which clients may cache a card.
pub const A2A_CARD_AGE_S: u64 = 60;
/// Agents that a request lists as published.
pub const A2A_LISTED_AGENTS_MAX: usize = 256;
