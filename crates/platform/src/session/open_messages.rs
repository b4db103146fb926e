//! Open messages: a client acknowledged them, and its agents have not handled them. They return to their senders if the
//! agent ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use whimbrel_acl::AclMessage;

use super::frames::{ErrorCode, ErrorFrame};
use super::memory_quota::QuotaShare;
use crate::limits::{SESSION_OPEN_BYTES_MAX, SESSION_OPEN_MESSAGES_MAX, SESSION_OPEN_MESSAGES_PER_CHARGE};

/// Message that an agent was given.
#[derive(Debug)]
struct OpenMessage {
    agent: u32,
    message: Arc<AclMessage>,
    bytes: usize,
}

/// Open messages of a session; see the module. A client that never lists its open messages has none.
#[derive(Debug)]
pub(super) struct OpenMessages {
    by_number: BTreeMap<u64, OpenMessage>,
    /// Runs of open messages in the client's last frame: the first number of each, and how many follow.
    runs: Vec<(u64, u64)>,
    /// True if the client lists its open messages.
    is_told: bool,
    /// True if messages were noted that the client has not listed yet.
    has_unlisted: bool,
    /// Memory of messages and runs.
    weight: QuotaShare,
}

impl OpenMessages {
    pub fn new(weight: QuotaShare) -> Self {
        Self { by_number: BTreeMap::new(), runs: Vec::new(), is_told: false, has_unlisted: false, weight }
    }

    /// Notes the runs of messages that the client's agents have not handled. All others that it acknowledges are
    /// handled. Returns what the list costs of the client's rate.
    ///
    /// # Errors
    /// There are more runs than a client may have open messages.
    pub fn list(&mut self, runs: &[u64]) -> Result<u64, ErrorFrame> {
        let runs = runs.as_chunks().0;
        if runs.len() > SESSION_OPEN_MESSAGES_MAX {
            let text = format!("`open` lists {} runs: list at most {SESSION_OPEN_MESSAGES_MAX} messages", runs.len());
            return Err(ErrorFrame::new(ErrorCode::TooLong, text));
        }
        let cost = 1 + (runs.len() + self.by_number.len()) / SESSION_OPEN_MESSAGES_PER_CHARGE;
        self.weight.sub(size_of_val(self.runs.as_slice()));
        self.runs = joined(runs);
        self.weight.add(size_of_val(self.runs.as_slice()));
        self.is_told = true;
        self.drop_unlisted();
        Ok(cost as u64)
    }

    /// Notes that the client acknowledges messages without a new list, so that the last one holds.
    pub fn keep_listed(&mut self) {
        if self.has_unlisted {
            self.drop_unlisted();
        }
    }

    /// Drops noted messages that the client did not list: it acknowledged all of them, so the others are handled.
    fn drop_unlisted(&mut self) {
        self.has_unlisted = false;
        let Self { by_number, runs, weight, .. } = self;
        by_number.retain(|number, open| {
            let is_listed = is_in(runs, *number);
            if !is_listed {
                weight.sub(open.bytes);
            }
            is_listed
        });
    }

    /// Notes a message of an agent that the client received. `knows` is false while the client, resuming its session,
    /// has not listed its open messages.
    pub fn note(&mut self, number: u64, agent: u32, message: &Arc<AclMessage>, bytes: usize, knows: bool) {
        let is_open = self.is_told && (!knows || is_in(&self.runs, number));
        let has_room = self.by_number.len() < SESSION_OPEN_MESSAGES_MAX
            && self.weight.bytes() + bytes <= SESSION_OPEN_BYTES_MAX
            && self.weight.has_room();
        if is_open && has_room {
            self.has_unlisted |= !knows;
            self.weight.add(bytes);
            self.by_number.insert(number, OpenMessage { agent, message: Arc::clone(message), bytes });
        }
    }

    /// Takes the messages of an agent that is gone, the oldest first.
    pub fn take(&mut self, agent: u32) -> Vec<Arc<AclMessage>> {
        let mut taken = Vec::new();
        let Self { by_number, weight, .. } = self;
        by_number.retain(|_, open| {
            let is_other = open.agent != agent;
            if !is_other {
                weight.sub(open.bytes);
                taken.push(Arc::clone(&open.message));
            }
            is_other
        });
        taken
    }
}

