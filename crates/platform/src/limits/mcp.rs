//! Limits of MCP: requests of language models and their clients.

/// Bytes of a request's body.
pub const MCP_BODY_BYTES_MAX: usize = 1 << 20;
/// Time for a request's body to arrive.
pub const MCP_BODY_PATIENCE_MS: u64 = 30_000;
/// Levels of a request's JSON.
pub const MCP_JSON_LEVELS_MAX: usize = 64;
/// Bytes of new names that all requests may make the process keep.
pub const MCP_NAMES_BYTES_MAX: u64 = 1 << 20;
/// Bytes of a tool's name.
pub const MCP_TOOL_NAME_BYTES_MAX: usize = 128;
/// Tools, resources and prompts that agents offer, together; further ones are left out.
pub const MCP_OFFERED_MAX: usize = 4_096;
/// Bytes of a service's schemas and descriptions; a service with longer ones is left out.
pub const MCP_OFFERED_BYTES_MAX: usize = 64 << 10;
/// Calls of one client that are not over.
pub const MCP_OPEN_CALLS_EACH_MAX: usize = 1_024;
/// Free agents that stand for one client before the longest free one is used again.
pub const MCP_FREE_PROXIES_EACH_MIN: usize = 16;
/// Time without a message of the agent, after which a call fails.
pub const MCP_ANSWER_PATIENCE_MS: u64 = 300_000;
/// Time for a client's answer to a question of an agent.
pub const MCP_QUESTION_PATIENCE_MS: u64 = 300_000;
/// Requests to the client in one question of an agent.
pub const MCP_QUESTION_REQUESTS_MAX: usize = 16;
/// Questions of agents in one call.
pub const MCP_QUESTIONS_EACH_MAX: u32 = 64;
/// Bytes of an agent's answer, in JSON; a longer one is an error.
pub const MCP_ANSWER_BYTES_MAX: usize = 4 << 20;
/// Open streams of events of a node: calls that report progress, and subscriptions.
pub const MCP_STREAMS_MAX: usize = 4_096;
/// Open streams of events of one address.
pub const MCP_STREAMS_EACH_MAX: usize = 512;
/// Events that wait for the client of a stream; a slower client loses the stream.
pub const MCP_STREAM_EVENTS_MAX: usize = 256;
/// Interval of comments that keep an idle stream open.
pub const MCP_KEEPALIVE_MS: u64 = 15_000;
/// Interval at which subscribed lists and beliefs are compared with what the client knows.
pub const MCP_WATCH_INTERVAL_MS: u64 = 200;
/// Interval at which subscribed beliefs are compared.
pub const MCP_BELIEFS_INTERVAL_MS: u64 = 1_000;
/// Resources of one subscription.
pub const MCP_SUBSCRIBED_RESOURCES_MAX: usize = 64;
/// Sessions of clients that speak a version before 2026-07-28.
pub const MCP_SESSIONS_MAX: usize = 4_096;
/// Time after its last request, after which a session may be forgotten.
pub const MCP_SESSION_IDLE_MS: u64 = 3_600_000;
/// Time for which clients may cache lists.
pub const MCP_LIST_AGE_MS: u64 = 1_000;
