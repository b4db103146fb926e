//! Limits of the codecs. They hold both ways: values beyond them are neither read nor written.

/// Bytes of one encoded message. Links, sessions and guests allow fewer: see `LINK_MESSAGE_BYTES_MAX`,
/// `SESSION_MESSAGE_BYTES_DEFAULT` and `GUEST_MESSAGE_BYTES`.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Receivers of one message, and agents in its `:reply-to`; the sender is charged for each. Topics and groups reach
/// more agents.
pub const MESSAGE_RECEIVERS_MAX: usize = 1_024;
/// Bytes of memory from which on a message counts as bulky where messages are weighed.
pub const BULKY_BYTES: usize = 4 << 10;
/// Bytes up to which they are counted: values that share their parts are small and look enormous.
pub const BULKY_COUNTED_BYTES: usize = 64 << 20;
/// Levels to which resolvers of agent identifiers nest.
pub const RESOLVER_DEPTH_MAX: usize = 4;
/// Levels to which brackets nest in a parameter's expression.
pub const EXPRESSION_DEPTH_MAX: usize = 64;
/// Levels to which content values nest, in JSON as in the compact encoding.
pub const VALUE_DEPTH_MAX: usize = 96;
/// Levels to which lists and structures nest in values that an AgentSpeak agent builds. Jason's stack takes fewer: it
/// ends at about 3,000.
pub const TERM_LEVELS_MAX: u32 = 5_000;
/// Levels to which values nest in state that is read back: a term inside the values that a program may write around
/// it.
pub const STATE_DEPTH_MAX: u32 = TERM_LEVELS_MAX + 500;
/// Levels to which brackets nest in SL content.
pub const SL_DEPTH_MAX: usize = 96;
/// Bytes of texts that a code table of the bit-efficient encoding holds together.
pub const CODE_TABLE_BYTES_MAX: usize = 4 << 20;
/// Times its own size that a message may grow to by references into a code table (and at least
/// [`EXPANSION_BYTES_MIN`]).
pub const EXPANSION_MAX: usize = 16;
/// Bytes that references into a code table may stand for in any message, be it ever so short.
pub const EXPANSION_BYTES_MIN: usize = 1 << 20;
/// Bytes of a transport envelope.
pub const ENVELOPE_BYTES_MAX: usize = 256 << 10;
/// Stations that a message may have passed on its way between platforms.
pub const ENVELOPE_STAMPS_MAX: usize = 16;
