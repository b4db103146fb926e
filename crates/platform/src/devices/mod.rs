//! Devices that take part for a while: browsers' tabs, phones, volunteers. The module knows how much each can do now,
//! chooses among them, and shares out work among many that come, go, dawdle and may lie.
//!
//! A [`Fleet`] knows the devices and chooses among them, each as often as its compute units say. [`Work`] shares out a
//! job's parts. A part is lent for a time, and lent again if it does not come back or takes much longer than others. It
//! is believed when enough devices that were asked independently give the same answer.

mod claims;
mod condition;
mod fleet;
mod weights;
mod work;

pub use condition::{Battery, Condition};
pub use fleet::{Device, Fleet, FleetError};
pub use work::{AnswerVerdict, Answered, Outcome, Part, PartLease, Unfinished, Work, WorkTerms};