/// Returns runs in order, those that touch each other as one.
fn joined(runs: &[[u64; 2]]) -> Vec<(u64, u64)> {
    let mut sorted: Vec<(u64, u64)> = runs.iter().map(|[first, count]| (*first, *count)).collect();
    sorted.sort_unstable();
    sorted.dedup_by(|next, run| {
        let touches = next.0 - run.0 <= run.1;
        if touches {
            run.1 = run.1.max(next.1.saturating_add(next.0 - run.0));
        }
        touches
    });
    sorted.shrink_to_fit();
    sorted
}

/// Returns true if a number is in one of these sorted runs, which do not touch.
fn is_in(runs: &[(u64, u64)], number: u64) -> bool {
    let after = runs.partition_point(|(first, _)| *first <= number);
    after.checked_sub(1).and_then(|at| runs.get(at)).is_some_and(|(first, count)| number - first < *count)
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{Aid, Performative};

    use super::*;

    fn noted(open: &mut OpenMessages, numbers: impl IntoIterator<Item = u64>, knows: bool) {
        for number in numbers {
            let message = AclMessage::new(Performative::Inform, Aid::NOBODY, Aid::local("bob"), number as i64);
            open.note(number, (number % 2) as u32, &Arc::new(message), 100, knows);
        }
    }

    fn taken(open: &mut OpenMessages, agent: u32) -> Vec<i64> {
        open.take(agent).iter().filter_map(|message| message.content.as_i64()).collect()
    }

    #[test]
    fn unlisted_messages_count_as_handled() {
        let mut open = OpenMessages::new(QuotaShare::default());
        noted(&mut open, 1..=9, true);
        assert_eq!(taken(&mut open, 1), [] as [i64; 0], "nothing was said of what is open");
        open.list(&[12, 1, 14, 4]).unwrap();
        noted(&mut open, 10..=20, true);
        assert_eq!(taken(&mut open, 1), [15, 17]);
        open.list(&[16, 1]).unwrap();
        assert_eq!(taken(&mut open, 0), [16]);
        open.list(&[]).unwrap();
        assert_eq!(open.weight.bytes(), 0);
    }

    #[test]
    fn resumed_session_keeps_all_until_told() {
        let mut open = OpenMessages::new(QuotaShare::default());
        open.list(&[]).unwrap();
        noted(&mut open, 1..=4, false);
        open.keep_listed();
        assert_eq!(open.by_number.len(), 0);
        noted(&mut open, 5..=8, false);
        open.list(&[7, u64::MAX]).unwrap();
        assert_eq!((taken(&mut open, 0), taken(&mut open, 1)), (vec![8], vec![7]));
    }

    #[test]
    fn open_messages_are_bounded() {
        let mut open = OpenMessages::new(QuotaShare::default());
        open.list(&[1, u64::MAX]).unwrap();
        noted(&mut open, 1..=SESSION_OPEN_MESSAGES_MAX as u64 + 5, true);
        assert_eq!(open.by_number.len(), SESSION_OPEN_MESSAGES_MAX);
    }

    #[test]
    fn run_lists_are_bounded_and_charged() {
        let mut open = OpenMessages::new(QuotaShare::default());
        let apart: Vec<u64> = (0..SESSION_OPEN_MESSAGES_MAX as u64).flat_map(|n| [3 * n, 1]).collect();
        let cost = open.list(&apart).unwrap();
        assert_eq!(cost, 1 + (SESSION_OPEN_MESSAGES_MAX / SESSION_OPEN_MESSAGES_PER_CHARGE) as u64);
        assert_eq!(open.weight.bytes(), 16 * SESSION_OPEN_MESSAGES_MAX, "runs are weighed");
        let more = [apart.as_slice(), &[1, 1]].concat();
        assert_eq!(open.list(&more).map_err(|fault| fault.code), Err(ErrorCode::TooLong));
        open.list(&[5, 2, 1, 4, 7, 1, 2, 1, 9, u64::MAX]).unwrap();
        assert_eq!(open.runs, [(1, 7), (9, u64::MAX)]);
    }
}
