//! Registrations of a durable agent with the platform, as a journal keeps them.

use whimbrel_acl::compact::{self, Decode, DecodeError, Encode, EncodeError};
use whimbrel_acl::{AclMessage, Symbol, Value};

use super::record::{Record, encode_frame};
use crate::ams::AgentState;
use crate::df::{DfDescription, NoticeForm};

/// Registrations of an agent with the platform: DF entry, subscriptions, groups, and state in the AMS.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[compact(name = "Standing")]
pub struct Registration {
    /// Agent that is registered.
    pub agent: Symbol,
    /// Number of the last message that the agent had sent: tells it from others of its name, as in a
    /// [`Step`](super::Step).
    pub last: u64,
    /// Entry of the agent in the DF.
    pub entry: Option<DfDescription>,
    /// End of the entry's lease, in milliseconds since 1970-01-01 UTC; `None` if it lasts as long as the agent.
    pub expires_ms: Option<u64>,
    /// Subscriptions of the agent to the DF, the oldest first.
    pub subscriptions: Vec<DfSubscription>,
    /// Topics and groups of the agent, in the order in which it joined them.
    pub places: Vec<Symbol>,
    /// State of the agent in the AMS.
    pub state: AgentState,
}

/// Subscription to the DF.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct DfSubscription {
    /// Template of the entries that the subscriber is told of.
    pub template: DfDescription,
    /// `inform` to send, as a document of the compact codec. Its content is the search action subscribed to
    /// ([`NoticeForm::Fipa`]). Empty for [`NoticeForm::Provider`].
    pub inform: Vec<u8>,
}

impl DfSubscription {
    /// Returns the record of a subscription.
    ///
    /// # Errors
    /// The search action is nested too deeply.
    pub fn of(template: &DfDescription, form: &NoticeForm) -> Result<Self, EncodeError> {
        let mut bytes = Vec::new();
        if let NoticeForm::Fipa { inform, action } = form {
            compact::encode_message(&AclMessage { content: action.clone(), ..(**inform).clone() }, &mut bytes)?;
        }
        Ok(Self { template: template.clone(), inform: bytes })
    }

    /// Returns the form of the subscriber's notices.
    ///
    /// # Errors
    /// The bytes are no message.
    pub fn form(&self) -> Result<NoticeForm, DecodeError> {
        if self.inform.is_empty() {
            return Ok(NoticeForm::Provider);
        }
        let mut inform = compact::decode_message(&self.inform)?;
        let action = std::mem::replace(&mut inform.content, Value::Null);
        Ok(NoticeForm::Fipa { inform: Box::new(inform), action })
    }
}

impl Registration {
    /// Returns the registrations of an agent that has none.
    pub fn plain(agent: Symbol) -> Self {
        Self {
            agent,
            last: 0,
            entry: None,
            expires_ms: None,
            subscriptions: Vec::new(),
            places: Vec::new(),
            state: AgentState::Active,
        }
    }

    /// Returns true if the agent has no registrations.
    pub fn is_plain(&self) -> bool {
        *self == Self::plain(self.agent)
    }

    /// Returns the registrations without descriptions that are nested too deeply to be written.
    #[must_use]
    pub fn writable(self) -> Self {
        // Names alone can always be written.
        let has_descriptions = self.entry.is_some() || !self.subscriptions.is_empty();
        if !has_descriptions || self.can_be_written() {
            return self;
        }
        let Self { entry, subscriptions, .. } = self;
        let bare = Self { entry: None, subscriptions: Vec::new(), ..self };
        let alone = |subscription: DfSubscription| Self { subscriptions: vec![subscription], ..bare.clone() };
        let fits = |subscription: &DfSubscription| alone(subscription.clone()).can_be_written();
        let entry = entry.filter(|entry| Self { entry: Some(entry.clone()), ..bare.clone() }.can_be_written());
        let subscriptions = subscriptions.into_iter().filter(fits).collect();
        Self { entry, subscriptions, ..bare }
    }

    /// Returns the number of bytes in a frame.
    pub fn size(&self) -> usize {
        let mut bytes = Vec::new();
        compact::encode_body_of(self, &mut bytes).map_or(0, |()| bytes.len())
    }

    fn can_be_written(&self) -> bool {
        encode_frame(&vec![Record::Registration(self.clone())], &mut Vec::new()).is_ok()
    }
}
