//! Messages to other platforms, in order, until they are accepted or fail.
//!
//! Inputs: [`OutgoingQueues::handle_message`], [`OutgoingQueues::handle_posted`] with the outcome of a POST, and
//! [`OutgoingQueues::handle_timeout`] when [`OutgoingQueues::poll_timeout`] says so. Outputs:
//! [`OutgoingQueues::poll_post`], until it returns nothing, then [`OutgoingQueues::poll_undelivered`]. Each [`Post`]
//! comes back by [`OutgoingQueues::handle_posted`] exactly once.
//!
//! Messages to agents with the same addresses wait in [`MTP_LANES`] lanes: those between two agents always in the same
//! one. A lane has one POST at a time, so these messages keep their order, also from one address to the next.

use std::collections::{BTreeSet, VecDeque};
use std::hash::BuildHasher;
use std::time::Duration;

use rustc_hash::{FxBuildHasher, FxHashMap};
use whimbrel_acl::limits::BULKY_COUNTED_BYTES;
use whimbrel_acl::{Encoding, Envelope};
use whimbrel_platform::Time;
use whimbrel_platform::limits::{
    MTP_DEADLINE_MS, MTP_DOWN_ADDRESSES_MAX, MTP_DOWN_MS, MTP_LANES, MTP_PAUSE_MS, MTP_QUEUED_BYTES_MAX,
    MTP_QUEUED_EACH_MAX, MTP_QUEUED_MAX,
};

use super::{ContactBook, HttpAddress};

const DEADLINE: Duration = Duration::from_millis(MTP_DEADLINE_MS);
const DOWN: Duration = Duration::from_millis(MTP_DOWN_MS);
/// Bytes of a message beyond its content, roughly.
const MESSAGE_BYTES: usize = 256;

/// Message to be posted to this address.
#[derive(Debug)]
pub struct Post {
    /// Address.
    pub to: HttpAddress,
    /// Message, and the receiver of this copy.
    pub message: Envelope,
    /// Encoding that the other platform reads.
    pub encoding: Encoding,
    lane: u64,
    waiting: WaitingPost,
}

/// Outcome of a POST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostOutcome {
    /// The platform answered 200: it has the message.
    Accepted,
    /// No connection: nothing was sent, so the message may be sent again.
    Unreached(String),
    /// The platform answered otherwise: it does not have the message.
    Refused(String),
    /// The connection failed after the message was sent: the platform may have it.
    Unanswered(String),
    /// The message cannot be written.
    Unsendable(String),
}

/// Message that did not leave.
#[derive(Debug)]
pub struct Undelivered {
    /// Message.
    pub message: Envelope,
    /// Reason, for people.
    pub why: String,
    /// True if the message cannot be written for any platform.
    pub is_unsendable: bool,
}

/// Bookkeeping of a message that waits.
#[derive(Debug)]
struct WaitingPost {
    /// Time since when it waits.
    since: Time,
    bytes: usize,
    /// Addresses that failed in this round, by index.
    failed: u16,
    /// Rounds in which all addresses failed.
    rounds: u32,
    why: String,
}

/// Messages to agents with the same addresses, in order.
#[derive(Debug)]
struct Lane {
    way: (Vec<HttpAddress>, u64),
    queue: VecDeque<(Envelope, Encoding, WaitingPost)>,
    /// True while a POST of this lane is on its way.
    is_busy: bool,
    /// Time since when posts fail; `None` if the last one was accepted.
    failing_since: Option<Time>,
}

impl Lane {
    /// Returns true if a message has waited for too long behind a platform that cannot be reached. A slow one, which
    /// accepts one message after the other, is waited for.
    fn is_over(&self, waiting: &WaitingPost, now: Time) -> bool {
        self.failing_since.is_some_and(|since| since.max(waiting.since) + DEADLINE <= now)
    }
}

