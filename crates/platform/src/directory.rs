//! Directory: the access of the platform's service agents to the AMS and DF of their node.

use crate::ams::Ams;
use crate::df::Df;

/// Directory of a node: lends its AMS and its DF for a moment. The implementation takes the outputs (commands,
/// messages, changes) when the work is done, and carries them out.
pub trait Directory {
    /// Runs `work` on the AMS.
    fn ams(&self, work: &mut dyn FnMut(&mut Ams));

    /// Runs `work` on the DF.
    fn df(&self, work: &mut dyn FnMut(&mut Df));
}

impl dyn Directory + '_ {
    /// Runs `work` on the AMS and returns its result; `None` if the AMS is not available.
    pub fn with_ams<R>(&self, work: impl FnOnce(&mut Ams) -> R) -> Option<R> {
        let (mut work, mut result) = (Some(work), None);
        self.ams(&mut |ams| result = work.take().map(|work| work(ams)));
        result
    }

    /// Runs `work` on the DF and returns its result; `None` if the DF is not available.
    pub fn with_df<R>(&self, work: impl FnOnce(&mut Df) -> R) -> Option<R> {
        let (mut work, mut result) = (Some(work), None);
        self.df(&mut |df| result = work.take().map(|work| work(df)));
        result
    }
}
