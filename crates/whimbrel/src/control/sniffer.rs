//! Messages of a node, shown to a client as they are sent. Agents never wait for the client: events that do not fit
//! into the buffer are counted, and the client gets the count.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use whimbrel_acl::{AclMessage, Aid, Envelope, Extras, Symbol};
use whimbrel_operator::{DeadLettersFound, Feed, Happening, MessageInfo, MoreInfo, NodeEvent, SniffWanted};
use whimbrel_platform::ams::{AmsChange, name_fits};
use whimbrel_platform::conversations::{shortened, spelled_alike};
use whimbrel_platform::dead_letters::DeadLetter;
use whimbrel_platform::df::DfChange;
use whimbrel_platform::limits::{
    LIVE_EVENTS_MAX, RECENT_EVENTS_MAX, SNIFFED_CONTENT_CHARS_MAX, SNIFFED_EVENTS_MAX, SNIFFED_NAME_CHARS_MAX,
    SNIFFED_PARAMETERS_MAX,
};
use whimbrel_platform::topics::Cast;
use whimbrel_platform::{Observer, PlatformEvent as Seen, Time};
use whimbrel_runtime::{Observation, Platform};

use super::local_socket::LocalStream;

/// Longest silence towards a client. Then a line with the time follows, which also shows whether the client is still
/// there.
const TICK: Duration = Duration::from_millis(100);
/// Lines written at once, at most.
const LINES_AT_ONCE: usize = 256;

/// Filter of events.
#[derive(Default)]
struct Filter {
    agents: Vec<String>,
    conversation: Option<String>,
    performatives: Vec<String>,
    only_messages: bool,
    only_moves: bool,
}

impl Filter {
    /// Agents that come and go between nodes.
    fn moves() -> Self {
        Self { only_moves: true, ..Self::default() }
    }

    fn new(wanted: &SniffWanted) -> Self {
        let SniffWanted { agents, conversation, performatives, only_messages } = wanted.clone();
        let only_messages = only_messages || conversation.is_some() || !performatives.is_empty();
        Self { agents, conversation, performatives, only_messages, only_moves: false }
    }

    fn agent(&self, name: Symbol) -> bool {
        self.agents.is_empty() || self.agents.iter().any(|pattern| name_fits(pattern, name.as_str()))
    }

    fn message(&self, envelope: &Envelope) -> bool {
        let message = &envelope.body;
        let performative = |wanted: &String| spelled_alike(wanted, message.performative.as_str());
        let conversation = |pattern: &String| {
            message.extras().conversation_id.as_ref().is_some_and(|conversation| name_fits(pattern, conversation))
        };
        (self.performatives.is_empty() || self.performatives.iter().any(performative))
            && self.conversation.as_ref().is_none_or(conversation)
            && (self.agent(message.sender.name) || self.agent(envelope.to.name))
    }

    fn takes_all_messages(&self) -> bool {
        !self.only_moves && self.agents.is_empty() && self.conversation.is_none() && self.performatives.is_empty()
    }

    fn takes(&self, event: &Seen<'_>) -> bool {
        if self.only_moves {
            return matches!(event, Seen::Left(..) | Seen::Came(..));
        }
        match event {
            // A watched agent that subscribes to a topic gets a copy of each message to it.
            Seen::Delivered(envelope) => {
                !self.agents.is_empty()
                    && self.agent(envelope.to.name)
                    && self.message(envelope)
                    && via(envelope).is_some()
            }
            Seen::Sent(envelope) | Seen::Died(envelope, _) => self.message(envelope),
            Seen::Agent(AmsChange { agent, .. })
            | Seen::Directory(DfChange { agent, .. })
            | Seen::Left(agent, _)
            | Seen::Came(agent, _) => !self.only_messages && self.agent(agent.name),
            _ => false,
        }
    }
}

