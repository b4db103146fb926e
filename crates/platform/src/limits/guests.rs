//! Limits of WebAssembly agents and of what they leave on nodes.

/// Bytes of a WebAssembly module.
pub const MODULE_BYTES_MAX: usize = 16 << 20;
/// Mutable globals of a WebAssembly module.
pub const MODULE_GLOBALS_MAX: usize = 4_096;
/// Functions of a WebAssembly module.
pub const MODULE_FUNCTIONS_MAX: u64 = 20_000;
/// Parameters and locals of one function of a WebAssembly module.
pub const FUNCTION_LOCALS_MAX: u64 = 1_000;
/// Nested loops in one function of a WebAssembly module.
pub const FUNCTION_LOOPS_MAX: u64 = 64;
/// Compile cost of one function: the sum over its instructions of all variables there, once for each loop around it.
pub const FUNCTION_EFFORT_MAX: u64 = 12_000_000;
/// Compile cost of all functions of a module.
pub const MODULE_EFFORT_MAX: u64 = 48_000_000;
/// Messages that a WebAssembly agent may send, and lines that it may print or log, in one call.
pub const GUEST_CALL_MESSAGES_MAX: u32 = 10_000;
/// Bytes of all that a WebAssembly agent may send, print and log in one call.
pub const GUEST_CALL_BYTES_MAX: usize = 16 << 20;
/// Bytes of a template by which a WebAssembly agent waits for, or takes, messages.
pub const GUEST_TEMPLATE_BYTES_MAX: usize = 4 << 10;
/// Bytes of the message that a WebAssembly agent prepares for the case that it fails: the node keeps it, and it moves
/// with the agent.
pub const GUEST_LAST_WORDS_BYTES_MAX: usize = 4 << 10;
/// Parts of such a template.
pub const GUEST_TEMPLATE_PARTS_MAX: usize = 16;
/// Bytes of the state of a WebAssembly agent: its memory, and the node's record of it.
pub const GUEST_STATE_BYTES_MAX: usize = GUEST_MEMORY_BYTES_MAX + (4 << 20);
/// Processor time (milliseconds) of one call of a WebAssembly agent, if no policy sets less.
pub const GUEST_CALL_CPU_MS: u32 = 1_000;
/// Processor time (milliseconds) after which a call is interrupted if the agent is ended meanwhile.
pub const GUEST_ENDING_CPU_MS: u32 = 100;
/// Highest processor time of a call (milliseconds) that a policy may set.
pub const GUEST_CALL_CPU_MS_MAX: u32 = 10_000;
/// Bytes of memory of a WebAssembly agent, if no policy says otherwise.
pub const GUEST_MEMORY_BYTES: usize = 16 << 20;
/// Most memory of a WebAssembly agent that a policy may set. Addresses are reserved for this much for each agent in
/// memory.
pub const GUEST_MEMORY_BYTES_MAX: usize = 64 << 20;
/// Bytes of one message from a WebAssembly agent, if no policy says otherwise.
pub const GUEST_MESSAGE_BYTES: usize = 1 << 20;
/// Absence (milliseconds) below which a guest that returns to a node still has its earlier usage of quotas there.
pub const GUEST_AWAY_MS: u64 = 60_000;
/// Departed guests whose usage is remembered.
pub const GUESTS_AWAY_MAX: usize = 100_000;
/// Bytes that are added to the memory of a guest that waits in the middle of a call, for the variables on its stack.
/// The host's stack for the guest has about the same size. Only used bytes take memory, and move with the agent.
pub const GUEST_UNWOUND_BYTES: usize = 512 << 10;
/// Timers of a WebAssembly agent.
pub const GUEST_TIMERS_MAX: usize = 1_024;
/// Bytes of new names from one WebAssembly agent: a process keeps names for ever.
pub const GUEST_NAME_BYTES: u64 = 64 << 10;
/// Bytes of new names from all WebAssembly agents together: each that arrives, and each clone, has its own 64 KiB.
pub const GUESTS_NAME_BYTES_MAX: u64 = 64 << 20;
/// Bytes of new names that a WebAssembly agent may still make when all together have reached their limit. So an agent
/// that makes many does not end those that make few.
pub const GUEST_NAME_BYTES_FEW: u64 = 4 << 10;
/// Bytes of new names of all WebAssembly agents beyond which none may make any.
pub const GUESTS_NAME_BYTES_END: u64 = 256 << 20;
/// Clones among the WebAssembly agents of one owner on one node, if no policy says otherwise.
pub const GUEST_CLONES_MAX: u32 = 1_000;
/// Owners of WebAssembly agents whose usage a node remembers, beyond twice those with agents there. Usage in the last
/// second counts even if the agents have left.
pub const GUEST_OWNERS_SPARE: usize = 256;
/// Bytes that a WebAssembly agent and its clones may store on a node beside their memory, if no policy says otherwise.
pub const GUEST_STORAGE_BYTES: u64 = 1 << 20;
/// Bytes that all agents of one owner may store on a node, if no policy says otherwise.
pub const GUEST_OWNER_STORAGE_BYTES: u64 = 16 << 20;
/// Bytes that all agents may store on a node: in memory, and on the disk if the node has a folder for them.
pub const STORAGE_BYTES_MAX: u64 = 256 << 20;
/// Bytes that a stored key counts beside its own and its value's, against all limits of stored bytes.
pub const STORAGE_ENTRY_BYTES: u64 = 64;
/// Bytes that an agent's storage counts at least, as a file does, against the limits of its owner's agents and of all
/// agents.
pub const STORAGE_HOLDER_BYTES: u64 = 4_096;
/// Bytes of a stored key.
pub const STORAGE_KEY_BYTES_MAX: usize = 256;
/// Bytes of a stored value.
pub const STORAGE_VALUE_BYTES_MAX: usize = 256 << 10;
/// Stored keys of an agent and its clones.
pub const STORAGE_ENTRIES_MAX: usize = 4_096;
/// Stored keys that are listed at a time.
pub const STORAGE_KEYS_LISTED_MAX: usize = 1_000;
