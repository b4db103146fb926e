//! Initiator of a contract net.

use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Text, Value};

use super::dialogue::SayError;
use super::dialogues::JudgedMessage;
use super::table::Protocol;
use super::talk::Talk;

/// Initiator of a contract net (FIPA00029), or of an iterated one (FIPA00030).
///
/// Inputs are received messages ([`take`](Self::take)) and the time ([`handle_timeout`](Self::handle_timeout)).
/// Commands are [`call`](Self::call), [`award`](Self::award) and [`cancel`](Self::cancel). Outputs are messages to send
/// ([`poll_message`](Self::poll_message)), the next deadline ([`poll_timeout`](Self::poll_timeout)),
/// [`proposals`](Self::proposals) once a call is answered, and [`outcomes`](Self::outcomes) at the end. Call `call`
/// first, then `award`; an iterated net may call several times. `now_ms` is the time, in milliseconds since 1970.
///
/// ```
/// use whimbrel_acl::{Aid, Performative, Symbol, Value};
/// use whimbrel_platform::protocols::ContractNet;
///
/// let (ivan, ada, bob) = (Aid::local("ivan"), Aid::local("ada"), Aid::local("bob"));
/// let mut net = ContractNet::new(ivan, Symbol::new("home"), "c1", [ada, bob]);
/// net.call(&Value::from("fence"), Some(1_000), 0)?;
/// let calls: Vec<_> = std::iter::from_fn(|| net.poll_message()).collect();
/// for (call, price) in calls.iter().zip([40, 35]) {
///     let offer = call.make_reply(call.receivers[0], Performative::Propose).with_content(price);
///     net.take(&offer, 500);
/// }
/// let best = net.proposals().unwrap().into_iter().min_by_key(|offer| offer.content.to_string()).unwrap().sender;
/// net.award(&[best], &Value::from("fence"), Some(5_000), 600)?;
/// assert_eq!((best, net.state(ada), net.state(bob)), (bob, "rejected", "accepted"));
/// # Ok::<(), whimbrel_platform::protocols::SayError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ContractNet {
    talk: Talk,
}

/// Outcome of one agent's part in a contract net.
#[derive(Clone, Debug)]
pub struct ContractOutcome<'n> {
    /// Agent.
    pub agent: Aid,
    /// End of the conversation with it: `done`, `failed`, `refused`, `rejected`, `silent`, ...
    pub end: &'static str,
    /// Newest message of the agent: the result, if the end is `done`.
    pub last: Option<&'n AclMessage>,
}

impl ContractNet {
    /// Returns a contract net of the agent `me` on the platform `home`.
    pub fn new(me: Aid, home: Symbol, conversation: impl Into<Text>, bidders: impl IntoIterator<Item = Aid>) -> Self {
        Self::of("fipa-contract-net", me, home, conversation.into(), bidders)
    }

    /// Returns a contract net in rounds.
    pub fn iterated(
        me: Aid,
        home: Symbol,
        conversation: impl Into<Text>,
        bidders: impl IntoIterator<Item = Aid>,
    ) -> Self {
        Self::of("fipa-iterated-contract-net", me, home, conversation.into(), bidders)
    }

    fn of(protocol: &str, me: Aid, home: Symbol, conversation: Text, bidders: impl IntoIterator<Item = Aid>) -> Self {
        Self { talk: Talk::new(me, home, Protocol::known(protocol), conversation, bidders) }
    }

    /// Calls for proposals until `reply_by_ms`: all bidders, or in later rounds those that proposed.
    ///
    /// # Errors
    /// The protocol does not allow it.
    pub fn call(&mut self, task: &Value, reply_by_ms: Option<u64>, now_ms: u64) -> Result<(), SayError> {
        self.handle_timeout(now_ms);
        let to = self.talk.among(&["start", "proposed"]);
        self.talk.say(&to, Performative::Cfp, task, reply_by_ms, now_ms)
    }

    /// Returns the proposals, if no bidder owes an answer any more.
    pub fn proposals(&self) -> Option<Vec<&AclMessage>> {
        let is_answered = self.talk.among(&["start", "called"]).is_empty();
        is_answered.then(|| self.talk.among(&["proposed"]).iter().filter_map(|one| self.talk.last(*one)).collect())
    }

    /// Accepts the proposals of some agents, which have to deliver by `reply_by_ms`, and rejects all others.
    ///
    /// # Errors
    /// One of them has no proposal that could be accepted, maybe because its deadline has passed: nothing is sent.
    pub fn award(
        &mut self,
        winners: &[Aid],
        task: &Value,
        reply_by_ms: Option<u64>,
        now_ms: u64,
    ) -> Result<(), SayError> {
        self.talk.say(winners, Performative::AcceptProposal, task, reply_by_ms, now_ms)?;
        let losers = self.talk.among(&["proposed"]);
        self.talk.say(&losers, Performative::RejectProposal, task, None, now_ms)
    }

    /// Cancels the contract net.
    ///
    /// # Errors
    /// A cancel is not allowed.
    pub fn cancel(&mut self, reply_by_ms: Option<u64>, now_ms: u64) -> Result<(), SayError> {
        self.talk.cancel(reply_by_ms, now_ms)
    }

    /// Takes a message. `None` if it belongs to another conversation.
    pub fn take(&mut self, message: &AclMessage, now_ms: u64) -> Option<JudgedMessage> {
        self.talk.take(message, now_ms)
    }

    /// Handles the passing of time.
    pub fn handle_timeout(&mut self, now_ms: u64) {
        self.talk.handle_timeout(now_ms);
    }

    /// Returns the next deadline, in milliseconds since 1970.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.talk.poll_timeout()
    }

    /// Returns the next message to send.
    pub fn poll_message(&mut self) -> Option<AclMessage> {
        self.talk.poll_message()
    }

    /// Returns the state of the conversation with a bidder.
    pub fn state(&self, bidder: Aid) -> &'static str {
        self.talk.state(bidder)
    }

    /// Returns the outcome for each bidder, if the contract net is over.
    pub fn outcomes(&self) -> Option<Vec<ContractOutcome<'_>>> {
        let outcome =
            |agent: &Aid| ContractOutcome { agent: *agent, end: self.talk.state(*agent), last: self.talk.last(*agent) };
        self.talk.is_over().then(|| self.talk.others().iter().map(outcome).collect())
    }
}
