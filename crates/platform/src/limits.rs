//! Every limit of the platform, by name.

/// Messages a mailbox holds before its senders are slowed down.
pub const MAILBOX_SOFT_MESSAGES: usize = 10_000;
/// Messages a mailbox holds at most; further ones are answered `failure`.
pub const MAILBOX_HARD_MESSAGES: usize = 1_000_000;
/// Bytes of bulky messages that a mailbox holds before their senders are slowed down. Those of other nodes, of clients and of guests are
/// weighed; what takes less than 4 KiB counts as a message only.
pub const MAILBOX_SOFT_BYTES: usize = 16 << 20;
/// Encoded bytes from which on such a message is weighed: shorter ones are never bulky by much.
pub const MESSAGE_WEIGHED_BYTES: usize = 256;
/// Bytes of them that it holds at most; further ones are answered `failure`.
pub const MAILBOX_HARD_BYTES: usize = 64 << 20;
/// Empty queues a scheduler shard keeps for mailboxes that need one.
pub const SPARE_QUEUES_MAX: usize = 64;
/// Messages such a queue has room for at most; larger ones are freed.
pub const SPARE_QUEUE_MESSAGES_MAX: usize = 1_024;
/// Steps (messages handled, reasoning cycles) one turn may take before the next agent's turn comes.
pub const TURN_STEPS: u32 = 64;
/// Most reasoning cycles of an AgentSpeak agent's turn after one in which it sent something and its intentions go on.
/// Receivers have their turns before the sender goes on for long.
pub const TURN_STEPS_AFTER_SENDING: u32 = 24;
/// Nice value of a late turn's thread, whose shard continues without it: it yields to other threads.
pub const LATE_TURN_NICENESS: i32 = 10;
/// The stack of a worker's thread: terms that programs make may be nested a hundred thousand levels deep, and are walked
/// by recursion. Memory that is never reached is never taken.
pub const WORKER_STACK_BYTES: usize = 64 << 20;
pub use whimbrel_acl::limits::MESSAGE_RECEIVERS_MAX;
/// Bytes of memory of the entries in one message of the DF to a subscriber; there are more messages if there are more
/// entries.
pub const DF_NOTICE_BYTES: usize = 256 << 10;
/// Agents of one node.
pub const AGENTS_MAX: usize = 100_000_000;
/// Agents of one node, if no policy says otherwise.
pub const NODE_AGENTS_MAX: u32 = 10_000_000;
/// Share of a process's memory limit that agents may fill, in percent, if no policy says otherwise.
pub const NODE_MEMORY_PERCENT: u64 = 80;
/// Bytes that a small mind allocates between two counts of its memory, while the node's memory is short.
pub const MIND_COUNTED_WHEN_SHORT_BYTES: u64 = 64 << 10;
/// Part of its memory by which a mind may grow beyond its share meanwhile: one in so many.
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
/// Agents of such a family that end at a time, so that other agents have their turns meanwhile.
pub const FAMILY_ENDED_AT_ONCE: usize = 256;
/// Time that other agents have their turns between two such batches (milliseconds).
pub const FAMILY_ENDED_EVERY_MS: u64 = 2;
/// Bytes of memory of an AgentSpeak mind, if no policy says otherwise.
pub const MIND_MEMORY_BYTES: usize = 256 << 20;
/// Events and ready intentions of an AgentSpeak agent from which on it takes messages in less often than in each cycle.
pub const MIND_BACKLOG: usize = 64;
/// Smallest such quota that a policy may set.
pub const MIND_MEMORY_BYTES_MIN: usize = 64 << 10;
/// Smallest growth of a mind (bytes) after which its memory is counted again.
pub const MIND_COUNTED_EVERY_BYTES: u64 = 8 << 20;
/// A mind allocates at least one of so many parts of its size before its memory is counted again.
pub const MIND_GROWTH_UNCOUNTED: u64 = 4;
/// How long whoever sends a minion waits for what it has to say, if he does not say so himself.
pub const DISPATCH_MS: u64 = 60_000;
/// Bytes of an agent's state that goes to another node: what WebAssembly agents may have.
pub const HOP_STATE_BYTES_MAX: usize = GUEST_STATE_BYTES_MAX;
/// Bytes of it from which on it is compressed, if that makes it shorter by an eighth at least.
pub const HOP_COMPRESSED_FROM_BYTES: usize = 512;
/// Bytes of it that are sent at once: others use the link, too.
pub const HOP_PIECE_BYTES: usize = 256 << 10;
/// Bytes of an agent's state up to which the thread that hears of it makes the agent: it takes less than having another one called.
pub const HOP_MADE_AT_ONCE_BYTES: usize = 4 << 10;
/// What another node says at most of how long an agent that comes has lived (milliseconds), and of how many messages it has handled: as much as
/// programs read exactly that have all numbers as doubles.
pub const HOP_LIVED_MAX: u64 = 1 << 53;
/// Bits of the number of a hop, four bytes on a link: drawn at random, and told from others of the same agent only, of which there are few at a time.
pub const HOP_NUMBER_BITS: u32 = 27;
/// Bytes of the states of agents of one other node that are on their way here at a time, if it is more than one agent.
pub const HOP_ARRIVING_BYTES_MAX: usize = 128 << 20;
/// Bytes of code that goes with an agent to a node that has not got it.
pub const CODE_BYTES_MAX: usize = 16 << 20;
/// Bytes of it that are sent at once: others use the link, too.
pub const CODE_PART_BYTES: usize = 256 << 10;
/// How long a node may take for one part...
pub const CODE_PART_MS: u64 = 10_000;
/// ...and for all of them.
pub const CODE_FETCH_MS: u64 = 120_000;
/// Codes that a node fetches or is about to.
pub const CODE_FETCHES_MAX: usize = 1_024;
/// Bytes of agents of one other node that wait for their code.
pub const CODE_WAITING_BYTES_MAX: usize = 128 << 20;
/// Bytes of code from other nodes that a node keeps in memory; what no agent uses goes first.
pub const CODE_MEMORY_BYTES_MAX: usize = 256 << 20;
/// Bytes of the folder in which a node keeps code from other nodes, and what it compiled; what was not used for the longest time
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
/// Steps of the proofs of one step or context: rules tried, returns from them, and alternatives gone back to; one that
/// needs more fails.
pub const PROOF_STEPS_MAX: u32 = 30_000_000;
/// Steps of each further context, once a context needed more than it may while plans are tried for one event.
pub const PROOF_STEPS_AFTER_RUNAWAY: u32 = 300_000;
/// Steps that a solution counts for, which is kept for a list.
pub const PROOF_STEPS_KEPT: u32 = 10;
/// Variables in one proof; a step whose proof needs more fails.
pub const PROOF_SLOTS_MAX: u32 = 10_000_000;
/// Levels of nested proofs (`not`, `.findall`); a step whose proof nests deeper fails.
pub const PROOF_NESTING_MAX: u32 = 2_000;
/// Dead letters a node keeps for its operator; older ones are forgotten.
pub const DEAD_LETTERS_MAX: usize = 10_000;
/// Bytes of memory that they take, roughly; the same goes for older ones.
pub const DEAD_LETTERS_BYTES_MAX: usize = 32 << 20;
/// Services in one agent's DF entry.
pub const DF_SERVICES_PER_AGENT_MAX: usize = 1_000;
/// Standing DF searches of one agent.
pub const DF_SUBSCRIPTIONS_PER_AGENT_MAX: usize = 1_000;
/// Bytes of one source file of an AgentSpeak program or project.
pub const SOURCE_BYTES_MAX: usize = 64 << 20;
/// How deep files include files.
pub const INCLUDE_DEPTH_MAX: usize = 32;
/// Levels of a term's tree in a program's text. Chains of `&`, `|`, `+`, `-`, `*`, `/`, `elif` and `;` are one level.
pub const TERM_DEPTH_MAX: u32 = 400;
/// Levels of a program's text quoted as data, where each part of a chain is a level deeper than the one before: as many
/// as values may have.
pub const TERM_DATA_DEPTH_MAX: u32 = 5_000;
/// Steps of one plan's body.
pub const BODY_STEPS_MAX: usize = 10_000;
/// Actions that one formula of an AgentSpeak program asks for.
pub const FORMULA_EFFECTS_MAX: usize = 10_000;
/// Levels of nested brackets in a program's text; lists directly in lists do not count.
pub const BRACKET_DEPTH_MAX: u32 = 100;
/// Diagnostics reported for one program; further ones are counted only.
pub const DIAGNOSTICS_MAX: usize = 200;
/// Bytes of one frame on a link between nodes; whoever announces a longer one is cut off.
pub const LINK_FRAME_BYTES_MAX: usize = 16 << 20;
/// Bytes of what a peer says first: whoever has said nothing yet may not use much memory. Of a refusal, too.
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
/// How often an item comes that cannot be read before its sender is told so.
pub const LINK_READ_ATTEMPTS: u32 = 2;
/// Bytes of one piece of news on a link.
pub const LINK_NEWS_BYTES_MAX: usize = 12 << 20;
/// Messages without numbers that wait for agents of a partition that nobody serves.
pub const UNSERVED_MESSAGES_MAX: usize = 100_000;
/// What nodes of a cluster say of what is the matter with partitions: so many reasons at a time, and characters of each.
pub const TROUBLE_REASONS_MAX: usize = 8;
/// See [`TROUBLE_REASONS_MAX`].
pub const TROUBLE_REASON_CHARS_MAX: usize = 400;
/// Programs of a project that nodes compare when they join a society: the first ones by name.
pub const PROGRAMS_COMPARED_MAX: usize = 1_024;
/// Bytes of the names of those.
pub const PROGRAM_NAME_BYTES_MAX: usize = 255;
/// How far back a node looks to say how busy it is.
pub const LOAD_WINDOW_MS: u64 = 5_000;
/// Partitions of which a node says how busy they keep it: the busiest.
pub const LOAD_PARTITIONS_MAX: usize = 64;
/// A node that is busy for more of its workers' time, in thousandths, has too much to do...
pub const LOAD_BUSY: u16 = 600;
/// ...if it has been for so long; then it gives a partition to another node...
pub const LOAD_PATIENCE_MS: u64 = 5_000;
/// ...that would even then be less busy than it is now, by so much...
pub const LOAD_GAIN: u16 = 150;
/// ...one that keeps it busy for at least so much.
pub const LOAD_PART_MIN: u16 = 30;
/// How long no partition moves because of load after any has moved: what nodes say by then is of how it is afterwards.
pub const LOAD_REST_MS: u64 = 10_000;
/// How long a partition that moved because of load stays where it is, unless something else has it move.
pub const LOAD_STAY_MS: u64 = 300_000;
/// A node that is busy for no more of its workers' time, in thousandths, is idle...
pub const WEIGHT_IDLE: u16 = 50;
/// ...and after so long measures its weight again...
pub const WEIGHT_IDLE_MS: u64 = 10_000;
/// ...if it has not done so for so long.
pub const WEIGHT_AGAIN_MS: u64 = 60_000;
/// Measures of which the highest counts: the last ones.
pub const WEIGHT_MEASURES: usize = 5;
/// How far it must be from the weight that was told, as a share of that, to be told.
pub const WEIGHT_CHANGE: f64 = 0.25;
/// Agents that are told of in one piece of news; more take more.
pub const LINK_NEWS_AGENTS: usize = 4_096;
/// Entries of the DF that are looked at in one go for a new peer: it is locked as long.
pub const LINK_NEWS_ENTRIES: usize = 1_024;
/// Unknown agents whose end one node told, and that another node remembers.
pub const LINK_DENIED_AGENTS_MAX: usize = 4_096;
/// How long after word of an agent's end its node may hand over what the agent sent before: some turns of the shard that it was in.
pub const LINK_LAST_WORDS_MS: u64 = 2_000;
/// Time for which an ended agent's certificate is still believed for what was signed before its end. It is longer than
/// its node signs with that certificate.
pub const SIGNED_LAST_WORDS_MS: u64 = 2 * LINK_LAST_WORDS_MS;
/// Agents of one node that may have last words at the same time; those that ended first have none if there are more.
pub const LINK_LAST_WORDS_AGENTS_MAX: usize = 1 << 16;
/// Agents that one other node claims to have, and that are asked about at the node believed to have them. Further
/// claims are not believed.
pub const LINK_CLAIMED_AGENTS_MAX: usize = 4_096;
/// Messages of such agents that wait, of each node, until it is known where they are.
pub const LINK_DOUBTFUL_MESSAGES_MAX: usize = 1_024;
/// Bytes of them.
pub const LINK_DOUBTFUL_BYTES_MAX: usize = 4 << 20;
/// Bytes that the names of agents of one other node may take here, with what is known of the agents. Further agents of
/// that node are not known here.
pub const AGENTS_ELSEWHERE_BYTES_MAX: u64 = 1 << 30;
/// Bytes of names that a peer may make this node keep as long as the process lives. A message with further names comes
/// back to its sender. Names of agents that are only told of are not kept, and do not count.
pub const LINK_NAME_BYTES_MAX: u64 = 1 << 30;
/// Bytes of encoded messages after which a frame is closed. One longer message makes a longer frame.
pub const LINK_BATCH_BYTES: usize = 32 << 10;
/// Tags of a batch, each with an item or a message to several: more than one for each byte, and those of what could not be written last, nobody
/// writes. Whoever does would have a few bytes take much memory.
pub const LINK_BATCH_TAGS_MAX: usize = LINK_BATCH_BYTES + LINK_RECEIVERS_MAX;
/// Bytes a link hands to its connection at once, roughly.
pub const LINK_WRITE_BYTES: usize = 128 << 10;
/// Bytes a node lets each peer send before it must have dealt with some of them.
pub const LINK_CREDIT_BYTES: u64 = 4 << 20;
/// Bytes on their way to a peer that has not dealt with them, on a short way: as many as take a few milliseconds. What
/// is sent next waits behind them.
pub const LINK_FLIGHT_BYTES: u64 = 256 << 10;
/// Bytes received and dealt with after which a link acknowledges at once.
pub const LINK_ACK_BYTES: u64 = 64 << 10;
/// How long a link waits at most until it acknowledges what it received.
pub const LINK_ACK_DELAY_MS: u64 = 10;
/// Bytes of messages that wait to be written to a link, roughly, before their senders wait.
pub const LINK_SOFT_BYTES: usize = 128 << 10;
/// Messages that wait to be written to a link before their senders wait, however short they are.
pub const LINK_SOFT_MESSAGES: usize = 4_096;
/// The same, however long they are.
pub const LINK_SOFT_MESSAGES_MIN: usize = 64;
/// Messages that wait on a link at most; further ones are answered `failure`.
pub const LINK_HARD_MESSAGES: usize = 1_000_000;
/// Bytes of the first train by which a link's bandwidth is measured, when somebody wants to know.
pub const LINK_TRAIN_BYTES: u64 = 16 << 10;
/// Bytes of the longest one.
pub const LINK_TRAIN_BYTES_MAX: u64 = 256 << 10;
/// Trains get longer until one takes so long beside the round trip; then the fastest...
pub const LINK_TRAIN_MS: u64 = 2;
/// ...of so many counts...
pub const LINK_TRAINS: u32 = 3;
/// ...or the first one, if it took longer than this: the link is to be free again.
pub const LINK_TRAIN_LONG_MS: u64 = 50;
/// Round trips from which on fewer trains are sent: each costs one.
pub const LINK_TRAIN_FAR_MS: u64 = 20;
/// Bytes of trains that a node answers the measurements of a peer with at once, and in each second after that. One measurement takes about
/// a mebibyte, and nobody needs one a second; what exceeds it is not answered.
pub const LINK_TRAIN_ANSWER_BYTES: u64 = 2 << 20;
/// See [`LINK_TRAIN_ANSWER_BYTES`].
pub const LINK_TRAIN_ANSWER_BYTES_PER_S: u64 = 512 << 10;
/// How long what was measured of a link and a node counts when advice is asked for.
pub const ADVICE_FRESH_MS: u64 = 5_000;
/// How long advice waits for what is being measured; what is not known then is what was measured earlier, or assumed.
pub const ADVICE_PATIENCE_MS: u64 = 1_500;
/// How old what is known of a link and of hops may be to count as measured at all; what is older is called that.
pub const ADVICE_RECENT_MS: u64 = 120_000;
/// Threads for work that blocks or takes long; further work waits.
pub const OFFLOAD_THREADS_MAX: usize = 64;
/// Pieces of advice that are worked out at a time; whoever asks besides waits. They are threads that wait for other nodes.
pub const ADVICE_THREADS: usize = 8;
/// Questions of one other node that are answered at a time, for its advice; further ones are not.
pub const ADVICE_QUESTIONS_MAX: u32 = 16;
/// How long a node works to find out how fast it is, and how long that counts.
pub const ADVICE_SPEED_MS: u64 = 10;
/// See [`ADVICE_SPEED_MS`].
pub const ADVICE_SPEED_FRESH_MS: u64 = 300_000;
/// How long a link may be silent before it sends a sign of life.
pub const LINK_PING_MS: u64 = 1_000;
/// How long a peer may be silent before its connection is taken for broken.
pub const LINK_SILENCE_MS: u64 = 5_000;
/// Time that a node whose name another process claims has to answer; then the name is the other process's.
pub const LINK_CLAIM_MS: u64 = 2_000;
/// Longest wait of a claim while the node sends frames, but no answer: then the node is taken to be there.
pub const LINK_CLAIM_MS_MAX: u64 = 4_000;
/// How long a link waits before it connects again, the first time.
pub const LINK_BACKOFF_MS: u64 = 50;
/// How long it waits at most, after waiting twice as long each time.
pub const LINK_BACKOFF_MS_MAX: u64 = 2_000;
/// How long a link may be broken before the node at its other end is taken for lost.
pub const LINK_GIVE_UP_MS: u64 = 30_000;
/// Time after which a lost node that connects by itself is forgotten, as a multiple of how long its link may be broken.
/// A node that comes later counts as a new one.
pub const LINK_FORGET_FACTOR: u32 = 20;
/// Receivers that stand with one message on a link; if there are more, it is written again for them.
pub const LINK_RECEIVERS_MAX: usize = MESSAGE_RECEIVERS_MAX;
/// Bytes that each receiver of a message but the first counts as, in a batch and against a link's credit, at both ends.
/// One or two bytes on the wire become an envelope and a place in a mailbox.
pub const LINK_RECEIVER_BYTES: usize = 32;
/// Such receivers in one batch: a batch is closed when they count as its bytes do, and one message may be the last.
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
/// Bytes that the agents of a node print in a second before quotas of printing are looked at.
pub const PRINTED_FREE_BYTES_PER_S: u64 = 256 << 10;
/// Bytes that a family of agents may have logged in a second, if no policy says otherwise.
pub const LOGGED_BYTES_PER_S: u64 = 16 << 10;
/// Seconds' worth of its quota that a family of agents may have logged at once.
pub const LOGGED_BURST_S: u64 = 8;
/// Bytes that a node logs of its agents in a second before quotas of logging are looked at.
pub const LOGGED_FREE_BYTES_PER_S: u64 = 16 << 10;
/// Bytes that a printed or logged line counts beside its text.
pub const LINE_BYTES: u64 = 64;
/// Bytes of one pattern in a policy.
pub const POLICY_PATTERN_BYTES_MAX: usize = 255;
/// Bytes of an audit log after which it is put aside and another one begun.
pub const AUDIT_FILE_BYTES_MAX: u64 = 16 << 20;
/// Audit logs that were put aside and are kept; older ones are deleted.
pub const AUDIT_FILES_MAX: usize = 4;
/// Audit entries that wait to be written: half of them at most of outside parties, three quarters of all but operators.
/// Further ones are only counted.
pub const AUDIT_QUEUE_MAX: usize = 4_096;
/// Time for which equal entries of an audit log are counted before one line tells their number. It doubles each time.
pub const AUDIT_FOLD_MS: u64 = 10_000;
/// Longest such time.
pub const AUDIT_FOLD_MS_MAX: u64 = 300_000;
/// Kinds of audit entries that are counted apart: so many of operators, of agents and nodes, and of outside parties.
pub const AUDIT_FOLDS_MAX: usize = 512;
/// New kinds a second of agents and nodes, and of outside parties, once they had [`AUDIT_FOLDS_MAX`].
pub const AUDIT_KINDS_PER_S: u32 = 1;
/// Kinds of one agent, node or session.
pub const AUDIT_FOLDS_EACH_MAX: usize = 32;
/// Wrong secrets of one address that are answered at once; the answer to the next one waits.
pub const WRONG_SECRETS_FREE: u32 = 5;
/// Delay of the first answer that waits; it doubles each time.
pub const WRONG_SECRET_WAIT_MS: u64 = 100;
/// Longest delay of an answer to a wrong secret.
pub const WRONG_SECRET_WAIT_MS_MAX: u64 = 5_000;
/// Connections to a port whose answers to wrong secrets wait; those beyond are closed without an answer.
pub const WRONG_SECRETS_WAITING_MAX: usize = 1_024;
/// Such connections from one address.
pub const WRONG_SECRETS_WAITING_EACH_MAX: usize = 64;
/// Time without a wrong secret after which those of an address are forgotten.
pub const WRONG_SECRETS_FORGOTTEN_MS: u64 = 60_000;
/// Addresses whose wrong secrets are counted; at others, answers wait for the longest delay.
pub const WRONG_SECRET_ADDRESSES_MAX: usize = 65_536;
/// Bytes of an audit log that are looked through for one page of it.
pub const AUDIT_READ_BYTES_MAX: usize = 4 << 20;
/// Lines of an audit log that are told at once.
pub const AUDIT_PAGE_MAX: usize = 500;
/// Bytes of one text in an audit log; longer ones are cut.
pub const AUDIT_TEXT_BYTES_MAX: usize = 512;
/// Bytes of a request for a certificate.
pub const CERTIFICATE_REQUEST_BYTES_MAX: usize = 8 << 10;
/// Bytes of what is said to, or by, the authority's service at once.
pub const ENROLMENT_BYTES_MAX: usize = 256 << 10;
/// How long a conversation with the authority's service may take.
pub const ENROLMENT_MS: u64 = 10_000;
/// Conversations with the authority's service at a time.
pub const ENROLMENTS_MAX: usize = 256;
/// Those from one address at a time.
pub const ENROLMENTS_PER_ADDRESS_MAX: usize = 16;
/// Seconds that an agent's certificate is good for.
pub const AGENT_CERTIFICATE_S: u64 = 3_600;
/// Bytes of one certificate that comes over a link.
pub const CERTIFICATE_BYTES_MAX: usize = 8 << 10;
/// Bytes that the certificates of one other node's agents take, roughly: some 300,000 of them.
pub const SIGNED_CERTIFICATES_BYTES_MAX: usize = 256 << 20;
/// Certificates of one agent of another node that are believed at a time: the newest.
pub const SIGNED_CERTIFICATES_PER_AGENT_MAX: usize = 4;
/// Conversations that a node counts signed messages of: its own agents', and those of each other node's. Each takes a
/// hundred bytes or so, however long its name. Of more, those that were silent for the longest time are forgotten.
pub const SIGNED_CONVERSATIONS_MAX: usize = 262_144;
/// Messages to several receivers of which a node remembers how they were signed, for those that come later.
pub const SIGNED_SHARED_MAX: usize = 32;
/// Bytes that they take, roughly.
pub const SIGNED_SHARED_BYTES_MAX: usize = 16 << 20;
/// Receivers of such messages that a node remembers, of each other node.
pub const SIGNED_RECEIVERS_MAX: usize = 1 << 20;
/// Bytes of a file of evidence after which another one is begun.
pub const EVIDENCE_FILE_BYTES_MAX: u64 = 64 << 20;
/// Files of evidence that are kept; older ones are deleted.
pub const EVIDENCE_FILES_MAX: usize = 64;
/// Bytes of messages that wait to be recorded; whoever sends or takes in more waits.
pub const EVIDENCE_QUEUE_BYTES_MAX: usize = 64 << 20;
/// Bytes of evidence that are written at once, roughly.
pub const EVIDENCE_WRITE_BYTES: usize = 64 << 10;
/// Bytes of a policy file.
pub const POLICY_BYTES_MAX: usize = 1 << 20;
/// Sessions of one node.
pub const SESSIONS_MAX: usize = 60_000;
/// Sessions on one node of those at one address who show one token or certificate: the others leave room for everybody else's.
pub const SESSIONS_PER_ACCOUNT_MAX: u64 = 5_000;
/// Certificates a second, on average, that the agents of a session get; as many at once as it may have agents.
pub const SESSION_CERTIFICATES_PER_S: u32 = 1;
/// Agents of one session at a time, unless its node sets another limit (`--session-agents`).
pub const SESSION_AGENTS_MAX: u32 = 640;
/// The most that a node may say: the number of an agent stands in each frame.
pub const SESSION_AGENTS_MOST: u32 = 10_000;
/// Names and patterns of agents in one certificate for sessions: it is shown in a hello.
pub const CERTIFIED_NAMES_MAX: usize = 16;
/// Bytes of the first frame of a session's connection: whoever has said nothing yet may not use much memory.
pub const SESSION_HELLO_BYTES_MAX: usize = 4 << 10;
/// Bytes of one message from or to a session, unless its node sets another limit (`--session-message-bytes`). Sixty
/// thousand sessions may each have a part of one in memory.
pub const SESSION_MESSAGE_BYTES_MAX: u32 = 1 << 20;
/// Largest limit that a node may set: the bytes of a message that links can carry.
pub const SESSION_MESSAGE_BYTES_MOST: u32 = LINK_MESSAGE_BYTES_MAX as u32;
/// Smallest limit that a node may set: directories' answers fit.
pub const SESSION_MESSAGE_BYTES_LEAST: u32 = 64 << 10;
/// Bytes of a frame beside those of its message.
pub const SESSION_FRAME_BYTES_MORE: usize = 1_024;
/// Bytes of one frame of a session: those of a message, and what stands around it.
pub const SESSION_FRAME_BYTES_MAX: usize = SESSION_MESSAGE_BYTES_MAX as usize + SESSION_FRAME_BYTES_MORE;
/// Bytes of memory that one message of a session may take when it is read, for each byte that it may have;
/// [`SESSION_MESSAGE_BUDGET_BYTES`] at least.
pub const SESSION_MESSAGE_BUDGET_TIMES: usize = 4;
/// See [`SESSION_MESSAGE_BUDGET_TIMES`].
pub const SESSION_MESSAGE_BUDGET_BYTES: usize = 16 << 20;
/// Numbered frames of a session that may be unacknowledged, each way.
pub const SESSION_WINDOW_MAX: u32 = 256;
/// Messages that a session's client acknowledged and its agents have not handled, of which the node keeps copies. Their
/// senders hear `failure` if the agent ends. Further ones count as handled.
pub const SESSION_OPEN_MESSAGES_MAX: usize = 16_384;
/// Messages and runs that are looked through for an `open` frame for each message that it counts as, against the rate.
pub const SESSION_OPEN_MESSAGES_PER_CHARGE: usize = 512;
/// Bytes of memory of these copies.
pub const SESSION_OPEN_BYTES_MAX: usize = 64 << 20;
/// Answers of a node that wait behind a session's window. A client that still sends beyond its credit is cut off then.
pub const SESSION_ANSWERS_MAX: u64 = 4_096;
/// Bytes of the text of such an answer.
pub const SESSION_ANSWER_BYTES_MAX: usize = 1_024;
/// Bytes of messages of a session whose agents had no turn yet, before nothing more is read from its connection.
pub const SESSION_QUEUE_BYTES_MAX: usize = 4 << 20;
/// Numbered frames per second that a session's client may send, on average, unless its node sets another limit
/// (`--session-messages-per-s`). A message counts once for each receiver.
pub const SESSION_MESSAGES_PER_S: u32 = 100_000;
/// How long a session outlives its client's last frame, if the client does not say.
pub const SESSION_LEASE_MS: u64 = 10_000;
/// How long it does at least.
pub const SESSION_LEASE_MS_MIN: u64 = 1_000;
/// How long it does at most.
pub const SESSION_LEASE_MS_MAX: u64 = 300_000;
/// How long a node waits at most until it acknowledges what came from a session's client.
pub const SESSION_ACK_DELAY_MS: u64 = 20;
/// How long the client of a session that is over may take to read its last frames.
pub const SESSION_LAST_FRAMES_MS: u64 = 5_000;
/// Agents, and texts, that compact messages of a session refer to by number, each way.
pub const SESSION_REMEMBER_MAX: u32 = 4_096;
/// Bytes of names never heard before that all sessions of those at one address who show one token or certificate may bring along:
/// they stay as long as the process.
pub const SESSION_NAME_BYTES_MAX: u64 = 16 << 20;
/// The same of all sessions of a node together, but for those who made few...
pub const SESSIONS_NAME_BYTES_MAX: u64 = 256 << 20;
/// ...no more than this...
pub const SESSION_NAME_BYTES_SPARE: u64 = 64 << 10;
/// ...until these are so many.
pub const SESSIONS_NAME_BYTES_HARD_MAX: u64 = 1 << 30;
/// Connections to an agent port whose clients have not said who they are yet.
pub const SESSION_STRANGERS_MAX: usize = 1_024;
/// Those of them at one address.
pub const SESSION_STRANGERS_EACH_MAX: usize = 256;
/// Tokens and certificates, with addresses, of which a node remembers what was done with them.
pub const SESSION_ACCOUNTS_MAX: usize = 100_000;
/// Bytes of the state of an agent of a session that its node keeps: what fits into a frame of either form.
pub const SESSION_STATE_BYTES_MAX: usize = 512 << 10;
/// Bytes of what such an agent calls its code.
pub const SESSION_CODE_NAME_BYTES_MAX: usize = 512;
/// Messages that such an agent was given and no state covers: further ones stay in its mailbox until it says what it is.
pub const SESSION_UNSAVED_MESSAGES_MAX: usize = 1_024;
/// Deliveries of messages that such an agent holds until its next save: a message counts once for each receiver.
pub const SESSION_HELD_DELIVERIES_MAX: u64 = 16_384;
/// Bytes of these.
pub const SESSION_HELD_BYTES_MAX: usize = 4 << 20;
/// Bytes of messages to a client that it has not acknowledged, before no more are taken from its agents' mailboxes.
pub const SESSION_WINDOW_BYTES_MAX: usize = 4 << 20;
/// Bytes of messages that such an agent was given and no state covers; see [`SESSION_UNSAVED_MESSAGES_MAX`].
pub const SESSION_UNSAVED_BYTES_MAX: usize = 4 << 20;
/// Bytes of messages that wait in the mailbox of an agent whose client is away; further ones are answered `failure`.
pub const KEPT_WAITING_BYTES_MAX: usize = 16 << 20;
/// Bytes of all messages that wait for the clients of one token or certificate: in mailboxes, unacknowledged, not covered, or held; further
/// ones are answered `failure`.
pub const SESSION_WAITING_BYTES_MAX: usize = 256 << 20;
/// The same of all clients of a node...
pub const SESSION_WAITING_BYTES_ALL_MAX: usize = 1 << 30;
/// ...but for those who have less than this.
pub const SESSION_WAITING_BYTES_SPARE: usize = 8 << 20;
/// Bytes up to which one of them is counted.
pub const SESSION_WAITING_COUNTED_BYTES: usize = 64 << 20;
/// How long an agent waits until it is looked again whether there is room for its client's messages.
pub const SESSION_ROOM_MS: u64 = 100;
/// Agents of one token or certificate that a node keeps, with or without a session.
pub const KEPT_AGENTS_PER_PRINCIPAL_MAX: usize = 60_000;
/// Agents of sessions that a node keeps.
pub const KEPT_AGENTS_MAX: usize = 200_000;
/// How often a node that keeps as many as it may looks which of those that it runs itself have ended, at most.
pub const KEPT_PRUNE_MS: u64 = 1_000;
/// Bytes of the states of agents that a node keeps for one token or certificate.
pub const KEPT_BYTES_PER_PRINCIPAL_MAX: usize = 256 << 20;
/// The same for all clients...
pub const KEPT_BYTES_MAX: usize = 2 << 30;
/// ...but for those whose agents' states take no more than this.
pub const KEPT_BYTES_SPARE: usize = 1 << 20;
/// How long an agent waits for its session's client to come back.
pub const KEPT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// How long a client has to take an agent that is offered to it, or to let one go that is wanted elsewhere.
pub const SESSION_OFFER_MS: u64 = 10_000;
/// Agents that are offered to one session at a time.
pub const SESSION_OFFERS_MAX: usize = 64;
/// Bytes of an agent's code that go to a client in one frame.
pub const SESSION_CODE_PART_BYTES: usize = 256 << 10;
/// Bytes of code that clients with one token or certificate may bring to a node at once; and so many more each second, up to that again.
pub const SESSION_CODE_BYTES_AT_ONCE: u32 = 64 << 20;
/// See [`SESSION_CODE_BYTES_AT_ONCE`].
pub const SESSION_CODE_BYTES_PER_S: u32 = 64 << 10;
/// How often a second, on average, a node looks for code because of clients with one token or certificate...
pub const SESSION_CODE_LOOKUPS_PER_S: u32 = 100;
/// ...and at once: an agent's first save, and each `lacks`, is one.
pub const SESSION_CODE_LOOKUPS_AT_ONCE: u32 = 20_000;
/// Programs that came from clients which a node takes in at a time: to compile one takes seconds.
pub const SESSION_CODE_ADMISSIONS_MAX: usize = 2;
/// Bytes of a token that lets programs have agents, at least.
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
/// Messages in one piece of news of what was handled and what is known; more take more.
pub const FACTS_MAX: usize = 10_000;
/// Names in one piece of news of topics and groups.
pub const TOPIC_NEWS_NAMES_MAX: usize = 10_000;
/// Names of topics and groups whose audience a shard or link remembers; with more it begins anew.
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
/// How long a connection may take to be encrypted, and each head of a request to come.
pub const HTTP_HEAD_PATIENCE_MS: u64 = 10_000;
/// Requests that a gateway has the node answer at once, apart from those that take long or ask other nodes; others wait for their turn.
pub const HTTP_ANSWERS_AT_ONCE_MAX: usize = 16;
/// Acts of administrators that a gateway has done at a time, apart from those that wait.
pub const HTTP_ACTS_AT_ONCE_MAX: usize = 64;
/// Requests for which a gateway has the node ask other nodes at once, which may not answer for a while; others wait for their turn.
pub const HTTP_FAR_ANSWERS_AT_ONCE_MAX: usize = 32;
/// Requests that wait (for an agent's answer, a journey, a program) that a gateway has the node answer at once; and as
/// many such acts of administrators.
pub const HTTP_LONG_ANSWERS_AT_ONCE_MAX: usize = 64;
/// How long a request may wait for an agent's answer.
pub const HTTP_WAIT_MS_MAX: u64 = 300_000;
/// WebSockets whose clients have not said who they are yet.
pub const HTTP_STRANGERS_MAX: usize = 1_024;
/// Those of them at one address.
pub const HTTP_STRANGERS_EACH_MAX: usize = 256;
/// Connections of a gateway that are no WebSockets; a newcomer takes the place of a visitor who has proved less.
pub const HTTP_VISITORS_MAX: usize = 8_192;
/// Connections of those at one address that are no WebSockets (yet).
pub const HTTP_VISITORS_EACH_MAX: usize = 1_024;
/// Files of a folder of pages that are being read by visitors at a time.
pub const HTTP_PAGES_AT_ONCE_MAX: usize = 2_048;
/// Those of them by visitors at one address.
pub const HTTP_PAGES_EACH_MAX: usize = 128;
/// Bytes of such a file that are in memory for one who reads it.
pub const HTTP_PAGE_PIECE_BYTES: usize = 32 << 10;
/// Bytes of a request, or of an answer that is not built into the program, that a connection has in memory beside what it is about.
pub const HTTP_BUFFER_BYTES_MAX: usize = 64 << 10;
/// How long whoever is written to may take nothing of it.
pub const HTTP_WRITE_PATIENCE_MS: u64 = 30_000;
/// How long what `/health` says is kept: anybody may ask that, as often as he likes.
pub const HTTP_HEALTH_KEPT_MS: u64 = 1_000;
/// How long browsers may remember which requests of pages of other origins are let in.
pub const HTTP_PREFLIGHT_KEPT_S: u64 = 600;
/// How long the client of a WebSocket may take to say who it is.
pub const HTTP_HELLO_PATIENCE_MS: u64 = 5_000;
/// WebSockets a second, on average, that clients at one address may open.
pub const HTTP_JOINS_PER_S: u32 = 500;
/// WebSockets that they may open at once.
pub const HTTP_JOINS_AT_ONCE_MAX: u32 = 4_000;
/// Addresses whose joining is remembered.
pub const HTTP_ADDRESSES_MAX: usize = 65_536;
/// Bytes that are read at once from a WebSocket. Each has a buffer of that size as long as it lives.
pub const HTTP_READ_BUFFER_BYTES: usize = 2 << 10;
/// Bytes of what is to be written to a WebSocket that are put together before they are written.
pub const HTTP_WRITE_BUFFER_BYTES: usize = 0;
/// Consoles and others that look at a node through its live socket.
pub const LIVE_SOCKETS_MAX: usize = 64;
/// Live sockets of administrators, beside those of viewers.
pub const LIVE_ADMIN_SOCKETS_MAX: usize = 32;
/// Bytes of one message that the client of a live socket sends.
pub const LIVE_FRAME_BYTES_MAX: usize = HTTP_BODY_BYTES_MAX;
/// Bytes of its first one.
pub const LIVE_HELLO_BYTES_MAX: usize = 4 << 10;
/// What one live socket watches at a time.
pub const LIVE_WATCHES_MAX: usize = 64;
/// Questions of one live socket that are being answered; further ones are refused.
pub const LIVE_ASKS_MAX: usize = 16;
/// Messages that wait until the client of a live socket reads; watches rest while there are so many.
pub const LIVE_WAITING_MAX: usize = 16;
/// How long the client of a live socket may take to read one.
pub const LIVE_WRITE_PATIENCE_MS: u64 = 30_000;
/// How often anything that is watched is told of, at most.
pub const LIVE_EVERY_MS_MIN: u64 = 50;
/// How old what one watch was told may be to be told to another one.
pub const LIVE_SHARED_MS: u64 = 40;
/// How rarely, at most.
pub const LIVE_EVERY_MS_MAX: u64 = 60_000;
/// Agents that a watch of agents tells of.
pub const LIVE_AGENTS_MAX: usize = 20_000;
/// Events kept for a live socket between two batches; further ones are counted only. Whoever watches cannot have more than this 20
/// times a second, so that a node's agents lose little time to it.
pub const LIVE_EVENTS_MAX: usize = 256;
/// Agents that an operator makes of a program at once.
pub const SPAWNED_AT_ONCE_MAX: u32 = 10_000;
/// Lines of a log of conversations that are told at once.
pub const LIVE_LINES_MAX: usize = 256;
/// Bytes of them from which on what is told at once is enough. One line may have more.
pub const LIVE_LINES_BYTES_MAX: usize = 1 << 20;
/// Logs of conversations that live sockets read at once.
pub const LIVE_LOGS_MAX: usize = 32;
/// Pairs of agents that talk to each other that a watch of traffic tells of: the busiest.
pub const LIVE_PAIRS_MAX: usize = 1_000;
/// Refusals and acts that a node keeps for those who look: so many of operators, of agents and nodes, and of outside
/// parties.
pub const REFUSALS_KEPT_MAX: usize = 1_000;
/// Pairs of agents that are counted between two looks.
pub const TRAFFIC_PAIRS_MAX: usize = 100_000;
/// How long messages are counted by pairs though nobody asks any more.
pub const TRAFFIC_KEPT_MS: u64 = 10_000;
/// Events kept for a sniffer that does not keep up; further ones are counted only.
pub const SNIFFED_EVENTS_MAX: usize = 8_192;
/// Characters of a message's content that a sniffer is shown.
pub const SNIFFED_CONTENT_CHARS_MAX: usize = 2_000;
/// Characters that it is shown of the name of a conversation, and of what answers are to quote.
pub const SNIFFED_NAME_CHARS_MAX: usize = 200;
/// How many of a message's other receivers, of those to whom to answer, and of its `X-` parameters it is shown.
pub const SNIFFED_PARAMETERS_MAX: usize = 16;
/// Bytes of a log of conversations; then its oldest messages are dropped.
pub const CONVERSATION_LOG_BYTES_MAX: u64 = 256 << 20;
/// Bytes of one message in it; the content of a longer one is cut,
pub const CONVERSATION_MESSAGE_BYTES_MAX: usize = 64 << 10;
/// to so many characters.
pub const CONVERSATION_CUT_CHARS: usize = 2_000;
/// Bytes of messages that wait to be written to it; further ones are left out, and counted.
pub const CONVERSATION_WAITING_BYTES_MAX: usize = 16 << 20;
/// Entries that are written together.
pub const CONVERSATION_PASSAGE_ENTRIES_MAX: usize = 1_024;
/// Bytes of them, roughly.
pub const CONVERSATION_PASSAGE_BYTES_MAX: usize = 256 << 10;
/// Partitions of a store at most: each owner keeps an entry for each.
pub const STORE_PARTITIONS_MAX: u16 = 16_384;
/// Partitions of a store for which nothing else was asked.
pub const STORE_PARTITIONS: u16 = 256;
/// Bytes of one frame in an embedded store's journal; other stores take less.
pub const STORE_FRAME_BYTES_MAX: usize = 16 << 20;
/// Bytes of a key of an embedded store's coordination.
pub const STORE_KEY_BYTES_MAX: usize = 512;
/// Bytes of its value.
pub const STORE_VALUE_BYTES_MAX: usize = 512 << 10;
/// Bytes of all keys and values together: they are kept in memory, and written anew in each of a journal's files.
pub const STORE_COORD_BYTES_MAX: usize = 32 << 20;
/// Bytes of one blob in an embedded store.
pub const STORE_BLOB_BYTES_MAX: usize = 1 << 30;
/// Streams that the journals of a store in NATS are in, for which nothing else was asked. Each has a leader of its own: the
/// loss of one server holds up only what it led.
pub const STORE_NATS_STREAMS: u16 = 6;
/// How long a request to NATS may take until it is not known what became of it.
pub const STORE_NATS_REQUEST_MS: u64 = 2_000;
/// How long a connection to a NATS server may take.
pub const STORE_NATS_CONNECT_MS: u64 = 1_000;
/// How often the connection is tried whether it still is one.
pub const STORE_NATS_PING_MS: u64 = 1_000;
/// So many requests' time without any answer, and another server is looked for.
pub const STORE_NATS_TIMEOUTS_MAX: u32 = 2;
/// How long what can be repeated is tried: NATS takes 4 to 9 s to choose new leaders.
pub const STORE_NATS_PATIENCE_MS: u64 = 15_000;
/// The longest pause between two tries.
pub const STORE_NATS_PAUSE_MS_MAX: u64 = 50;
/// How long to wait for one more server to say what it is.
pub const STORE_NATS_SERVERS_WAIT_MS: u64 = 150;
/// Bytes of a message's headers, and of what else stands around its payload.
pub const STORE_NATS_HEADER_BYTES_MAX: usize = 1_024;
/// Frames in one message of a journal.
pub const STORE_NATS_FRAMES_PER_MESSAGE_MAX: usize = 4_096;
/// Messages of a partition whose places its owner remembers; others are looked for.
pub const STORE_NATS_INDEX_MAX: usize = 65_536;
/// Bytes of one chunk of a blob.
pub const STORE_NATS_CHUNK_BYTES_MAX: usize = 512 << 10;
/// Chunks of one blob on their way at once.
pub const STORE_NATS_CHUNKS_AT_ONCE: usize = 8;
/// Messages that wait for one who watches keys; with more he begins anew.
pub const STORE_NATS_WATCH_EVENTS_MAX: usize = 65_536;
/// Messages of a journal that a reader asks for, one after the other, before it has the rest sent.
pub const STORE_NATS_ASKED_FOR: u32 = 16;
/// How often at least a watcher hears from the engine if nothing happens.
pub const STORE_NATS_BEAT_MS: u64 = 1_000;
/// Beats that may be missed before the engine counts as away.
pub const STORE_NATS_BEATS_MISSED_MAX: u32 = 3;
/// How long the engine remembers which messages it has.
pub const STORE_NATS_REMEMBER_S: u64 = 120;
/// How long it remembers that a key was removed.
pub const STORE_NATS_REMOVED_S: u64 = 3_600;
/// Bytes of the name of a store.
pub const STORE_NAME_BYTES_MAX: usize = 64;
/// Bytes of memory that the records of one frame of a journal may take when they are read.
pub const FRAME_MEMORY_BYTES_MAX: usize = 1 << 30;
/// Bytes of one frame from which on further steps go into the next.
pub const FRAME_BYTES: usize = 256 << 10;
/// Bytes of the state of a durable agent written in Rust: with what was sent in a step, it fits into a frame of any store.
pub const DURABLE_STATE_BYTES_MAX: usize = 512 << 10;
/// Bytes of garbage in the journals of a node's partitions, beyond the live bytes, at which one of them is compacted.
pub const JOURNAL_GARBAGE_BYTES: u64 = 32 << 20;
/// Bytes that a node writes between two checks of garbage.
pub const JOURNAL_TIDY_BYTES: u64 = 256 << 10;
/// Messages of a durable agent that wait to be written; while there are more its turns come later.
pub const UNWRITTEN_MESSAGES_MAX: usize = 4_096;
/// Bytes of a WebAssembly module.
pub const MODULE_BYTES_MAX: usize = 16 << 20;
/// Mutable globals of one.
pub const MODULE_GLOBALS_MAX: usize = 4_096;
/// Functions of one.
pub const MODULE_FUNCTIONS_MAX: u64 = 20_000;
/// Parameters and locals of one of its functions.
pub const FUNCTION_LOCALS_MAX: u64 = 1_000;
/// Loops around each other in one.
pub const FUNCTION_LOOPS_MAX: u64 = 64;
/// What it may take to compile one: the sum over its instructions of all variables there, each time for each loop around it.
pub const FUNCTION_EFFORT_MAX: u64 = 12_000_000;
/// What it may take to compile all functions of a module.
pub const MODULE_EFFORT_MAX: u64 = 48_000_000;
/// Messages that a WebAssembly agent may send, and lines that it may print or log, in one call.
pub const GUEST_CALL_MESSAGES_MAX: u32 = 10_000;
/// Bytes of all that it may send, print and log in one call.
pub const GUEST_CALL_BYTES_MAX: usize = 16 << 20;
/// Bytes of a template that it waits for, or takes by, and how many parts it may have.
pub const GUEST_TEMPLATE_BYTES_MAX: usize = 4 << 10;
/// Bytes of a message that a WebAssembly agent has sent should it fail, as it hands it to the node: the node keeps it, and it travels along.
pub const GUEST_LAST_WORDS_BYTES_MAX: usize = 4 << 10;
/// See [`GUEST_TEMPLATE_BYTES_MAX`].
pub const GUEST_TEMPLATE_PARTS_MAX: usize = 16;
/// Bytes of its state: its memory, and what the node remembers of it.
pub const GUEST_STATE_BYTES_MAX: usize = GUEST_MEMORY_BYTES_MAX + (4 << 20);
/// Milliseconds of processor time that a WebAssembly agent may take until it comes back from one call, if no policy says less.
pub const GUEST_CALL_CPU_MS: u32 = 1_000;
/// Milliseconds of processor time after which a call of an agent is interrupted that somebody ends meanwhile.
pub const GUEST_ENDING_CPU_MS: u32 = 100;
/// The most that a policy may say.
pub const GUEST_CALL_CPU_MS_MAX: u32 = 10_000;
/// Bytes of memory of a WebAssembly agent, if no policy says otherwise.
pub const GUEST_MEMORY_BYTES: usize = 16 << 20;
/// The most that a policy may say. Addresses are reserved for so much for each agent in memory.
pub const GUEST_MEMORY_BYTES_MAX: usize = 64 << 20;
/// Bytes of one message that it sends, likewise.
pub const GUEST_MESSAGE_BYTES: usize = 1 << 20;
/// Who is back on a node after less than this goes on with what he had used there of his quotas.
pub const GUEST_AWAY_MS: u64 = 60_000;
/// Guests who left, of whom that is remembered.
pub const GUESTS_AWAY_MAX: usize = 100_000;
/// Bytes that are added to the memory of a guest that waits in the middle of a call, for the variables of all functions on its stack: about
/// as many as the host's stack has for it. Only what is used takes memory, and travels.
pub const GUEST_UNWOUND_BYTES: usize = 512 << 10;
/// Timers that it may have set.
pub const GUEST_TIMERS_MAX: usize = 1_024;
/// Bytes of names that nobody knew before, from one WebAssembly agent: a process keeps names for ever.
pub const GUEST_NAME_BYTES: u64 = 64 << 10;
/// The same from all of them together: each that comes, and each clone, has its own 64 KiB.
pub const GUESTS_NAME_BYTES_MAX: u64 = 64 << 20;
/// Beyond that only those go on who made up no more than this: one that makes many is not to end those that make few.
pub const GUEST_NAME_BYTES_FEW: u64 = 4 << 10;
/// Beyond this nobody makes up any.
pub const GUESTS_NAME_BYTES_END: u64 = 256 << 20;
/// Clones among the WebAssembly agents of one owner on one node, if no policy says otherwise.
pub const GUEST_CLONES_MAX: u32 = 1_000;
/// Owners of WebAssembly agents whose use a node remembers, beyond twice those that have any there: what they used within the last
/// second counts although their agents have left.
pub const GUEST_OWNERS_SPARE: usize = 256;
/// Bytes of all that a WebAssembly agent and its clones keep on a node beside their memory, if no policy says otherwise.
pub const GUEST_STORAGE_BYTES: u64 = 1 << 20;
/// The same of all agents of one owner.
pub const GUEST_OWNER_STORAGE_BYTES: u64 = 16 << 20;
/// Bytes of all that agents keep on a node: it is in memory, and on the disk if the node has a place for it.
pub const STORAGE_BYTES_MAX: u64 = 256 << 20;
/// Bytes that a key takes beside its own and its value's: they count against all that bounds what agents keep.
pub const STORAGE_ENTRY_BYTES: u64 = 64;
/// Bytes that it takes to keep anything of an agent, as a file does: they count against what its owner's agents, and all, may keep.
pub const STORAGE_SHELF_BYTES: u64 = 4_096;
/// Bytes of a key of it.
pub const STORAGE_KEY_BYTES_MAX: usize = 256;
/// Bytes of a value.
pub const STORAGE_VALUE_BYTES_MAX: usize = 256 << 10;
/// Keys of an agent and its clones.
pub const STORAGE_ENTRIES_MAX: usize = 4_096;
/// Keys that are listed at a time.
pub const STORAGE_KEYS_LISTED_MAX: usize = 1_000;
/// Documents of a collection that a node offers its agents.
pub const DOCUMENTS_MAX: usize = 100_000;
/// Bytes of one of them.
pub const DOCUMENT_BYTES_MAX: u64 = 16 << 20;
/// Bytes of all of them, which are kept in memory.
pub const DOCUMENTS_BYTES_MAX: u64 = 256 << 20;
/// Bytes of the name of one, with the folders that it is in.
pub const DOCUMENT_NAME_BYTES_MAX: usize = 1_024;
/// Folders in folders that documents are looked for in.
pub const DOCUMENT_FOLDERS_DEEP_MAX: usize = 32;
/// Documents that are listed at a time.
pub const DOCUMENTS_LISTED_MAX: usize = 1_000;
/// Bytes of a document that are read at a time.
pub const DOCUMENT_READ_BYTES_MAX: usize = 1 << 20;
/// How long another node may take to answer what an operator asks of it.
pub const QUESTION_PATIENCE_MS: u64 = 4_000;
/// How long a node tries to find out whether an agent that it was told to end has ended, if the agent's node does not say so.
pub const KILL_PATIENCE_MS: u64 = 30_000;
/// Agents named in the answer to an order for all agents whose names match a pattern; the rest is only counted.
pub const BULK_NAMED_MAX: usize = 1_000;
/// Agents that such an order ends or changes at a time, so that other agents have their turns meanwhile.
pub const BULK_AT_ONCE: usize = 256;
/// Time that other agents have their turns between two such batches (microseconds).
pub const BULK_EVERY_US: u64 = 500;
/// How long a node remembers that another one does not let it look at something.
pub const DENIALS_KEPT_MS: u64 = 300_000;
/// Bytes of such a question...
pub const QUESTION_BYTES_MAX: usize = 256 << 10;
/// ...and of an answer: a longer one is refused.
pub const QUESTION_ANSWER_BYTES_MAX: usize = 8 << 20;
/// Questions of one node that are answered at a time.
pub const QUESTIONS_AT_ONCE_MAX: u32 = 32;
/// Threads that answer them.
pub const QUESTION_THREADS: usize = 8;
/// Certificates of agents of a node that are told of at a time.
pub const CERTIFICATES_TOLD_MAX: usize = 1_000;
/// Codes of a node that are told of at a time, and whose uses are counted.
pub const CODES_TOLD_MAX: usize = 1_000;
/// Agents of which a device may say that they run there.
pub const DEVICE_AGENTS_TOLD_MAX: usize = 256;
/// Devices that take part at a time.
pub const DEVICES_MAX: usize = 1_000_000;
/// Compute units of one device.
pub const DEVICE_UNITS_MAX: u32 = 1_000_000_000;
/// How much a device may be doing at a time.
pub const DEVICE_PLACES_MAX: u32 = 256;
/// What part of its compute units a device has whose page is hidden: one of so many.
pub const DEVICE_HIDDEN_PART: u32 = 8;
/// A device with less than this in its battery is given nothing, unless it is being charged.
pub const DEVICE_BATTERY_LOW_PERCENT: u8 = 20;
/// Wrong answers after which a device is given no more work.
pub const DEVICE_WRONG_MAX: u32 = 2;
/// Parts of work that did not come back from a device, one after the other, after which it is given no more.
pub const DEVICE_OVERDUE_MAX: u32 = 8;
/// Answers whose times tell how long one takes.
pub const WORK_TIMES_KEPT: usize = 64;
/// Parts of work that are looked at for one that suits a device which has room.
pub const WORK_LOOKAHEAD: usize = 64;
/// A part of work does not dawdle before it has been out for so long.
pub const WORK_DAWDLES_MS_MIN: u64 = 1_000;
/// Kinds of work that one device offers.
pub const DEVICE_KINDS_MAX: usize = 16;
/// Bytes of the name of such a kind.
pub const DEVICE_KIND_BYTES_MAX: usize = 64;
/// How long a device may have for a part of work: the least...
pub const WORK_LEASE_MS_MIN: u64 = 10;
/// ...and the most.
pub const WORK_LEASE_MS_MAX: u64 = 24 * 3_600_000;
/// Devices of which one may want to hear the same before it is believed.
pub const WORK_AGREEING_MAX: u32 = 16;
/// How often a part of work may be lent.
pub const WORK_ATTEMPTS_MAX: u32 = 1_000;
/// Parts of work that are not finished, of all who asked.
pub const WORK_PARTS_MAX: usize = 100_000;
/// Bytes that they take, roughly.
pub const WORK_BYTES_MAX: usize = 256 << 20;
/// Kinds of work of which something is to be done, or of which it is remembered how long they take and who is wrong about them.
pub const WORK_KINDS_MAX: usize = 1_000;
/// Bytes of program text that a society in a page or a Worker is given.
pub const DEVICE_FILES_BYTES_MAX: usize = 64 << 20;
/// What happened in such a society that its host did not ask for yet: of lines and notes the oldest is forgotten then; while so many messages and news of
/// agents wait, nobody has a turn.
pub const DEVICE_HAPPENINGS_MAX: usize = 100_000;
/// Bytes of a message's content that are told to who listens to such a society.
pub const DEVICE_SAID_BYTES: usize = 400;
/// Messages that wait for one of its agents.
pub const DEVICE_MAILBOX_MESSAGES: usize = 100_000;
/// Turns that it gives in one call at most, whatever its host asks for.
pub const DEVICE_TURNS_MAX: u32 = 100_000;
/// Bytes of one order to it, with those that come with the order.
pub const DEVICE_ORDER_BYTES_MAX: usize = 128 << 20;
/// Bytes of all texts in what an agent tells of itself when somebody looks into it. Its shard writes them, between two turns.
pub const INSPECTION_BYTES_MAX: usize = 256 << 10;
/// Bytes of one of them.
pub const INSPECTION_TEXT_BYTES_MAX: usize = 1_000;
/// Beliefs and rules that are shown.
pub const INSPECTION_BELIEFS_MAX: usize = 1_000;
/// The same of one predicate.
pub const INSPECTION_BELIEFS_EACH_MAX: usize = 100;
/// Goals that are shown.
pub const INSPECTION_GOALS_MAX: usize = 200;
/// Intentions that are shown.
pub const INSPECTION_INTENTIONS_MAX: usize = 100;
/// Plans in progress of one of them, the innermost.
pub const INSPECTION_FRAMES_MAX: usize = 50;
/// Variables of one of these.
pub const INSPECTION_VARIABLES_MAX: usize = 50;
/// Plans that are shown.
pub const INSPECTION_PLANS_MAX: usize = 300;
/// Messages that are shown.
pub const INSPECTION_MESSAGES_MAX: usize = 50;
/// Events that are shown.
pub const INSPECTION_EVENTS_MAX: usize = 100;
/// What an agent remembers of its last cycles while somebody follows it.
pub const INSPECTION_RECENT_MAX: usize = 100;
/// Milliseconds that it does so after somebody looked last.
pub const INSPECTION_FOLLOWED_MS: u64 = 10_000;
/// Bytes of a belief, a goal or a plan's label that an operator writes.
pub const INSTRUCTION_BYTES_MAX: usize = 4_000;
/// Breakpoints of an agent.
pub const BREAKPOINTS_MAX: usize = 100;
/// Bytes of a file that a node serves beside its console.
pub const HTTP_PAGE_BYTES_MAX: u64 = 64 << 20;
/// Devices of which is remembered, while they are away, that they were wrong.
pub const DEVICES_REMEMBERED_MAX: usize = 100_000;
/// Devices of which is remembered that they had a part of work, and did not do it.
pub const WORK_HOLDERS_KEPT: usize = 64;
/// When parts are looked at that were not, for there were too many of them.
pub const WORK_LOOKS_MS: u64 = 10;
/// Parts of work that are not finished, of one who asked.
pub const WORK_PARTS_EACH_MAX: usize = 10_000;
/// The same of all agents for which one pays: of those whose clients show one token or certificate, of one owner, or of one other node.
pub const WORK_PARTS_PER_PAYER_MAX: usize = 25_000;
/// Bytes that these take, roughly.
pub const WORK_BYTES_PER_PAYER_MAX: usize = 64 << 20;
/// Kinds of work that these wanted first, and of which something is to be done.
pub const WORK_KINDS_PER_PAYER_MAX: usize = 100;
/// How many times what the median of the others says a device may say that it can do; of more, only so much counts.
pub const DEVICE_UNITS_OVER_MEDIAN_MAX: u32 = 32;
/// How long a part must have taken to tell anything of what its device can do: of shorter ones most is the way there and back.
pub const WORK_TELLING_MS_MIN: u64 = 200;
/// Devices of whose answers of one kind it is remembered what they took, each the newest.
pub const WORK_COSTS_KEPT: usize = 64;
/// Answers of a device after which what it can do is what it has shown, if that is less than it says...
pub const DEVICE_SHOWN_ANSWERS_MIN: u32 = 4;
/// ...by more than so many times.
pub const DEVICE_SHOWN_TOLERANCE: f64 = 2.0;
