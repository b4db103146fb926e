//! Devices that take part for a while: browsers' tabs, phones, volunteers. How much each can do now, which of them is given what, and
//! how work is shared out among many that come, go, dawdle and may lie.
//!
//! A [`Fleet`] knows the devices and chooses among them, each as often as its compute units say. [`Work`] shares out a job's
//! parts: a part is lent for a time, lent again if it does not come back or takes much longer than others, and believed when
//! enough devices that were asked apart say the same.

mod claims;
mod condition;
mod fleet;
mod weights;
mod work;

pub use condition::{Battery, Condition};
pub use fleet::{Device, Fleet, FleetError};
pub use work::{Answered, Lease, Outcome, Part, Terms, Unfinished, Verdict, Work};
