//! Component of an XMPP server (XEP-0114), as a state machine.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use sha1::{Digest, Sha1};
use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, NameAllowance, Symbol, Text, sym};
use whimbrel_platform::limits::{XMPP_QUESTIONS_MAX, XMPP_SENT_BYTES_MAX, XMPP_SENT_MAX, XMPP_STANZA_BYTES_MAX};

use super::element::{StanzaError, XmlElement};
use super::jid::Jid;
use super::message;
use super::presence::PresenceSubscriptions;
use super::stream::{StanzaReader, StreamItem};

const COMPONENTS: &str = "jabber:component:accept";
const STREAMS: &str = "http://etherx.jabber.org/streams";
const STANZAS: &str = "urn:ietf:params:xml:ns:xmpp-stanzas";
const PING: &str = "urn:xmpp:ping";
/// Resource of an agent here: it has one connection only.
const RESOURCE: &str = "whimbrel";

/// Agents of this platform, as the component sees them.
pub trait Residents {
    /// Returns the agent of this name; if there is none, the only one whose name differs in case alone.
    fn find(&mut self, name: &str) -> Option<Symbol>;
}

/// State of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentState {
    /// There is no connection.
    Apart,
    /// The server has not yet accepted the component.
    Opening,
    /// Stanzas may be sent.
    Ready,
}

/// Event of a component.
#[derive(Clone, Debug)]
pub enum ComponentEvent {
    /// The server accepted the component.
    Ready,
    /// A message came for an agent here.
    Came(Envelope),
    /// A message did not arrive: nobody has its address, or the server refused it. The text says why.
    Returned(Envelope, String),
    /// An agent elsewhere came (true) or went.
    Presence(Aid, bool),
    /// The connection is to be closed.
    End(XmppEnd),
}

/// Reason for the end of a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum XmppEnd {
    /// The server closed the stream.
    #[error("the XMPP server closed the connection")]
    Closed,
    /// The server sent an error of the stream.
    #[error("the XMPP server refused the connection: {0}")]
    Refused(String),
    /// Bytes of the server that are no stream of stanzas.
    #[error("the XMPP server sent something else than XMPP: {0}")]
    Malformed(#[from] StanzaError),
}

/// Component of an XMPP server.
///
/// Inputs are [`XmppComponent::handle_connected`], then the server's bytes ([`XmppComponent::handle_bytes`]), messages
/// of agents here ([`XmppComponent::handle_message`], only while it is ready), a look at who is there
/// ([`XmppComponent::handle_census`]) and the end of the connection ([`XmppComponent::handle_lost`]). After each of
/// them poll the events ([`XmppComponent::poll_event`]) and the bytes for the server ([`XmppComponent::poll_output`])
/// until there are none.
pub struct XmppComponent {
    domain: String,
    secret: String,
    state: ComponentState,
    reader: StanzaReader,
    output: String,
    events: VecDeque<ComponentEvent>,
    sent: SentMessages,
    /// Questions of agents here: those that may be asked back in `reply-with`, by thread.
    questions: FxHashSet<(Option<Text>, Text)>,
    question_order: VecDeque<(Option<Text>, Text)>,
    subscriptions: PresenceSubscriptions,
}

impl XmppComponent {
    /// Makes a component of this domain, which has this secret in common with the server.
    pub fn new(domain: &str, secret: &str) -> Self {
        Self {
            domain: domain.to_lowercase(),
            secret: secret.to_owned(),
            state: ComponentState::Apart,
            reader: StanzaReader::default(),
            output: String::new(),
            events: VecDeque::new(),
            sent: SentMessages::default(),
            questions: FxHashSet::default(),
            question_order: VecDeque::new(),
            subscriptions: PresenceSubscriptions::default(),
        }
    }

    /// Returns the state of the component.
    pub fn state(&self) -> ComponentState {
        self.state
    }

    /// Returns the domain of the agents here.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Begins a stream on a new connection.
    //= xep0114 3
    pub fn handle_connected(&mut self) {
        (self.state, self.reader) = (ComponentState::Opening, StanzaReader::default());
        self.output = format!("<?xml version='1.0'?><stream:stream xmlns='{COMPONENTS}' xmlns:stream='{STREAMS}' to='");
        super::element::escape(&mut self.output, &self.domain);
        self.output.push_str("'>");
    }

