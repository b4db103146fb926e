//! What makes an agent outlive its node: each of its steps is written down, as records, before anybody sees what came of
//! it.
//!
//! A step is atomic: the messages the agent handled, what it became, and what it sends are one piece of one journal frame.
//! What it sends leaves when that frame is acknowledged, not before ("output commit"), so nobody ever saw anything of a
//! step that is lost. A message between two durable agents has a number, given by its sender, who answers for it until the
//! receiver has written down that it handled it: a [`Ticket`]. Whatever has no ticket when an agent is brought back is sent
//! again; whatever has one is not. So each message changes the state of its receiver once.
//!
//! ```text
//! sender's journal    Step { sent: #7 "cfp" }  ·················  Settled { #7 }
//! receiver's journal                 Step { handled: sender #7, state, sent: #1 "propose" }
//! ```
//!
//! The sender writes `Settled` when it is told of the ticket; only then the receiver forgets the ticket. [`Ledger`] keeps
//! these books; it is a state machine: records in, and what is to be done out. If the two agents live on two nodes, the books
//! are in two places, and [`Facts`] travel between them; [`Servers`] says which of the messages that come over links are to be
//! taken. `docs/design/cluster.md` has the whole. A message's life on two nodes:
//!
//! ```
//! use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value};
//! use whimbrel_platform::durable::{Arrears, Ledger, Record, Sent, State, Step, Ticket};
//!
//! // Two nodes, each of which serves the partition of one agent; their journals are empty.
//! let node = |agent| {
//!     let mut ledger = Ledger::new(16);
//!     ledger.keep_letters();
//!     let (books, _, letters) = Arrears::of(16, &[ledger.partition_of(agent)]).finish();
//!     ledger.take_over(books, &letters);
//!     ledger
//! };
//! let (ann, bob) = (Symbol::new("ann"), Symbol::new("bob"));
//! let (mut here, mut there) = (node(ann), node(bob));
//! let step = |agent, handled, sent| Record::Step(Step { agent, state: State::Same, handled, first: 1, sent });
//!
//! // That ann sent it is written; then it leaves. Until it is settled, it can be said again.
//! let message = AclMessage::new(Performative::Cfp, Aid::local(ann), Aid::local(bob), Value::Null);
//! here.note(step(ann, vec![], vec![Sent::of(Aid::local(bob), &message)?]));
//! let ticket = Ticket { sender: ann, number: 1 };
//! assert_eq!(here.say_again(&[here.partition_of(bob)]).len(), 1);
//!
//! // That bob handled it is written, and told.
//! there.note(step(bob, vec![ticket], vec![]));
//! let (partition, handled) = there.poll_facts().expect("ann's node is to know");
//! assert!(here.serves(partition) && there.tickets_of(bob).eq([ticket]));
//! here.hear(&handled);
//! assert!(here.say_again(&[here.partition_of(bob)]).is_empty());
//!
//! // That ann's node knows is written, and told: the last one that remembered the message forgets it.
//! here.take_settled(partition).into_iter().for_each(|record| here.note(record));
//! let (_, known) = here.poll_facts().expect("bob's node is to know");
//! there.hear(&known);
//! assert_eq!(there.take_known(), [(bob, ticket)]);
//! assert_eq!((here.remembered(), there.remembered()), (0, 0));
//! # Ok::<(), whimbrel_acl::compact::EncodeError>(())
//! ```

mod account;
mod arrears;
pub mod creation;
mod facts;
mod layout;
mod ledger;
mod record;
mod refusals;
mod servers;
mod standing;

pub use arrears::{Arrears, Letter, Resumed};
pub use facts::{Facts, Receipt};
pub use layout::{Hinted, Hints, LABEL_SHARE, Layout, PINNED_SHARE, Pin, Rules, TooFewPartitions};
pub use ledger::Ledger;
pub use record::{Born, FrameError, Origin, Record, Sent, State, Step, Ticket, decode_frame, encode_frame};
pub use servers::{Heard, Servers};
pub use standing::{DfSubscription, Standing};

use whimbrel_acl::Name;

use crate::store::Partition;

/// Bits of a message's number that count what one agent sends. An agent that has the name of an earlier one has a later life
/// than that, so that its messages have higher numbers, whoever writes first.
const LIFE_BITS: u32 = 32;

/// What the numbers of an agent's messages come after in this life: [`Born::after`].
pub fn numbers_of_life(life: u64) -> u64 {
    life << LIFE_BITS
}

/// The partition an agent belongs to: FNV-1a of its name. Fixed for ever, for it decides where a store's agents are found.
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
