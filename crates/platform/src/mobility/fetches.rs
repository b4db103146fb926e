//! Code fetches: a node that lacks an agent's code gets it from the node that the agent leaves.
//!
//! [`Fetches`] is a state machine without I/O. Each code is looked for and fetched once, however many agents with it
//! arrive; the others wait. The node that is asked is that of one waiting agent, its *bearer*, because no other node
//! may have the code. If that node is lost, fails, or gives something else, the next one is asked. The driver checks
//! the bytes when it carries out [`FetchStep::Admit`]: they must have the hash that was asked for.

use std::collections::VecDeque;
use std::time::Duration;

use whimbrel_acl::compact::{Decode, Encode};

use super::HopId;
use crate::Time;
use crate::durable::CodeHash;
use crate::limits::{CODE_BYTES_MAX, CODE_FETCH_MS, CODE_FETCHES_MAX, CODE_PART_BYTES, CODE_PART_MS};
use crate::route::NodeId;

/// Agent that arrives from this node by this hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InboundHop {
    /// Node of the agent.
    pub node: NodeId,
    /// Hop.
    pub hop: HopId,
}

/// Part of an agent's code, or of its state.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Part {
    /// Offset of the part, in bytes.
    pub at: u64,
    /// Bytes of the whole; 0 if the whole is not available.
    pub of: u64,
    /// Bytes of the part.
    pub bytes: Vec<u8>,
}

impl Part {
    /// Returns the part from this offset on, with this number of bytes at most.
    pub fn of(all: &[u8], at: u64, bytes_max: usize) -> Self {
        let from = usize::try_from(at).unwrap_or(usize::MAX).min(all.len());
        let to = all.len().min(from.saturating_add(bytes_max));
        Self { at, of: all.len() as u64, bytes: all.get(from..to).unwrap_or_default().to_vec() }
    }

    /// Returns the part that says that the code is not available.
    pub fn none(at: u64) -> Self {
        Self { at, of: 0, bytes: Vec::new() }
    }
}

/// Reason why an agent that arrives has no code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// Source without the code, or code too large to travel.
    #[error("the node that it comes from cannot give its code")]
    None,
    /// Code larger than [`CODE_BYTES_MAX`].
    #[error("its code has {0} bytes: at most {CODE_BYTES_MAX}")]
    TooLarge(u64),
    /// Bytes that are no part of a code that is due.
    #[error("the parts of its code do not fit together")]
    Malformed,
    /// Code with another hash.
    #[error("its code does not match its hash")]
    WrongHash,
    /// Source that took too long.
    #[error("its code did not come in time")]
    Late,
    /// Too many fetches already: [`CODE_FETCHES_MAX`].
    #[error("too many programs are fetched already")]
    TooMany,
    /// Code with the right hash that cannot run here.
    #[error("its code cannot be run here: {0}")]
    Inadmissible(String),
}

/// Step of a fetch for its driver.
#[derive(Clone, Debug, PartialEq)]
pub enum FetchStep {
    /// Look for the code among that of earlier times, then call [`Fetches::handle_looked`].
    Look(CodeHash, InboundHop),
    /// Ask a node for a part of the code, from this byte on, then call [`Fetches::handle_part`].
    Ask(InboundHop, u64),
    /// Check that these bytes have that hash and can run, then call [`Fetches::handle_admitted`].
    Admit(CodeHash, InboundHop, Vec<u8>),
    /// Make this agent: its code is here.
    Go(InboundHop),
    /// Refuse this agent: there is no code for it.
    Refuse(InboundHop, FetchError),
}

/// Code fetches of a node, as a state machine; see the module.
///
/// Inputs: [`Fetches::handle_wanted`] for each agent whose code is missing, [`Fetches::handle_cancelled`] and
/// [`Fetches::handle_lost`] for agents that no longer arrive, and the outcomes that each [`FetchStep`] names. Call
/// [`Fetches::handle_timeout`] when [`Fetches::poll_timeout`] is due. Outputs: [`Fetches::poll_step`]. After each
/// input, take all steps.
#[derive(Clone, Debug, Default)]
pub struct Fetches {
    /// Fetches in the order in which they were first wanted.
    fetches: Vec<Fetch>,
    steps: VecDeque<FetchStep>,
}

#[derive(Clone, Debug)]
struct Fetch {
    code: CodeHash,
    stage: FetchStage,
    /// Agents that wait for the code. The node of the first one is asked.
    bearers: VecDeque<InboundHop>,
}

#[derive(Clone, Debug, PartialEq)]
enum FetchStage {
    /// Waiting, because another code is coming from the same node.
    Queued,
    Looking,
    Coming(IncomingCode),
    /// Check of code that came from that node.
    Admitting(NodeId),
}

