//! Linearizability of one key: checks whether the operations of several clients could have happened one after the
//! other.
//!
//! Successful writes have revisions, which put them in an order. So it suffices that this order agrees with the outcome
//! of each operation, and with time: an operation that ended before another began comes before it.

/// Operation of a client. Times are numbers that only rise, and are the same for all clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientOperation {
    /// Time of the request.
    pub began: u64,
    /// Time at which the outcome was known.
    pub ended: u64,
    /// Kind and outcome.
    pub seen: OperationOutcome,
}

/// Kind and outcome of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationOutcome {
    /// Read that returned this revision (0: none).
    Read(u64),
    /// Write that expected the first revision and made the second.
    Wrote(u64, u64),
    /// Write that expected the first revision and was refused, because the second was there.
    Refused(u64, u64),
    /// Write that expected this revision, with an unknown outcome.
    Perhaps(u64),
}

impl OperationOutcome {
    /// Returns the revision of the key after the operation; `None` if unknown.
    fn after(self) -> Option<u64> {
        match self {
            Self::Read(revision) | Self::Wrote(_, revision) | Self::Refused(_, revision) => Some(revision),
            Self::Perhaps(_) => None,
        }
    }
}

/// Order of a key's revisions.
struct RevisionOrder<'a> {
    /// Known revisions, from the first.
    known: Vec<u64>,
    /// Revisions that writes with an unknown outcome expected.
    perhaps: Vec<u64>,
    history: &'a [ClientOperation],
}

impl RevisionOrder<'_> {
    fn current(&self) -> u64 {
        self.known.last().copied().unwrap_or_default()
    }

    /// Adds writes with an unknown outcome that lead from the current revision to this one.
    fn reach(&mut self, revision: u64) -> bool {
        while self.current() != revision {
            let current = self.current();
            let Some(made) = self.perhaps.iter().position(|expected| *expected == current) else { return false };
            self.perhaps.swap_remove(made);
            let next = self.perhaps.iter().copied().filter(|expected| *expected > current).chain([revision]).min();
            self.known.push(next.unwrap_or(revision));
        }
        true
    }

    fn holds(&self, revision: u64) -> bool {
        let last = self.current();
        revision == 0 || self.known.contains(&revision) || (revision > last && self.perhaps.contains(&last))
    }

    /// Checks that each revision was written by an operation.
    fn check_seen(&self) -> Result<(), String> {
        for operation in self.history {
            if operation.seen.after().is_some_and(|revision| !self.holds(revision)) {
                return Err(format!("{operation:?} saw a revision that nobody wrote"));
            }
            if let OperationOutcome::Refused(expected, found) = operation.seen
                && expected == found
            {
                return Err(format!("{operation:?} was refused for nothing"));
            }
        }
        Ok(())
    }
}

/// Checks the history of one key.
///
/// # Errors
/// The two operations that contradict each other, or the one that contradicts itself.
pub fn check(history: &[ClientOperation]) -> Result<(), String> {
    let mut writes: Vec<(u64, u64, &ClientOperation)> = history
        .iter()
        .filter_map(|operation| match operation.seen {
            OperationOutcome::Wrote(before, after) => Some((after, before, operation)),
            _ => None,
        })
        .collect();
    writes.sort_by_key(|(after, ..)| *after);
    let perhaps = history.iter().filter_map(|operation| match operation.seen {
        OperationOutcome::Perhaps(before) => Some(before),
        _ => None,
    });
    let mut order = RevisionOrder { known: Vec::new(), perhaps: perhaps.collect(), history };
    for (after, before, operation) in &writes {
        if !order.reach(*before) || *after <= *before {
            return Err(format!("{operation:?} was written over revision {}", order.current()));
        }
        order.known.push(*after);
    }
    order.check_seen()?;
    in_time(history)
}

/// Checks that no operation saw an older revision than another that ended before it began.
fn in_time(history: &[ClientOperation]) -> Result<(), String> {
    let mut by_end: Vec<&ClientOperation> = history.iter().collect();
    by_end.sort_by_key(|operation| operation.ended);
    let mut by_begin: Vec<&ClientOperation> = history.iter().collect();
    by_begin.sort_by_key(|operation| operation.began);
    let mut over = by_end.into_iter().peekable();
    let mut newest: Option<&ClientOperation> = None;
    for operation in by_begin {
        while let Some(done) = over.next_if(|done| done.ended < operation.began) {
            if newest.is_none_or(|newest| newest.seen.after() < done.seen.after()) {
                newest = Some(done);
            }
        }
        // A successful write sees the revision before its own.
        let saw = match operation.seen {
            OperationOutcome::Wrote(before, _) => Some(before),
            seen => seen.after(),
        };
        if let Some(newest) = newest.filter(|newest| saw.is_some() && newest.seen.after() > saw) {
            return Err(format!("{operation:?} saw less than {newest:?}, which was over before"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(began: u64, ended: u64, seen: OperationOutcome) -> ClientOperation {
        ClientOperation { began, ended, seen }
    }

    #[test]
    fn possible_histories_are_accepted() {
        let history = [
            operation(0, 9, OperationOutcome::Wrote(0, 4)),
            operation(1, 2, OperationOutcome::Read(0)),
            operation(3, 4, OperationOutcome::Read(4)),
            operation(5, 8, OperationOutcome::Refused(0, 4)),
            operation(10, 12, OperationOutcome::Wrote(4, 7)),
            operation(11, 13, OperationOutcome::Read(4)),
        ];
        assert_eq!(check(&history), Ok(()));
    }

    #[test]
    fn impossible_histories_are_rejected() {
        let wrote = operation(0, 1, OperationOutcome::Wrote(0, 4));
        let stale = check(&[wrote, operation(2, 3, OperationOutcome::Read(0))]);
        assert!(stale.is_err_and(|why| why.contains("saw less")));
        let back = check(&[
            operation(0, 9, OperationOutcome::Wrote(0, 4)),
            operation(1, 2, OperationOutcome::Read(4)),
            operation(3, 4, OperationOutcome::Read(0)),
        ]);
        assert!(back.is_err_and(|why| why.contains("saw less")));
        let twice = check(&[wrote, operation(0, 1, OperationOutcome::Wrote(0, 5))]);
        assert!(twice.is_err_and(|why| why.contains("over revision 4")));
        let nobody = check(&[wrote, operation(0, 1, OperationOutcome::Read(3))]);
        assert!(nobody.is_err_and(|why| why.contains("nobody wrote")));
        let nothing = check(&[wrote, operation(2, 3, OperationOutcome::Refused(4, 4))]);
        assert!(nothing.is_err_and(|why| why.contains("for nothing")));
    }

    #[test]
    fn unknown_writes_explain_revisions() {
        let wrote = operation(0, 1, OperationOutcome::Wrote(0, 4));
        let perhaps = operation(2, u64::MAX, OperationOutcome::Perhaps(4));
        assert_eq!(check(&[wrote, perhaps, operation(5, 6, OperationOutcome::Wrote(9, 10))]), Ok(()));
        assert_eq!(check(&[wrote, perhaps, operation(5, 6, OperationOutcome::Read(9))]), Ok(()));
        assert!(check(&[wrote, operation(5, 6, OperationOutcome::Wrote(9, 10))]).is_err());
        let gone = check(&[
            wrote,
            perhaps,
            operation(5, 6, OperationOutcome::Read(9)),
            operation(7, 8, OperationOutcome::Read(4)),
        ]);
        assert!(gone.is_err_and(|why| why.contains("saw less")));
    }
}
