/** The version of the session protocol that this library speaks. */
export const SESSION_VERSION = 1;
/**
 * How long a session outlives its last frame, if nobody says otherwise: a network that is away for ten seconds is waited out. The last frame may be
 * a quarter of it older than the break, and what is left is for another connection.
 */
export const LEASE_MS = 20_000;
/** Agents and texts that compact messages may refer to by number, if nobody says otherwise. */
export const REMEMBER = 256;
/** How many numbered frames may be unacknowledged: what is asked for if nobody says otherwise, and the most that nodes grant. */
export const WINDOW = 256;
/** How long a message may be, likewise. */
export const MESSAGE_BYTES = 1024 * 1024;
/** How much longer a frame is than the message in it, at most. */
export const FRAME_OVERHEAD_BYTES = 4096;
/** How long an acknowledgement waits for more to acknowledge. */
export const ACK_DELAY_MS = 10;
/** How long a node may take to welcome. */
export const WELCOME_MS_MAX = 10_000;
/** How long to wait before connecting again, the first time; twice as long after each failure. */
export const RECONNECT_MS_MIN = 100;
/** The longest such wait. */
export const RECONNECT_MS_MAX = 5_000;
/** Between two attempts a session that goes on waits for its lease divided by this, at most; an attempt itself may take longer. */
export const RECONNECTS_PER_LEASE = 10;
/** How often a connection may end with an error behind the same number before the session is given up. */
export const FAULTS_MAX = 3;
/** How often in a row a client is sent from node to node before it gives that up. */
export const SENDINGS_MAX = 16;
/** How often in a row it goes there at once: then it rests first, as the nodes may not agree yet. */
export const SENDINGS_AT_ONCE = 2;
/** How often in a row nodes may not be reached where they are said to be: then the client tries where it was. */
export const MISSES_MAX = 2;
/** How long a first connection is tried, if nobody says otherwise. */
export const PATIENCE_MS = 5_000;
/** Bytes of memory that a message in JSON takes for each character, about. */
export const MEMORY_BYTES_PER_CHARACTER = 4;
/** Bytes of an agent's code that go in one frame. */
export const CODE_PART_BYTES = 256 * 1024;
/** Messages that one `open` frame lists, as many as a node keeps copies of; and the bytes that a run of them takes, at most. */
export const OPEN_MESSAGES_MAX = 16_384;
export const OPEN_RUN_BYTES = 24;
