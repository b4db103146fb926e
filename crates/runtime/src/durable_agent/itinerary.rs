//! Itineraries: the stops of a journey, as a value that travels with its agent.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use whimbrel_acl::Symbol;
use whimbrel_platform::mobility::{Hop, HopError};

use super::DurableContext;

/// Timer for the end of a journey's time. Agents do not see it.
pub(super) const DEADLINE: &str = "whimbrel:itinerary";

/// Stops of a journey, each with a task (`T`), and with alternatives in case its node is dead. The itinerary is part
/// of the agent's state: its remaining stops travel along.
///
/// ```
/// # use whimbrel_runtime::facade as whimbrel;
/// use std::time::Duration;
///
/// use serde::{Deserialize, Serialize};
/// use whimbrel::mobility::{Hop, Itinerary, Leg};
/// use whimbrel::prelude::*;
///
/// #[derive(Default, Serialize, Deserialize)]
/// struct Reader {
///     tour: Itinerary<String>,
/// }
///
/// impl Reader {
///     fn go_on(&mut self, ctx: &mut DurableContext<'_, '_>, mut leg: Leg<String>) {
///         while let Leg::At { node, task } = leg {
///             ctx.print(&format!("{task} on {node}"));
///             leg = self.tour.next(ctx);
///         }
///         if let Leg::Over(end) = leg {
///             ctx.print(&format!("{end:?}, {} nodes missed", self.tour.missed().len()));
///         }
///     }
/// }
///
/// impl DurableAgent for Reader {
///     const KIND: &'static str = "reader";
///
///     fn on_message(&mut self, ctx: &mut DurableContext<'_, '_>, _message: MessageBody) {
///         self.tour = Itinerary::new()
///             .stop(["north"], "read".to_owned())
///             .stop(["south", "south-mirror"], "count".to_owned())
///             .within(Duration::from_secs(60))
///             .returning();
///         let leg = self.tour.next(ctx);
///         self.go_on(ctx, leg);
///     }
///
///     fn on_hopped(&mut self, ctx: &mut DurableContext<'_, '_>, hop: &Hop) {
///         let leg = self.tour.hopped(ctx, hop);
///         self.go_on(ctx, leg);
///     }
/// }
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Itinerary<T = ()> {
    stops: VecDeque<Stop<T>>,
    /// Stop that the agent is on its way to.
    next: Option<Stop<T>>,
    within: Option<Duration>,
    /// Nodes to return to in the end, in order of preference; an empty first one means the starting node.
    back: VecDeque<Symbol>,
    begun: bool,
    /// Reason for the return, once the agent is returning.
    ending: Option<TourEnd>,
    missed: Vec<Missed>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stop<T> {
    nodes: VecDeque<Symbol>,
    task: T,
}

/// Node that a journey did not reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// Name of the node.
    pub node: Symbol,
    /// Reason.
    pub why: String,
}

/// Next leg of a journey.
#[derive(Clone, Debug, PartialEq)]
pub enum Leg<T> {
    /// The agent is at a stop. After its task, call [`Itinerary::next`].
    At {
        /// Node of the stop.
        node: Symbol,
        /// Task at the stop.
        task: T,
    },
    /// The agent moves to a node; pass the outcome to [`Itinerary::hopped`].
    OnItsWay,
    /// The journey is over.
    Over(TourEnd),
}

/// Reason why a journey is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TourEnd {
    /// No stop is left.
    Done,
    /// No time is left for another stop.
    Late,
    /// The agent was recalled.
    Recalled,
    /// The agent could not return: the last node that it tried, with the reason.
    NoWayBack(Missed),
}

impl<T> Default for Itinerary<T> {
    fn default() -> Self {
        Self {
            stops: VecDeque::new(),
            next: None,
            within: None,
            back: VecDeque::new(),
            begun: false,
            ending: None,
            missed: Vec::new(),
        }
    }
}

impl<T> Itinerary<T> {
    /// Creates a journey without stops.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a stop: `task` on the first of these nodes that the agent can reach.
    #[must_use]
    pub fn stop<N: Into<Symbol>>(mut self, nodes: impl IntoIterator<Item = N>, task: T) -> Self {
        self.stops.push_back(Stop { nodes: nodes.into_iter().map(Into::into).collect(), task });
        self
    }

    /// Limits the journey's time, counted from the first [`Itinerary::next`]: no further stop is made after it. An
    /// agent can have one limited journey at a time.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// Adds a return to the starting node in the end.
    #[must_use]
    pub fn returning(self) -> Self {
        self.returning_to([Symbol::default()])
    }

