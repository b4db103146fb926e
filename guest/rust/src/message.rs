//! Messages between agents: ACL messages (FIPA00061), and templates that select some of them.

use crate::value::Value;

macro_rules! performatives {
    ($($name:ident = $text:literal : $what:literal,)*) => {
        /// Performative of a message: one of the 22 communicative acts of FIPA00037, or another by name.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Performative {
            $(#[doc = $what] $name,)*
            /// Performative outside of FIPA00037, such as AgentSpeak's `tell`.
            Other(String),
        }

        impl Performative {
            const FIPA: &[(Self, &str)] = &[$((Self::$name, $text)),*];

            /// Returns the name, as FIPA00037 writes it.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Other(name) => name,
                }
            }
        }
    };
}

performatives! {
    AcceptProposal = "accept-proposal": "Accepts a proposal made before to perform an action.",
    Agree = "agree": "Agrees to perform an action, possibly in the future.",
    Cancel = "cancel": "No longer wants an action performed that was requested before.",
    Cfp = "cfp": "Calls for proposals to perform an action.",
    Confirm = "confirm": "Tells a receiver known to be uncertain that a proposition is true.",
    Disconfirm = "disconfirm": "Tells a receiver known to believe it that a proposition is false.",
    Failure = "failure": "An action was attempted and failed.",
    Inform = "inform": "A proposition is true.",
    InformIf = "inform-if": "Asks (as an action) to be told whether a proposition is true.",
    InformRef = "inform-ref": "Asks (as an action) to be told the object that matches a description.",
    NotUnderstood = "not-understood": "A message received was not understood.",
    Propagate = "propagate": "Asks to treat the embedded message as sent directly, and to pass it on.",
    Propose = "propose": "Proposes to perform an action, given preconditions.",
    Proxy = "proxy": "Asks to send the embedded message to the agents described.",
    QueryIf = "query-if": "Asks whether a proposition is true.",
    QueryRef = "query-ref": "Asks for the object that matches a description.",
    Refuse = "refuse": "Refuses to perform an action, with the reason.",
    RejectProposal = "reject-proposal": "Rejects a proposal during a negotiation.",
    Request = "request": "Asks the receiver to perform an action.",
    RequestWhen = "request-when": "Asks to perform an action when a proposition becomes true.",
    RequestWhenever = "request-whenever": "Asks to perform an action each time a proposition becomes true.",
    Subscribe = "subscribe": "Asks to be told the value of a reference, and again whenever it changes.",
}

impl Performative {
    /// Returns the performative of this name: FIPA's if it is one of the 22.
    pub fn named(name: &str) -> Self {
        let known = Self::FIPA.iter().find(|(_, text)| *text == name);
        known.map_or_else(|| Self::Other(name.to_owned()), |(performative, _)| performative.clone())
    }

    /// Returns the number in FIPA00037's order; `None` for others.
    pub(crate) fn number(&self) -> Option<u8> {
        Self::FIPA.iter().position(|(known, _)| known == self).map(|at| at as u8)
    }

    pub(crate) fn numbered(number: u8) -> Option<Self> {
        Self::FIPA.get(usize::from(number)).map(|(performative, _)| performative.clone())
    }
}

impl std::fmt::Display for Performative {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An ACL message. Agents are named `agent@platform`, or `agent` alone on one's own platform; topics and groups
/// (`topic:weather`, `any:workers`) are receivers, too.
///
/// ```
/// use whimbrel_guest::{Message, Performative};
/// let order = Message::new(Performative::Request, "cook", "soup").in_conversation("table-4");
/// assert_eq!(order.content.as_str(), Some("soup"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Performative.
    pub performative: Performative,
    /// Sender. An agent's messages are always from itself.
    pub sender: String,
    /// Receivers.
    pub receivers: Vec<String>,
    /// Content.
    pub content: Value,
    /// `:conversation-id`.
    pub conversation: Option<String>,
    /// `:reply-with`: a text that replies must quote.
    pub reply_with: Option<String>,
    /// `:in-reply-to`: the quoted `:reply-with`.
    pub in_reply_to: Option<String>,
    /// `:ontology`.
    pub ontology: Option<String>,
    /// `:language` of the content.
    pub language: Option<String>,
    /// `:protocol`: the interaction protocol.
    pub protocol: Option<String>,
    /// `:encoding` of the content.
    pub encoding: Option<String>,
    /// `:reply-by`, in milliseconds since 1970.
    pub reply_by_ms: Option<i64>,
    /// `:reply-to`: the receivers of replies, instead of the sender.
    pub reply_to: Vec<String>,
    /// Parameters of the user's own.
    pub user: Vec<(String, Value)>,
}

