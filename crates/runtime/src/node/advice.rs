//! Advice to agents whether to move to another node. Its figures are measured on request, on a thread that may block.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::Links;
use whimbrel_platform::advice::{
    Advice, AdviceNews, AdviseError, DocumentJob, JobError, LinkCost, NodeCondition, Situation, Weight,
};
use whimbrel_platform::durable::Origin;
use whimbrel_platform::limits::{
    ADVICE_FRESH_MS, ADVICE_PATIENCE_MS, ADVICE_QUESTIONS_MAX, ADVICE_RECENT_MS, ADVICE_SPEED_FRESH_MS, ADVICE_SPEED_MS,
};
use whimbrel_platform::link::{Measured, News};
use whimbrel_platform::route::{NodeId, Place};

use super::Node;
use crate::advice::{WeighRequest, Weighed};
use crate::loader::CodeFound;
use crate::panics::caught;
use crate::shard_command::ShardCommand;
use crate::speed::{load, speed};
use crate::state_transfer::PackedState;
use crate::sync::{Arc, locked};

/// Interval between two checks whether a link is measured.
const LOOK: Duration = Duration::from_millis(1);
/// Time within which a shard has to tell an agent's weight.
const WEIGHING_PATIENCE: Duration = Duration::from_millis(300);
/// Number of latest hops to a node of which the shortest counts. Any disturbance makes a hop longer.
const HOPS: usize = 8;
/// Age beyond which figures of a link say nothing.
const RECENT: Duration = Duration::from_millis(ADVICE_RECENT_MS);
/// Number of agents whose weight is remembered for a moment.
const WEIGHTS_MAX: usize = 64;

/// Upper end of the primes in one piece of the work by which nodes compare their cores. A piece takes only a moment,
/// so some pieces run undisturbed.
const PRIMES_TO: u32 = 300;

impl Node {
    /// Advises `agent`, if it is for one, about a job on that node. Waits until everything is measured, or
    /// [`ADVICE_PATIENCE_MS`] have passed.
    pub fn advise(
        self: &Arc<Self>,
        agent: Option<Aid>,
        to: Symbol,
        job: Result<DocumentJob, JobError>,
    ) -> Result<Advice, AdviseError> {
        let job = job.and_then(DocumentJob::checked)?;
        let links = self.linked.links().ok_or(AdviseError::OneNode)?;
        if to == self.my_name() {
            return Err(AdviseError::Here(to));
        }
        let node = links.node_named(to.as_str()).ok_or(AdviseError::NoSuchNode(to))?;
        Ok(Advice::of(&job, &self.situation(&**links, node, agent)))
    }

    fn situation(self: &Arc<Self>, links: &dyn Links, node: NodeId, agent: Option<Aid>) -> Situation {
        let until = Instant::now() + Duration::from_millis(ADVICE_PATIENCE_MS);
        let (origin, state) = agent.map(|agent| self.weigh(agent.name)).unwrap_or_default();
        let code = origin.as_ref().and_then(Origin::code).and_then(|code| self.loader.code(code));
        let number = self.random();
        let (answer, answered) = channel();
        locked(&self.advisor.asked).insert(number, (node, answer));
        links.tell(node, News::Advice(AdviceNews::Ask { number, code: origin }));
        let (measured, is_late) = self.measure(links, node, until);
        let there = answered.recv_timeout(until.saturating_duration_since(Instant::now())).unwrap_or_default();
        locked(&self.advisor.asked).remove(&number);
        let hops = locked(&self.advisor.hops).get(&node).cloned().unwrap_or_default();
        let lately = links.gauge().and_then(|gauge| gauge.round_trip(node));
        Situation {
            way: LinkCost {
                round_trip: if is_late { lately.or(measured.round_trip) } else { measured.round_trip.or(lately) },
                out_bytes_per_s: measured.out_bytes_per_s,
                back_bytes_per_s: measured.back_bytes_per_s,
            },
            here: self.condition(links, None),
            there,
            agent: Weight { state, code: code.map(|code| code.len() as u64) },
            hop_is_late: hops.iter().all(|(at, _)| at.elapsed() > RECENT),
            hop_s: hops.into_iter().map(|(_, seconds)| seconds).reduce(f64::min),
            way_is_late: is_late,
            ..Situation::default()
        }
    }

    /// Measures the link to a node, unless that was done just now. Also returns true if the figures are older.
    fn measure(&self, links: &dyn Links, node: NodeId, until: Instant) -> (Measured, bool) {
        let began = self.now();
        let fresh = Duration::from_millis(ADVICE_FRESH_MS);
        let known = |measured: &Measured| measured.at.is_some_and(|at| at >= began || began - at < fresh);
        let Some(gauge) = links.gauge() else { return (Measured::default(), true) };
        let mut measured = gauge.measured(node);
        if known(&measured) {
            return (measured, false);
        }
        gauge.measure(node);
        while !known(&measured) && Instant::now() < until {
            std::thread::sleep(LOOK);
            measured = gauge.measured(node);
        }
        let is_late = !known(&measured);
        (measured, is_late)
    }

