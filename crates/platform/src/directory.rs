//! How the platform's service agents reach the directories of their node.

use crate::ams::Ams;
use crate::df::Df;

/// The AMS and the DF of a node, lent for a moment. Whoever implements it takes the machine's outputs (commands,
/// messages, changes) when the work is done, and carries them out.
pub trait Directory {
    /// Runs `work` on the AMS.
    fn ams(&self, work: &mut dyn FnMut(&mut Ams));

    /// Runs `work` on the DF.
    fn df(&self, work: &mut dyn FnMut(&mut Df));
}

impl dyn Directory + '_ {
    /// What `work` makes of the AMS; `None` if it is not to be had.
    pub fn with_ams<R>(&self, work: impl FnOnce(&mut Ams) -> R) -> Option<R> {
        let (mut work, mut result) = (Some(work), None);
        self.ams(&mut |ams| result = work.take().map(|work| work(ams)));
        result
    }

    /// What `work` makes of the DF; `None` if it is not to be had.
    pub fn with_df<R>(&self, work: impl FnOnce(&mut Df) -> R) -> Option<R> {
        let (mut work, mut result) = (Some(work), None);
        self.df(&mut |df| result = work.take().map(|work| work(df)));
        result
    }
}
