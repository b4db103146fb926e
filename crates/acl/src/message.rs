//! The ACL message (FIPA00061) and the envelope it travels in.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::limits::{BULKY_BYTES, BULKY_COUNTED_BYTES, MESSAGE_RECEIVERS_MAX};
use crate::{Aid, Performative, Symbol, Text, Value, sym};

/// An ACL message with all parameters of FIPA00061 table 1. The parameters most messages lack are in [`Extras`], so
/// that a plain message is small.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AclMessage {
    /// Communicative act.
    pub performative: Performative,
    /// Agent that sends the message.
    pub sender: Aid,
    /// Agents that the message is meant for.
    pub receivers: SmallVec<[Aid; 1]>,
    /// Content of the message.
    pub content: Value,
    /// The other parameters, if any is set.
    pub extras: Option<Box<Extras>>,
}

/// The parameters of FIPA00061 beyond performative, sender, receivers and content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extras {
    /// `:reply-to`: where answers go instead of the sender.
    pub reply_to: SmallVec<[Aid; 1]>,
    /// `:language` of the content.
    pub language: Option<Symbol>,
    /// `:encoding` of the content.
    pub encoding: Option<Symbol>,
    /// `:ontology` that gives the content's symbols meaning.
    pub ontology: Option<Symbol>,
    /// `:protocol`: the interaction protocol in use.
    pub protocol: Option<Symbol>,
    /// `:conversation-id`.
    pub conversation_id: Option<Text>,
    /// `:reply-with`: the identifier that an answer has to quote.
    pub reply_with: Option<Text>,
    /// `:in-reply-to`: the quoted `:reply-with`.
    pub in_reply_to: Option<Text>,
    /// `:reply-by`, in milliseconds since 1970-01-01 UTC.
    pub reply_by_ms: Option<u64>,
    /// `X-` parameters, kept in their order from end to end.
    pub user: Vec<(Symbol, Value)>,
}

static NO_EXTRAS: Extras = Extras {
    reply_to: SmallVec::new_const(),
    language: None,
    encoding: None,
    ontology: None,
    protocol: None,
    conversation_id: None,
    reply_with: None,
    in_reply_to: None,
    reply_by_ms: None,
    user: Vec::new(),
};

impl AclMessage {
    /// Makes a message from `sender` to `receiver`.
    pub fn new(performative: Performative, sender: Aid, receiver: Aid, content: impl Into<Value>) -> Self {
        Self { performative, sender, receivers: SmallVec::from_buf([receiver]), content: content.into(), extras: None }
    }

    /// Becomes another message, as [`Self::new`] makes it, in the same memory.
    #[inline]
    pub fn refill(&mut self, performative: Performative, sender: Aid, receiver: Aid, content: Value) {
        (self.performative, self.sender, self.extras) = (performative, sender, None);
        self.content.put(content);
        match self.receivers.as_mut_slice() {
            [only] => *only = receiver,
            _ => self.receivers = SmallVec::from_buf([receiver]),
        }
    }

    /// Checks whether two messages differ in nothing but their content: plain messages in a row, from one agent to
    /// one other, with equal addresses.
    #[inline]
    pub fn is_alike(&self, other: &Self) -> bool {
        match (self.receivers.as_slice(), other.receivers.as_slice()) {
            ([to], [other_to]) => {
                self.performative == other.performative
                    && self.sender.is_same(other.sender)
                    && to.is_same(*other_to)
                    && self.extras.is_none()
                    && other.extras.is_none()
            }
            _ => false,
        }
    }

    /// Returns a message [alike](AclMessage::is_alike) this one, with another content. This one has one receiver and
    /// no extras.
    #[must_use]
    pub fn alike(&self, content: Value) -> Self {
        let receivers = match self.receivers.as_slice() {
            [only] => SmallVec::from_buf([*only]),
            all => SmallVec::from_slice(all),
        };
        Self { performative: self.performative, sender: self.sender, receivers, content, extras: None }
    }