    /// Returns an agent's [weight](Weighed). Its shard writes the state out. The state is packed here, where no turn
    /// waits.
    fn weigh(&self, agent: Symbol) -> Weighed {
        let Place::Local(place) = self.routes.look_up(agent).place() else { return (None, None) };
        let fresh = |at: &Instant| at.elapsed() < Duration::from_millis(ADVICE_FRESH_MS);
        let lately =
            locked(&self.advisor.weights).iter().rev().find(|(at, name, _)| *name == agent && fresh(at)).cloned();
        if let Some((_, _, weighed)) = lately {
            return weighed;
        }
        let (answer, answered) = channel();
        self.put(place.shard, ShardCommand::Weigh(WeighRequest { agent, answer }));
        let Some((origin, state)) = answered.recv_timeout(WEIGHING_PATIENCE).ok().flatten() else {
            return (None, None);
        };
        let bytes = PackedState::of(state, &origin).bytes.len() as u64;
        let weighed = (Some(origin), Some(bytes));
        let mut weights = locked(&self.advisor.weights);
        if weights.len() >= WEIGHTS_MAX {
            weights.pop_front();
        }
        weights.push_back((Instant::now(), agent, weighed.clone()));
        weighed
    }

    /// Returns this node's condition, for the node that asks.
    fn condition(&self, links: &dyn Links, asker: Option<NodeId>) -> NodeCondition {
        NodeCondition {
            speed: Some(self.speed()),
            cores: std::thread::available_parallelism().ok().and_then(|cores| u32::try_from(cores.get()).ok()),
            load: load(),
            peers: links.nodes().len() as u32,
            sent_bytes_per_s: asker
                .zip(links.gauge())
                .and_then(|(asker, gauge)| self.sent_lately(&gauge.measured(asker))),
            has_code: None,
        }
    }

    /// Returns the recent throughput of a link in bytes per second.
    fn sent_lately(&self, measured: &Measured) -> Option<f64> {
        measured.out_at.filter(|at| self.now() - *at < RECENT).and(measured.out_bytes_per_s)
    }

    /// Returns the speed of a core, measured from time to time.
    fn speed(&self) -> f64 {
        let mut known = locked(&self.advisor.speed);
        match *known {
            Some((at, speed)) if at.elapsed() < Duration::from_millis(ADVICE_SPEED_FRESH_MS) => speed,
            _ => {
                let found = speed(PRIMES_TO, Duration::from_millis(ADVICE_SPEED_MS));
                *known = Some((Instant::now(), found));
                found
            }
        }
    }

    /// Handles a question or an answer of another node.
    pub fn hear_advice(self: &Arc<Self>, from: NodeId, news: AdviceNews) {
        match news {
            AdviceNews::Ask { number, code } => self.answer(from, number, code),
            AdviceNews::Tell { number, condition } => {
                let mut asked = locked(&self.advisor.asked);
                // Only the node that was asked may answer.
                if asked.get(&number).is_some_and(|(node, _)| *node == from)
                    && let Some((_, answer)) = asked.remove(&number)
                {
                    let _ = answer.send(condition);
                }
            }
            _ => {}
        }
    }

    /// Answers another node, unless it asks too many questions at once.
    fn answer(self: &Arc<Self>, from: NodeId, number: u64, code: Option<Origin>) {
        {
            let mut answering = locked(&self.advisor.answering);
            let count = answering.entry(from).or_default();
            if *count >= ADVICE_QUESTIONS_MAX {
                return;
            }
            *count += 1;
        }
        self.at_leisure(move |node| {
            node.tell_condition(from, number, code);
            let mut answering = locked(&node.advisor.answering);
            if let Some(count) = answering.get_mut(&from) {
                *count -= 1;
                if *count == 0 {
                    answering.remove(&from);
                }
            }
        });
    }

    fn tell_condition(&self, to: NodeId, number: u64, code: Option<Origin>) {
        let Some(links) = self.linked.links() else { return };
        let has = |origin: Origin| {
            let found = || self.loader.find_code(&origin) != CodeFound::Missing || self.loader.recall_code(&origin);
            origin.code().and_then(|_| caught(found).ok())
        };
        let condition = NodeCondition { has_code: code.and_then(has), ..self.condition(&**links, Some(to)) };
        links.tell(to, News::Advice(AdviceNews::Tell { number, condition }));
    }

    /// Records the duration of a hop, from the offer until the destination was ready for the agent.
    pub fn note_hop(&self, to: NodeId, took: Duration, bytes: u64) {
        let Some(gauge) = self.linked.links().and_then(|links| links.gauge()) else { return };
        let measured = gauge.measured(to);
        let (Some(at), Some(rate), Some(round_trip)) = (measured.at, measured.out_bytes_per_s, measured.round_trip)
        else {
            return;
        };
        // A link that no agent asked about is not measured, and need not be.
        if self.now() - at < RECENT {
            let rest = took.as_secs_f64() - round_trip.as_secs_f64() - bytes as f64 / rate;
            let mut hops = locked(&self.advisor.hops);
            let hops = hops.entry(to).or_default();
            if hops.len() == HOPS {
                hops.remove(0);
            }
            hops.push((Instant::now(), rest.max(0.0)));
        }
    }
}