    /// Takes bytes of the server.
    pub fn handle_bytes(&mut self, bytes: &[u8], residents: &mut dyn Residents) {
        self.reader.handle_bytes(bytes);
        while self.state != ComponentState::Apart {
            match self.reader.poll_item() {
                Ok(Some(item)) => self.handle_item(item, residents),
                Ok(None) => break,
                Err(error) => self.end(error.into()),
            }
        }
    }

    /// Takes note that the connection is lost. Messages that may have been on their way come back.
    pub fn handle_lost(&mut self) {
        self.state = ComponentState::Apart;
        self.output.clear();
    }

    /// Sends a message of an agent here. Returns it if it cannot be sent, with the reason.
    pub fn handle_message(&mut self, message: Envelope) -> Result<(), (Envelope, String)> {
        if self.state != ComponentState::Ready {
            return Err((message, "there is no connection to the XMPP server".to_owned()));
        }
        let acl = &*message.body;
        let to = Jid::of_agent(message.to.name.as_str(), message.to.platform.as_str());
        let from = Jid { resource: Some(RESOURCE.to_owned()), ..self.jid(acl.sender) };
        let id = self.sent.next_id;
        let stanza =
            XmlElement { children: message::write(acl, message.to, &self.domain), ..XmlElement::new("message") }
                .with("type", "chat")
                .with("id", format!("w{id}"))
                .with("from", from.to_string())
                .with("to", to.to_string());
        let mut text = String::new();
        stanza.write(COMPONENTS, &mut text);
        if text.len() > XMPP_STANZA_BYTES_MAX {
            let why = format!(
                "as a stanza the message has {} bytes, more than the {XMPP_STANZA_BYTES_MAX} that servers take",
                text.len()
            );
            return Err((message, why));
        }
        self.note_question(acl);
        self.output.push_str(&text);
        self.sent.keep(message, text.len());
        Ok(())
    }