    /// Bytes of memory that it takes, roughly and from above; counted no further than soon after `enough`.
    pub fn footprint(&self, enough: usize) -> usize {
        let aids = self.receivers.len() + self.extras().reply_to.len();
        let mut bytes = size_of::<Self>() + aids * size_of::<Aid>() + self.content.footprint(enough);
        if let Some(extras) = &self.extras {
            let texts = [&extras.conversation_id, &extras.reply_with, &extras.in_reply_to];
            bytes += size_of::<Extras>() + texts.into_iter().flatten().map(|text| text.len()).sum::<usize>();
            for (_, value) in &extras.user {
                bytes += size_of::<Symbol>() + value.footprint(enough.saturating_sub(bytes));
            }
        }
        bytes
    }

    /// Removes receivers, and agents in `:reply-to`, that are named before: each gets one copy. A name of the platform
    /// `home` is the same as that name alone.
    pub fn name_each_once(&mut self, home: Symbol) {
        if self.receivers.len() > 1 {
            keep_first_of_each(&mut self.receivers, home);
        }
        if let Some(extras) = &mut self.extras
            && extras.reply_to.len() > 1
        {
            keep_first_of_each(&mut extras.reply_to, home);
        }
    }

    /// Returns the length of the longer of receivers and `:reply-to`, if it exceeds [`MESSAGE_RECEIVERS_MAX`].
    pub fn excess_receivers(&self) -> Option<usize> {
        let count = self.receivers.len().max(self.extras().reply_to.len());
        (count > MESSAGE_RECEIVERS_MAX).then_some(count)
    }

    /// Adds a receiver.
    #[must_use]
    pub fn to(mut self, receiver: Aid) -> Self {
        self.receivers.push(receiver);
        self
    }

    /// Sets the conversation.
    #[must_use]
    pub fn in_conversation(mut self, id: impl Into<Text>) -> Self {
        self.extras_mut().conversation_id = Some(id.into());
        self
    }

    /// Sets the interaction protocol.
    #[must_use]
    pub fn with_protocol(mut self, name: impl Into<Symbol>) -> Self {
        self.extras_mut().protocol = Some(name.into());
        self
    }

    /// Sets the ontology.
    #[must_use]
    pub fn with_ontology(mut self, name: impl Into<Symbol>) -> Self {
        self.extras_mut().ontology = Some(name.into());
        self
    }

    /// Sets the content language.
    #[must_use]
    pub fn with_language(mut self, name: impl Into<Symbol>) -> Self {
        self.extras_mut().language = Some(name.into());
        self
    }

    /// Sets the `:reply-with` that answers have to quote.
    #[must_use]
    pub fn with_reply_with(mut self, id: impl Into<Text>) -> Self {
        self.extras_mut().reply_with = Some(id.into());
        self
    }

    /// Sets the time by which to answer: milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub fn with_reply_by_ms(mut self, reply_by_ms: u64) -> Self {
        self.extras_mut().reply_by_ms = Some(reply_by_ms);
        self
    }

    /// Sets the content.
    #[must_use]
    pub fn with_content(mut self, content: impl Into<Value>) -> Self {
        self.content = content.into();
        self
    }

    /// Returns the rarer parameters for reading.
    pub fn extras(&self) -> &Extras {
        self.extras.as_deref().unwrap_or(&NO_EXTRAS)
    }

    /// Returns the rarer parameters for changing.
    pub fn extras_mut(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }

    /// Makes the answer to this message, from `from`: to `:reply-to` or else the sender, in the same conversation,
    /// protocol, ontology, language and encoding, quoting `:reply-with` (FIPA00061 2.5).
    #[must_use]
    pub fn make_reply(&self, from: Aid, performative: Performative) -> Self {
        let asked = self.extras();
        let receivers =
            if asked.reply_to.is_empty() { SmallVec::from_buf([self.sender]) } else { asked.reply_to.clone() };
        let extras = self.extras.as_ref().map(|_| {
            Box::new(Extras {
                language: asked.language,
                encoding: asked.encoding,
                ontology: asked.ontology,
                protocol: asked.protocol,
                conversation_id: asked.conversation_id.clone(),
                in_reply_to: asked.reply_with.clone(),
                ..Extras::default()
            })
        });
        Self { performative, sender: from, receivers, content: Value::Null, extras }
    }
}

