//! Situation: the values that are known when advice is asked for, and the facts made of them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use whimbrel_acl::compact::{Decode, Encode};

use super::assumed;
use super::explain::{Shown, amount, bytes, ns, percent, rate, seconds};
use super::{Basis, CostFacts, DocumentJob, Known};

/// Measurements of the link to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkCost {
    /// Round trip.
    pub round_trip: Option<Duration>,
    /// Bytes a second to that node.
    pub out_bytes_per_s: Option<f64>,
    /// Bytes a second from that node.
    pub back_bytes_per_s: Option<f64>,
}

/// Condition of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Encode, Decode)]
#[compact(name = "condition")]
#[serde(default)]
pub struct NodeCondition {
    /// Units of work that one idle core does in a second. The kind of work does not matter, as long as it is the same
    /// on all nodes.
    pub speed: Option<f64>,
    /// Number of cores.
    pub cores: Option<u32>,
    /// Threads of the node's machine that want a core, on average of the last minute.
    pub load: Option<f64>,
    /// Number of nodes that it is linked with.
    pub peers: u32,
    /// Bytes a second that recently went from the node to the asker, while the link was busy.
    pub sent_bytes_per_s: Option<f64>,
    /// Possession of the agent's code.
    pub has_code: Option<bool>,
}

impl NodeCondition {
    /// Returns the share of a core for one more thread there.
    fn core(&self) -> Option<f64> {
        let (cores, load) = (f64::from(self.cores?), self.load?);
        Some((cores / (load.max(0.0) + 1.0)).min(1.0)).filter(|share| *share > 0.0)
    }
}

/// Weight of an agent that moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Weight {
    /// Bytes of the agent's state, as it travels.
    pub state: Option<u64>,
    /// Bytes of the agent's code, as it travels.
    pub code: Option<u64>,
}

/// Situation in which advice is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Situation {
    /// Link to the other node.
    pub way: LinkCost,
    /// True if the link's values were told, not measured.
    pub way_is_told: bool,
    /// True if the link's values were measured earlier, and not just now.
    pub way_is_late: bool,
    /// Condition of this node.
    pub here: NodeCondition,
    /// Condition of the other node.
    pub there: NodeCondition,
    /// Weight of the agent.
    pub agent: Weight,
    /// Seconds that recent hops to that node took, beside latency and transfer.
    pub hop_s: Option<f64>,
    /// True if all of these hops were some time ago.
    pub hop_is_late: bool,
}

/// Sifter of values, which lists them as they are asked for.
struct Sifter {
    known: Vec<Known>,
    way: Basis,
}

impl Sifter {
    fn note(&mut self, what: &str, value: String, basis: Basis) {
        self.known.push(Known { what: what.to_owned(), value, basis });
    }

    /// Returns the told value, else the measured one, else the assumed one.
    fn sift(&mut self, what: &str, told: Option<f64>, measured: Option<f64>, assumed: f64, shown: Shown) -> f64 {
        let usable = |value: &f64| value.is_finite() && *value >= 0.0;
        let (value, basis) = match (told.filter(usable), measured.filter(usable)) {
            (Some(told), _) => (told, Basis::Told),
            (None, Some(measured)) => (measured, Basis::Measured),
            (None, None) => (assumed, Basis::Assumed),
        };
        self.note(what, shown(value), basis);
        value
    }

    /// Returns such a value of the link.
    fn way(&mut self, what: &str, found: Option<f64>, assumed: f64, shown: Shown) -> f64 {
        let usable = found.filter(|value| POSSIBLE.contains(value));
        let basis = if usable.is_some() { self.way } else { Basis::Assumed };
        let value = usable.unwrap_or(assumed);
        self.note(what, shown(value), basis);
        value
    }
}

