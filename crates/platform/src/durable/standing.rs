//! What the platform knows of a durable agent beside its mind, as it is written to a journal.

use whimbrel_acl::compact::{self, Decode, DecodeError, Encode, EncodeError};
use whimbrel_acl::{AclMessage, Symbol, Value};

use super::record::{Record, encode_frame};
use crate::ams::AgentState;
use crate::df::{DfDescription, NoticeForm};

/// What the platform knows of an agent beside its name and kind.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Standing {
    /// Which.
    pub agent: Symbol,
    /// The number of the last message it had sent: tells it from others of its name, as in a [`Step`](super::Step).
    pub last: u64,
    /// Its entry in the DF.
    pub entry: Option<DfDescription>,
    /// When the entry's lease ends, in milliseconds since 1970-01-01 UTC; `None` if it lasts as long as the agent.
    pub expires_ms: Option<u64>,
    /// What it wants to be told of by the DF, the oldest first.
    pub subscriptions: Vec<DfSubscription>,
    /// The topics and groups it is in, in the order in which it came.
    pub places: Vec<Symbol>,
    /// Whether the AMS gives it turns.
    pub state: AgentState,
}

/// A subscription to the DF.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct DfSubscription {
    /// Which entries it is about.
    pub template: DfDescription,
    /// The `inform` to send, as a document of the compact codec, its content the search action subscribed to
    /// ([`NoticeForm::Fipa`]); empty for [`NoticeForm::Provider`].
    pub inform: Vec<u8>,
}

impl DfSubscription {
    /// A subscription, written down.
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

    /// How its subscriber is told.
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

impl Standing {
    /// What is known of an agent of which nothing is to be known.
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

    /// Whether that is so.
    pub fn is_plain(&self) -> bool {
        *self == Self::plain(self.agent)
    }

    /// The same without the descriptions that are nested too deeply to be written.
    #[must_use]
    pub fn writable(self) -> Self {
        // Names always can.
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

    /// Bytes that it takes in a frame.
    pub fn size(&self) -> usize {
        let mut bytes = Vec::new();
        compact::encode_body_of(self, &mut bytes).map_or(0, |()| bytes.len())
    }

    fn can_be_written(&self) -> bool {
        encode_frame(&vec![Record::Standing(self.clone())], &mut Vec::new()).is_ok()
    }
}