impl Default for Message {
    fn default() -> Self {
        Self {
            performative: Performative::Inform,
            sender: String::new(),
            receivers: Vec::new(),
            content: Value::Null,
            conversation: None,
            reply_with: None,
            in_reply_to: None,
            ontology: None,
            language: None,
            protocol: None,
            encoding: None,
            reply_by_ms: None,
            reply_to: Vec::new(),
            user: Vec::new(),
        }
    }
}

impl Message {
    /// Makes a message to `receiver`.
    pub fn new(performative: Performative, receiver: impl Into<String>, content: impl Into<Value>) -> Self {
        Self { performative, receivers: vec![receiver.into()], content: content.into(), ..Self::default() }
    }

    /// Makes an `inform` to `receiver`.
    pub fn inform(receiver: impl Into<String>, content: impl Into<Value>) -> Self {
        Self::new(Performative::Inform, receiver, content)
    }

    /// Makes a `request` to `receiver`.
    pub fn request(receiver: impl Into<String>, content: impl Into<Value>) -> Self {
        Self::new(Performative::Request, receiver, content)
    }

    /// Makes the reply to this message: to its `:reply-to` or sender, in its conversation, protocol, ontology, language
    /// and encoding, quoting its `:reply-with` (FIPA00061 2.5).
    #[must_use]
    pub fn reply(&self, performative: Performative, content: impl Into<Value>) -> Self {
        let receivers = if self.reply_to.is_empty() { vec![self.sender.clone()] } else { self.reply_to.clone() };
        Self {
            performative,
            receivers,
            content: content.into(),
            conversation: self.conversation.clone(),
            in_reply_to: self.reply_with.clone(),
            ontology: self.ontology.clone(),
            language: self.language.clone(),
            protocol: self.protocol.clone(),
            encoding: self.encoding.clone(),
            ..Self::default()
        }
    }

    /// Adds a receiver.
    #[must_use]
    pub fn to(mut self, receiver: impl Into<String>) -> Self {
        self.receivers.push(receiver.into());
        self
    }

    /// Sets the conversation.
    #[must_use]
    pub fn in_conversation(mut self, id: impl Into<String>) -> Self {
        self.conversation = Some(id.into());
        self
    }

    /// Sets the interaction protocol.
    #[must_use]
    pub fn with_protocol(mut self, protocol: impl Into<String>) -> Self {
        self.protocol = Some(protocol.into());
        self
    }

    /// Sets the ontology.
    #[must_use]
    pub fn with_ontology(mut self, ontology: impl Into<String>) -> Self {
        self.ontology = Some(ontology.into());
        self
    }
}

/// Template that selects messages: those that have everything that is set.
///
/// ```
/// use whimbrel_guest::{Message, Performative, Template};
/// let answers = Template::performative(Performative::Inform).in_conversation("table-4");
/// assert!(answers.fits(&Message::inform("waiter", "done").in_conversation("table-4")));
/// assert!(!answers.fits(&Message::inform("waiter", "done")));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    pub(crate) performative: Option<Performative>,
    /// Boxed, since a future that waits for the template is moved about, and each place where it was travels with the
    /// agent.
    pub(crate) fields: Box<Message>,
}

impl Template {
    /// Makes a template of all messages.
    pub fn any() -> Self {
        Self::default()
    }