/// A message on its way to one receiver. One message to many receivers is one shared body in many envelopes.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// The receiver of this copy (FIPA00067 `intended-receiver`).
    pub to: Aid,
    /// Message of the envelope.
    pub body: MessageBody,
}

/// The message in an envelope: its only holder's, or shared with other envelopes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MessageBody {
    /// Held by this envelope alone: the receiver may take it apart and send it on without a copy.
    Owned(Box<AclMessage>),
    /// Shared by the envelopes of one message to many.
    Shared(Arc<AclMessage>),
    /// Message numbered by its sender, which keeps it until the receiver has journalled it as handled.
    Numbered(Box<Numbered>),
    /// As [`MessageBody::Shared`], for a message that was [weighed](MessageBody::weighed) and takes much memory.
    Bulky(Box<Bulky>),
}

/// A message that takes [`BULKY_BYTES`] of memory or more.
#[derive(Clone, Debug)]
pub struct Bulky {
    /// Size in bytes, roughly.
    pub bytes: usize,
    /// The message.
    pub message: Arc<AclMessage>,
}

/// A message that counts once, however often it comes.
#[derive(Clone, Debug)]
pub struct Numbered {
    /// Number of the message among those of its sender.
    pub number: u64,
    /// Number of the last message before it from this sender to this receiver that the sender answers for, or 0 if it
    /// answers for none. This message has no place in the receiver's mailbox before that one arrived.
    pub after: u64,
    /// Replay round of the sender's node. When messages have to be sent again, those of earlier rounds no longer
    /// count. [`Numbered::LATEST`] if the message was found to count; [`Numbered::AGAIN`] if its receiver had it
    /// before.
    pub replay_round: u64,
    /// Size in memory, roughly, if the message was [weighed](MessageBody::weighed) and takes [`BULKY_BYTES`] or more;
    /// else 0.
    pub bulk: usize,
    /// The message.
    pub message: Arc<AclMessage>,
}

impl Numbered {
    /// Replay round of a message that counts, whatever is sent again.
    pub const LATEST: u64 = u64::MAX;
    /// Replay round of a message that its receiver took and put back: it is taken again, whatever its number.
    pub const AGAIN: u64 = u64::MAX - 1;
}

impl MessageBody {
    /// Returns the message itself, copied only if others hold it too.
    #[inline]
    pub fn into_message(self) -> Box<AclMessage> {
        match self {
            Self::Owned(message) => message,
            Self::Shared(message) => unshare(message),
            Self::Numbered(numbered) => unshare(numbered.message),
            Self::Bulky(bulky) => unshare(bulky.message),
        }
    }

    /// Returns the message itself, to be given to many.
    pub fn into_shared(self) -> Arc<AclMessage> {
        match self {
            Self::Owned(message) => Arc::from(message),
            Self::Shared(message) => message,
            Self::Numbered(numbered) => numbered.message,
            Self::Bulky(bulky) => bulky.message,
        }
    }

    /// Prepares the body for cloning to many receivers, without copying the message.
    #[must_use]
    pub fn for_many(self) -> Self {
        match self {
            Self::Owned(message) => Self::Shared(Arc::from(message)),
            Self::Numbered(numbered) if numbered.bulk > 0 => {
                Self::Bulky(Box::new(Bulky { bytes: numbered.bulk, message: numbered.message }))
            }
            Self::Numbered(numbered) => Self::Shared(numbered.message),
            shared => shared,
        }
    }

    /// Returns the message, if other envelopes may have it, too.
    pub fn shared(&self) -> Option<&Arc<AclMessage>> {
        match self {
            Self::Shared(message) => Some(message),
            Self::Bulky(bulky) => Some(&bulky.message),
            Self::Owned(_) | Self::Numbered(_) => None,
        }
    }