/// Queues of messages to other platforms; see the module.
#[derive(Debug, Default)]
pub struct OutgoingQueues {
    /// Addresses of other platforms' agents.
    pub contacts: ContactBook,
    lanes: FxHashMap<u64, Lane>,
    by_way: FxHashMap<(Vec<HttpAddress>, u64), u64>,
    next_lane: u64,
    /// Lanes with a message and without a POST.
    ready: VecDeque<u64>,
    /// Lanes that pause, by the end of the pause.
    resting: BTreeSet<(Time, u64)>,
    /// Addresses that failed, and until when they are tried last.
    down: FxHashMap<HttpAddress, Time>,
    undelivered: VecDeque<Undelivered>,
    waiting: usize,
    bytes: usize,
    is_closed: bool,
}

impl OutgoingQueues {
    /// Takes a message to an agent of another platform. Returns true if so many wait that senders should slow down.
    pub fn handle_message(&mut self, now: Time, message: Envelope) -> bool {
        let addresses = self.contacts.addresses_of(message.to);
        let bytes = MESSAGE_BYTES + message.body.footprint(BULKY_COUNTED_BYTES);
        let why = if self.is_closed {
            Some("this platform ends".to_owned())
        } else if addresses.is_empty() {
            Some(format!("no address of {} is known: have it write first, or name its platform", message.to))
        } else if self.waiting >= MTP_QUEUED_MAX || self.bytes + bytes > MTP_QUEUED_BYTES_MAX {
            Some("too many messages to other platforms wait".to_owned())
        } else {
            None
        };
        if let Some(why) = why {
            self.fail(message, why, false);
            return false;
        }
        let encoding = self.contacts.encoding_of(message.to);
        let lane = self.lane_for(addresses, &message);
        let Some(queue) = self.lanes.get_mut(&lane) else { return false };
        if queue.queue.len() >= MTP_QUEUED_EACH_MAX {
            self.fail(message, "too many messages to this platform wait".to_owned(), false);
            return true;
        }
        let waiting = WaitingPost { since: now, bytes, failed: 0, rounds: 0, why: String::new() };
        queue.queue.push_back((message, encoding, waiting));
        if queue.queue.len() == 1 && !queue.is_busy {
            self.ready.push_back(lane);
        }
        self.waiting += 1;
        self.bytes += bytes;
        self.waiting > MTP_QUEUED_MAX / 2 || self.bytes > MTP_QUEUED_BYTES_MAX / 2
    }

    fn lane_for(&mut self, addresses: Vec<HttpAddress>, message: &Envelope) -> u64 {
        let pair = FxBuildHasher.hash_one((message.body.sender, message.to));
        let way = (addresses, (pair >> 32) % MTP_LANES);
        if let Some(lane) = self.by_way.get(&way) {
            return *lane;
        }
        let lane = self.next_lane;
        self.next_lane += 1;
        self.by_way.insert(way.clone(), lane);
        self.lanes.insert(lane, Lane { way, queue: VecDeque::new(), is_busy: false, failing_since: None });
        lane
    }

    /// Returns the next message to post.
    pub fn poll_post(&mut self, now: Time) -> Option<Post> {
        loop {
            let lane = self.ready.pop_front()?;
            let Some(queue) = self.lanes.get_mut(&lane) else { continue };
            let Some((message, encoding, waiting)) = queue.queue.pop_front() else {
                self.forget_if_idle(lane);
                continue;
            };
            if queue.is_over(&waiting, now) {
                self.ready.push_front(lane);
                self.give_up(message, waiting, "its time is over");
                continue;
            }
            let to = next_address(&queue.way.0, waiting.failed, &self.down, now);
            let Some(to) = to.cloned() else { continue };
            queue.is_busy = true;
            return Some(Post { to, message, encoding, lane, waiting });
        }
    }