    /// Tells the subscribers of agents here that are there no more. Call it now and then, while the component is ready.
    pub fn handle_census(&mut self, residents: &mut dyn Residents) {
        for (agent, subscribers) in
            self.subscriptions.take_unless(|agent| residents.find(&agent.agent_name()).is_some())
        {
            for subscriber in subscribers {
                self.say_presence(&agent, &subscriber, Some("unavailable"));
            }
        }
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<ComponentEvent> {
        self.events.pop_front()
    }

    /// Returns bytes for the server.
    pub fn poll_output(&mut self) -> Option<String> {
        (!self.output.is_empty()).then(|| std::mem::take(&mut self.output))
    }

    fn jid(&self, agent: Aid) -> Jid {
        let domain = if agent.platform == sym::EMPTY { &self.domain } else { agent.platform.as_str() };
        Jid::of_agent(agent.name.as_str(), domain)
    }

    fn end(&mut self, why: XmppEnd) {
        self.state = ComponentState::Apart;
        self.events.push_back(ComponentEvent::End(why));
    }

    fn handle_item(&mut self, item: StreamItem, residents: &mut dyn Residents) {
        match item {
            StreamItem::Begin(begin) => self.shake_hands(begin.attribute("id").unwrap_or_default()),
            StreamItem::End => self.end(XmppEnd::Closed),
            StreamItem::Stanza(stanza) => match (stanza.name.as_str(), self.state) {
                ("error", _) if stanza.namespace != COMPONENTS || self.state == ComponentState::Opening => {
                    self.end(XmppEnd::Refused(condition(&stanza)));
                }
                ("handshake", ComponentState::Opening) => {
                    self.state = ComponentState::Ready;
                    self.events.push_back(ComponentEvent::Ready);
                }
                ("message", ComponentState::Ready) => self.handle_message_stanza(&stanza, residents),
                ("presence", ComponentState::Ready) => self.handle_presence(&stanza, residents),
                ("iq", ComponentState::Ready) => self.handle_iq(&stanza),
                _ => {}
            },
        }
    }

    /// Proves that the component knows the secret.
    //= xep0114 3
    fn shake_hands(&mut self, stream: &str) {
        let digest = Sha1::digest(format!("{stream}{}", self.secret));
        let proof = digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        self.write(&XmlElement::new("handshake").saying(proof));
    }

    fn write(&mut self, stanza: &XmlElement) {
        stanza.write(COMPONENTS, &mut self.output);
    }

    fn handle_message_stanza(&mut self, stanza: &XmlElement, residents: &mut dyn Residents) {
        let Some((from, to)) = parties(stanza) else { return };
        if stanza.attribute("type") == Some("error") {
            let id = stanza.attribute("id").and_then(|id| id.strip_prefix('w')?.parse::<u64>().ok());
            // The sender of an error is checked, so that nobody else can say that a message did not arrive.
            let is_receiver = |sent: &Envelope| self.jid(sent.to).folded() == from.folded();
            if let Some(id) = id.filter(|id| self.sent.get(*id).is_some_and(is_receiver))
                && let Some(sent) = self.sent.take(id)
            {
                let why = stanza.child("error").map(condition).unwrap_or_default();
                self.events.push_back(ComponentEvent::Returned(sent, format!("the XMPP server says {why}")));
            }
            return;
        }
        if stanza.child("body").is_none() && stanza.children.iter().all(|child| child.name != "x") {
            // Chat states, receipts and the like are for people's clients.
            return;
        }
        let receiver = residents.find(&to.agent_name());
        let (Some(sender), Some(receiver)) = (from.agent(), receiver) else {
            self.refuse(stanza, "service-unavailable");
            return;
        };
        let receiver = Aid::local(receiver);
        let mut acl = message::read(stanza, sender, receiver);
        if NameAllowance::is_refused() {
            self.refuse(stanza, "resource-constraint");
            return;
        }
        self.mend_answer(&mut acl);
        if acl.extras.is_some() {
            let extras = acl.extras_mut();
            extras.reply_to.iter_mut().for_each(|agent| *agent = at_home(*agent, &self.domain));
        }
        self.events.push_back(ComponentEvent::Came(Envelope { to: receiver, body: MessageBody::Owned(Box::new(acl)) }));
    }

    /// Remembers the `reply-with` of a message to an agent of SPADE.
    fn note_question(&mut self, message: &AclMessage) {
        let extras = message.extras();
        let Some(with) = &extras.reply_with else { return };
        let key = (extras.conversation_id.clone(), with.clone());
        if self.questions.insert(key.clone()) {
            self.question_order.push_back(key);
        }
        if self.question_order.len() > XMPP_QUESTIONS_MAX
            && let Some(oldest) = self.question_order.pop_front()
        {
            self.questions.remove(&oldest);
        }
    }

    /// Mends an answer that SPADE's `make_reply` made: it copies `reply-with`, and sets no `in-reply-to`.
    fn mend_answer(&self, message: &mut AclMessage) {
        let extras = message.extras();
        let (Some(with), None) = (&extras.reply_with, &extras.in_reply_to) else { return };
        if self.questions.contains(&(extras.conversation_id.clone(), with.clone())) {
            let extras = message.extras_mut();
            extras.in_reply_to = extras.reply_with.take();
        }
    }

    fn handle_presence(&mut self, stanza: &XmlElement, residents: &mut dyn Residents) {
        let Some((from, to)) = parties(stanza) else { return };
        let exists = residents.find(&to.agent_name()).is_some();
        let local = Jid { resource: None, ..to };
        match stanza.attribute("type") {
            Some("subscribe") if exists && self.subscriptions.add(&local, &from.bare()) => {
                self.say_presence(&local, &from.bare(), Some("subscribed"));
                self.say_presence(&local, &from.bare(), None);
            }
            Some("subscribe") => self.say_presence(&local, &from.bare(), Some("unsubscribed")),
            Some("unsubscribe") => {
                self.subscriptions.remove(&local, &from.bare());
                self.say_presence(&local, &from.bare(), Some("unsubscribed"));
            }
            Some("probe") => {
                let known = exists && self.subscriptions.add(&local, &from.bare());
                self.say_presence(&local, &from.to_string(), (!known).then_some("unavailable"));
            }
            None | Some("unavailable") => {
                let is_there = stanza.attribute("type").is_none();
                self.events.extend(from.agent().map(|agent| ComponentEvent::Presence(agent, is_there)));
            }
            _ => {}
        }
    }

    /// Sends presence of an agent here: of no kind, it is available.
    fn say_presence(&mut self, agent: &Jid, to: &str, kind: Option<&str>) {
        // PresenceSubscriptions are between agents; presence is of an agent's connection.
        let is_of_connection = matches!(kind, None | Some("unavailable"));
        let from = Jid { resource: is_of_connection.then(|| RESOURCE.to_owned()), ..agent.clone() };
        let stanza = XmlElement::new("presence").with("from", from.to_string()).with("to", to);
        self.write(&match kind {
            Some(kind) => stanza.with("type", kind),
            None => stanza,
        });
    }

    /// Answers a query: only pings are understood.
    fn handle_iq(&mut self, stanza: &XmlElement) {
        if !matches!(stanza.attribute("type"), Some("get" | "set")) {
            return;
        }
        if stanza.child("ping").is_some_and(|ping| ping.namespace == PING) {
            let answer = answer(stanza, "result");
            self.write(&answer);
        } else {
            self.refuse(stanza, "service-unavailable");
        }
    }

    /// Sends a stanza back with an error.
    fn refuse(&mut self, stanza: &XmlElement, why: &str) {
        let error = XmlElement::new("error").with("type", "cancel").containing(XmlElement::of(why, STANZAS));
        let answer = answer(stanza, "error").containing(error);
        self.write(&answer);
    }
}

/// Messages that were sent and may come back.
#[derive(Debug, Default)]
struct SentMessages {
    /// Messages by the number of their stanza, with the bytes of that.
    by_number: FxHashMap<u64, (Envelope, usize)>,
    /// Number of the oldest one that may be there, and of the next one.
    oldest: u64,
    next_id: u64,
    bytes: usize,
}

impl SentMessages {
    /// Keeps the next message, and forgets the oldest ones if there are too many.
    fn keep(&mut self, message: Envelope, bytes: usize) {
        self.by_number.insert(self.next_id, (message, bytes));
        (self.next_id, self.bytes) = (self.next_id + 1, self.bytes + bytes);
        while self.by_number.len() > XMPP_SENT_MAX || self.bytes > XMPP_SENT_BYTES_MAX {
            drop(self.take(self.oldest));
            self.oldest += 1;
        }
    }