    /// Makes a template of messages with this performative.
    pub fn performative(performative: Performative) -> Self {
        Self { performative: Some(performative), ..Self::default() }
    }

    /// Makes a template of replies to the message with this `:reply-with`.
    pub fn in_reply_to(id: impl Into<String>) -> Self {
        let mut template = Self::default();
        template.fields.in_reply_to = Some(id.into());
        template
    }

    /// Requires this sender, named in full: `agent@platform`.
    #[must_use]
    pub fn from(mut self, sender: impl Into<String>) -> Self {
        self.fields.sender = sender.into();
        self
    }

    /// Requires this conversation.
    #[must_use]
    pub fn in_conversation(mut self, id: impl Into<String>) -> Self {
        self.fields.conversation = Some(id.into());
        self
    }

    /// Requires this interaction protocol.
    #[must_use]
    pub fn with_protocol(mut self, protocol: impl Into<String>) -> Self {
        self.fields.protocol = Some(protocol.into());
        self
    }

    /// Requires this ontology.
    #[must_use]
    pub fn with_ontology(mut self, ontology: impl Into<String>) -> Self {
        self.fields.ontology = Some(ontology.into());
        self
    }

    /// Requires this content language.
    #[must_use]
    pub fn in_language(mut self, language: impl Into<String>) -> Self {
        self.fields.language = Some(language.into());
        self
    }

    /// Requires this agent, topic or group among the receivers.
    #[must_use]
    pub fn to(mut self, receiver: impl Into<String>) -> Self {
        self.fields.receivers.push(receiver.into());
        self
    }

    /// Returns true if the template selects `message`.
    pub fn fits(&self, message: &Message) -> bool {
        let wanted = &self.fields;
        let same = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        self.performative.as_ref().is_none_or(|performative| *performative == message.performative)
            && (wanted.sender.is_empty() || wanted.sender == message.sender)
            && wanted.receivers.iter().all(|receiver| message.receivers.contains(receiver))
            && same(&wanted.conversation, &message.conversation)
            && same(&wanted.in_reply_to, &message.in_reply_to)
            && same(&wanted.protocol, &message.protocol)
            && same(&wanted.ontology, &message.ontology)
            && same(&wanted.language, &message.language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_go_to_reply_to() {
        let mut asked = Message::request("cook", "soup").in_conversation("c1").with_protocol("fipa-request");
        asked.sender = "waiter@inn".into();
        asked.reply_with = Some("r1".into());
        let answer = asked.reply(Performative::Agree, Value::Null);
        assert_eq!(answer.receivers, ["waiter@inn"]);
        assert_eq!((answer.conversation.as_deref(), answer.in_reply_to.as_deref()), (Some("c1"), Some("r1")));
        assert_eq!((answer.protocol.as_deref(), answer.reply_with), (Some("fipa-request"), None));
        asked.reply_to = vec!["till@inn".into()];
        assert_eq!(asked.reply(Performative::Agree, Value::Null).receivers, ["till@inn"]);
    }

    #[test]
    fn performatives_have_fipas_numbers() {
        assert_eq!(Performative::AcceptProposal.number(), Some(0));
        assert_eq!(Performative::Subscribe.number(), Some(21));
        assert_eq!(Performative::named("not-understood"), Performative::NotUnderstood);
        assert_eq!(Performative::named("tell"), Performative::Other("tell".into()));
        assert_eq!(Performative::numbered(22), None);
    }

    #[test]
    fn templates_fit_all_named_fields() {
        let mut message = Message::inform("amy", 1).in_conversation("c1");
        message.sender = "bob@home".into();
        assert!(Template::any().fits(&message));
        assert!(Template::performative(Performative::Inform).in_conversation("c1").from("bob@home").fits(&message));
        assert!(!Template::performative(Performative::Request).fits(&message));
        assert!(!Template::any().from("eve@home").fits(&message));
        assert!(!Template::in_reply_to("r1").fits(&message));
        assert!(Template::any().to("amy").fits(&message) && !Template::any().to("eve").fits(&message));
    }
}
