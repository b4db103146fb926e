//! Every limit of the platform, by name.

/// Messages a mailbox holds before its senders are slowed down.
pub const MAILBOX_SOFT_MESSAGES: usize = 10_000;
/// Messages a mailbox holds at most; further ones are answered `failure`.
pub const MAILBOX_HARD_MESSAGES: usize = 1_000_000;
/// Empty queues a scheduler shard keeps for mailboxes that need one.
pub const SPARE_QUEUES_MAX: usize = 64;
/// Messages such a queue has room for at most; larger ones are freed.
pub const SPARE_QUEUE_MESSAGES_MAX: usize = 1_024;
/// Steps (messages handled, reasoning cycles) one turn may take before the next agent's turn comes.
pub const TURN_STEPS: u32 = 64;
/// Agents of one node.
pub const AGENTS_MAX: usize = 100_000_000;
/// Bytes of an agent's local name.
pub const AGENT_NAME_BYTES_MAX: usize = 255;
/// Entries one search of the AMS or the DF returns; further ones are read page by page.
pub const SEARCH_RESULTS_MAX: usize = 1_000_000;
/// Goals pending in one proof; a proof that needs more fails.
pub const PROOF_GOALS_MAX: usize = 10_000_000;
/// Variables in one proof; a proof that needs more fails.
pub const PROOF_SLOTS_MAX: u32 = 50_000_000;
/// How deep proofs nest (`not`, `.findall`); a deeper one fails.
pub const PROOF_NESTING_MAX: u32 = 2_000;
/// Dead letters a node keeps for its operator; older ones are forgotten.
pub const DEAD_LETTERS_MAX: usize = 10_000;
/// Services in one agent's DF entry.
pub const DF_SERVICES_PER_AGENT_MAX: usize = 1_000;
/// Standing DF searches of one agent.
pub const DF_SUBSCRIPTIONS_PER_AGENT_MAX: usize = 1_000;
/// Bytes of one source file of an AgentSpeak program or project.
pub const SOURCE_BYTES_MAX: usize = 64 << 20;
/// How deep files include files.
pub const INCLUDE_DEPTH_MAX: usize = 32;
/// Levels of a term's tree, for instance the conjuncts of one formula.
pub const TERM_DEPTH_MAX: u32 = 400;
/// Steps of one plan's body.
pub const BODY_STEPS_MAX: usize = 2_000;
/// How deep brackets nest in a program's text.
pub const BRACKET_DEPTH_MAX: u32 = 100;
/// Diagnostics reported for one program; further ones are counted only.
pub const DIAGNOSTICS_MAX: usize = 200;
