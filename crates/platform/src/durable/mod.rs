//! Durable agents: every step of an agent is written to a journal before any of its effects is visible.
//!
//! A step is atomic. The messages that the agent handled, its new state, and the messages that it sends are one piece
//! of one journal frame. Those messages leave when that frame is acknowledged, not before ("output commit"), so nobody
//! ever sees an effect of a lost step.
//!
//! A message between two durable agents has a number, given by its sender. The sender answers for the message until the
//! receiver has written that it handled it: a [`Ticket`]. After a restart, messages without a ticket are sent again,
//! and messages with one are not. So each message changes the state of its receiver once.
//!
//! ```text
//! sender's journal    Step { sent: #7 "cfp" }  ·················  Settled { #7 }
//! receiver's journal                 Step { handled: sender #7, state, sent: #1 "propose" }
//! ```
//!
//! The sender writes `Settled` when it is told of the ticket. Only then does the receiver forget the ticket. [`Ledger`]
//! keeps these accounts as a state machine: records go in, records and facts to pass on come out. If the two agents
//! live on two nodes, each node has a ledger of its own, and [`Facts`] travel between them. [`Servers`] says which
//! messages a node accepts from links. `docs/design/cluster.md` describes the whole protocol. A message's life on two
//! nodes:
//!
//! ```
//! use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value};
//! use whimbrel_platform::durable::{AgentStep, JournalReplay, Ledger, Record, Sent, State, Ticket};
//!
//! // Two nodes, each of which serves the partition of one agent; their journals are empty.
//! let node = |agent| {
//!     let mut ledger = Ledger::new(16);
//!     ledger.keep_letters();
//!     let (books, _, letters) = JournalReplay::of(16, &[ledger.partition_of(agent)]).finish();
//!     ledger.take_over(books, &letters);
//!     ledger
//! };
//! let (ann, bob) = (Symbol::new("ann"), Symbol::new("bob"));
//! let (mut here, mut there) = (node(ann), node(bob));
//! let step = |agent, handled, sent| Record::Step(AgentStep { agent, state: State::Same, handled, first: 1, sent });
//!
//! // ann's node writes that ann sent it; then the message leaves. Until it is settled, it can be sent again.
//! let message = AclMessage::new(Performative::Cfp, Aid::local(ann), Aid::local(bob), Value::Null);
//! here.note(step(ann, vec![], vec![Sent::of(Aid::local(bob), &message)?]));
//! let ticket = Ticket { sender: ann, number: 1 };
//! assert_eq!(here.say_again(&[here.partition_of(bob)]).len(), 1);
//!
//! // bob's node writes that bob handled it, and tells ann's node.
//! there.note(step(bob, vec![ticket], vec![]));
//! let (partition, handled) = there.poll_facts().expect("ann's node is to know");
//! assert!(here.serves(partition) && there.tickets_of(bob).eq([ticket]));
//! here.hear(&handled);
//! assert!(here.say_again(&[here.partition_of(bob)]).is_empty());
//!
//! // ann's node writes that it knows, and tells bob's node, which then forgets the message.
//! here.take_settled(partition).into_iter().for_each(|record| here.note(record));
//! let (_, known) = here.poll_facts().expect("bob's node is to know");
//! there.hear(&known);
//! assert_eq!(there.take_known(), [(bob, ticket)]);
//! assert_eq!((here.remembered(), there.remembered()), (0, 0));
//! # Ok::<(), whimbrel_acl::compact::EncodeError>(())
//! ```

mod account;
pub mod creation;
mod facts;
mod journal_replay;
mod layout;
mod ledger;
mod origin;
mod record;
mod refusals;
mod registration;
mod servers;

pub use facts::{Facts, Receipt};
pub use journal_replay::{JournalReplay, Letter, Resumed};
pub use layout::{Hinted, Hints, LABEL_SHARE, Layout, PINNED_SHARE, Pin, Rules, TooFewPartitions};
pub use ledger::Ledger;
pub use origin::{CodeHash, Origin};
pub use record::{AgentStep, Born, Record, RecordError, Sent, State, Ticket, decode_frame, encode_frame};
pub use registration::{DfSubscription, Registration};
pub use servers::{AnnouncementKind, Servers};

use whimbrel_acl::Name;

use crate::store::Partition;

/// Bits of a message's number that count one agent's messages. The bits above them count lives: a later agent of the
/// same name has a later life, and so higher numbers.
const LIFE_BITS: u32 = 32;

/// Returns the number that all message numbers of this life exceed: [`Born::after`].
pub fn numbers_of_life(life: u64) -> u64 {
    life << LIFE_BITS
}

/// Returns the partition of an agent: FNV-1a of its name. The function must never change, because stores are laid out
/// by it.
pub fn partition_of(agent: impl Into<Name>, partitions: u16) -> Partition {
    let hash = agent
        .into()
        .as_str()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    // The low bits of FNV are weak for short names.
    let mixed = hash ^ (hash >> 29);
    Partition((mixed % u64::from(partitions.max(1))) as u16)
}