/// Observer: records matching events, cut to what a client is shown, so that the buffer's memory is bounded whatever
/// agents send.
struct Tap {
    filter: Filter,
    buffer: SyncSender<(Time, Happening)>,
    /// Maximum number of events in the buffer.
    room: usize,
    /// True if events beyond the buffer need only be counted.
    rests: bool,
    waiting: Arc<AtomicUsize>,
    skipped: Arc<AtomicU64>,
}

impl Observer for Tap {
    /// Returns true if this observer has enough. An observer of all messages has, when its room is full. An observer of
    /// certain messages must miss none of them because of others.
    fn is_sated(&self, _now: Time) -> bool {
        self.filter.only_moves
            || (self.rests && self.filter.takes_all_messages() && self.waiting.load(Ordering::Relaxed) >= self.room)
    }

    fn pass_over(&self, sent: u64) {
        if self.rests && self.filter.takes_all_messages() {
            self.skipped.fetch_add(sent, Ordering::Relaxed);
        }
    }

    fn observe(&self, at: Time, event: Seen<'_>) {
        if !self.filter.takes(&event) {
            return;
        }
        let mut taken = self.waiting.fetch_add(1, Ordering::Relaxed) < self.room;
        if taken && let Some(what) = happening(&event) {
            taken = self.buffer.try_send((at, what)).is_ok();
        }
        if !taken {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.skipped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Sends events to a client until it disconnects.
pub fn sniff(platform: &Platform, node: &str, wanted: &SniffWanted, stream: &LocalStream) -> io::Result<()> {
    // A terminal may be held for long.
    stream.set_write_timeout(None)?;
    let (_observation, kept) = tap(platform, node, Filter::new(wanted), SNIFFED_EVENTS_MAX, false);
    kept.tell(stream)
}

/// Begins to record matching events, at most `room` until the observer takes them. If it `rests`, messages are not even
/// looked at while there is no room.
fn tap(platform: &Platform, node: &str, filter: Filter, room: usize, rests: bool) -> (Observation, SniffedMessage) {
    let (buffer, kept) = sync_channel(room);
    let (waiting, skipped) = (Arc::<AtomicUsize>::default(), Arc::<AtomicU64>::default());
    let tap = Tap { filter, buffer, room, rests, waiting: Arc::clone(&waiting), skipped: Arc::clone(&skipped) };
    let kept = SniffedMessage { node: node.to_owned(), began_us: began_us(platform), kept, waiting, skipped };
    (platform.observe(Arc::new(tap)), kept)
}

/// Feed of events that a client polls.
pub struct EventFeed {
    kept: SniffedMessage,
    _observation: Observation,
}

impl EventFeed {
    /// Returns the feed of events for sniffers with these wishes.
    pub fn of_events(platform: &Platform, node: &str, wanted: &SniffWanted) -> Self {
        Self::new(platform, node, Filter::new(wanted))
    }

    /// Returns the feed of all events, for clients that ask now and then.
    pub fn of_recent(platform: &Platform, node: &str) -> Self {
        let (observation, kept) = tap(platform, node, Filter::default(), RECENT_EVENTS_MAX, true);
        Self { kept, _observation: observation }
    }

    /// Agents that come from other nodes and go there.
    pub fn of_moves(platform: &Platform, node: &str) -> Self {
        Self::new(platform, node, Filter::moves())
    }

    fn new(platform: &Platform, node: &str, filter: Filter) -> Self {
        let (observation, kept) = tap(platform, node, filter, LIVE_EVENTS_MAX, true);
        Self { kept, _observation: observation }
    }
}

impl Feed for EventFeed {
    fn take(&mut self) -> Vec<NodeEvent> {
        let mut events: Vec<NodeEvent> = std::iter::from_fn(|| self.kept.kept.try_recv().ok())
            .take(RECENT_EVENTS_MAX)
            .map(|(at, what)| self.kept.event(self.kept.began_us + at.0, what))
            .collect();
        self.kept.waiting.fetch_sub(events.len(), Ordering::Relaxed);
        let count = self.kept.skipped.swap(0, Ordering::Relaxed);
        if count > 0 {
            events.push(self.kept.event(wall_us(), Happening::Skipped { count }));
        }
        events
    }
}

/// Returns true if an event is one for sniffers with these wishes.
pub fn fits(wanted: &SniffWanted, event: &NodeEvent) -> bool {
    let SniffWanted { agents, conversation, performatives, only_messages } = wanted;
    let agent = |name: &str| agents.is_empty() || agents.iter().any(|pattern| name_fits(pattern, name));
    match &event.what {
        Happening::Sent(message) | Happening::Died { message, .. } => {
            let is_in = |pattern: &String| message.conversation.as_ref().is_some_and(|name| name_fits(pattern, name));
            let is_one = |word: &String| spelled_alike(word, &message.performative);
            (agent(&message.from) || agent(&message.to))
                && conversation.as_ref().is_none_or(is_in)
                && (performatives.is_empty() || performatives.iter().any(is_one))
        }
        Happening::Agent { agent: name, .. } | Happening::Service { agent: name, .. } => {
            !only_messages && conversation.is_none() && performatives.is_empty() && agent(name)
        }
        _ => true,
    }
}

/// Returns the start of a platform, in microseconds since 1970.
pub fn began_us(platform: &Platform) -> u64 {
    wall_us().saturating_sub(platform.services().now().0)
}

/// Returns the newest matching dead letters.
pub fn dead_letters(platform: &Platform, node: &str, agents: Vec<String>, limit: usize) -> DeadLettersFound {
    let filter = Filter::new(&SniffWanted { agents, ..SniffWanted::default() });
    let began_us = began_us(platform);
    let event = |letter: DeadLetter| {
        let envelope = Envelope { to: letter.to, body: letter.body };
        let died = Seen::Died(&envelope, letter.reason);
        let what = happening(&died).filter(|_| filter.takes(&died))?;
        Some(NodeEvent { at_us: began_us + letter.at.0, node: node.to_owned(), what })
    };
    let mut letters: Vec<NodeEvent> = platform.dead_letters().into_iter().filter_map(event).take(limit).collect();
    letters.reverse();
    DeadLettersFound { letters, total: platform.counters_now().dead }
}

/// Returns the wall clock, in microseconds since 1970.
pub fn wall_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// Recorded message.
struct SniffedMessage {
    node: String,
    /// Start of the platform, in microseconds since 1970.
    began_us: u64,
    kept: Receiver<(Time, Happening)>,
    waiting: Arc<AtomicUsize>,
    skipped: Arc<AtomicU64>,
}

impl SniffedMessage {
    fn event(&self, at_us: u64, what: Happening) -> NodeEvent {
        NodeEvent { at_us, node: self.node.clone(), what }
    }

    fn tell(self, mut stream: &LocalStream) -> io::Result<()> {
        let mut lines = Vec::new();
        self.line(&mut lines, wall_us(), Happening::Tick)?;
        loop {
            stream.write_all(&lines)?;
            lines.clear();
            match self.kept.recv_timeout(TICK) {
                Ok(first) => {
                    let more = std::iter::from_fn(|| self.kept.try_recv().ok());
                    for (at, what) in std::iter::once(first).chain(more).take(LINES_AT_ONCE) {
                        self.waiting.fetch_sub(1, Ordering::Relaxed);
                        self.line(&mut lines, self.began_us + at.0, what)?;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.line(&mut lines, wall_us(), Happening::Tick)?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let count = self.skipped.swap(0, Ordering::Relaxed);
            if count > 0 {
                self.line(&mut lines, wall_us(), Happening::Skipped { count })?;
            }
        }
    }

    fn line(&self, lines: &mut Vec<u8>, at_us: u64, what: Happening) -> io::Result<()> {
        serde_json::to_writer(&mut *lines, &self.event(at_us, what))?;
        lines.push(b'\n');
        Ok(())
    }
}

/// Converts an event for clients; `None` if it is of no interest outside.
pub fn happening(event: &Seen<'_>) -> Option<Happening> {
    Some(match event {
        Seen::Sent(envelope) => Happening::Sent(sniffed(envelope)),
        Seen::Delivered(envelope) if via(envelope).is_some() => Happening::Sent(sniffed(envelope)),
        Seen::Died(envelope, why) => Happening::Died { message: sniffed(envelope), why: why.to_string() },
        Seen::Agent(change) => Happening::Agent { agent: change.agent.to_string(), text: change.to_string() },
        Seen::Directory(change) => Happening::Service { agent: change.agent.to_string(), text: change.to_string() },
        Seen::Left(agent, _) | Seen::Came(agent, _) => {
            Happening::Agent { agent: agent.to_string(), text: event.to_string() }
        }
        _ => return None,
    })
}

/// Returns the topic or group by which this copy of a message came to its receiver.
fn via(copy: &Envelope) -> Option<Aid> {
    Cast::behind(copy).map(|(_, to)| to).filter(|to| *to != copy.to)
}

fn sniffed(envelope: &Envelope) -> MessageInfo {
    message_info(envelope, SNIFFED_CONTENT_CHARS_MAX)
}

/// Describes a message, with its content cut to this many characters.
pub fn message_info(envelope: &Envelope, content_chars_max: usize) -> MessageInfo {
    let message = &envelope.body;
    let extras = message.extras();
    MessageInfo {
        from: message.sender.to_string(),
        to: envelope.to.to_string(),
        via: via(envelope).map(|to| to.to_string()),
        performative: message.performative.as_str().to_owned(),
        conversation: extras.conversation_id.as_deref().map(short_name),
        protocol: extras.protocol.map(|protocol| protocol.as_str().to_owned()),
        reply_with: extras.reply_with.as_deref().map(short_name),
        in_reply_to: extras.in_reply_to.as_deref().map(short_name),
        content: shortened(&message.content, content_chars_max),
        more: more_info(message, envelope.to),
    }
}

/// Returns the rarer parameters of a message.
fn more_info(message: &AclMessage, to: Aid) -> Option<Box<MoreInfo>> {
    let Extras { reply_to, language, encoding, ontology, reply_by_ms, user, .. } = message.extras();
    let left_out = |count: usize| count.saturating_sub(SNIFFED_PARAMETERS_MAX) as u64;
    let names = |agents: &mut dyn Iterator<Item = &Aid>| -> Vec<String> {
        agents.take(SNIFFED_PARAMETERS_MAX).map(Aid::to_string).collect()
    };
    let word = |word: &Option<Symbol>| word.map(|word| short_name(word.as_str()));
    let is_other = |other: &&Aid| **other != to && Cast::of(other.name).is_none();
    let shown = user.iter().take(SNIFFED_PARAMETERS_MAX);
    let more = MoreInfo {
        others: names(&mut message.receivers.iter().filter(is_other)),
        others_left_out: left_out(message.receivers.iter().filter(is_other).count()),
        reply_to: names(&mut reply_to.iter()),
        reply_by_ms: *reply_by_ms,
        language: word(language),
        encoding: word(encoding),
        ontology: word(ontology),
        user: shown
            .map(|(name, value)| (short_name(name.as_str()), shortened(value, SNIFFED_NAME_CHARS_MAX)))
            .collect(),
        user_left_out: left_out(user.len()),
    };
    (more != MoreInfo::default()).then(|| Box::new(more))
}

/// Returns a name for display. Its sender chose it, at any length.
fn short_name(name: &str) -> String {
    name.chars().take(SNIFFED_NAME_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative};

    use super::*;

    fn envelope(performative: Performative, conversation: Option<&str>) -> Envelope {
        let (buyer, seller) = (Aid::local("buyer"), Aid::local("seller"));
        let mut message = AclMessage::new(performative, buyer, seller, "tea");
        if let Some(conversation) = conversation {
            message = message.in_conversation(conversation);
        }
        Envelope { to: seller, body: MessageBody::Owned(Box::new(message)) }
    }

    #[track_caller]
    fn check(wanted: SniffWanted, expected: bool) {
        let envelope = envelope(Performative::AcceptProposal, Some("deal-7"));
        assert_eq!(Filter::new(&wanted).takes(&Seen::Sent(&envelope)), expected);
    }

    #[test]
    fn filters_combine_by_and() {
        let text = |text: &str| text.to_owned();
        let agents =
            |names: &[&str]| SniffWanted { agents: names.iter().map(|n| text(n)).collect(), ..Default::default() };
        check(SniffWanted::default(), true);
        check(agents(&["nobody", "sell*"]), true);
        check(agents(&["nobody"]), false);
        check(SniffWanted { performatives: vec![text("ACCEPT_proposal")], ..Default::default() }, true);
        check(SniffWanted { performatives: vec![text("accept")], ..Default::default() }, false);
        check(SniffWanted { conversation: Some(text("deal-?")), ..agents(&["buyer"]) }, true);
        check(SniffWanted { conversation: Some(text("deal")), ..agents(&["buyer"]) }, false);
        let plain = envelope(Performative::Inform, None);
        let any = SniffWanted { conversation: Some(text("*")), ..Default::default() };
        assert!(!Filter::new(&any).takes(&Seen::Sent(&plain)), "it is in none");
    }

    #[test]
    fn rare_parameters_are_shown_and_bounded() {
        assert_eq!(message_info(&envelope(Performative::Inform, None), 9).more, None);
        let mut plain = envelope(Performative::Request, None);
        let MessageBody::Owned(message) = &mut plain.body else { return };
        message.receivers.extend((0..20).map(|number| Aid::local(format!("other{number}").as_str())));
        let extras = message.extras_mut();
        extras.reply_to.push(Aid::local("clerk"));
        extras.ontology = Some(Symbol::new("tea"));
        extras.language = Some(Symbol::new("fipa-sl"));
        extras.reply_by_ms = Some(7);
        extras.user =
            (0..18).map(|number| (Symbol::new(&format!("X-{number}")), whimbrel_acl::Value::Num(1.0))).collect();
        let more = message_info(&plain, 9).more.unwrap_or_default();
        assert_eq!((more.others.len(), more.others_left_out), (SNIFFED_PARAMETERS_MAX, 4));
        assert_eq!((more.user.len(), more.user_left_out), (SNIFFED_PARAMETERS_MAX, 2));
        assert_eq!(more.user.first(), Some(&("X-0".to_owned(), "1".to_owned())));
        assert_eq!((more.reply_to, more.reply_by_ms), (vec!["clerk".to_owned()], Some(7)));
        assert_eq!(
            (more.ontology.as_deref(), more.language.as_deref(), more.encoding),
            (Some("tea"), Some("fipa-sl"), None)
        );
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let (buffer, kept) = sync_channel(SNIFFED_EVENTS_MAX);
        let tap = Tap {
            filter: Filter::new(&SniffWanted::default()),
            buffer,
            room: SNIFFED_EVENTS_MAX,
            rests: true,
            waiting: Arc::default(),
            skipped: Arc::default(),
        };
        let envelope = envelope(Performative::Inform, None);
        assert!(!tap.is_sated(Time::ZERO));
        (0..SNIFFED_EVENTS_MAX + 3).for_each(|at| tap.observe(Time(at as u64), Seen::Sent(&envelope)));
        assert_eq!(tap.skipped.load(Ordering::Relaxed), 3);
        assert!(tap.is_sated(Time::ZERO), "it need not be told of more");
        tap.pass_over(7);
        assert_eq!(tap.skipped.load(Ordering::Relaxed), 10);
        assert_eq!(kept.try_iter().count(), SNIFFED_EVENTS_MAX);
    }
}
