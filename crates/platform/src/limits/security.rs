//! Limits of security: policies, audit, evidence, enrolment, wrong tokens.

use super::LINK_LAST_WORDS_MS;

/// Time for which an ended agent's certificate is still accepted for earlier messages (milliseconds). It is longer than
/// its node signs with that certificate.
pub const SIGNED_LAST_WORDS_MS: u64 = 2 * LINK_LAST_WORDS_MS;
/// Seconds for which an agent's certificate is valid.
pub const AGENT_CERTIFICATE_S: u64 = 3_600;
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
/// Names and patterns of agents in one certificate for sessions: the certificate is part of a hello.
pub const CERTIFIED_NAMES_MAX: usize = 16;
/// Certificates of a node's agents that are listed at a time.
pub const CERTIFICATES_TOLD_MAX: usize = 1_000;
