//! Linearizability of a register's history: each operation seems to happen at one instant between its call and its
//! answer. Every value is written once, so a read identifies the write that it saw. Then no search is needed (Gibbons
//! and Korach, *Testing Shared Memories*, 1997, section 4.2).

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Operation of a client on a register, with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterOperation {
    pub called: Duration,
    /// `None` if no answer came: a write may have happened since then, or not.
    pub answered: Option<Duration>,
    pub kind: OperationKind,
}

/// Kind of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    Write(u64),
    /// Read, with the value that it returned.
    Read(u64),
}

/// Value of a register before the first write.
pub const INITIAL: u64 = 0;

/// Reasons why no order explains a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A value was read that nobody wrote.
    FromNowhere(u64),
    /// A value was read, and the read was over before the write of it began.
    BeforeWritten(u64),
    /// One was in the register both before and after the other.
    Back(u64, u64),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FromNowhere(value) => write!(f, "{value} was read, and nobody had written it"),
            Self::BeforeWritten(value) => write!(f, "{value} was read before it was written"),
            Self::Back(one, other) => write!(f, "{one} was there again after {other} had taken its place"),
        }
    }
}

/// The operations that have to do with one value.
#[derive(Clone, Copy, Debug)]
struct ValueOperations {
    value: u64,
    written_from: Option<Duration>,
    /// The earliest answer: from then on the value was there, or had been.
    first_answer: Duration,
    /// The latest call: the value was still there, or about to be.
    last_call: Duration,
    is_read: bool,
    read_from: Duration,
}

/// Returns the violation of a history, if there is one.
pub fn violation(history: &[RegisterOperation]) -> Option<Violation> {
    let clusters = match clusters(history) {
        Ok(clusters) => clusters,
        Err(violation) => return Some(violation),
    };
    // A value is certainly present from its first answer to its last call, if the call is later. Otherwise it is
    // present at some instant from its last call to its first answer.
    let (mut there, fleeting): (Vec<ValueOperations>, Vec<ValueOperations>) =
        clusters.into_iter().partition(|cluster| cluster.first_answer < cluster.last_call);
    there.sort_by_key(|cluster| cluster.first_answer);
    for pair in there.windows(2) {
        if let [one, next] = pair
            && next.first_answer < one.last_call
        {
            return Some(Violation::Back(one.value, next.value));
        }
    }
    fleeting.iter().find_map(|cluster| {
        let after = there.partition_point(|other| other.first_answer < cluster.last_call);
        let around = there.get(after.checked_sub(1)?)?;
        (cluster.first_answer < around.last_call).then_some(Violation::Back(around.value, cluster.value))
    })
}

fn clusters(history: &[RegisterOperation]) -> Result<Vec<ValueOperations>, Violation> {
    let mut clusters: BTreeMap<u64, ValueOperations> = BTreeMap::new();
    let none = |value| ValueOperations {
        value,
        written_from: None,
        first_answer: Duration::MAX,
        last_call: Duration::ZERO,
        is_read: false,
        read_from: Duration::MAX,
    };
    clusters.insert(
        INITIAL,
        ValueOperations { written_from: Some(Duration::ZERO), first_answer: Duration::ZERO, ..none(INITIAL) },
    );
    for operation in history {
        let answered = operation.answered.unwrap_or(Duration::MAX);
        let (OperationKind::Write(value) | OperationKind::Read(value)) = operation.kind;
        let cluster = clusters.entry(value).or_insert_with(|| none(value));
        match operation.kind {
            OperationKind::Write(_) => cluster.written_from = Some(operation.called),
            // A client without an answer saw nothing.
            OperationKind::Read(_) if operation.answered.is_none() => continue,
            OperationKind::Read(_) => {
                cluster.is_read = true;
                cluster.read_from = cluster.read_from.min(answered);
            }
        }
        cluster.first_answer = cluster.first_answer.min(answered);
        cluster.last_call = cluster.last_call.max(operation.called);
    }
    // A write that nobody saw and that was not answered may as well not have happened.
    clusters.retain(|_, cluster| cluster.is_read || cluster.first_answer < Duration::MAX);
    for cluster in clusters.values() {
        match cluster.written_from {
            None => return Err(Violation::FromNowhere(cluster.value)),
            Some(from) if cluster.read_from < from => return Err(Violation::BeforeWritten(cluster.value)),
            Some(_) => {}
        }
    }
    Ok(clusters.into_values().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn operation(called: u64, answered: Option<u64>, kind: OperationKind) -> RegisterOperation {
        RegisterOperation { called: Duration::from_secs(called), answered: answered.map(Duration::from_secs), kind }
    }

    /// Looks for an order by trying all.
    fn has_order(left: &[RegisterOperation], holds: u64) -> bool {
        let must = |operation: &RegisterOperation| operation.answered.is_some();
        if !left.iter().any(must) {
            return true;
        }
        let first_answer = left.iter().filter_map(|operation| operation.answered).min().unwrap_or(Duration::MAX);
        (0..left.len()).any(|next| {
            let mut rest = left.to_vec();
            let operation = rest.remove(next);
            if operation.called > first_answer {
                return false;
            }
            match operation.kind {
                OperationKind::Write(value) => has_order(&rest, value),
                OperationKind::Read(value) => {
                    (value == holds || operation.answered.is_none()) && has_order(&rest, holds)
                }
            }
        })
    }

    fn histories() -> impl Strategy<Value = Vec<RegisterOperation>> {
        let one = (0_u64..12, 1_u64..8, any::<bool>(), 0_u64..5, 0_u8..5);
        proptest::collection::vec(one, 1..7).prop_map(|all| {
            let mut written = 0;
            let made = all.into_iter().enumerate().map(|(number, (called, lasts, is_write, seen, answered))| {
                // No two instants are the same.
                let number = number as u64;
                let (called, lasts) = (1 + called * 20 + number, lasts * 20 + 7);
                let answered = (answered > 0).then_some(called + lasts);
                if is_write {
                    written += 1;
                    operation(called, answered, OperationKind::Write(written))
                } else {
                    operation(called, answered, OperationKind::Read(seen))
                }
            });
            made.collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]
        #[test]
        fn verdict_matches_exhaustive_search(history in histories()) {
            prop_assert_eq!(violation(&history).is_none(), has_order(&history, INITIAL), "{:?}", violation(&history));
        }
    }

    #[test]
    fn stale_read_is_violation() {
        use OperationKind::{Read, Write};
        let mut history =
            vec![operation(1, Some(2), Write(1)), operation(3, Some(4), Write(2)), operation(5, Some(6), Read(2))];
        assert_eq!(violation(&history), None);
        history.push(operation(7, Some(8), Read(1)));
        assert_eq!(violation(&history), Some(Violation::Back(1, 2)));
        history.pop();
        history.push(operation(7, Some(8), Read(9)));
        assert_eq!(violation(&history), Some(Violation::FromNowhere(9)));
        history.push(operation(9, Some(10), Write(9)));
        assert_eq!(violation(&history), Some(Violation::BeforeWritten(9)));
        // A write without an answer may have happened all the same, later.
        let late = [operation(1, None, Write(1)), operation(2, Some(3), Read(0)), operation(4, Some(5), Read(1))];
        assert_eq!(violation(&late), None);
    }
}
