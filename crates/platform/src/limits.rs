//! Limits of the platform, by name.

/// Messages a mailbox holds before its senders are slowed down.
pub const MAILBOX_SOFT_MESSAGES: usize = 10_000;
/// Messages a mailbox holds at most; further ones are answered `failure`.
pub const MAILBOX_HARD_MESSAGES: usize = 1_000_000;
/// Bytes of bulky messages that a mailbox holds before their senders are slowed down. Messages from other nodes,
/// clients and guests are weighed; one of less than 4 KiB counts as a message only.
pub const MAILBOX_SOFT_BYTES: usize = 16 << 20;
/// Encoded bytes from which on a message from outside is weighed: shorter ones are never bulky by much.
pub const MESSAGE_WEIGHED_BYTES: usize = 256;
/// Bytes of bulky messages that a mailbox holds at most; further ones are answered `failure`.
pub const MAILBOX_HARD_BYTES: usize = 64 << 20;
/// Empty queues a scheduler shard keeps for mailboxes that need one.
pub const SPARE_QUEUES_MAX: usize = 64;
/// Messages that a spare queue has room for at most; larger queues are freed.
pub const SPARE_QUEUE_MESSAGES_MAX: usize = 1_024;
/// Steps (messages handled, reasoning cycles) one turn may take before the next agent's turn comes.
pub const TURN_STEPS: u32 = 64;
/// Most reasoning cycles of an AgentSpeak agent's turn after one in which it sent something and its intentions go on.
/// Receivers have their turns before the sender goes on for long.
pub const TURN_STEPS_AFTER_SENDING: u32 = 24;
/// Nice value of a late turn's thread, whose shard continues without it: it yields to other threads.
pub const LATE_TURN_NICENESS: i32 = 10;
/// Stack of a worker's thread. Terms that programs make may be nested a hundred thousand levels deep, and are walked by
/// recursion. Unused stack takes no memory.
pub const WORKER_STACK_BYTES: usize = 64 << 20;
pub use whimbrel_acl::limits::MESSAGE_RECEIVERS_MAX;
/// Bytes of memory of the entries in one message of the DF to a subscriber; further entries take further messages.
pub const DF_NOTICE_BYTES: usize = 256 << 10;
/// Agents of one node.
pub const AGENTS_MAX: usize = 100_000_000;
/// Agents of one node, if no policy says otherwise.
pub const NODE_AGENTS_MAX: u32 = 10_000_000;
/// Share of a process's memory limit that agents may fill, in percent, if no policy says otherwise.
pub const NODE_MEMORY_PERCENT: u64 = 80;
/// Bytes that a small mind allocates between two counts of its memory, while the node's memory is short.
pub const MIND_COUNTED_WHEN_SHORT_BYTES: u64 = 64 << 10;
/// Divisor of the share by which a mind may grow between two counts, while the node's memory is short.
pub const MIND_GROWTH_WHEN_SHORT: usize = 8;
/// Share of a process's memory limit from which on a node reports that memory is short, in percent.
pub const HEALTH_MEMORY_PERCENT: u64 = 90;
/// Share of a process's memory from which on a node that reports short memory names the names it keeps, in percent.
pub const HEALTH_NAMES_PERCENT: u64 = 10;
/// Age of a turn from which on its node reports it (milliseconds).
pub const HEALTH_TURN_MS: u64 = 5_000;
/// Wait of agents for their turns from which on their node reports it (milliseconds).
pub const HEALTH_WAIT_MS: u64 = 2_000;
/// Time for which a node reports an end by a quota, or a full mailbox (milliseconds).
pub const HEALTH_RECENT_MS: u64 = 60_000;
/// Late turns that a node reports by name.
pub const HEALTH_LATE_TURNS_MAX: usize = 3;
/// Ends by quotas that a node reports.
pub const HEALTH_QUOTA_ENDS_MAX: usize = 3;
/// Full mailboxes that a node reports.
pub const HEALTH_FULL_MAILBOXES_MAX: usize = 3;
/// Agents of one node that may descend from one root agent, if no policy says otherwise.
pub const FAMILY_AGENTS_MAX: u32 = 100_000;
/// Agents of a family that may be created in any second, if no policy says otherwise.
pub const FAMILY_CREATIONS_PER_S: u32 = 2_000;
/// Agents of a family that may be created at once before any has to wait.
pub const FAMILY_CREATIONS_BURST: u32 = 500;
/// Longest wait of a new agent (milliseconds), while its family creates too fast; a creator beyond that is refused.
pub const FAMILY_LATE_MS: u64 = 1_000;
/// Refused creations of a family in a second beyond which all of it ends.
pub const FAMILY_REFUSALS_PER_S_MAX: u32 = 1_000;
/// Agents of a family that end at a time when all of it ends, so that other agents have their turns meanwhile.
pub const FAMILY_ENDED_AT_ONCE: usize = 256;
/// Time for other agents' turns between two such batches (milliseconds).
pub const FAMILY_ENDED_EVERY_MS: u64 = 2;
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
/// Time to wait for a minion's report (milliseconds), if its sender names none.
pub const DISPATCH_MS: u64 = 60_000;
/// Bytes of an agent's state that moves to another node: as much as WebAssembly agents may have.
pub const HOP_STATE_BYTES_MAX: usize = GUEST_STATE_BYTES_MAX;
/// Bytes of a moving state from which on it is compressed, if that makes it shorter by an eighth at least.
pub const HOP_COMPRESSED_FROM_BYTES: usize = 512;
/// Bytes of a moving state that are sent at once: other messages use the link, too.
pub const HOP_PIECE_BYTES: usize = 256 << 10;
/// Bytes of a moving state up to which the thread that receives it makes the agent: that takes less time than calling
/// another thread.
pub const HOP_MADE_AT_ONCE_BYTES: usize = 4 << 10;
/// Greatest age (milliseconds) and number of handled messages that another node may state for an arriving agent: as
/// much as programs with doubles read exactly.
pub const HOP_LIVED_MAX: u64 = 1 << 53;
/// Bits of a hop's number, four bytes on a link. It is drawn at random, and compared only with those of the same agent,
/// which are few at a time.
pub const HOP_NUMBER_BITS: u32 = 27;
/// Bytes of states of agents that arrive from one other node at a time, if they are more than one agent.
pub const HOP_ARRIVING_BYTES_MAX: usize = 128 << 20;
/// Bytes of code that moves with an agent to a node without it.
pub const CODE_BYTES_MAX: usize = 16 << 20;
/// Bytes of code that are sent at once: other messages use the link, too.
pub const CODE_PART_BYTES: usize = 256 << 10;
/// Time that a node may take for one part of a code (milliseconds).
pub const CODE_PART_MS: u64 = 10_000;
/// Time that a node may take for all parts of a code (milliseconds).
pub const CODE_FETCH_MS: u64 = 120_000;
/// Codes that a node fetches, or is about to fetch.
pub const CODE_FETCHES_MAX: usize = 1_024;
/// Bytes of agents of one other node that wait for their code.
pub const CODE_WAITING_BYTES_MAX: usize = 128 << 20;
/// Bytes of code from other nodes that a node keeps in memory; unused code goes first.
pub const CODE_MEMORY_BYTES_MAX: usize = 256 << 20;
/// Bytes of the folder in which a node keeps code from other nodes, and compiled code; code that was unused for longest
/// goes first.
pub const CODE_CACHE_BYTES_MAX: u64 = 1 << 30;
/// Bytes of an agent's local name.
pub const AGENT_NAME_BYTES_MAX: usize = 255;
/// Entries one search of the AMS or the DF returns; further ones are read page by page.
pub const SEARCH_RESULTS_MAX: usize = 1_000_000;
/// Nested calls of rules, including calls at the end of a rule; a step whose proof needs more fails.
pub const PROOF_CALLS_MAX: u32 = 250_000;
/// Agents of a project whose names are compared when it is checked.
pub const PROJECT_NAMES_COMPARED_MAX: usize = 10_000;
/// Steps of the proofs of one step or context: rules tried, returns from them, and alternatives gone back to. A step
/// that needs more fails.
pub const PROOF_STEPS_MAX: u32 = 30_000_000;
/// Steps of each further context, once a context needed more than it may while plans are tried for one event.
pub const PROOF_STEPS_AFTER_RUNAWAY: u32 = 300_000;
/// Steps that a solution kept for a list counts for.
pub const PROOF_STEPS_KEPT: u32 = 10;
/// Variables in one proof; a step whose proof needs more fails.
pub const PROOF_SLOTS_MAX: u32 = 10_000_000;
/// Levels of nested proofs (`not`, `.findall`); a step whose proof nests deeper fails.
pub const PROOF_NESTING_MAX: u32 = 2_000;
/// Dead letters a node keeps for its operator; older ones are forgotten.
pub const DEAD_LETTERS_MAX: usize = 10_000;
/// Bytes of memory of the dead letters, roughly; older ones are forgotten.
pub const DEAD_LETTERS_BYTES_MAX: usize = 32 << 20;
/// Services in one agent's DF entry.
pub const DF_SERVICES_PER_AGENT_MAX: usize = 1_000;
/// Standing DF searches of one agent.
pub const DF_SUBSCRIPTIONS_PER_AGENT_MAX: usize = 1_000;
/// Bytes of one source file of an AgentSpeak program or project.
pub const SOURCE_BYTES_MAX: usize = 64 << 20;
/// Levels of files that include files.
pub const INCLUDE_DEPTH_MAX: usize = 32;
/// Levels of a term's tree in a program's text. Chains of `&`, `|`, `+`, `-`, `*`, `/`, `elif` and `;` are one level.
pub const TERM_DEPTH_MAX: u32 = 400;
/// Levels of a program's text quoted as data, as many as values may have. Each part of a chain is a level deeper than
/// the one before.
pub const TERM_DATA_DEPTH_MAX: u32 = 5_000;
/// Steps of one plan's body.
pub const BODY_STEPS_MAX: usize = 10_000;
/// Effects (actions) that one formula of an AgentSpeak program asks for.
pub const FORMULA_EFFECTS_MAX: usize = 10_000;
/// Levels of nested brackets in a program's text; lists directly in lists do not count.
pub const BRACKET_DEPTH_MAX: u32 = 100;
/// Diagnostics reported for one program; further ones are counted only.
pub const DIAGNOSTICS_MAX: usize = 200;
/// Bytes of one frame on a link between nodes; a peer that announces a longer one is disconnected.
pub const LINK_FRAME_BYTES_MAX: usize = 16 << 20;
/// Bytes of a peer's hello, and of a refusal: a stranger may not use much memory.
pub const LINK_HELLO_BYTES_MAX: usize = 4 << 10;
/// Connections to a link port whose peers have not identified themselves.
pub const LINK_STRANGERS_MAX: usize = 1_024;
/// Connections of strangers to a link port from one address.
pub const LINK_STRANGERS_EACH_MAX: usize = 64;
/// Connections to a link port from addresses of nodes that are, or were, linked, and whose peers have not identified
/// themselves. Strangers at other addresses take none of these places.
pub const LINK_KNOWN_MAX: usize = 4 * NODES_MAX;
/// Connections of that kind from one address.
pub const LINK_KNOWN_EACH_MAX: usize = 64;
/// Bytes of one encoded message on a link; a longer one is a dead letter, and its sender hears `failure`.
pub const LINK_MESSAGE_BYTES_MAX: usize = 12 << 20;
/// Number of times that an unreadable item is sent before its sender is told.
pub const LINK_READ_ATTEMPTS: u32 = 2;
/// Bytes of one piece of news on a link.
pub const LINK_NEWS_BYTES_MAX: usize = 12 << 20;
/// Unnumbered messages that wait for agents of a partition without a server.
pub const UNSERVED_MESSAGES_MAX: usize = 100_000;
/// Reasons of partition errors that a node publishes at a time.
pub const TROUBLE_REASONS_MAX: usize = 8;
/// Characters of one published reason of a partition error.
pub const TROUBLE_REASON_CHARS_MAX: usize = 400;
/// Programs of a project that nodes compare when they join a society: the first ones by name.
pub const PROGRAMS_COMPARED_MAX: usize = 1_024;
/// Bytes of the name of such a program.
pub const PROGRAM_NAME_BYTES_MAX: usize = 255;
/// Window over which a node measures its load (milliseconds).
pub const LOAD_WINDOW_MS: u64 = 5_000;
/// Partitions whose loads a node publishes: the busiest.
pub const LOAD_PARTITIONS_MAX: usize = 64;
/// Load, in thousandths of its workers' time, from which on a node gives partitions away.
pub const LOAD_BUSY: u16 = 600;
/// Time that a node must have been so busy before it gives a partition away (milliseconds).
pub const LOAD_PATIENCE_MS: u64 = 5_000;
/// Gain of a move because of load: the other node stays less busy than the first one is now, by this much at least.
pub const LOAD_GAIN: u16 = 150;
/// Smallest load of a partition that moves because of load.
pub const LOAD_PART_MIN: u16 = 30;
/// Time after any move in which no partition moves because of load (milliseconds): nodes measure their loads anew.
pub const LOAD_REST_MS: u64 = 10_000;
/// Time that a partition stays after it moved because of load (milliseconds), unless another cause moves it.
pub const LOAD_STAY_MS: u64 = 300_000;
/// Load, in thousandths of its workers' time, up to which a node is idle and may measure its weight.
pub const WEIGHT_IDLE: u16 = 50;
/// Idle time after which a node measures its weight (milliseconds).
pub const WEIGHT_IDLE_MS: u64 = 10_000;
/// Time between two measurements of a node's weight (milliseconds).
pub const WEIGHT_AGAIN_MS: u64 = 60_000;
/// Latest measurements of a node's weight, of which the highest counts.
pub const WEIGHT_MEASURES: usize = 5;
/// Smallest change of a weight that is published, as a share of the published one.
pub const WEIGHT_CHANGE: f64 = 0.25;
/// Agents in one piece of news.
pub const LINK_NEWS_AGENTS: usize = 4_096;
/// Entries of the DF that are read at once for a new peer: the DF is locked meanwhile.
pub const LINK_NEWS_ENTRIES: usize = 1_024;
/// Unknown agents whose end one node told, and that another node remembers.
pub const LINK_DENIED_AGENTS_MAX: usize = 4_096;
/// Time after news of an agent's end in which its node may hand over the agent's last messages (milliseconds): some
/// turns of its shard.
pub const LINK_LAST_WORDS_MS: u64 = 2_000;
/// Time for which an ended agent's certificate is still accepted for earlier messages (milliseconds). It is longer than
/// its node signs with that certificate.
pub const SIGNED_LAST_WORDS_MS: u64 = 2 * LINK_LAST_WORDS_MS;
/// Agents of one node with last messages at the same time; if there are more, those that ended first have none.
pub const LINK_LAST_WORDS_AGENTS_MAX: usize = 1 << 16;
/// Agents that one other node claims, and that the node believed to have them is asked about. Further claims are not
/// believed.
pub const LINK_CLAIMED_AGENTS_MAX: usize = 4_096;
/// Messages of claimed agents that wait, for each node, until the agents' place is known.
pub const LINK_DOUBTFUL_MESSAGES_MAX: usize = 1_024;
/// Bytes of messages of claimed agents that wait, for each node.
pub const LINK_DOUBTFUL_BYTES_MAX: usize = 4 << 20;
/// Bytes of the names of one other node's agents, with their records. Further agents of that node stay unknown here.
pub const AGENTS_ELSEWHERE_BYTES_MAX: u64 = 1 << 30;
/// Bytes of names that a peer may make this node keep as long as the process lives. A message with further names comes
/// back to its sender. Names of agents in news are not kept, and do not count.
pub const LINK_NAME_BYTES_MAX: u64 = 1 << 30;
/// Bytes of encoded messages after which a frame is closed. One longer message makes a longer frame.
pub const LINK_BATCH_BYTES: usize = 32 << 10;
/// Tags of a batch, each with an item or a message to several receivers. No node writes more than one for each byte,
/// and those of the messages that could not be encoded last. More would let a few bytes take much memory.
pub const LINK_BATCH_TAGS_MAX: usize = LINK_BATCH_BYTES + LINK_RECEIVERS_MAX;
/// Bytes a link hands to its connection at once, roughly.
pub const LINK_WRITE_BYTES: usize = 128 << 10;
/// Bytes that a node lets each peer send before it must have dealt with some of them.
pub const LINK_CREDIT_BYTES: u64 = 4 << 20;
/// Bytes on their way to a peer that has not dealt with them, on a short link: as many as take a few milliseconds.
/// Later bytes wait behind them.
pub const LINK_FLIGHT_BYTES: u64 = 256 << 10;
/// Bytes received and dealt with after which a link acknowledges at once.
pub const LINK_ACK_BYTES: u64 = 64 << 10;
/// Longest delay of an acknowledgement on a link (milliseconds).
pub const LINK_ACK_DELAY_MS: u64 = 10;
/// Bytes of messages that wait to be written to a link, roughly, before their senders wait.
pub const LINK_SOFT_BYTES: usize = 128 << 10;
/// Messages that wait to be written to a link before their senders wait, however short they are.
pub const LINK_SOFT_MESSAGES: usize = 4_096;
/// Messages that may wait to be written to a link before their senders wait, however long they are.
pub const LINK_SOFT_MESSAGES_MIN: usize = 64;
/// Messages that wait on a link at most; further ones are answered `failure`.
pub const LINK_HARD_MESSAGES: usize = 1_000_000;
/// Bytes of the first train by which a link's throughput is measured.
pub const LINK_TRAIN_BYTES: u64 = 16 << 10;
/// Bytes of the longest train.
pub const LINK_TRAIN_BYTES_MAX: u64 = 256 << 10;
/// Time beyond the round trip from which on trains get no longer (milliseconds).
pub const LINK_TRAIN_MS: u64 = 2;
/// Trains of the final length, of which the fastest counts.
pub const LINK_TRAINS: u32 = 3;
/// Time of a train after which no further one is sent (milliseconds), so that the link is free again.
pub const LINK_TRAIN_LONG_MS: u64 = 50;
/// Round trip from which on fewer trains are sent (milliseconds): each train takes one.
pub const LINK_TRAIN_FAR_MS: u64 = 20;
/// Bytes of trains that a node sends at once in answer to a peer's measurements. One measurement takes about a
/// mebibyte. Requests beyond the allowance are not answered.
pub const LINK_TRAIN_ANSWER_BYTES: u64 = 2 << 20;
/// Bytes of trains that a node sends each second in answer to a peer's measurements, beyond
/// [`LINK_TRAIN_ANSWER_BYTES`].
pub const LINK_TRAIN_ANSWER_BYTES_PER_S: u64 = 512 << 10;
/// Age up to which measurements of a link and a node are fresh for advice (milliseconds).
pub const ADVICE_FRESH_MS: u64 = 5_000;
/// Time that advice waits for measurements (milliseconds); after it, earlier measurements or assumptions count.
pub const ADVICE_PATIENCE_MS: u64 = 1_500;
/// Age up to which values of a link and of hops count as measured (milliseconds); older ones are marked as old.
pub const ADVICE_RECENT_MS: u64 = 120_000;
/// Threads for work that blocks or takes long; further work waits.
pub const OFFLOAD_THREADS_MAX: usize = 64;
/// Pieces of advice that are computed at a time; further requests wait. Their threads wait for other nodes.
pub const ADVICE_THREADS: usize = 8;
/// Questions of one other node that are answered at a time, for its advice; further ones are not answered.
pub const ADVICE_QUESTIONS_MAX: u32 = 16;
/// Time that a node takes to measure its speed (milliseconds).
pub const ADVICE_SPEED_MS: u64 = 10;
/// Time for which a measurement of a node's speed counts (milliseconds).
pub const ADVICE_SPEED_FRESH_MS: u64 = 300_000;
/// Silence of a link after which it sends a sign of life (milliseconds).
pub const LINK_PING_MS: u64 = 1_000;
/// Silence of a peer after which its connection counts as broken (milliseconds).
pub const LINK_SILENCE_MS: u64 = 5_000;
/// Time that a node whose name another process claims has to answer; then the name is the other process's.
pub const LINK_CLAIM_MS: u64 = 2_000;
/// Longest wait of a claim while the node sends frames, but no answer: then the node is taken to be there.
pub const LINK_CLAIM_MS_MAX: u64 = 4_000;
/// First delay before a link connects again (milliseconds); it doubles each time.
pub const LINK_BACKOFF_MS: u64 = 50;
/// Longest delay before a link connects again (milliseconds).
pub const LINK_BACKOFF_MS_MAX: u64 = 2_000;
/// Time for which a link may be broken before its peer counts as lost (milliseconds).
pub const LINK_GIVE_UP_MS: u64 = 30_000;
/// Time after which a lost node that connects by itself is forgotten, as a multiple of how long its link may be broken.
/// A node that comes later counts as a new one.
pub const LINK_FORGET_FACTOR: u32 = 20;
/// Receivers of one message on a link; for further ones it is written again.
pub const LINK_RECEIVERS_MAX: usize = MESSAGE_RECEIVERS_MAX;
/// Bytes that each receiver of a message but the first counts as, in a batch and against a link's credit, at both ends.
/// One or two bytes on the wire become an envelope and a place in a mailbox.
pub const LINK_RECEIVER_BYTES: usize = 32;
/// Such receivers in one batch. A batch is closed when they count as its bytes do, and one message may be the last.
pub const LINK_BATCH_SHARES_MAX: usize = LINK_BATCH_BYTES / LINK_RECEIVER_BYTES + LINK_RECEIVERS_MAX;
/// Bytes of a node's name.
pub const NODE_NAME_BYTES_MAX: usize = 64;
/// Nodes of one platform.
pub const NODES_MAX: usize = 1_000;
/// Bytes of an agent's output that a node logs at once on its standard error; the rest is only counted.
pub const LOGGED_TEXT_BYTES_MAX: usize = 2 << 10;
/// Bytes that an agent prints at once, or that a command shows of one message; the rest is only counted.
pub const PRINTED_TEXT_BYTES_MAX: usize = 64 << 10;
/// Seconds' worth of its quota that a family of agents may print at once.
pub const PRINTED_BURST_S: u64 = 64;
/// Bytes that the agents of a node may print in a second before printing quotas apply.
pub const PRINTED_FREE_BYTES_PER_S: u64 = 256 << 10;
/// Bytes that a family of agents may have logged in a second, if no policy says otherwise.
pub const LOGGED_BYTES_PER_S: u64 = 16 << 10;
/// Seconds' worth of its quota that a family of agents may have logged at once.
pub const LOGGED_BURST_S: u64 = 8;
/// Bytes that a node may log of its agents in a second before logging quotas apply.
pub const LOGGED_FREE_BYTES_PER_S: u64 = 16 << 10;
/// Bytes that a printed or logged line counts beside its text.
pub const LINE_BYTES: u64 = 64;
/// Bytes of one pattern in a policy.
pub const POLICY_PATTERN_BYTES_MAX: usize = 255;
/// Bytes of an audit log after which it is rotated.
pub const AUDIT_FILE_BYTES_MAX: u64 = 16 << 20;
/// Rotated audit logs that are kept; older ones are deleted.
pub const AUDIT_FILES_MAX: usize = 4;
/// Audit entries that wait to be written: half of them at most of outside parties, three quarters of all but operators.
/// Further ones are only counted.
pub const AUDIT_QUEUE_MAX: usize = 4_096;
/// Time for which equal entries of an audit log are counted before one line tells their number. It doubles each time.
pub const AUDIT_FOLD_MS: u64 = 10_000;
/// Longest time for which equal entries of an audit log are counted before a line tells their number (milliseconds).
pub const AUDIT_FOLD_MS_MAX: u64 = 300_000;
/// Kinds of audit entries that are counted apart: this many of operators, of agents and nodes, and of outside parties
/// each.
pub const AUDIT_FOLDS_MAX: usize = 512;
/// New kinds of audit entries a second of agents and nodes, and of outside parties, once they had [`AUDIT_FOLDS_MAX`].
pub const AUDIT_KINDS_PER_S: u32 = 1;
/// Kinds of audit entries of one agent, node or session.
pub const AUDIT_FOLDS_EACH_MAX: usize = 32;
/// Wrong secrets of one address that are answered at once; later answers wait.
pub const WRONG_SECRETS_FREE: u32 = 5;
/// Delay of the first answer that waits (milliseconds); it doubles each time.
pub const WRONG_SECRET_WAIT_MS: u64 = 100;
/// Longest delay of an answer to a wrong secret.
pub const WRONG_SECRET_WAIT_MS_MAX: u64 = 5_000;
/// Connections to a port whose answers to wrong secrets wait; those beyond are closed without an answer.
pub const WRONG_SECRETS_WAITING_MAX: usize = 1_024;
/// Connections from one address whose answers to wrong secrets wait.
pub const WRONG_SECRETS_WAITING_EACH_MAX: usize = 64;
/// Time after an address's last wrong secret after which its wrong secrets are forgotten (milliseconds).
pub const WRONG_SECRETS_FORGOTTEN_MS: u64 = 60_000;
/// Addresses whose wrong secrets are counted; for others, answers wait for the longest delay.
pub const WRONG_SECRET_ADDRESSES_MAX: usize = 65_536;
/// Bytes of an audit log that are searched for one page of it.
pub const AUDIT_READ_BYTES_MAX: usize = 4 << 20;
/// Lines of an audit log in one page.
pub const AUDIT_PAGE_MAX: usize = 500;
/// Bytes of one text in an audit log; longer ones are cut.
pub const AUDIT_TEXT_BYTES_MAX: usize = 512;
/// Bytes of a request for a certificate.
pub const CERTIFICATE_REQUEST_BYTES_MAX: usize = 8 << 10;
/// Bytes of one message to, or from, the authority's service.
pub const ENROLMENT_BYTES_MAX: usize = 256 << 10;
/// Longest conversation with the authority's service (milliseconds).
pub const ENROLMENT_MS: u64 = 10_000;
/// Conversations with the authority's service at a time.
pub const ENROLMENTS_MAX: usize = 256;
/// Conversations with the authority's service from one address at a time.
pub const ENROLMENTS_PER_ADDRESS_MAX: usize = 16;
/// Seconds for which an agent's certificate is valid.
pub const AGENT_CERTIFICATE_S: u64 = 3_600;
/// Bytes of one certificate from a link.
pub const CERTIFICATE_BYTES_MAX: usize = 8 << 10;
/// Bytes that the certificates of one other node's agents take, roughly: some 300,000 of them.
pub const SIGNED_CERTIFICATES_BYTES_MAX: usize = 256 << 20;
/// Certificates of one agent of another node that are accepted at a time: the newest.
pub const SIGNED_CERTIFICATES_PER_AGENT_MAX: usize = 4;
/// Conversations whose signed messages a node counts: of its own agents, and of those of each other node. Each takes
/// about a hundred bytes, however long its name. If there are more, those that were silent for longest are forgotten.
pub const SIGNED_CONVERSATIONS_MAX: usize = 262_144;
/// Messages to several receivers whose signatures a node remembers, for copies that come later.
pub const SIGNED_SHARED_MAX: usize = 32;
/// Bytes of these messages, roughly.
pub const SIGNED_SHARED_BYTES_MAX: usize = 16 << 20;
/// Receivers of such messages that a node remembers, for each other node.
pub const SIGNED_RECEIVERS_MAX: usize = 1 << 20;
/// Bytes of a file of evidence after which another one is begun.
pub const EVIDENCE_FILE_BYTES_MAX: u64 = 64 << 20;
/// Files of evidence that are kept; older ones are deleted.
pub const EVIDENCE_FILES_MAX: usize = 64;
/// Bytes of messages that wait to be recorded as evidence; further senders and receivers wait.
pub const EVIDENCE_QUEUE_BYTES_MAX: usize = 64 << 20;
/// Bytes of evidence that are written at once, roughly.
pub const EVIDENCE_WRITE_BYTES: usize = 64 << 10;
/// Bytes of a policy file.
pub const POLICY_BYTES_MAX: usize = 1 << 20;
/// Sessions of one node.
pub const SESSIONS_MAX: usize = 60_000;
/// Sessions of one token or certificate from one address on one node; other clients keep room.
pub const SESSIONS_PER_ACCOUNT_MAX: u64 = 5_000;
/// Certificates a second, on average, for the agents of a session; at once, as many as it may have agents.
pub const SESSION_CERTIFICATES_PER_S: u32 = 1;
/// Agents of one session at a time, unless its node sets another limit (`--session-agents`).
pub const SESSION_AGENTS_MAX: u32 = 640;
/// Highest number of agents of one session that a node may set: the number of an agent stands in each frame.
pub const SESSION_AGENTS_MOST: u32 = 10_000;
/// Names and patterns of agents in one certificate for sessions: the certificate is part of a hello.
pub const CERTIFIED_NAMES_MAX: usize = 16;
/// Bytes of the first frame of a session's connection: a stranger may not use much memory.
pub const SESSION_HELLO_BYTES_MAX: usize = 4 << 10;
/// Bytes of one message from or to a session, unless its node sets another limit (`--session-message-bytes`). Sixty
/// thousand sessions may each have a part of one in memory.
pub const SESSION_MESSAGE_BYTES_MAX: u32 = 1 << 20;
/// Largest message limit of sessions that a node may set: links can carry such messages.
pub const SESSION_MESSAGE_BYTES_MOST: u32 = LINK_MESSAGE_BYTES_MAX as u32;
/// Smallest message limit of sessions that a node may set: directories' answers fit.
pub const SESSION_MESSAGE_BYTES_LEAST: u32 = 64 << 10;
/// Bytes of a frame beside those of its message.
pub const SESSION_FRAME_BYTES_MORE: usize = 1_024;
/// Bytes of one frame of a session: those of a message, and its frame.
pub const SESSION_FRAME_BYTES_MAX: usize = SESSION_MESSAGE_BYTES_MAX as usize + SESSION_FRAME_BYTES_MORE;
/// Bytes of memory for reading a session's message, for each byte that it may have; [`SESSION_MESSAGE_BUDGET_BYTES`] at
/// least.
pub const SESSION_MESSAGE_BUDGET_TIMES: usize = 4;
/// Bytes of memory for reading a session's message, at least; see [`SESSION_MESSAGE_BUDGET_TIMES`].
pub const SESSION_MESSAGE_BUDGET_BYTES: usize = 16 << 20;
/// Numbered frames of a session that may be unacknowledged, each way.
pub const SESSION_WINDOW_MAX: u32 = 256;
/// Messages that a session's client acknowledged and its agents have not handled, of which the node keeps copies. Their
/// senders get `failure` if the agent ends. Further messages count as handled.
pub const SESSION_OPEN_MESSAGES_MAX: usize = 16_384;
/// Messages and runs that the node checks for an `open` frame, for each message that the frame counts as, against the
/// rate.
pub const SESSION_OPEN_MESSAGES_PER_CHARGE: usize = 512;
/// Bytes of memory of the copies of open messages.
pub const SESSION_OPEN_BYTES_MAX: usize = 64 << 20;
/// Answers of a node that wait behind a session's window. A client that still sends beyond its credit is disconnected.
pub const SESSION_ANSWERS_MAX: u64 = 4_096;
/// Bytes of the text of such an answer.
pub const SESSION_ANSWER_BYTES_MAX: usize = 1_024;
/// Bytes of a session's messages for agents that had no turn yet, before nothing more is read from its connection.
pub const SESSION_QUEUE_BYTES_MAX: usize = 4 << 20;
/// Numbered frames per second that a session's client may send, on average, unless its node sets another limit
/// (`--session-messages-per-s`). A message counts once for each receiver.
pub const SESSION_MESSAGES_PER_S: u32 = 100_000;
/// Lease of a session, if its client does not ask for another (milliseconds): it outlives the client's last frame by
/// this.
pub const SESSION_LEASE_MS: u64 = 10_000;
/// Shortest lease of a session (milliseconds).
pub const SESSION_LEASE_MS_MIN: u64 = 1_000;
/// Longest lease of a session (milliseconds).
pub const SESSION_LEASE_MS_MAX: u64 = 300_000;
/// Longest delay of an acknowledgement to a session's client (milliseconds).
pub const SESSION_ACK_DELAY_MS: u64 = 20;
/// Time in which the client of an ended session may read its last frames (milliseconds).
pub const SESSION_LAST_FRAMES_MS: u64 = 5_000;
/// Agents, and texts, that compact messages of a session refer to by number, each way.
pub const SESSION_REMEMBER_MAX: u32 = 4_096;
/// Bytes of new names that all sessions of one token or certificate from one address may make: names stay as long as
/// the process.
pub const SESSION_NAME_BYTES_MAX: u64 = 16 << 20;
/// Bytes of new names that all sessions of a node may make together, except for clients below
/// [`SESSION_NAME_BYTES_SPARE`].
pub const SESSIONS_NAME_BYTES_MAX: u64 = 256 << 20;
/// Bytes of new names that a client may still make when all sessions together have reached their limit.
pub const SESSION_NAME_BYTES_SPARE: u64 = 64 << 10;
/// Bytes of new names of all sessions of a node beyond which no client may make any.
pub const SESSIONS_NAME_BYTES_HARD_MAX: u64 = 1 << 30;
/// Connections to an agent port whose clients have not identified themselves yet.
pub const SESSION_STRANGERS_MAX: usize = 1_024;
/// Such connections from one address.
pub const SESSION_STRANGERS_EACH_MAX: usize = 256;
/// Tokens and certificates, with addresses, whose usage a node remembers.
pub const SESSION_ACCOUNTS_MAX: usize = 100_000;
/// Bytes of the state of a session's agent that its node keeps: they fit into a frame of either form.
pub const SESSION_STATE_BYTES_MAX: usize = 512 << 10;
/// Bytes of the name of such an agent's code.
pub const SESSION_CODE_NAME_BYTES_MAX: usize = 512;
/// Messages that such an agent was given and no state covers: further ones stay in its mailbox until its next save.
pub const SESSION_UNSAVED_MESSAGES_MAX: usize = 1_024;
/// Deliveries of messages that such an agent withholds until its next save: a message counts once for each receiver.
pub const SESSION_HELD_DELIVERIES_MAX: u64 = 16_384;
/// Bytes of withheld messages of such an agent.
pub const SESSION_HELD_BYTES_MAX: usize = 4 << 20;
/// Bytes of messages to a client that it has not acknowledged, before no more are taken from its agents' mailboxes.
pub const SESSION_WINDOW_BYTES_MAX: usize = 4 << 20;
/// Bytes of messages that such an agent was given and no state covers; see [`SESSION_UNSAVED_MESSAGES_MAX`].
pub const SESSION_UNSAVED_BYTES_MAX: usize = 4 << 20;
/// Bytes of messages that wait in the mailbox of an agent whose client is away; further ones are answered `failure`.
pub const KEPT_WAITING_BYTES_MAX: usize = 16 << 20;
/// Bytes of all messages that wait for the clients of one token or certificate: in mailboxes, unacknowledged, not
/// covered, or withheld. Further ones are answered `failure`.
pub const SESSION_WAITING_BYTES_MAX: usize = 256 << 20;
/// Bytes of all messages that wait for the clients of a node, except for clients below [`SESSION_WAITING_BYTES_SPARE`].
pub const SESSION_WAITING_BYTES_ALL_MAX: usize = 1 << 30;
/// Bytes of messages that may still wait for a client when all clients together have reached their limit.
pub const SESSION_WAITING_BYTES_SPARE: usize = 8 << 20;
/// Largest number of bytes as which one such message counts.
pub const SESSION_WAITING_COUNTED_BYTES: usize = 64 << 20;
/// Time between two checks for room for a client's messages (milliseconds).
pub const SESSION_ROOM_MS: u64 = 100;
/// Agents of one token or certificate that a node keeps, with or without a session.
pub const KEPT_AGENTS_PER_PRINCIPAL_MAX: usize = 60_000;
/// Agents of sessions that a node keeps.
pub const KEPT_AGENTS_MAX: usize = 200_000;
/// Shortest time between two searches for ended agents by a node that keeps as many as it may (milliseconds).
pub const KEPT_PRUNE_MS: u64 = 1_000;
/// Bytes of the states of agents that a node keeps for one token or certificate.
pub const KEPT_BYTES_PER_PRINCIPAL_MAX: usize = 256 << 20;
/// Bytes of the states of agents that a node keeps for all clients, except for clients below [`KEPT_BYTES_SPARE`].
pub const KEPT_BYTES_MAX: usize = 2 << 30;
/// Bytes of states that a client may still have when all clients together have reached their limit.
pub const KEPT_BYTES_SPARE: usize = 1 << 20;
/// Longest wait of an agent for its session's client (milliseconds).
pub const KEPT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Time in which a client must take an agent that is offered to it, or let one go that is wanted elsewhere
/// (milliseconds).
pub const SESSION_OFFER_MS: u64 = 10_000;
/// Agents that are offered to one session at a time.
pub const SESSION_OFFERS_MAX: usize = 64;
/// Bytes of an agent's code that go to a client in one frame.
pub const SESSION_CODE_PART_BYTES: usize = 256 << 10;
/// Bytes of code that clients with one token or certificate may bring to a node at once.
pub const SESSION_CODE_BYTES_AT_ONCE: u32 = 64 << 20;
/// Bytes a second by which that allowance refills, up to [`SESSION_CODE_BYTES_AT_ONCE`].
pub const SESSION_CODE_BYTES_PER_S: u32 = 64 << 10;
/// Searches for code a second, on average, that clients with one token or certificate may cause.
pub const SESSION_CODE_LOOKUPS_PER_S: u32 = 100;
/// Searches for code that they may cause at once: an agent's first save is one, and each `lacks`.
pub const SESSION_CODE_LOOKUPS_AT_ONCE: u32 = 20_000;
/// Programs from clients that a node takes in at a time: compiling one takes seconds.
pub const SESSION_CODE_ADMISSIONS_MAX: usize = 2;
/// Fewest bytes of a token that lets programs have agents.
pub const SESSION_TOKEN_BYTES_MIN: usize = 8;
/// Bytes of a file of such tokens.
pub const SESSION_TOKEN_FILE_BYTES_MAX: u64 = 16 << 20;
/// Bytes of the name of a topic or group, without `topic:`, `group:` or `any:`.
pub const TOPIC_NAME_BYTES_MAX: usize = 240;
/// Topics and groups that a node knows.
pub const TOPICS_MAX: usize = 1_000_000;
/// Subscribers or members of one topic or group on one node.
pub const TOPIC_SUBSCRIBERS_MAX: usize = 10_000_000;
/// Topics and groups that one agent is in.
pub const TOPICS_PER_AGENT_MAX: usize = 10_000;
/// Messages in one piece of news of facts about messages.
pub const FACTS_MAX: usize = 10_000;
/// Names in one piece of news of topics and groups.
pub const TOPIC_NEWS_NAMES_MAX: usize = 10_000;
/// Names of topics and groups whose audience a shard or link remembers; beyond that it starts anew.
pub const TOPIC_AUDIENCES_MAX: usize = 65_536;
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
/// Age up to which what one watch was told may be told to another one (milliseconds).
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
/// Bytes of a log of conversations; beyond that, its oldest messages are dropped.
pub const CONVERSATION_LOG_BYTES_MAX: u64 = 256 << 20;
/// Bytes of one message in a log of conversations; the content of a longer one is cut.
pub const CONVERSATION_MESSAGE_BYTES_MAX: usize = 64 << 10;
/// Characters to which such a content is cut.
pub const CONVERSATION_CUT_CHARS: usize = 2_000;
/// Bytes of messages that wait to be written to a log of conversations; further ones are left out, and counted.
pub const CONVERSATION_WAITING_BYTES_MAX: usize = 16 << 20;
/// Entries that are written to a log of conversations together.
pub const CONVERSATION_PASSAGE_ENTRIES_MAX: usize = 1_024;
/// Bytes of such entries, roughly.
pub const CONVERSATION_PASSAGE_BYTES_MAX: usize = 256 << 10;
/// Partitions of a store at most: each owner keeps an entry for each.
pub const STORE_PARTITIONS_MAX: u16 = 16_384;
/// Partitions of a store, if no other number was asked for.
pub const STORE_PARTITIONS: u16 = 256;
/// Bytes of one frame in an embedded store's journal; other stores take less.
pub const STORE_FRAME_BYTES_MAX: usize = 16 << 20;
/// Bytes of a key in an embedded store's coordination.
pub const STORE_KEY_BYTES_MAX: usize = 512;
/// Bytes of a value in an embedded store's coordination.
pub const STORE_VALUE_BYTES_MAX: usize = 512 << 10;
/// Bytes of all such keys and values together: they are kept in memory, and rewritten in each of a journal's files.
pub const STORE_COORD_BYTES_MAX: usize = 32 << 20;
/// Bytes of one blob in an embedded store.
pub const STORE_BLOB_BYTES_MAX: usize = 1 << 30;
/// Streams for the journals of a store in NATS, if no other number was asked for. Each has a leader of its own, so the
/// loss of one server delays only what it led.
pub const STORE_NATS_STREAMS: u16 = 6;
/// Time of a request to NATS after which its outcome is unknown (milliseconds).
pub const STORE_NATS_REQUEST_MS: u64 = 2_000;
/// Longest attempt to connect to a NATS server (milliseconds).
pub const STORE_NATS_CONNECT_MS: u64 = 1_000;
/// Interval at which the connection to a NATS server is checked (milliseconds).
pub const STORE_NATS_PING_MS: u64 = 1_000;
/// Requests without any answer after which another server is tried.
pub const STORE_NATS_TIMEOUTS_MAX: u32 = 2;
/// Time for which repeatable requests are tried (milliseconds): NATS takes 4 to 9 s to choose new leaders.
pub const STORE_NATS_PATIENCE_MS: u64 = 15_000;
/// Longest pause between two tries (milliseconds).
pub const STORE_NATS_PAUSE_MS_MAX: u64 = 50;
/// Time to wait for one more server to describe itself (milliseconds).
pub const STORE_NATS_SERVERS_WAIT_MS: u64 = 150;
/// Bytes of a message's headers, and of all that surrounds its payload.
pub const STORE_NATS_HEADER_BYTES_MAX: usize = 1_024;
/// Frames in one message of a journal.
pub const STORE_NATS_FRAMES_PER_MESSAGE_MAX: usize = 4_096;
/// Messages of a partition whose places its owner remembers; others are searched for.
pub const STORE_NATS_INDEX_MAX: usize = 65_536;
/// Bytes of one chunk of a blob.
pub const STORE_NATS_CHUNK_BYTES_MAX: usize = 512 << 10;
/// Chunks of one blob on their way at once.
pub const STORE_NATS_CHUNKS_AT_ONCE: usize = 8;
/// Messages that wait for a watch of keys; beyond that, the watch starts anew.
pub const STORE_NATS_WATCH_EVENTS_MAX: usize = 65_536;
/// Messages of a journal that a reader asks for one by one, before it has the rest sent.
pub const STORE_NATS_ASKED_FOR: u32 = 16;
/// Longest silence of the engine towards a watch (milliseconds).
pub const STORE_NATS_BEAT_MS: u64 = 1_000;
/// Beats that may be missed before the engine counts as away.
pub const STORE_NATS_BEATS_MISSED_MAX: u32 = 3;
/// Time for which the engine remembers the identifiers of messages (seconds).
pub const STORE_NATS_REMEMBER_S: u64 = 120;
/// Time for which the engine remembers that a key was removed (seconds).
pub const STORE_NATS_REMOVED_S: u64 = 3_600;
/// Bytes of the name of a store.
pub const STORE_NAME_BYTES_MAX: usize = 64;
/// Bytes of memory for reading the records of one frame of a journal.
pub const FRAME_MEMORY_BYTES_MAX: usize = 1 << 30;
/// Bytes of one frame from which on further steps go into the next.
pub const FRAME_BYTES: usize = 256 << 10;
/// Bytes of the state of a durable agent written in Rust: with the messages of a step, it fits into a frame of any
/// store.
pub const DURABLE_STATE_BYTES_MAX: usize = 512 << 10;
/// Bytes of garbage in the journals of a node's partitions, beyond the live bytes, at which one of them is compacted.
pub const JOURNAL_GARBAGE_BYTES: u64 = 32 << 20;
/// Bytes that a node writes between two checks of garbage.
pub const JOURNAL_TIDY_BYTES: u64 = 256 << 10;
/// Messages of a durable agent that wait to be written; while there are more, its turns are delayed.
pub const UNWRITTEN_MESSAGES_MAX: usize = 4_096;
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
/// The host's stack has about as many for it. Only used bytes take memory, and move with the agent.
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
pub const STORAGE_SHELF_BYTES: u64 = 4_096;
/// Bytes of a stored key.
pub const STORAGE_KEY_BYTES_MAX: usize = 256;
/// Bytes of a stored value.
pub const STORAGE_VALUE_BYTES_MAX: usize = 256 << 10;
/// Stored keys of an agent and its clones.
pub const STORAGE_ENTRIES_MAX: usize = 4_096;
/// Stored keys that are listed at a time.
pub const STORAGE_KEYS_LISTED_MAX: usize = 1_000;
/// Documents of a collection that a node offers its agents.
pub const DOCUMENTS_MAX: usize = 100_000;
/// Bytes of one document.
pub const DOCUMENT_BYTES_MAX: u64 = 16 << 20;
/// Bytes of all documents, which are kept in memory.
pub const DOCUMENTS_BYTES_MAX: u64 = 256 << 20;
/// Bytes of the name of a document, with its folders.
pub const DOCUMENT_NAME_BYTES_MAX: usize = 1_024;
/// Levels of folders that are searched for documents.
pub const DOCUMENT_FOLDERS_DEEP_MAX: usize = 32;
/// Documents that are listed at a time.
pub const DOCUMENTS_LISTED_MAX: usize = 1_000;
/// Bytes of a document that are read at a time.
pub const DOCUMENT_READ_BYTES_MAX: usize = 1 << 20;
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
/// Time for which a node remembers that another one denied it a query (milliseconds).
pub const DENIALS_KEPT_MS: u64 = 300_000;
/// Bytes of an operator's query to another node.
pub const QUESTION_BYTES_MAX: usize = 256 << 10;
/// Bytes of an answer to such a query; a longer one is refused.
pub const QUESTION_ANSWER_BYTES_MAX: usize = 8 << 20;
/// Queries of one node that are answered at a time.
pub const QUESTIONS_AT_ONCE_MAX: u32 = 32;
/// Threads that answer queries.
pub const QUESTION_THREADS: usize = 8;
/// Certificates of a node's agents that are listed at a time.
pub const CERTIFICATES_TOLD_MAX: usize = 1_000;
/// Codes of a node that are listed at a time, and whose uses are counted.
pub const CODES_TOLD_MAX: usize = 1_000;
/// Agents that a device may list as running there.
pub const DEVICE_AGENTS_TOLD_MAX: usize = 256;
/// Devices that take part at a time.
pub const DEVICES_MAX: usize = 1_000_000;
/// Compute units of one device.
pub const DEVICE_UNITS_MAX: u32 = 1_000_000_000;
/// Parts of work that a device may have at a time.
pub const DEVICE_PLACES_MAX: u32 = 256;
/// Divisor of the compute units of a device whose page is hidden.
pub const DEVICE_HIDDEN_PART: u32 = 8;
/// Battery level below which a device gets no work, unless it is being charged.
pub const DEVICE_BATTERY_LOW_PERCENT: u8 = 20;
/// Wrong answers after which a device is given no more work.
pub const DEVICE_WRONG_MAX: u32 = 2;
/// Parts of work in a row that did not come back from a device, after which it gets no more.
pub const DEVICE_OVERDUE_MAX: u32 = 8;
/// Answers whose times are kept to estimate how long one takes.
pub const WORK_TIMES_KEPT: usize = 64;
/// Parts of work that are searched for one that suits a device with room.
pub const WORK_LOOKAHEAD: usize = 64;
/// Time before which a part of work never counts as dawdling (milliseconds).
pub const WORK_DAWDLES_MS_MIN: u64 = 1_000;
/// Kinds of work that one device offers.
pub const DEVICE_KINDS_MAX: usize = 16;
/// Bytes of the name of a kind of work.
pub const DEVICE_KIND_BYTES_MAX: usize = 64;
/// Shortest lease of a part of work (milliseconds).
pub const WORK_LEASE_MS_MIN: u64 = 10;
/// Longest lease of a part of work (milliseconds).
pub const WORK_LEASE_MS_MAX: u64 = 24 * 3_600_000;
/// Highest number of devices that must give the same answer before it is believed.
pub const WORK_AGREEING_MAX: u32 = 16;
/// Number of times that a part of work may be lent.
pub const WORK_ATTEMPTS_MAX: u32 = 1_000;
/// Unfinished parts of work of all customers.
pub const WORK_PARTS_MAX: usize = 100_000;
/// Bytes of unfinished parts of work, roughly.
pub const WORK_BYTES_MAX: usize = 256 << 20;
/// Kinds of work with unfinished parts, or with remembered times and wrong answers.
pub const WORK_KINDS_MAX: usize = 1_000;
/// Bytes of program text for a society in a page or a Worker.
pub const DEVICE_FILES_BYTES_MAX: usize = 64 << 20;
/// Events of such a society that its host has not fetched: beyond that, the oldest lines and notes are dropped. While
/// this many messages and news of agents wait, no agent has a turn.
pub const DEVICE_HAPPENINGS_MAX: usize = 100_000;
/// Bytes of a message's content that listeners to such a society are shown.
pub const DEVICE_SAID_BYTES: usize = 400;
/// Messages that wait for one of its agents.
pub const DEVICE_MAILBOX_MESSAGES: usize = 100_000;
/// Turns that such a society gives in one call at most, whatever its host asks for.
pub const DEVICE_TURNS_MAX: u32 = 100_000;
/// Bytes of one order to it, attachments included.
pub const DEVICE_ORDER_BYTES_MAX: usize = 128 << 20;
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
/// Bytes of a belief, a goal or a plan's label that an operator writes.
pub const INSTRUCTION_BYTES_MAX: usize = 4_000;
/// Breakpoints of an agent.
pub const BREAKPOINTS_MAX: usize = 100;
/// Bytes of a file that a node serves beside its console.
pub const HTTP_PAGE_BYTES_MAX: u64 = 64 << 20;
/// Absent devices whose wrong answers are remembered.
pub const DEVICES_REMEMBERED_MAX: usize = 100_000;
/// Devices that had a part of work and did not do it, which are remembered for it.
pub const WORK_HOLDERS_KEPT: usize = 64;
/// Time after which parts of work that could not all be looked at are looked at again (milliseconds).
pub const WORK_LOOKS_MS: u64 = 10;
/// Unfinished parts of work of one customer.
pub const WORK_PARTS_EACH_MAX: usize = 10_000;
/// Unfinished parts of work of all agents with one payer. A payer is a client's token or certificate, an owner, or
/// another node.
pub const WORK_PARTS_PER_PAYER_MAX: usize = 25_000;
/// Bytes of the unfinished parts of one payer, roughly.
pub const WORK_BYTES_PER_PAYER_MAX: usize = 64 << 20;
/// Kinds of work with unfinished parts that one payer was the first to want.
pub const WORK_KINDS_PER_PAYER_MAX: usize = 100;
/// Multiple of the median of the other devices' compute units up to which a device's own claim counts.
pub const DEVICE_UNITS_OVER_MEDIAN_MAX: u32 = 32;
/// Shortest time of a part that tells anything about its device's speed (milliseconds): shorter ones are mostly travel
/// time.
pub const WORK_TELLING_MS_MIN: u64 = 200;
/// Devices whose newest answer of a kind has its cost remembered.
pub const WORK_COSTS_KEPT: usize = 64;
/// Answers of a device after which its observed speed counts, if that is less than it claims.
pub const DEVICE_SHOWN_ANSWERS_MIN: u32 = 4;
/// Factor by which the observed speed must be lower for that.
pub const DEVICE_SHOWN_TOLERANCE: f64 = 2.0;
