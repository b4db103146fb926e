//! Limits of the Python process that runs beside a node.

/// Bytes of one frame between a node and its Python process.
pub const PYTHON_FRAME_BYTES_MAX: usize = 16 << 20;
/// Frames that wait to be written to a node's Python process; further calls and actions fail.
pub const PYTHON_FRAMES_WAITING_MAX: usize = 65_536;
/// Time for which a formula (a context, a rule, `if`) waits for a call of Python (milliseconds); then it counts as
/// failed. Other agents continue meanwhile, as after any long turn. It begins when the process has started.
pub const PYTHON_QUERY_MS_MAX: u64 = 5_000;
/// Solutions of a generator that are fetched at a time, at most.
pub const PYTHON_SOLUTIONS_AT_A_TIME: u32 = 64;
/// Time for which a formula waits for a Python process that starts (milliseconds); then its call counts as failed.
pub const PYTHON_START_MS_MAX: u64 = 60_000;
/// Starts of a node's Python process within `PYTHON_STARTS_WINDOW_MS`; after that it is not started again.
pub const PYTHON_STARTS_MAX: usize = 6;
/// Time in which starts of a node's Python process are counted (milliseconds).
pub const PYTHON_STARTS_WINDOW_MS: u64 = 60_000;
/// Time that a Python process has to end when its node ends (milliseconds); then it is killed.
pub const PYTHON_STOP_MS: u64 = 2_000;
/// Rows and columns of a grid that an environment shows in the console.
pub const PYTHON_GRID_SIDE_MAX: usize = 256;