impl Situation {
    /// Returns the facts for the estimates, and the basis of each.
    pub(super) fn facts(&self, job: &DocumentJob) -> (CostFacts, Vec<Known>) {
        let way = match (self.way_is_told, self.way_is_late) {
            (true, _) => Basis::Told,
            (_, true) => Basis::Earlier,
            _ => Basis::Measured,
        };
        let mut it = Sifter { known: Vec::new(), way };
        let some = |count: Option<u64>| count.map(|count| count as f64);
        it.note("documents", format!("{} of {}", job.documents, bytes(job.bytes as f64)), Basis::Told);
        let documents_bytes = job.documents as f64 * job.bytes as f64;
        let pass = it.sift("share that passes", job.pass, None, assumed::PASS, percent);
        let keeps = match job.keeps {
            Some(keeps) => it.sift("of each of them is wanted", Some(keeps), None, keeps, percent),
            None => 1.0,
        };
        let packs_to = it.sift("documents are packed to", job.packs_to, None, assumed::PACKS_TO, percent);
        let requests = it.sift("requests", some(job.requests), None, 1.0, amount).max(1.0);
        let question = it.sift("a question has", some(job.question), None, assumed::QUESTION_BYTES as f64, bytes);
        let work = it.sift("work with a byte", job.work_ns, None, assumed::WORK_NS, ns);
        let agent_work = match job.agent_work_ns {
            Some(told) => it.sift("the agent's work with a byte", Some(told), None, told, ns),
            None => work,
        };
        let handling = it.sift("to send and read a byte", job.handling_ns, None, assumed::HANDLING_NS, ns);
        let state = it.sift("state of the agent", some(job.state), some(self.agent.state), STATE, bytes);
        let code_bytes = self.code(job, &mut it);
        let round_trip_s = it.way("round trip", self.round_trip(), assumed::ROUND_TRIP_S, seconds);
        let out = it.way("bandwidth there", self.way.out_bytes_per_s, self.other(self.way.back_bytes_per_s), rate);
        let back = it.way("bandwidth back", self.back(), self.other(self.way.out_bytes_per_s), rate);
        let hop_s = it.sift("a hop itself", None, self.hop_s.filter(|s| *s < HOP_MAX_S), assumed::HOP_S, seconds);
        if self.hop_is_late
            && let Some(hop) = it.known.last_mut().filter(|hop| hop.basis == Basis::Measured)
        {
            hop.basis = Basis::Earlier;
        }
        let (share_here, share_there, speed_there) = self.cores(&mut it);
        let clients = it.sift("clients", some(job.clients), None, 1.0, amount).max(1.0);
        if let Some(often) = job.per_second.filter(|_| clients > 1.0) {
            it.note("jobs of each in a second", amount(often), Basis::Told);
        }
        let facts = CostFacts {
            documents_bytes,
            wanted_bytes: documents_bytes * pass * keeps,
            sent_bytes: documents_bytes * if job.picks { pass * keeps } else { 1.0 },
            packs_to,
            packed: job.packed,
            picks: job.picks,
            requests,
            question_bytes: question,
            work_s: documents_bytes * work * 1e-9,
            agent_work_s: documents_bytes * agent_work * 1e-9,
            handling_s: handling * 1e-9,
            state_bytes: state,
            code_bytes,
            round_trip_s,
            out_bytes_per_s: out,
            back_bytes_per_s: back,
            hop_s,
            followed: (self.here.peers > 1, self.there.peers > 1),
            share_here,
            share_there,
            speed_there,
            clients,
            per_second: job.per_second,
        };
        (facts, it.known)
    }

    fn round_trip(&self) -> Option<f64> {
        self.way.round_trip.map(|took| took.as_secs_f64())
    }

    /// Returns the throughput from the other node. Recent traffic counts if nothing was measured.
    fn back(&self) -> Option<f64> {
        self.way.back_bytes_per_s.or(self.there.sent_bytes_per_s)
    }

    /// Returns the throughput of an unknown direction: as high as that of the other one.
    fn other(&self, direction: Option<f64>) -> f64 {
        direction.filter(|value| POSSIBLE.contains(value)).unwrap_or(assumed::BYTES_PER_S)
    }

    /// Returns the bytes of code that travel.
    fn code(&self, job: &DocumentJob, it: &mut Sifter) -> f64 {
        match (job.code, self.there.has_code, self.agent.code) {
            (Some(told), ..) => {
                it.note("code that it lacks there", bytes(told as f64), Basis::Told);
                told as f64
            }
            (None, Some(false), code) => {
                let code = code.map(|code| code as f64);
                it.sift("code that it lacks there", None, code, assumed::CODE_BYTES as f64, bytes)
            }
            (None, has_code, _) => {
                let basis = if has_code.is_some() { Basis::Measured } else { Basis::Assumed };
                it.note("code that it lacks there", bytes(0.0), basis);
                0.0
            }
        }
    }

    /// Returns the share of a core here and there, and the speed of one there.
    fn cores(&self, it: &mut Sifter) -> (f64, f64, f64) {
        let here = it.sift("share of a core here", None, self.here.core(), 1.0, percent);
        let there = it.sift("share of a core there", None, self.there.core(), 1.0, percent);
        let ratio = self.there.speed.zip(self.here.speed).map(|(there, here)| there / here);
        let alike = |ratio: f64| (1.0 / assumed::ALIKE..assumed::ALIKE).contains(&ratio);
        let ratio = ratio.filter(|ratio| *ratio > 0.0).map(|ratio| if alike(ratio) { 1.0 } else { ratio });
        let ratio = it.sift("speed of a core there", None, ratio, 1.0, percent);
        (here.max(LEAST), there.max(LEAST), ratio.clamp(LEAST, MOST))
    }
}

const STATE: f64 = assumed::STATE_BYTES as f64;
/// Lowest share of a core, and lowest and highest speed, that are believed: nothing takes for ever, and nothing no
/// time.
const LEAST: f64 = 1e-6;
const MOST: f64 = 1e6;
/// Round trips in seconds and throughputs in bytes a second that are believed.
const POSSIBLE: std::ops::Range<f64> = 1e-9..1e15;
/// Longest hop in seconds that is believed.
const HOP_MAX_S: f64 = 60.0;