    /// Adds a return to the first of these nodes that the agent can reach in the end.
    #[must_use]
    pub fn returning_to<N: Into<Symbol>>(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        self.back = nodes.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the nodes that the journey did not reach.
    pub fn missed(&self) -> &[Missed] {
        &self.missed
    }

    /// Returns the reason for the end or return; `None` while further stops are possible.
    pub fn ended(&self) -> Option<&TourEnd> {
        self.ending.as_ref()
    }

    /// Begins the journey, or continues it after a stop.
    pub fn next(&mut self, ctx: &mut DurableContext<'_, '_>) -> Leg<T> {
        if !self.begun {
            self.begin(ctx);
        }
        if let Some(end) = &self.ending {
            return Leg::Over(end.clone());
        }
        if self.is_late(ctx) {
            return self.end(ctx, TourEnd::Late);
        }
        self.next = self.stops.pop_front();
        self.try_next(ctx)
    }

    /// Continues the journey after a hop. Call it in [`DurableAgent::on_hopped`](crate::DurableAgent::on_hopped).
    pub fn hopped(&mut self, ctx: &mut DurableContext<'_, '_>, hop: &Hop) -> Leg<T> {
        if ctx.recalled() && self.begun {
            self.drop_deadline(ctx);
            (self.next, self.ending) = (None, Some(TourEnd::Recalled));
            self.stops.clear();
            return Leg::Over(TourEnd::Recalled);
        }
        match (hop, &self.ending) {
            (Hop::Arrived { .. }, Some(end)) => Leg::Over(end.clone()),
            (Hop::Arrived { .. }, None) => self.arrive(ctx),
            (Hop::Stayed { to, why }, _) => self.miss(ctx, *to, why),
            _ => Leg::OnItsWay,
        }
    }

    fn begin(&mut self, ctx: &mut DurableContext<'_, '_>) {
        self.begun = true;
        let here = ctx.services().node();
        self.back.iter_mut().filter(|node| **node == Symbol::default()).for_each(|node| *node = here);
        if let Some(within) = self.within {
            ctx.set_timer(DEADLINE, within);
        }
    }

    fn arrive(&mut self, ctx: &DurableContext<'_, '_>) -> Leg<T> {
        match self.next.take() {
            Some(Stop { task, .. }) => Leg::At { node: ctx.services().node(), task },
            // Another caller moved the agent.
            None => Leg::OnItsWay,
        }
    }

    fn miss(&mut self, ctx: &mut DurableContext<'_, '_>, node: Symbol, why: &HopError) -> Leg<T> {
        let missed = Missed { node, why: why.to_string() };
        match (&self.ending, &self.next) {
            (Some(_), _) if self.back.is_empty() => {
                let end = TourEnd::NoWayBack(missed);
                self.ending = Some(end.clone());
                Leg::Over(end)
            }
            (Some(end), _) => {
                let end = end.clone();
                self.go_back(ctx, end)
            }
            (None, Some(_)) => {
                self.missed.push(missed);
                self.try_next(ctx)
            }
            // Another caller wanted to move the agent.
            (None, None) => Leg::OnItsWay,
        }
    }

    /// Moves to the next node of the current stop, or of the stop after it.
    fn try_next(&mut self, ctx: &mut DurableContext<'_, '_>) -> Leg<T> {
        loop {
            let Some(stop) = &mut self.next else { return self.end(ctx, TourEnd::Done) };
            match stop.nodes.pop_front() {
                // Finding that other nodes are dead may have taken long.
                Some(_) if self.is_late(ctx) => return self.end(ctx, TourEnd::Late),
                Some(node) if node == ctx.services().node() => return self.arrive(ctx),
                Some(node) => {
                    ctx.move_to(node);
                    return Leg::OnItsWay;
                }
                None => self.next = self.stops.pop_front(),
            }
        }
    }

    fn is_late(&self, ctx: &DurableContext<'_, '_>) -> bool {
        self.within.is_some() && ctx.timer(DEADLINE).is_none_or(|left| left.is_zero())
    }

    fn end(&mut self, ctx: &mut DurableContext<'_, '_>, end: TourEnd) -> Leg<T> {
        self.drop_deadline(ctx);
        self.stops.clear();
        self.ending = Some(end.clone());
        self.go_back(ctx, end)
    }

    fn go_back(&mut self, ctx: &mut DurableContext<'_, '_>, end: TourEnd) -> Leg<T> {
        match self.back.pop_front() {
            Some(node) if node != ctx.services().node() => {
                ctx.move_to(node);
                Leg::OnItsWay
            }
            _ => Leg::Over(end),
        }
    }

    fn drop_deadline(&self, ctx: &mut DurableContext<'_, '_>) {
        if self.within.is_some() {
            ctx.cancel_timer(DEADLINE);
        }
    }
}
