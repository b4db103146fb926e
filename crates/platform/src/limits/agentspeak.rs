//! Limits of AgentSpeak: sources, programs, proofs, minds.

/// Bytes that a small mind allocates between two counts of its memory, while the node's memory is short.
pub const MIND_COUNTED_WHEN_SHORT_BYTES: u64 = 64 << 10;
/// Divisor of the share by which a mind may grow between two counts, while the node's memory is short.
pub const MIND_GROWTH_WHEN_SHORT: usize = 8;
/// Bytes of memory of an AgentSpeak mind, if no policy says otherwise.
pub const MIND_MEMORY_BYTES: usize = 256 << 20;
/// Events and ready intentions of an AgentSpeak agent from which on it takes messages in less often than in each cycle.
pub const MIND_BACKLOG: usize = 64;
/// Smallest memory quota of a mind that a policy may set.
pub const MIND_MEMORY_BYTES_MIN: usize = 64 << 10;
/// Smallest growth of a mind (bytes) after which its memory is counted again.
pub const MIND_COUNTED_EVERY_BYTES: u64 = 8 << 20;
/// Divisor of a mind's size: it allocates at least this share before its memory is counted again.
pub const MIND_GROWTH_UNCOUNTED: u64 = 4;
/// Nested calls of rules, including calls at the end of a rule; a step whose proof needs more fails.
pub const PROOF_CALLS_MAX: u32 = 250_000;
/// Agents of a project whose names are compared when it is checked.
pub const PROJECT_NAMES_COMPARED_MAX: usize = 10_000;
/// Steps of the proofs of one step or context: rules tried, returns from them, and alternatives gone back to. A step
/// that needs more fails.
pub const PROOF_STEPS_MAX: u32 = 30_000_000;
/// Steps of each further context of an event, once one of its contexts needed more than [`PROOF_STEPS_MAX`].
pub const PROOF_STEPS_AFTER_RUNAWAY: u32 = 300_000;
/// Steps that a solution kept for a list counts for.
pub const PROOF_STEPS_KEPT: u32 = 10;
/// Variables in one proof; a step whose proof needs more fails.
pub const PROOF_SLOTS_MAX: u32 = 10_000_000;
/// Levels of nested proofs (`not`, `.findall`); a step whose proof nests deeper fails.
pub const PROOF_NESTING_MAX: u32 = 2_000;
/// Bytes of one source file of an AgentSpeak program or project.
pub const SOURCE_BYTES_MAX: usize = 64 << 20;
/// Levels of files that include files.
pub const INCLUDE_DEPTH_MAX: usize = 32;
/// Levels of a term's tree in a program's text. Chains of `&`, `|`, `+`, `-`, `*`, `/`, `elif` and `;` are one level.
pub const TERM_DEPTH_MAX: u32 = 400;
/// Levels of a program's text quoted as data, as many as values may have. Each part of a chain is a level deeper than
/// the one before.
pub const TERM_DATA_DEPTH_MAX: u32 = 5_000;
/// Effects (actions) that one formula of an AgentSpeak program asks for.
pub const FORMULA_EFFECTS_MAX: usize = 10_000;
/// Bytes of a belief, a goal or a plan's label that an operator writes.
pub const INSTRUCTION_BYTES_MAX: usize = 4_000;
/// Steps of one plan's body.
pub const BODY_STEPS_MAX: usize = 10_000;
/// Levels of nested brackets in a program's text; lists directly in lists do not count.
pub const BRACKET_DEPTH_MAX: u32 = 100;
/// Diagnostics reported for one program; further ones are counted only.
pub const DIAGNOSTICS_MAX: usize = 200;
/// Breakpoints of an agent.
pub const BREAKPOINTS_MAX: usize = 100;