    /// Takes the outcome of a POST.
    pub fn handle_posted(&mut self, now: Time, post: Post, outcome: PostOutcome) {
        let Post { to, message, encoding, lane, mut waiting } = post;
        let addresses = self.lanes.get_mut(&lane).map_or(0, |queue| {
            queue.is_busy = false;
            queue.failing_since = match outcome {
                PostOutcome::Accepted => None,
                _ => queue.failing_since.or(Some(now)),
            };
            queue.way.0.len()
        });
        let (why, is_over) = match outcome {
            PostOutcome::Accepted => {
                self.down.remove(&to);
                self.settle(&waiting);
                return self.go_on(lane);
            }
            PostOutcome::Unsendable(why) => {
                self.settle(&waiting);
                self.fail(message, why, true);
                return self.go_on(lane);
            }
            PostOutcome::Unanswered(why) => (why, true),
            PostOutcome::Refused(why) => (why, false),
            PostOutcome::Unreached(why) => {
                self.note_down(now, &to);
                (why, false)
            }
        };
        let tried = self.lanes.get(&lane).and_then(|queue| queue.way.0.iter().position(|address| *address == to));
        waiting.failed |= 1 << tried.unwrap_or(0);
        waiting.why = format!("{to}: {why}");
        if is_over {
            self.give_up(message, waiting, "");
            return self.go_on(lane);
        }
        let all = (1_u16 << addresses) - 1;
        if waiting.failed & all == all {
            // Every address failed: a message that some platform refused is not offered again.
            waiting.failed = 0;
            waiting.rounds += 1;
            let pause = Duration::from_millis(MTP_PAUSE_MS << waiting.rounds.min(6));
            let is_over = self.lanes.get(&lane).is_none_or(|queue| queue.is_over(&waiting, now + pause));
            if is_over || !matches!(self.down.get(&to), Some(until) if *until > now) {
                self.give_up(message, waiting, "");
                return self.go_on(lane);
            }
            self.put_back(lane, (message, encoding, waiting));
            self.resting.insert((now + pause, lane));
            return;
        }
        self.put_back(lane, (message, encoding, waiting));
        self.ready.push_back(lane);
    }

    fn put_back(&mut self, lane: u64, entry: (Envelope, Encoding, WaitingPost)) {
        if let Some(queue) = self.lanes.get_mut(&lane) {
            queue.queue.push_front(entry);
        }
    }

    fn note_down(&mut self, now: Time, address: &HttpAddress) {
        if self.down.len() >= MTP_DOWN_ADDRESSES_MAX {
            self.down.retain(|_, until| *until > now);
        }
        if self.down.len() < MTP_DOWN_ADDRESSES_MAX {
            self.down.insert(address.clone(), now + DOWN);
        }
    }

    fn go_on(&mut self, lane: u64) {
        match self.lanes.get(&lane) {
            Some(queue) if !queue.queue.is_empty() => self.ready.push_back(lane),
            _ => self.forget_if_idle(lane),
        }
    }

    fn forget_if_idle(&mut self, lane: u64) {
        let is_idle = self.lanes.get(&lane).is_some_and(|queue| queue.queue.is_empty() && !queue.is_busy);
        if let Some(queue) = is_idle.then(|| self.lanes.remove(&lane)).flatten() {
            self.by_way.remove(&queue.way);
        }
    }

    fn settle(&mut self, waiting: &WaitingPost) {
        self.waiting = self.waiting.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(waiting.bytes);
    }

    fn give_up(&mut self, message: Envelope, waiting: WaitingPost, otherwise: &str) {
        self.settle(&waiting);
        let why = if waiting.why.is_empty() { otherwise.to_owned() } else { waiting.why };
        self.fail(message, why, false);
    }

    fn fail(&mut self, message: Envelope, why: String, is_unsendable: bool) {
        self.undelivered.push_back(Undelivered { message, why, is_unsendable });
    }

    /// Returns the next message that did not leave.
    pub fn poll_undelivered(&mut self) -> Option<Undelivered> {
        self.undelivered.pop_front()
    }