#[derive(Clone, Debug, PartialEq)]
struct IncomingCode {
    bytes: Vec<u8>,
    /// Bytes of the whole code, known from the first part on.
    of: Option<u64>,
    part_until: Time,
    until: Time,
}

impl Fetch {
    /// Returns the node that is at work for it.
    fn source(&self) -> Option<NodeId> {
        match self.stage {
            FetchStage::Queued => None,
            FetchStage::Admitting(node) => Some(node),
            FetchStage::Looking | FetchStage::Coming(_) => self.bearers.front().map(|bearer| bearer.node),
        }
    }

    fn deadline(&self) -> Time {
        match &self.stage {
            FetchStage::Coming(coming) => coming.part_until.min(coming.until),
            _ => Time::NEVER,
        }
    }
}

impl IncomingCode {
    /// Takes a part. Returns true if it was the last.
    fn take(&mut self, part: &Part) -> Result<bool, FetchError> {
        if part.of == 0 {
            return Err(FetchError::None);
        }
        if part.of > CODE_BYTES_MAX as u64 {
            return Err(FetchError::TooLarge(part.of));
        }
        let (have, more) = (self.bytes.len() as u64, part.bytes.len() as u64);
        let fits = part.at == have && self.of.is_none_or(|of| of == part.of) && have + more <= part.of;
        if !fits || more == 0 || part.bytes.len() > CODE_PART_BYTES {
            return Err(FetchError::Malformed);
        }
        self.of = Some(part.of);
        self.bytes.extend_from_slice(&part.bytes);
        Ok(have + more == part.of)
    }
}

impl Fetches {
    /// Returns the next step.
    pub fn poll_step(&mut self) -> Option<FetchStep> {
        self.steps.pop_front()
    }

    /// Returns when [`Fetches::handle_timeout`] is due.
    pub fn poll_timeout(&self) -> Time {
        self.fetches.iter().map(Fetch::deadline).min().unwrap_or(Time::NEVER)
    }

    /// Returns true if no agent waits for code.
    pub fn is_quiet(&self) -> bool {
        self.fetches.is_empty()
    }

    /// Takes in an agent that arrived and whose code is not in use here.
    pub fn handle_wanted(&mut self, code: CodeHash, bearer: InboundHop) {
        if let Some(fetch) = self.fetches.iter_mut().find(|fetch| fetch.code == code) {
            return fetch.bearers.push_back(bearer);
        }
        if self.fetches.len() >= CODE_FETCHES_MAX {
            return self.steps.push_back(FetchStep::Refuse(bearer, FetchError::TooMany));
        }
        self.fetches.push(Fetch { code, stage: FetchStage::Queued, bearers: [bearer].into() });
        self.begin_queued();
    }

    /// Takes in the outcome of a look: the code was found and is in use now, or it has to be fetched.
    pub fn handle_looked(&mut self, code: CodeHash, is_found: bool, now: Time) {
        let Some(at) = self.place(code, |stage| *stage == FetchStage::Looking) else { return };
        if is_found {
            return self.finish(at, FetchStep::Go);
        }
        self.ask_anew(at, now);
    }

    /// Takes in a part from a node, for the agent that arrives by this hop.
    pub fn handle_part(&mut self, bearer: InboundHop, part: &Part, now: Time) {
        // Parts from nodes that are not asked, or not any more, are ignored.
        let asked =
            |fetch: &Fetch| fetch.bearers.front() == Some(&bearer) && matches!(fetch.stage, FetchStage::Coming(_));
        let Some(at) = self.fetches.iter().position(asked) else { return };
        let Some(Fetch { stage, code, .. }) = self.fetches.get_mut(at) else { return };
        let FetchStage::Coming(coming) = stage else { return };
        match coming.take(part) {
            Ok(true) => {
                let bytes = std::mem::take(&mut coming.bytes);
                *stage = FetchStage::Admitting(bearer.node);
                self.steps.push_back(FetchStep::Admit(*code, bearer, bytes));
            }
            Ok(false) => {
                coming.part_until = now + Duration::from_millis(CODE_PART_MS);
                self.steps.push_back(FetchStep::Ask(bearer, coming.bytes.len() as u64));
            }
            Err(why) => self.blame(at, bearer.node, &why),
        }
    }

    /// Takes in the outcome of a check.
    pub fn handle_admitted(&mut self, code: CodeHash, outcome: Result<(), FetchError>) {
        let Some(at) = self.place(code, |stage| matches!(stage, FetchStage::Admitting(_))) else { return };
        match (outcome, self.fetches.get(at).and_then(Fetch::source)) {
            (Ok(()), _) => self.finish(at, FetchStep::Go),
            (Err(FetchError::WrongHash), Some(liar)) => self.blame(at, liar, &FetchError::WrongHash),
            // Any other source would give the same bytes.
            (Err(why), _) => self.finish(at, |bearer| FetchStep::Refuse(bearer, why.clone())),
        }
    }

