//! Going round: the stops of a journey, as a value that travels with its agent.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use whimbrel_acl::Symbol;
use whimbrel_platform::mobility::{Hop, HopError};

use super::DurableContext;

/// The timer that tells that a journey has lasted for long enough. Agents are not told of it.
pub(super) const DEADLINE: &str = "whimbrel:itinerary";

/// The stops of a journey, each with something to do there (`T`), and with alternatives for when its node is dead. It is part of the
/// agent's state: what is left of it travels along.
///
/// ```
/// use std::time::Duration;
///
/// use serde::{Deserialize, Serialize};
/// use whimbrel_acl::MessageBody;
/// use whimbrel_platform::mobility::Hop;
/// use whimbrel_runtime::{DurableAgent, DurableContext, Itinerary, Leg};
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
    /// The stop that it is on its way to.
    next: Option<Stop<T>>,
    within: Option<Duration>,
    /// Where it goes back to in the end, by preference; the first one may be empty: where it began.
    back: VecDeque<Symbol>,
    begun: bool,
    /// It goes back, and why.
    ending: Option<TourEnd>,
    missed: Vec<Missed>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stop<T> {
    nodes: VecDeque<Symbol>,
    task: T,
}

/// A node that a journey did not come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// Its name.
    pub node: Symbol,
    /// Why.
    pub why: String,
}

/// How a journey goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Leg<T> {
    /// It is at a stop, where this is to be done; then [`Itinerary::next`] is.
    At {
        /// The node.
        node: Symbol,
        /// What was said to do there.
        task: T,
    },
    /// It goes to a node: what becomes of that is for [`Itinerary::hopped`].
    OnItsWay,
    /// It is over.
    Over(TourEnd),
}

/// Why a journey is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TourEnd {
    /// There is no further stop.
    Done,
    /// There is no time for a further stop.
    Late,
    /// Somebody called the agent home.
    Recalled,
    /// It was to go back, but cannot: the last node it tried, and why.
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
    /// A journey without stops.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one stop more, to do `task` on the first of these nodes that it can come to.
    #[must_use]
    pub fn stop<N: Into<Symbol>>(mut self, nodes: impl IntoIterator<Item = N>, task: T) -> Self {
        self.stops.push_back(Stop { nodes: nodes.into_iter().map(Into::into).collect(), task });
        self
    }

    /// The same, over after this time: no further stop is made then. It counts from the first [`Itinerary::next`]. An agent has one
    /// journey with a time at a time.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// The same, with the way back in the end to the node where it began.
    #[must_use]
    pub fn returning(self) -> Self {
        self.returning_to([Symbol::default()])
    }

    /// The same, with the way to the first of these nodes in the end that it can come to.
    #[must_use]
    pub fn returning_to<N: Into<Symbol>>(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        self.back = nodes.into_iter().map(Into::into).collect();
        self
    }

    /// The nodes that it did not come to.
    pub fn missed(&self) -> &[Missed] {
        &self.missed
    }

    /// Why it is over, or goes back; `None` while there may be further stops.
    pub fn ended(&self) -> Option<&TourEnd> {
        self.ending.as_ref()
    }

    /// Begins the journey, or goes on from a stop.
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

    /// What became of a hop, as [`DurableAgent::on_hopped`](crate::DurableAgent::on_hopped) is told: how the journey goes on.
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
            // Somebody else moved it.
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
            // Somebody else wanted to move it.
            (None, None) => Leg::OnItsWay,
        }
    }

    /// Goes to the next node of the stop that it is on its way to, or of the one after that.
    fn try_next(&mut self, ctx: &mut DurableContext<'_, '_>) -> Leg<T> {
        loop {
            let Some(stop) = &mut self.next else { return self.end(ctx, TourEnd::Done) };
            match stop.nodes.pop_front() {
                // That others were dead may have taken long.
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