    /// Returns the time of the next call of [`OutgoingQueues::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Time> {
        self.resting.first().map(|(until, _)| *until)
    }

    /// Ends pauses that are over.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some((until, lane)) = self.resting.first().copied().filter(|(until, _)| *until <= now) {
            self.resting.remove(&(until, lane));
            self.ready.push_back(lane);
        }
    }

    /// Ends everything: messages that wait, also those of lanes with a POST, become undelivered, and so do later ones.
    pub fn close(&mut self) {
        self.is_closed = true;
        let lanes = std::mem::take(&mut self.lanes);
        self.by_way.clear();
        self.ready.clear();
        self.resting.clear();
        let waiting = lanes.into_values().flat_map(|lane| lane.queue).collect::<Vec<_>>();
        waiting.into_iter().for_each(|(message, _, waiting)| self.give_up(message, waiting, "this platform ends"));
    }

    /// Returns the number of messages that [`OutgoingQueues::poll_undelivered`] will return.
    pub fn undelivered(&self) -> usize {
        self.undelivered.len()
    }

    /// Returns true if [`OutgoingQueues::poll_post`] may have a message.
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns the number of messages that wait, or are being posted.
    pub fn waiting(&self) -> usize {
        self.waiting
    }
}

/// Returns the address to try next: one that did not fail for this message, nor lately for others; else the first that
/// did not fail for this message.
fn next_address<'a>(
    addresses: &'a [HttpAddress],
    failed: u16,
    down: &FxHashMap<HttpAddress, Time>,
    now: Time,
) -> Option<&'a HttpAddress> {
    let open = || addresses.iter().enumerate().filter(|(index, _)| failed & (1 << index) == 0).map(|(_, it)| it);
    let is_down = |address: &&HttpAddress| down.get(*address).is_some_and(|until| *until > now);
    open().find(|address| !is_down(address)).or_else(|| open().next())
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{AclMessage, Aid, Contact, MessageBody, Performative, Value};

    use super::*;

    fn message(from: &str, to: &str, addresses: &[&str], content: i64) -> Envelope {
        let addresses = addresses.iter().map(|address| (*address).to_owned()).collect();
        let to = to.parse::<Aid>().expect("a name").with_contact(Contact { addresses, ..Contact::default() });
        let body = AclMessage::new(Performative::Inform, Aid::local(from), to, content);
        Envelope { to, body: MessageBody::Owned(Box::new(body)) }
    }

    fn content(post: &Post) -> i64 {
        match post.message.body.content {
            Value::Int(number) => number,
            _ => -1,
        }
    }

    const A: &str = "http://a:1/acc";
    const B: &str = "http://b:1/acc";

    #[test]
    fn messages_between_two_keep_order() {
        let mut outgoing = OutgoingQueues::default();
        for number in 0..3 {
            outgoing.handle_message(Time::ZERO, message("ann", "bob@jade", &[A, B], number));
        }
        assert_eq!(outgoing.waiting(), 3);
        let first = outgoing.poll_post(Time::ZERO).expect("a post");
        assert!(outgoing.poll_post(Time::ZERO).is_none(), "one at a time");
        assert_eq!((content(&first), first.to.to_string()), (0, A.to_owned()));
        outgoing.handle_posted(Time::ZERO, first, PostOutcome::Unreached("refused".into()));
        for number in 0..3 {
            let next = outgoing.poll_post(Time::ZERO).expect("the next address");
            assert_eq!((content(&next), next.to.to_string()), (number, B.to_owned()), "a is down");
            outgoing.handle_posted(Time::ZERO, next, PostOutcome::Accepted);
        }
        assert!(outgoing.waiting() == 0 && outgoing.lanes.is_empty() && outgoing.by_way.is_empty());
    }

    #[test]
    fn unreachable_platform_fails_at_deadline() {
        let (mut outgoing, mut now) = (OutgoingQueues::default(), Time::ZERO);
        outgoing.handle_message(now, message("ann", "bob@jade", &[A], 0));
        let mut posts = 0;
        let failed = loop {
            while let Some(post) = outgoing.poll_post(now) {
                posts += 1;
                outgoing.handle_posted(now, post, PostOutcome::Unreached("refused".into()));
            }
            if let Some(failed) = outgoing.poll_undelivered() {
                break failed;
            }
            now = outgoing.poll_timeout().expect("it tries again");
            outgoing.handle_timeout(now);
        };
        assert_eq!(failed.why, "http://a:1/acc: refused");
        assert!(posts > 3 && now <= Time::ZERO + DEADLINE, "{posts} posts until {now:?}");
        assert_eq!((outgoing.waiting(), outgoing.poll_timeout()), (0, None));
    }

    #[test]
    fn refused_message_tries_each_address_once() {
        for outcome in [PostOutcome::Refused("406".into()), PostOutcome::Unanswered("closed".into())] {
            let mut outgoing = OutgoingQueues::default();
            outgoing.handle_message(Time::ZERO, message("ann", "bob@jade", &[A, B], 0));
            let mut posts = 0;
            while let Some(post) = outgoing.poll_post(Time::ZERO) {
                posts += 1;
                outgoing.handle_posted(Time::ZERO, post, outcome.clone());
            }
            assert!(outgoing.poll_undelivered().is_some() && outgoing.waiting() == 0);
            assert_eq!(posts, if matches!(outcome, PostOutcome::Refused(_)) { 2 } else { 1 }, "{outcome:?}");
        }
    }

    #[test]
    fn agent_without_address_fails() {
        let mut outgoing = OutgoingQueues::default();
        outgoing.handle_message(Time::ZERO, message("ann", "bob@jade", &["IOR:00"], 0));
        let failed = outgoing.poll_undelivered().expect("it fails");
        assert!(failed.why.starts_with("no address of bob@jade is known") && !failed.is_unsendable, "{}", failed.why);
    }

    #[test]
    fn messages_wait_behind_slow_platform() {
        let mut outgoing = OutgoingQueues::default();
        for number in 0..3 {
            outgoing.handle_message(Time::ZERO, message("ann", "bob@jade", &[A], number));
        }
        let slow = outgoing.poll_post(Time::ZERO).expect("a post");
        let late = Time::ZERO + 2 * DEADLINE;
        outgoing.handle_posted(late, slow, PostOutcome::Accepted);
        let next = outgoing.poll_post(late).expect("the platform accepts messages");
        outgoing.handle_posted(late, next, PostOutcome::Unanswered("closed".into()));
        assert!(outgoing.poll_undelivered().is_some(), "it may have arrived");
        let last = outgoing.poll_post(late + DEADLINE / 2).expect("it is tried");
        outgoing.handle_posted(late + DEADLINE, last, PostOutcome::Unreached("refused".into()));
        assert!(outgoing.poll_undelivered().is_some(), "its time is over");
        assert!(outgoing.waiting() == 0 && outgoing.lanes.is_empty());
    }

    #[test]
    fn queues_are_bounded() {
        let mut outgoing = OutgoingQueues::default();
        for _ in 0..=MTP_QUEUED_EACH_MAX {
            outgoing.handle_message(Time::ZERO, message("ann", "bob@jade", &[A], 0));
        }
        assert_eq!(outgoing.waiting(), MTP_QUEUED_EACH_MAX);
        assert!(outgoing.poll_undelivered().is_some());
        outgoing.close();
        assert_eq!((outgoing.waiting(), outgoing.undelivered.len()), (0, MTP_QUEUED_EACH_MAX));
        outgoing.handle_message(Time::ZERO, message("ann", "bob@jade", &[A], 0));
        assert_eq!((outgoing.waiting(), outgoing.undelivered.len()), (0, MTP_QUEUED_EACH_MAX + 1), "it is closed");
    }
}