    fn get(&self, id: u64) -> Option<&Envelope> {
        self.by_number.get(&id).map(|(message, _)| message)
    }

    fn take(&mut self, id: u64) -> Option<Envelope> {
        let (message, bytes) = self.by_number.remove(&id)?;
        self.bytes -= bytes;
        Some(message)
    }
}

/// Returns an agent of this domain as one of this platform.
fn at_home(agent: Aid, domain: &str) -> Aid {
    if agent.platform.as_str() == domain { Aid::local(agent.name) } else { agent }
}

/// Returns sender and receiver of a stanza, if they are agents.
fn parties(stanza: &XmlElement) -> Option<(Jid, Jid)> {
    let jid = |name: &str| stanza.attribute(name)?.parse::<Jid>().ok().filter(|jid| !jid.local.is_empty());
    jid("from").zip(jid("to"))
}

/// Begins the answer to a stanza.
fn answer(stanza: &XmlElement, kind: &str) -> XmlElement {
    let copied = [("from", "to"), ("to", "from"), ("id", "id")];
    copied.iter().fold(XmlElement::new(&stanza.name).with("type", kind), |answer, (name, of)| {
        match stanza.attribute(of) {
            Some(value) => answer.with(name, value),
            None => answer,
        }
    })
}

/// Returns the condition of an error, with its text if there is one.
fn condition(error: &XmlElement) -> String {
    let condition = error.children.iter().find(|child| child.name != "text").map_or("error", |child| &child.name);
    match error.child("text") {
        Some(text) if !text.text.is_empty() => format!("{condition}: {}", text.text),
        _ => condition.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::Performative;

    use super::*;

    struct Office;

    impl Residents for Office {
        fn find(&mut self, name: &str) -> Option<Symbol> {
            ["Seller", "clerk"].into_iter().find(|known| known.eq_ignore_ascii_case(name)).map(Symbol::new)
        }
    }

    struct EmptyOffice;

    impl Residents for EmptyOffice {
        fn find(&mut self, _name: &str) -> Option<Symbol> {
            None
        }
    }

    const BEGIN: &[u8] = b"<?xml version='1.0'?><stream:stream xmlns:stream='http://etherx.jabber.org/streams' \
                           xmlns='jabber:component:accept' from='w.localhost' id='3BF96D32'>";

    fn ready() -> XmppComponent {
        let mut component = XmppComponent::new("W.localhost", "hush");
        component.handle_connected();
        let begin = component.poll_output().unwrap();
        assert!(begin.contains("to='w.localhost'") && begin.contains("xmlns='jabber:component:accept'"), "{begin}");
        component.handle_bytes(BEGIN, &mut Office);
        // printf '3BF96D32hush' | sha1sum
        let proof = "<handshake>3ca4ebcf5bfc32173bd880cb93abca93cee28925</handshake>";
        assert_eq!(component.poll_output().as_deref(), Some(proof));
        component.handle_bytes(b"<handshake/>", &mut Office);
        assert!(matches!(component.poll_event(), Some(ComponentEvent::Ready)));
        assert_eq!(component.state(), ComponentState::Ready);
        component
    }

    /// Gives a component a stanza, and returns what it sends.
    fn given(component: &mut XmppComponent, stanza: &str) -> String {
        component.handle_bytes(stanza.as_bytes(), &mut Office);
        component.poll_output().unwrap_or_default()
    }

    fn to_bob(text: &str) -> Envelope {
        let bob = Aid::new("bob", "localhost");
        let message = AclMessage::new(Performative::QueryRef, Aid::local("Seller"), bob, text)
            .in_conversation("c-1")
            .with_reply_with("r-1");
        Envelope { to: bob, body: MessageBody::Owned(Box::new(message)) }
    }

    #[test]
    fn wrong_secret_is_said() {
        let mut component = XmppComponent::new("w.localhost", "wrong");
        component.handle_connected();
        component.handle_bytes(BEGIN, &mut Office);
        let error = "<stream:error><not-authorized xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>";
        component.handle_bytes(error.as_bytes(), &mut Office);
        let Some(ComponentEvent::End(end)) = component.poll_event() else { panic!("no end") };
        assert_eq!(end, XmppEnd::Refused("not-authorized".to_owned()));
        assert_eq!(component.state(), ComponentState::Apart);
    }

    #[test]
    fn messages_reach_agents_in_any_case() {
        let mut component = ready();
        let stanza = "<message from='bob@localhost/R' to='seller@w.localhost' type='chat'><body>hi</body></message>";
        assert_eq!(given(&mut component, stanza), "");
        let Some(ComponentEvent::Came(came)) = component.poll_event() else { panic!("no message") };
        let message = &*came.body;
        assert_eq!((came.to, message.sender.to_string().as_str()), (Aid::local("Seller"), "bob@localhost"));
        assert_eq!((message.content.as_str(), message.performative), (Some("hi"), Performative::Inform));
    }

    #[test]
    fn message_to_nobody_comes_back() {
        let mut component = ready();
        let stanza = "<message from='bob@localhost/R' to='eve@w.localhost' id='5'><body>hi</body></message>";
        assert_eq!(
            given(&mut component, stanza),
            "<message type='error' from='eve@w.localhost' to='bob@localhost/R' id='5'><error type='cancel'>\
             <service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>"
        );
        assert!(component.poll_event().is_none());
    }

    #[test]
    fn undelivered_message_is_returned_once() {
        let mut component = ready();
        component.handle_message(to_bob("price?")).unwrap();
        let written = component.poll_output().unwrap();
        assert!(
            written.starts_with("<message type='chat' id='w0' from='Seller@w.localhost/whimbrel' to='bob@localhost'>")
        );
        let error = |from: &str| {
            format!(
                "<message type='error' id='w0' from='{from}' to='seller@w.localhost/whimbrel'><error type='cancel'>\
                 <service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>"
            )
        };
        given(&mut component, &error("mallory@localhost"));
        assert!(component.poll_event().is_none());
        given(&mut component, &error("bob@localhost"));
        let Some(ComponentEvent::Returned(message, why)) = component.poll_event() else { panic!("nothing came back") };
        assert_eq!(
            (&*message.body, why.as_str()),
            (&*to_bob("price?").body, "the XMPP server says service-unavailable")
        );
        given(&mut component, &error("bob@localhost"));
        assert!(component.poll_event().is_none());
    }

    #[test]
    fn answer_of_spade_is_mended() {
        let mut component = ready();
        component.handle_message(to_bob("price?")).unwrap();
        given(
            &mut component,
            "<message from='bob@localhost/R' to='seller@w.localhost'><body>7</body><x xmlns='jabber:x:data' type='form'>\
             <title>spade:x:metadata</title><field var='reply-with'><value>r-1</value></field>\
             <field var='_thread_node'><value>c-1</value></field></x></message>",
        );
        let Some(ComponentEvent::Came(came)) = component.poll_event() else { panic!("no message") };
        let extras = came.body.extras();
        assert_eq!((extras.in_reply_to.as_deref(), extras.reply_with.as_deref()), (Some("r-1"), None));
    }

    #[test]
    fn presence_is_told_to_subscribers() {
        let mut component = ready();
        let said = given(&mut component, "<presence from='bob@localhost' to='seller@w.localhost' type='subscribe'/>");
        assert_eq!(
            said,
            "<presence from='seller@w.localhost' to='bob@localhost' type='subscribed'/>\
             <presence from='seller@w.localhost/whimbrel' to='bob@localhost'/>"
        );
        let said = given(&mut component, "<presence from='bob@localhost' to='eve@w.localhost' type='subscribe'/>");
        assert_eq!(said, "<presence from='eve@w.localhost' to='bob@localhost' type='unsubscribed'/>");
        given(&mut component, "<presence from='bob@localhost/R' to='seller@w.localhost'/>");
        let Some(ComponentEvent::Presence(bob, true)) = component.poll_event() else { panic!("no presence") };
        assert_eq!(bob, Aid::new("bob", "localhost"));
        component.handle_census(&mut Office);
        assert_eq!(component.poll_output(), None);
        component.handle_census(&mut EmptyOffice);
        let ended = component.poll_output().unwrap_or_default();
        assert!(ended.contains("to='bob@localhost' type='unavailable'"), "{ended}");
        component.handle_census(&mut EmptyOffice);
        assert_eq!(component.poll_output(), None);
        given(&mut component, "<presence from='bob@localhost/R' to='seller@w.localhost' type='probe'/>");
        let said = given(&mut component, "<presence from='bob@localhost' to='seller@w.localhost' type='unsubscribe'/>");
        assert!(said.contains("type='unsubscribed'"), "{said}");
        component.handle_census(&mut EmptyOffice);
        assert_eq!(component.poll_output(), None);
    }

    #[test]
    fn queries_are_answered() {
        let mut component = ready();
        let ping = "<iq from='localhost' to='w.localhost' id='p' type='get'><ping xmlns='urn:xmpp:ping'/></iq>";
        assert_eq!(given(&mut component, ping), "<iq type='result' from='w.localhost' to='localhost' id='p'/>");
        let other = "<iq from='localhost' to='w.localhost' id='q' type='get'><query xmlns='x'/></iq>";
        assert!(given(&mut component, other).contains("service-unavailable"));
        assert_eq!(given(&mut component, "<iq from='localhost' to='w.localhost' id='p' type='result'/>"), "");
    }

    #[test]
    fn message_without_connection_is_given_back() {
        let mut component = ready();
        component.handle_bytes(b"</stream:stream>", &mut Office);
        assert!(matches!(component.poll_event(), Some(ComponentEvent::End(XmppEnd::Closed))));
        let (returned, why) = component.handle_message(to_bob("hi")).unwrap_err();
        assert_eq!((&*returned.body, why.as_str()), (&*to_bob("hi").body, "there is no connection to the XMPP server"));
        component.handle_connected();
        component.handle_lost();
        assert_eq!(component.poll_output(), None);
    }
}
