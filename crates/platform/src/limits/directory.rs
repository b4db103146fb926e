//! Limits of the directory facilitator, topics and groups.

/// Bytes of memory of the entries in one message of the DF to a subscriber; further entries take further messages.
pub const DF_NOTICE_BYTES: usize = 256 << 10;
/// Entries one search of the AMS or the DF returns; further ones are read page by page.
pub const SEARCH_RESULTS_MAX: usize = 1_000_000;
/// Services in one agent's DF entry.
pub const DF_SERVICES_PER_AGENT_MAX: usize = 1_000;
/// Standing DF searches of one agent.
pub const DF_SUBSCRIPTIONS_PER_AGENT_MAX: usize = 1_000;
/// Bytes of the name of a topic or group, without `topic:`, `group:` or `any:`.
pub const TOPIC_NAME_BYTES_MAX: usize = 240;
/// Topics and groups that a node knows.
pub const TOPICS_MAX: usize = 1_000_000;
/// Subscribers or members of one topic or group on one node.
pub const TOPIC_SUBSCRIBERS_MAX: usize = 10_000_000;
/// Topics and groups that one agent is in.
pub const TOPICS_PER_AGENT_MAX: usize = 10_000;
/// Names in one piece of news of topics and groups.
pub const TOPIC_NEWS_NAMES_MAX: usize = 10_000;
/// Names of topics and groups whose audience a shard or link remembers; beyond that it starts anew.
pub const TOPIC_AUDIENCES_MAX: usize = 65_536;