    /// Adds the size in memory, if it is [`BULKY_BYTES`] or more; mailboxes count it. Callers that pass on messages
    /// of others need this: such sizes depend on the content, and counting takes time in proportion to it.
    #[must_use]
    pub fn weighed(mut self) -> Self {
        if self.content.is_slight() && self.extras.is_none() {
            return self;
        }
        let bytes = self.footprint(BULKY_COUNTED_BYTES);
        if bytes < BULKY_BYTES {
            return self;
        }
        if let Self::Numbered(numbered) = &mut self {
            numbered.bulk = bytes;
            return self;
        }
        Self::Bulky(Box::new(Bulky { bytes, message: self.into_shared() }))
    }

    /// Bytes of memory that it takes, roughly, if it was found to be [`BULKY_BYTES`] or more; else 0.
    #[inline]
    pub fn bulk(&self) -> usize {
        match self {
            Self::Owned(_) | Self::Shared(_) => 0,
            Self::Numbered(numbered) => numbered.bulk,
            Self::Bulky(bulky) => bulky.bytes,
        }
    }

    /// Returns true unless the body carries its own size, or a number.
    #[inline]
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Owned(_) | Self::Shared(_))
    }
}

#[cold]
fn unshare(message: Arc<AclMessage>) -> Box<AclMessage> {
    Box::new(Arc::unwrap_or_clone(message))
}

impl std::ops::Deref for MessageBody {
    type Target = AclMessage;

    fn deref(&self) -> &AclMessage {
        match self {
            Self::Owned(message) => message,
            Self::Shared(message) => message,
            Self::Numbered(numbered) => &numbered.message,
            Self::Bulky(bulky) => &bulky.message,
        }
    }
}

impl Envelope {
    /// `message` on its way to each of its receivers, the body shared if there are several.
    #[inline]
    pub fn for_each_receiver(message: Box<AclMessage>, mut send: impl FnMut(Self)) {
        match message.receivers.as_slice() {
            [to] => send(Self { to: *to, body: MessageBody::Owned(message) }),
            _ => Self::for_each_of_many(message, send),
        }
    }

    /// Returns true if agents are listed in the order in which their names became known, which proves that none is
    /// there twice. Most lists are, and this check needs no set of names.
    pub fn names_ascend(agents: &[Aid]) -> bool {
        agents.is_sorted_by(|one, other| one.name.index() < other.name.index())
    }

    #[cold]
    fn for_each_of_many(mut message: Box<AclMessage>, mut send: impl FnMut(Self)) {
        message.name_each_once(sym::EMPTY);
        if let [to] = message.receivers.as_slice() {
            return send(Self { to: *to, body: MessageBody::Owned(message) });
        }
        while message.receivers.len() > MESSAGE_RECEIVERS_MAX {
            // Each receiver's copy names all receivers that share it, so lists are split to stay short.
            let rest = message.receivers.drain(MESSAGE_RECEIVERS_MAX..).collect();
            let next = Box::new(AclMessage { receivers: rest, ..(*message).clone() });
            Self::copies(MessageBody::Owned(message), &mut send);
            message = next;
        }
        Self::copies(MessageBody::Owned(message), send);
    }

    fn copies(body: MessageBody, mut send: impl FnMut(Self)) {
        let shared = body.for_many();
        for to in &shared.receivers {
            send(Self { to: *to, body: shared.clone() });
        }
    }

    /// Does as [`Envelope::for_each_receiver`], with a message that is [weighed](MessageBody::weighed).
    pub fn for_each_receiver_weighed(message: Box<AclMessage>, mut send: impl FnMut(Self)) {
        if message.receivers.len() != 1 {
            return Self::for_each_of_many_weighed(message, send);
        }
        let body = MessageBody::Owned(message).weighed();
        if let [to] = body.receivers.as_slice() {
            send(Self { to: *to, body });
        }
    }