    /// Takes in that an agent does not arrive any more.
    pub fn handle_cancelled(&mut self, bearer: InboundHop) {
        let Some(at) = self.fetches.iter().position(|fetch| fetch.bearers.contains(&bearer)) else { return };
        self.forget(at, |other| *other == bearer);
        self.begin_queued();
    }

    /// Takes in that a node is lost.
    pub fn handle_lost(&mut self, node: NodeId) {
        for at in (0..self.fetches.len()).rev() {
            self.forget(at, |bearer| bearer.node == node);
        }
        self.begin_queued();
    }

    /// Takes in that time passed.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(at) = self.fetches.iter().position(|fetch| fetch.deadline() <= now) {
            let Some(source) = self.fetches.get(at).and_then(Fetch::source) else { return };
            self.blame(at, source, &FetchError::Late);
        }
    }

    fn place(&self, code: CodeHash, is_due: impl Fn(&FetchStage) -> bool) -> Option<usize> {
        self.fetches.iter().position(|fetch| fetch.code == code && is_due(&fetch.stage))
    }

    /// Begins waiting fetches, one for each node, so that no node's code takes more memory than that.
    fn begin_queued(&mut self) {
        let mut busy: Vec<NodeId> = self.fetches.iter().filter_map(Fetch::source).collect();
        for fetch in self.fetches.iter_mut().filter(|fetch| fetch.stage == FetchStage::Queued) {
            let Some(free) = fetch.bearers.iter().position(|bearer| !busy.contains(&bearer.node)) else { continue };
            fetch.bearers.swap(0, free);
            fetch.stage = FetchStage::Looking;
            if let Some(bearer) = fetch.bearers.front() {
                busy.push(bearer.node);
                self.steps.push_back(FetchStep::Look(fetch.code, *bearer));
            }
        }
    }

    /// Asks the first bearer's node for the whole code.
    fn ask_anew(&mut self, at: usize, now: Time) {
        let Some(fetch) = self.fetches.get_mut(at) else { return };
        let Some(bearer) = fetch.bearers.front() else {
            self.fetches.remove(at);
            return self.begin_queued();
        };
        let part_until = now + Duration::from_millis(CODE_PART_MS);
        let until = now + Duration::from_millis(CODE_FETCH_MS);
        fetch.stage = FetchStage::Coming(IncomingCode { bytes: Vec::new(), of: None, part_until, until });
        self.steps.push_back(FetchStep::Ask(*bearer, 0));
    }

    fn finish(&mut self, at: usize, step: impl Fn(InboundHop) -> FetchStep) {
        let fetch = self.fetches.remove(at);
        self.steps.extend(fetch.bearers.into_iter().map(step));
        self.begin_queued();
    }

    /// Blames a node that did not give what it should: its agents are refused. For those of other nodes, the next node
    /// is asked.
    fn blame(&mut self, at: usize, node: NodeId, why: &FetchError) {
        let Some(fetch) = self.fetches.get_mut(at) else { return };
        let (its, others) = fetch.bearers.drain(..).partition(|bearer: &InboundHop| bearer.node == node);
        fetch.bearers = others;
        fetch.stage = FetchStage::Queued;
        let its: VecDeque<InboundHop> = its;
        self.steps.extend(its.into_iter().map(|bearer| FetchStep::Refuse(bearer, why.clone())));
        if fetch.bearers.is_empty() {
            self.fetches.remove(at);
        }
        self.begin_queued();
    }

    /// Drops bearers that no longer wait. If one of them was asked, the next one is.
    fn forget(&mut self, at: usize, is_gone: impl Fn(&InboundHop) -> bool) {
        let Some(fetch) = self.fetches.get_mut(at) else { return };
        let asked = fetch.bearers.front().copied();
        fetch.bearers.retain(|bearer| !is_gone(bearer));
        let next = fetch.bearers.front().copied();
        match (&mut fetch.stage, next) {
            (FetchStage::Queued | FetchStage::Coming(_), None) => drop(self.fetches.remove(at)),
            (FetchStage::Coming(coming), Some(next)) if Some(next) != asked => {
                // The same node continues, for another agent.
                let same = fetch.bearers.iter().position(|other| asked.is_some_and(|it| it.node == other.node));
                let Some(same) = same else {
                    fetch.stage = FetchStage::Queued;
                    return;
                };
                fetch.bearers.swap(0, same);
                if let Some(bearer) = fetch.bearers.front() {
                    self.steps.push_back(FetchStep::Ask(*bearer, coming.bytes.len() as u64));
                }
            }
            // Code that is being checked may be of use to later agents.
            _ => {}
        }
    }

    /// Ends all fetches, because the platform stops.
    pub fn stop(&mut self) {
        self.fetches.clear();
    }
}
