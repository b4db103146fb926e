//! Limits of operators' ports: HTTP, the console's socket, sniffing, inspection, queries to other nodes.

/// Bytes of one request on a node's control socket.
pub const CONTROL_REQUEST_BYTES_MAX: usize = 20 << 20;
/// Clients that a node's control socket serves at once.
pub const CONTROL_CONNECTIONS_MAX: usize = 64;
/// Connections to a node's gateway at a time; those of sessions and consoles included.
pub const HTTP_CONNECTIONS_MAX: usize = 60_000;
/// Bytes of a request's head.
pub const HTTP_HEAD_BYTES_MAX: usize = 16 << 10;
/// Headers of a request.
pub const HTTP_HEADERS_MAX: usize = 64;
/// Bytes of a request's body.
pub const HTTP_BODY_BYTES_MAX: usize = 2 << 20;
/// Time for the encryption of a connection, and for each head of a request (milliseconds).
pub const HTTP_HEAD_PATIENCE_MS: u64 = 10_000;
/// Requests of a gateway that the node answers at once, except for long ones and those to other nodes; further ones
/// wait.
pub const HTTP_ANSWERS_AT_ONCE_MAX: usize = 16;
/// Acts of administrators that a gateway carries out at a time, except for those that wait.
pub const HTTP_ACTS_AT_ONCE_MAX: usize = 64;
/// Requests of a gateway to other nodes at once, which may not answer for a while; further ones wait.
pub const HTTP_FAR_ANSWERS_AT_ONCE_MAX: usize = 32;
/// Requests of a gateway that wait for an agent's answer, a journey or a program, at once; and as many such acts of
/// administrators.
pub const HTTP_LONG_ANSWERS_AT_ONCE_MAX: usize = 64;
/// Longest wait of a request for an agent's answer (milliseconds).
pub const HTTP_WAIT_MS_MAX: u64 = 300_000;
/// WebSockets whose clients have not identified themselves yet.
pub const HTTP_STRANGERS_MAX: usize = 1_024;
/// Such WebSockets from one address.
pub const HTTP_STRANGERS_EACH_MAX: usize = 256;
/// Connections of a gateway that are no WebSockets; a newcomer takes the place of a visitor who has proved less.
pub const HTTP_VISITORS_MAX: usize = 8_192;
/// Connections from one address that are no WebSockets, or not yet.
pub const HTTP_VISITORS_EACH_MAX: usize = 1_024;
/// Files of a folder of pages that visitors read at a time.
pub const HTTP_PAGES_AT_ONCE_MAX: usize = 2_048;
/// Such files that visitors at one address read at a time.
pub const HTTP_PAGES_EACH_MAX: usize = 128;
/// Bytes of such a file in memory for each reader.
pub const HTTP_PAGE_PIECE_BYTES: usize = 32 << 10;
/// Bytes of a request, or of an answer that is not built into the program, in a connection's buffers.
pub const HTTP_BUFFER_BYTES_MAX: usize = 64 << 10;
/// Time for which a client that is written to may take nothing (milliseconds).
pub const HTTP_WRITE_PATIENCE_MS: u64 = 30_000;
/// Time for which the answer of `/health` is cached (milliseconds): anybody may ask for it, any number of times.
pub const HTTP_HEALTH_KEPT_MS: u64 = 1_000;
/// Time for which browsers may cache which requests of pages of other origins are allowed (seconds).
pub const HTTP_PREFLIGHT_KEPT_S: u64 = 600;
/// Time in which the client of a WebSocket must identify itself (milliseconds).
pub const HTTP_HELLO_PATIENCE_MS: u64 = 5_000;
/// WebSockets a second, on average, that clients at one address may open.
pub const HTTP_JOINS_PER_S: u32 = 500;
/// WebSockets that clients at one address may open at once.
pub const HTTP_JOINS_AT_ONCE_MAX: u32 = 4_000;
/// Addresses whose opened WebSockets are counted.
pub const HTTP_ADDRESSES_MAX: usize = 65_536;
/// Bytes that are read at once from a WebSocket. Each has a buffer of this size as long as it lives.
pub const HTTP_READ_BUFFER_BYTES: usize = 2 << 10;
/// Bytes that are collected before they are written to a WebSocket.
pub const HTTP_WRITE_BUFFER_BYTES: usize = 0;
/// Live sockets of viewers to a node: consoles and others.
pub const LIVE_SOCKETS_MAX: usize = 64;
/// Live sockets of administrators, beside those of viewers.
pub const LIVE_ADMIN_SOCKETS_MAX: usize = 32;
/// Bytes of one message from the client of a live socket.
pub const LIVE_FRAME_BYTES_MAX: usize = HTTP_BODY_BYTES_MAX;
/// Bytes of its first message.
pub const LIVE_HELLO_BYTES_MAX: usize = 4 << 10;
/// Watches of one live socket at a time.
pub const LIVE_WATCHES_MAX: usize = 64;
/// Questions of one live socket that are being answered; further ones are refused.
pub const LIVE_ASKS_MAX: usize = 16;
/// Messages that wait for the client of a live socket; watches rest while there are more.
pub const LIVE_WAITING_MAX: usize = 16;
/// Time in which the client of a live socket must read a message (milliseconds).
pub const LIVE_WRITE_PATIENCE_MS: u64 = 30_000;
/// Shortest interval of a watch (milliseconds).
pub const LIVE_EVERY_MS_MIN: u64 = 50;
/// Age up to which the report of one watch may serve another one (milliseconds).
pub const LIVE_SHARED_MS: u64 = 40;
/// Longest interval of a watch (milliseconds).
pub const LIVE_EVERY_MS_MAX: u64 = 60_000;
/// Agents in a watch of agents.
pub const LIVE_AGENTS_MAX: usize = 20_000;
/// Events kept for a live socket between two batches; further ones are counted only. A watch has 20 batches a second at
/// most, so agents lose little time to it.
pub const LIVE_EVENTS_MAX: usize = 256;
/// Agents that an operator creates from a program at once.
pub const SPAWNED_AT_ONCE_MAX: u32 = 10_000;
/// Lines of a log of conversations in one batch.
pub const LIVE_LINES_MAX: usize = 256;
/// Bytes of such lines from which on a batch is full. A single line may have more.
pub const LIVE_LINES_BYTES_MAX: usize = 1 << 20;
/// Logs of conversations that live sockets read at once.
pub const LIVE_LOGS_MAX: usize = 32;
/// Pairs of agents in a watch of traffic: those with most messages.
pub const LIVE_PAIRS_MAX: usize = 1_000;
/// Refusals and acts that a node keeps for its operators: this many of operators, of agents and nodes, and of outside
/// parties each.
pub const REFUSALS_KEPT_MAX: usize = 1_000;
/// Pairs of agents that are counted between two looks.
pub const TRAFFIC_PAIRS_MAX: usize = 100_000;
/// Time for which messages are counted by pairs after the last look (milliseconds).
pub const TRAFFIC_KEPT_MS: u64 = 10_000;
/// Events kept for a sniffer that does not keep up; further ones are counted only.
pub const SNIFFED_EVENTS_MAX: usize = 8_192;
/// Characters of a message's content that a sniffer is shown.
pub const SNIFFED_CONTENT_CHARS_MAX: usize = 2_000;
/// Characters of the name of a conversation, and of the texts that answers quote, that a sniffer is shown.
pub const SNIFFED_NAME_CHARS_MAX: usize = 200;
/// Other receivers, `reply-to` agents, and `X-` parameters of a message that a sniffer is shown.
pub const SNIFFED_PARAMETERS_MAX: usize = 16;
/// Time in which another node must answer an operator's query (milliseconds).
pub const QUESTION_PATIENCE_MS: u64 = 4_000;
/// Time in which a node tries to confirm that an agent ended as ordered, if the agent's node does not answer
/// (milliseconds).
pub const KILL_PATIENCE_MS: u64 = 30_000;
/// Agents named in the answer to a bulk operation; the rest is only counted.
pub const BULK_NAMED_MAX: usize = 1_000;
/// Agents that a bulk operation ends or changes at a time, so that other agents have their turns meanwhile.
pub const BULK_AT_ONCE: usize = 256;
/// Time for other agents' turns between two such batches (microseconds).
pub const BULK_EVERY_US: u64 = 500;
/// Bytes of an operator's query to another node.
pub const QUESTION_BYTES_MAX: usize = 256 << 10;
/// Bytes of an answer to such a query; a longer one is refused.
pub const QUESTION_ANSWER_BYTES_MAX: usize = 8 << 20;
/// Queries of one node that are answered at a time.
pub const QUESTIONS_AT_ONCE_MAX: u32 = 32;
/// Threads that answer queries.
pub const QUESTION_THREADS: usize = 8;
/// Bytes of all texts in an inspection of an agent. The agent's shard writes them, between two turns.
pub const INSPECTION_BYTES_MAX: usize = 256 << 10;
/// Bytes of one text in an inspection.
pub const INSPECTION_TEXT_BYTES_MAX: usize = 1_000;
/// Beliefs and rules in an inspection.
pub const INSPECTION_BELIEFS_MAX: usize = 1_000;
/// Beliefs and rules of one predicate in an inspection.
pub const INSPECTION_BELIEFS_EACH_MAX: usize = 100;
/// Goals in an inspection.
pub const INSPECTION_GOALS_MAX: usize = 200;
/// Intentions in an inspection.
pub const INSPECTION_INTENTIONS_MAX: usize = 100;
/// Plans in progress of one intention in an inspection: the innermost.
pub const INSPECTION_FRAMES_MAX: usize = 50;
/// Variables of one plan in progress.
pub const INSPECTION_VARIABLES_MAX: usize = 50;
/// Plans in an inspection.
pub const INSPECTION_PLANS_MAX: usize = 300;
/// Messages in an inspection.
pub const INSPECTION_MESSAGES_MAX: usize = 50;
/// Events in an inspection.
pub const INSPECTION_EVENTS_MAX: usize = 100;
/// Recent cycles that an agent remembers while it is followed.
pub const INSPECTION_RECENT_MAX: usize = 100;
/// Time for which an agent remembers them after the last look (milliseconds).
pub const INSPECTION_FOLLOWED_MS: u64 = 10_000;
/// Lines of agents' output that a node keeps for its operators; and as many warnings and failures.
pub const OUTPUT_LINES_MAX: usize = 4_096;
/// Bytes of such lines; and as many of warnings and failures.
pub const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// Bytes of one such line; the rest is cut.
pub const OUTPUT_LINE_BYTES_MAX: usize = 2_000;
/// Lines of output in one answer, and in one report of a watch.
pub const OUTPUT_ANSWER_LINES_MAX: usize = 1_000;
/// Events that a node keeps for clients of other nodes, while any asks for them.
pub const RECENT_EVENTS_MAX: usize = 2_048;
/// Programs in the list of a project's programs.
pub const PROGRAMS_TOLD_MAX: usize = 200;
/// Bytes of a file that a node serves beside its console.
pub const HTTP_PAGE_BYTES_MAX: u64 = 64 << 20;
/// Time for which a node remembers that another one denied it a query (milliseconds).
pub const DENIALS_KEPT_MS: u64 = 300_000;
/// Answers to one query of an operator to a mind.
pub const QUERY_ANSWERS_MAX: usize = 1_000;
/// Bytes of values in the answers to such a query, and in the outcome of a performed plan body; further values are left
/// out.
pub const QUERY_VALUES_BYTES_MAX: usize = 1 << 20;
/// Time in which an agent must answer such a query, or take in a program (milliseconds).
pub const QUERY_PATIENCE_MS: u64 = 10_000;
/// Breakpoints of one debugger.
pub const DEBUGGER_LINES_MAX: usize = 1_000;
/// Agents that a debugger lists, beside those that are paused.
pub const DEBUGGER_THREADS_MAX: usize = 100;
/// Names of paused agents in one answer.
pub const PAUSED_NAMED_MAX: usize = 1_000;
