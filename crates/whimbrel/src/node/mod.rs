//! Parts of a node around its platform, each of which a Rust program can open: links to other nodes ([`membership`]), a
//! society that outlives its processes ([`durability`]), ports for external programs ([`agent_port`]) and for browsers
//! ([`http_port`]), policy and records ([`policy_setup`]), documents that agents act on ([`document_offers`]), and the
//! log of conversations ([`conversation_recorder`]).
//!
//! Order: policy, durability, platform, membership, ports, society, operators. They end in the opposite order, each in
//! the time that [`ending::Farewell`] gives it. The command line's `run` and `join` are this order, written out.

pub mod agent_port;
pub mod conversation_recorder;
pub mod credentials;
pub mod document_offers;
pub mod durability;
pub mod ending;
pub mod http_port;
pub mod membership;
pub mod node_secrets;
mod notes;
pub mod open_files;
pub mod policy_setup;

pub use self::notes::Notes;