    #[cold]
    fn for_each_of_many_weighed(message: Box<AclMessage>, mut send: impl FnMut(Self)) {
        let mut last: Option<(Arc<AclMessage>, MessageBody)> = None;
        Self::for_each_of_many(message, |Self { to, body }| {
            let Some(shared) = body.shared().map(Arc::clone) else { return send(Self { to, body: body.weighed() }) };
            let body = match &last {
                Some((known, weighed)) if Arc::ptr_eq(known, &shared) => weighed.clone(),
                _ => {
                    let weighed = body.weighed();
                    last = Some((shared, weighed.clone()));
                    weighed
                }
            };
            send(Self { to, body });
        });
    }
}

/// Removes agents that are named before; a name of the platform `home` is the same as that name alone.
#[cold]
fn keep_first_of_each(agents: &mut SmallVec<[Aid; 1]>, home: Symbol) {
    if Envelope::names_ascend(agents) {
        return;
    }
    let mut seen = FxHashSet::default();
    agents.retain(|agent| {
        let platform = if agent.platform == home { sym::EMPTY } else { agent.platform };
        seen.insert((agent.name, platform))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_message_is_small() {
        assert!(size_of::<AclMessage>() <= 88, "{}", size_of::<AclMessage>());
    }

    #[test]
    fn refilled_message_keeps_nothing() {
        let (amy, bob, eve) = (Aid::local("amy"), Aid::local("bob"), Aid::local("eve"));
        let before = AclMessage::new(Performative::Request, amy, bob, "now");
        for mut message in [before.clone(), before.to(eve).in_conversation("c1")] {
            message.refill(Performative::Inform, bob, eve, Value::Nil);
            assert_eq!(message, AclMessage::new(Performative::Inform, bob, eve, Value::Nil));
        }
    }

    #[test]
    fn alike_messages_differ_in_content_only() {
        let (amy, bob) = (Aid::local("amy"), Aid::local("bob"));
        let one = AclMessage::new(Performative::Inform, amy, bob, 1);
        assert!(one.is_alike(&one.clone().with_content("x")));
        assert_eq!(one.alike("x".into()), one.clone().with_content("x"));
        let elsewhere = crate::Contact { addresses: vec!["http://a".to_owned()], ..crate::Contact::default() };
        for other in [
            AclMessage::new(Performative::Request, amy, bob, 1),
            AclMessage::new(Performative::Inform, bob, bob, 1),
            AclMessage::new(Performative::Inform, amy.with_contact(elsewhere), bob, 1),
            AclMessage::new(Performative::Inform, amy, amy, 1),
            one.clone().to(amy),
            one.clone().in_conversation("c"),
        ] {
            assert!(!one.is_alike(&other) && !other.is_alike(&one), "{other:?}");
        }
        let to_two = one.to(amy);
        assert!(!to_two.is_alike(&to_two), "each receiver of many may be another one");
    }

    #[test]
    fn reply_quotes_and_honours_reply_to() {
        let (amy, bob, eve) = (Aid::local("amy"), Aid::local("bob"), Aid::local("eve"));
        let ask = AclMessage::new(Performative::Request, amy, bob, "now");
        assert_eq!(ask.make_reply(bob, Performative::Agree).receivers.as_slice(), [amy]);
        let mut ask = ask.in_conversation("c1").with_protocol("fipa-request").with_reply_with("r1");
        ask.extras_mut().reply_to.push(eve);
        let answer = ask.make_reply(bob, Performative::Agree);
        assert_eq!((answer.sender, answer.receivers.as_slice()), (bob, [eve].as_slice()));
        assert_eq!(answer.extras().in_reply_to.as_deref(), Some("r1"));
        assert_eq!(answer.extras().conversation_id.as_deref(), Some("c1"));
        assert_eq!(answer.extras().protocol, Some("fipa-request".into()));
        assert_eq!(answer.extras().reply_with, None);
    }

    #[test]
    fn weighed_bulky_message_knows_its_size() {
        let message =
            |text: String| Box::new(AclMessage::new(Performative::Inform, Aid::NOBODY, Aid::local("b"), text));
        let light = MessageBody::Owned(message("x".repeat(BULKY_BYTES / 2))).weighed();
        assert!(matches!(light, MessageBody::Owned(_)) && light.bulk() == 0);
        let bulky = MessageBody::Owned(message("x".repeat(100_000))).weighed();
        assert!(bulky.bulk() >= 100_000 && bulky.bulk() < 101_000);
        // Many small parts are much, too.
        let list = Value::list((0..10_000).map(Value::Int));
        let parts = MessageBody::Shared(Arc::from(message(String::new()))).into_message().with_content(list);
        let number = Numbered { number: 1, after: 0, replay_round: 1, bulk: 0, message: Arc::new(parts) };
        let numbered = MessageBody::Numbered(Box::new(number)).weighed();
        assert!(matches!(numbered, MessageBody::Numbered(_)) && numbered.bulk() > 100_000);
        assert_eq!(bulky.clone().into_message().content, bulky.content);
    }

    #[test]
    fn message_to_many_is_shared() {
        let mut message = AclMessage::new(Performative::Inform, Aid::local("a"), Aid::local("b"), 1.0);
        message.receivers.push(Aid::local("c"));
        let mut seen = Vec::new();
        Envelope::for_each_receiver(Box::new(message), |envelope| seen.push(envelope));
        assert_eq!(seen.len(), 2);
        assert!(seen.iter().all(|envelope| matches!(envelope.body, MessageBody::Shared(_))));
    }

    /// A way to split a message into one for each receiver.
    type Sender = fn(Box<AclMessage>, &mut dyn FnMut(Envelope));

    const SENDERS: [Sender; 2] = [
        |message, send| Envelope::for_each_receiver(message, send),
        |message, send| Envelope::for_each_receiver_weighed(message, send),
    ];

    fn addressed(names: impl IntoIterator<Item = String>) -> Box<AclMessage> {
        let receivers = names.into_iter().map(|name| name.parse().expect("a name")).collect();
        let content = Value::list(vec![Value::from(1); 1_000]);
        Box::new(AclMessage { receivers, ..AclMessage::new(Performative::Inform, Aid::NOBODY, Aid::NOBODY, content) })
    }

    #[test]
    fn repeated_receiver_gets_one_copy() {
        for send in SENDERS {
            let mut to = Vec::new();
            let names = ["ann", "bob", "ann", "bob@away", "bob", "ann"].map(String::from);
            send(addressed(names), &mut |envelope: Envelope| {
                to.push((envelope.to.to_string(), envelope.body.receivers.len()))
            });
            assert_eq!(to, [("ann".into(), 3), ("bob".into(), 3), ("bob@away".into(), 3)]);
        }
        let mut message = addressed(["ann@home", "ann", "bob@home"].map(String::from));
        message.extras_mut().reply_to = message.receivers.clone();
        message.name_each_once("home".into());
        assert_eq!((message.receivers.len(), message.extras().reply_to.len()), (2, 2));
    }

    #[test]
    fn many_receivers_share_short_lists() {
        for (send, bulky) in SENDERS.into_iter().zip([false, true]) {
            let names = (0..2 * MESSAGE_RECEIVERS_MAX + 1).map(|n| format!("a{n}"));
            let (message, mut to, mut shared) = (addressed(names), Vec::new(), Vec::<Arc<AclMessage>>::new());
            assert_eq!(message.excess_receivers(), Some(2 * MESSAGE_RECEIVERS_MAX + 1));
            let all = message.receivers.clone();
            send(message, &mut |envelope: Envelope| {
                assert!(envelope.body.receivers.len() <= MESSAGE_RECEIVERS_MAX);
                assert_eq!(matches!(envelope.body, MessageBody::Bulky(_)), bulky);
                let one = envelope.body.shared().expect("it is shared");
                if shared.last().is_none_or(|last| !Arc::ptr_eq(last, one)) {
                    shared.push(Arc::clone(one));
                }
                to.push(envelope.to);
            });
            assert!(to.as_slice() == all.as_slice() && shared.len() == 3);
        }
    }
}
