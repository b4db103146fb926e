//! Patterns of mobile agents: itineraries, and minions.

use std::collections::VecDeque;
use std::future::Future;
use std::time::Duration;

use crate::agent::Arrival;
use crate::blocking::{self, Twin};
use crate::context::Context;
use crate::error::{Error, ErrorKind};
use crate::message::{Message, Performative, Template};
use crate::tasks::{forget_timer, number};
use crate::value::Value;

/// Itinerary: the stops of a journey, each with a task (`T`), and with alternatives in case its node is dead. It is
/// part of the agent's state: the rest of it travels along.
///
/// ```
/// use std::time::Duration;
/// use whimbrel_guest::{Context, Error, Itinerary, Leg, Message, TourEnd, agent};
///
/// #[agent]
/// async fn reader(ctx: Context) -> Result<(), Error> {
///     let mut tour = Itinerary::new()
///         .stop(["north"], "read")
///         .stop(["south", "south-mirror"], "count")
///         .within(Duration::from_secs(60))
///         .returning();
///     while let Leg::At { node, task } = tour.next(ctx).await {
///         ctx.print(format!("{task} on {node}"));
///     }
///     if tour.ended() == Some(&TourEnd::Recalled) {
///         ctx.print("somebody called me home");
///     }
///     ctx.send(&Message::inform("librarian", tour.missed().len() as i64))
/// }
/// ```
///
/// Agents that wait by [`blocking`] use [`blocking::next_stop`]. Agents with handlers use [`Itinerary::depart_next`]
/// and [`Itinerary::arrived`].
#[derive(Clone, Debug)]
pub struct Itinerary<T = ()> {
    stops: VecDeque<Stop<T>>,
    /// Stop that the agent is on its way to.
    next: Option<Stop<T>>,
    within: Option<Duration>,
    /// Tag of the timer that ends the journey.
    deadline: Option<i64>,
    /// Destinations after the last stop, by preference. The first one may be empty: the node where the journey began.
    back: VecDeque<String>,
    begun: bool,
    /// Number of recalls before the journey began.
    recalls: i32,
    /// Node that the agent departed for, until it arrives or stays.
    going: Option<String>,
    ended: Option<TourEnd>,
    missed: Vec<Missed>,
}

#[derive(Clone, Debug)]
struct Stop<T> {
    nodes: VecDeque<String>,
    task: T,
}

/// Node that a journey missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Name of the node.
    pub node: String,
    /// Reason.
    pub why: Error,
}

/// Next step of a journey.
#[derive(Clone, Debug, PartialEq)]
pub enum Leg<T> {
    /// The agent is at a stop. After the task, it asks for the next stop.
    At {
        /// Name of the node.
        node: String,
        /// Task of the stop.
        task: T,
    },
    /// The agent goes to a node when this call into it is over; [`Itinerary::arrived`] handles the outcome. Agents that
    /// wait never see this.
    OnItsWay,
    /// The journey is over.
    Over(TourEnd),
}

/// Reason why a journey is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TourEnd {
    /// There is no further stop.
    Done,
    /// There is no time for a further stop.
    Late,
    /// The agent was called home.
    Recalled,
    /// The agent cannot go back: the last node that it tried, and the reason.
    NoWayBack(Missed),
}

/// Next move, or next step of the journey.
enum Way<T> {
    To(String),
    Leg(Leg<T>),
}

impl<T> Default for Itinerary<T> {
    fn default() -> Self {
        Self {
            stops: VecDeque::new(),
            next: None,
            within: None,
            deadline: None,
            back: VecDeque::new(),
            begun: false,
            recalls: 0,
            going: None,
            ended: None,
            missed: Vec::new(),
        }
    }
}

impl<T> Itinerary<T> {
    /// Makes a journey without stops.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a stop, to do `task` on the first of these nodes that can be reached.
    #[must_use]
    pub fn stop<N: Into<String>>(mut self, nodes: impl IntoIterator<Item = N>, task: T) -> Self {
        self.stops.push_back(Stop { nodes: nodes.into_iter().map(Into::into).collect(), task });
        self
    }

    /// Limits the journey: no further stop is made after this time. It counts from the first stop's request.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// Ends the journey at the node where it began.
    #[must_use]
    pub fn returning(self) -> Self {
        self.returning_to([""])
    }

    /// Ends the journey at the first of these nodes that can be reached.
    #[must_use]
    pub fn returning_to<N: Into<String>>(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        self.back = nodes.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the nodes that the journey missed.
    pub fn missed(&self) -> &[Missed] {
        &self.missed
    }

    /// Returns why the journey is over, or goes back; `None` while there may be further stops.
    pub fn ended(&self) -> Option<&TourEnd> {
        self.ended.as_ref()
    }

    /// Begins the journey, or continues it from a stop. Returns when the agent is at the next stop, or the journey is
    /// over.
    pub async fn next(&mut self, ctx: Context) -> Leg<T> {
        let mut way = self.set_out(ctx);
        loop {
            match way {
                Way::Leg(leg) => return leg,
                Way::To(node) => {
                    let outcome = ctx.move_to(&node).await;
                    way = self.came(ctx, node, outcome);
                }
            }
        }
    }

    /// Does the same as `next`, in the middle of any call: [`blocking::next_stop`].
    pub(crate) fn next_blocking(&mut self) -> Leg<T> {
        let mut way = self.set_out(Context);
        loop {
            match way {
                Way::Leg(leg) => return leg,
                Way::To(node) => {
                    let outcome = blocking::move_to(&node);
                    way = self.came(Context, node, outcome);
                }
            }
        }
    }

    /// Begins the journey, or continues it from a stop, when this call into the agent is over. It is for an
    /// [`Agent`](crate::Agent), which learns of the outcome in [`Agent::on_arrival`](crate::Agent::on_arrival).
    pub fn depart_next(&mut self, ctx: Context) -> Leg<T> {
        let way = self.set_out(ctx);
        self.depart(ctx, way)
    }

    /// Handles the outcome of a departure, as [`Agent::on_arrival`](crate::Agent::on_arrival) gets it. Returns the next
    /// step.
    pub fn arrived(&mut self, ctx: Context, arrival: &Arrival) -> Leg<T> {
        if arrival.recalled && self.begun {
            return self.recall();
        }
        // Another party may have moved the agent.
        let Some(node) = self.going.take() else { return Leg::OnItsWay };
        let way = self.came(ctx, node, arrival.error().map_or(Ok(()), Err));
        self.depart(ctx, way)
    }

    fn depart(&mut self, ctx: Context, mut way: Way<T>) -> Leg<T> {
        loop {
            match way {
                Way::Leg(leg) => return leg,
                Way::To(node) => match ctx.depart(&node) {
                    Ok(()) => {
                        self.going = Some(node);
                        return Leg::OnItsWay;
                    }
                    Err(why) => way = self.came(ctx, node, Err(why)),
                },
            }
        }
    }

    fn set_out(&mut self, ctx: Context) -> Way<T> {
        if !self.begun {
            self.begin(ctx);
        }
        if let Some(end) = &self.ended {
            return Way::Leg(Leg::Over(end.clone()));
        }
        if ctx.recalls() != self.recalls {
            return Way::Leg(self.recall());
        }
        if self.is_late(ctx) {
            return self.end(ctx, TourEnd::Late);
        }
        self.next = self.stops.pop_front();
        self.try_next(ctx)
    }

    fn begin(&mut self, ctx: Context) {
        (self.begun, self.recalls) = (true, ctx.recalls());
        let here = ctx.node();
        self.back.iter_mut().filter(|node| node.is_empty()).for_each(|node| node.clone_from(&here));
        if let Some(within) = self.within {
            let tag = -number();
            if let Err(error) = ctx.set_timer(within, tag) {
                panic!("{error}");
            }
            self.deadline = Some(tag);
        }
    }

    /// Handles an arrival, or a failed move.
    fn came(&mut self, ctx: Context, node: String, outcome: Result<(), Error>) -> Way<T> {
        if ctx.recalls() != self.recalls {
            return Way::Leg(self.recall());
        }
        match (outcome, &self.ended) {
            (Ok(()), Some(end)) => Way::Leg(Leg::Over(end.clone())),
            (Ok(()), None) => self.arrive(node),
            (Err(why), _) => self.miss(ctx, Missed { node, why }),
        }
    }

    fn arrive(&mut self, node: String) -> Way<T> {
        Way::Leg(self.next.take().map_or(Leg::OnItsWay, |Stop { task, .. }| Leg::At { node, task }))
    }

    fn miss(&mut self, ctx: Context, missed: Missed) -> Way<T> {
        match &self.ended {
            Some(_) if self.back.is_empty() => {
                let end = TourEnd::NoWayBack(missed);
                self.ended = Some(end.clone());
                Way::Leg(Leg::Over(end))
            }
            Some(end) => {
                let end = end.clone();
                self.go_back(ctx, end)
            }
            None => {
                self.missed.push(missed);
                self.try_next(ctx)
            }
        }
    }

    /// Goes to the next node of the pending stop, or of the one after that.
    fn try_next(&mut self, ctx: Context) -> Way<T> {
        loop {
            let Some(stop) = &mut self.next else { return self.end(ctx, TourEnd::Done) };
            match stop.nodes.pop_front() {
                // Waiting for dead nodes may have taken long.
                Some(_) if self.is_late(ctx) => return self.end(ctx, TourEnd::Late),
                Some(node) if node == ctx.node() => return self.arrive(node),
                Some(node) => return Way::To(node),
                None => self.next = self.stops.pop_front(),
            }
        }
    }

    fn is_late(&self, ctx: Context) -> bool {
        self.deadline.is_some_and(|tag| ctx.timer_left(tag).is_none_or(|left| left.is_zero()))
    }

    fn end(&mut self, ctx: Context, end: TourEnd) -> Way<T> {
        self.finish(end.clone());
        self.go_back(ctx, end)
    }

    /// Ends the journey, since the agent was called home: it is there, or cannot get there.
    fn recall(&mut self) -> Leg<T> {
        self.finish(TourEnd::Recalled);
        Leg::Over(TourEnd::Recalled)
    }

    fn finish(&mut self, end: TourEnd) {
        self.stops.clear();
        (self.next, self.going, self.ended) = (None, None, Some(end));
        if let Some(tag) = self.deadline.take() {
            forget_timer(tag);
        }
    }

    fn go_back(&mut self, ctx: Context, end: TourEnd) -> Way<T> {
        match self.back.pop_front() {
            Some(node) if node != ctx.node() => Way::To(node),
            _ => Way::Leg(Leg::Over(end)),
        }
    }
}

/// Result of a minion's task: a value, or a `Result`.
pub trait IntoAnswer {
    /// Returns the value, or why there is none.
    ///
    /// # Errors
    /// The task failed.
    fn into_answer(self) -> Result<Value, String>;
}

impl IntoAnswer for Value {
    fn into_answer(self) -> Result<Value, String> {
        Ok(self)
    }
}

impl<V: Into<Value>, E: std::fmt::Display> IntoAnswer for Result<V, E> {
    fn into_answer(self) -> Result<Value, String> {
        self.map(Into::into).map_err(|error| error.to_string())
    }
}

impl Context {
    /// Sends a minion: a copy of this agent does `task` on the first of these nodes that can be reached. Its result is
    /// brought back, and nothing is left there. The copy lives no longer than `within`, even if nobody waits for it any
    /// more.
    ///
    /// ```
    /// use std::time::Duration;
    /// use whimbrel_guest::{Context, Error, agent};
    ///
    /// #[agent]
    /// async fn boss(ctx: Context) -> Result<(), Error> {
    ///     let count = async |ctx: Context| ctx.search("sums", "").map(|found| found.len() as i64);
    ///     let found = ctx.dispatch(["n2", "n3"], Duration::from_secs(5), count).await?;
    ///     ctx.print(format!("{:?} agents", found.as_int()));
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// None of the nodes can be reached, the task failed there, or no answer came in time.
    pub async fn dispatch<N: AsRef<str>, F: Future<Output: IntoAnswer>>(
        self,
        nodes: impl IntoIterator<Item = N>,
        within: Duration,
        task: impl FnOnce(Self) -> F,
    ) -> Result<Value, Error> {
        let errand = Errand::new(self);
        let mut outcome = Err(Error::new(ErrorKind::Unknown, "no node to send a minion to"));
        for node in nodes {
            outcome = self.clone_to(node.as_ref(), "").await;
            if outcome.is_ok() {
                break;
            }
        }
        if outcome? == Twin::Copy {
            errand.begin(self, within);
            let answer = task(self).await.into_answer();
            errand.end(self, answer);
            return std::future::pending().await;
        }
        errand.result(self.receive_within(errand.template(), within).await)
    }
}

/// Shared facts of a minion and its sender.
pub(crate) struct Errand {
    sender: String,
    id: String,
}

impl Errand {
    pub fn new(ctx: Context) -> Self {
        let sender = ctx.name();
        // Earlier agents of this name may have sent minions, too.
        let id = format!("{sender}-minion-{:x}-{}", ctx.life(), number());
        Self { sender, id }
    }

    /// Begins the minion's part.
    pub fn begin(&self, ctx: Context, within: Duration) {
        // Where agents have no limit of life, none is cloned either.
        let _ = ctx.set_lifetime(within);
        // If the minion fails, its sender need not wait until the time is over.
        let _ = ctx.on_failure(Some(&self.answer(Performative::Failure, Value::Null)));
    }

    fn answer(&self, performative: Performative, content: Value) -> Message {
        let message = Message::new(performative, self.sender.clone(), content);
        Message { in_reply_to: Some(self.id.clone()), ..message }
    }

    /// Ends the minion's part. The minion ends when this call is over, or waits.
    pub fn end(self, ctx: Context, answer: Result<Value, String>) {
        let (performative, content) = match answer {
            Ok(value) => (Performative::Inform, value),
            Err(reason) => (Performative::Failure, Value::text(reason)),
        };
        if let Err(error) = ctx.send(&self.answer(performative, content)) {
            ctx.log(crate::Level::Error, format!("the minion's result cannot be sent: {error}"));
        }
        ctx.stop();
    }

    pub fn template(&self) -> Template {
        Template::in_reply_to(self.id.clone())
    }

    /// Returns the result of the minion's answer, for its sender.
    pub fn result(&self, answer: Option<Message>) -> Result<Value, Error> {
        let answer = answer.ok_or_else(|| Error::new(ErrorKind::Timeout, "the minion did not answer"))?;
        match answer.performative {
            Performative::Inform => Ok(answer.content),
            _ => Err(Error::new(ErrorKind::Other, answer.content.as_str().unwrap_or_default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Agent, Failure};
    use crate::testing::Trial;

    fn tour() -> Itinerary<u8> {
        Itinerary::new()
            .stop(["n1"], 1)
            .stop(["n2", "n3"], 2)
            .stop(["n4"], 3)
            .within(Duration::from_secs(1))
            .returning()
    }

    fn report<T>(ctx: Context, tour: &Itinerary<T>) {
        let missed: Vec<_> = tour.missed().iter().map(|missed| &missed.node).collect();
        ctx.print(format!("{:?} on {}, missed {missed:?}", tour.ended(), ctx.node()));
    }

    async fn traveller(ctx: Context) {
        let mut tour = tour();
        while let Leg::At { node, task } = tour.next(ctx).await {
            ctx.print(format!("{task} on {node}"));
        }
        report(ctx, &tour);
    }

    #[test]
    fn tour_avoids_dead_node_and_returns() {
        let mut trial = Trial::of_task(traveller);
        trial.start(Value::Null).expect("starts");
        assert_eq!(trial.printed(), ["1 on n1"]);
        assert_eq!(trial.arrive(Some("n2 is dead")), Ok(true));
        assert_eq!(trial.arrive(None), Ok(true));
        assert_eq!(trial.printed(), ["2 on n3"]);
        assert_eq!(trial.arrive(None), Ok(true));
        assert_eq!(trial.printed(), ["3 on n4"]);
        assert_eq!(trial.arrive(None), Ok(true));
        assert_eq!(trial.printed(), ["Some(Done) on n1, missed [\"n2\"]"]);
        assert!(trial.stopped());
    }

    #[test]
    fn tour_ends_at_its_deadline() {
        let mut trial = Trial::of_task(traveller);
        trial.start(Value::Null).expect("starts");
        assert_eq!(trial.timer(), Ok(true));
        assert_eq!(trial.arrive(None), Ok(true));
        assert_eq!(trial.arrive(None), Ok(true));
        assert_eq!(trial.printed(), ["1 on n1", "2 on n2", "Some(Late) on n1, missed []"]);
    }

    #[test]
    fn recall_ends_tour() {
        let mut trial = Trial::of_task(traveller);
        trial.start(Value::Null).expect("starts");
        assert_eq!(trial.arrive(None), Ok(true));
        assert_eq!(trial.printed(), ["1 on n1", "2 on n2"]);
        // The agent was on its way to n4.
        trial.recall("n1").expect("goes on");
        assert_eq!(trial.printed(), ["Some(Recalled) on n1, missed []"]);
    }

    #[test]
    fn tour_reports_missing_way_back() {
        async fn stranded(ctx: Context) {
            let mut tour = Itinerary::new().stop(["n2"], ()).returning_to(["n8", "n9"]);
            while let Leg::At { .. } = tour.next(ctx).await {}
            report(ctx, &tour);
        }
        let mut trial = Trial::of_task(stranded);
        trial.start(Value::Null).expect("starts");
        for dead in [None, Some("n8 is dead"), Some("n9 is dead")] {
            assert_eq!(trial.arrive(dead), Ok(true));
        }
        let why = Missed { node: "n9".into(), why: Error::new(ErrorKind::Stayed, "n9 is dead") };
        assert_eq!(trial.printed(), [format!("{:?} on n2, missed []", Some(TourEnd::NoWayBack(why)))]);
    }

    #[derive(Default)]
    struct Handler {
        tour: Itinerary<u8>,
    }

    impl Handler {
        fn go_on(&mut self, ctx: Context, mut leg: Leg<u8>) {
            while let Leg::At { node, task } = leg {
                ctx.print(format!("{task} on {node}"));
                leg = self.tour.depart_next(ctx);
            }
            if let Leg::Over(_) = leg {
                report(ctx, &self.tour);
            }
        }
    }

    impl Agent for Handler {
        fn on_start(&mut self, ctx: Context, _: Value) -> Result<(), Failure> {
            self.tour = tour();
            let leg = self.tour.depart_next(ctx);
            self.go_on(ctx, leg);
            Ok(())
        }

        fn on_message(&mut self, _: Context, _: Message) -> Result<(), Failure> {
            Ok(())
        }

        fn on_arrival(&mut self, ctx: Context, arrival: Arrival) -> Result<(), Failure> {
            let leg = self.tour.arrived(ctx, &arrival);
            self.go_on(ctx, leg);
            Ok(())
        }
    }

    #[test]
    fn handlers_follow_an_itinerary() {
        let mut trial = Trial::of_agent::<Handler>();
        trial.start(Value::Null).expect("starts");
        for dead in [Some("n2 is dead"), None, None, None] {
            assert_eq!(trial.arrive(dead), Ok(true));
        }
        assert_eq!(trial.printed(), ["1 on n1", "2 on n3", "3 on n4", "Some(Done) on n1, missed [\"n2\"]"]);
        let mut trial = Trial::of_agent::<Handler>();
        trial.start(Value::Null).expect("starts");
        trial.recall("n1").expect("goes on");
        assert_eq!((trial.timer(), trial.arrive(None)), (Ok(false), Ok(false)));
        assert_eq!(trial.printed(), ["1 on n1", "Some(Recalled) on n1, missed []"]);
    }

    async fn boss(ctx: Context) -> Result<(), Error> {
        let task = async |ctx: Context| match ctx.node().as_str() {
            "n3" => Err("nothing here"),
            node => Ok(Value::from(node)),
        };
        let found = ctx.dispatch(["n0", "n2"], Duration::from_secs(5), task).await;
        ctx.print(format!("{found:?}"));
        Ok(())
    }

    #[test]
    fn minion_answers_and_ends() {
        let mut minion = Trial::of_task(boss);
        minion.start(Value::Null).expect("starts");
        assert_eq!(minion.not_cloned("n0 is dead"), Ok(true));
        assert_eq!(minion.cloned(true), Ok(true));
        let answer = minion.sent().remove(0);
        assert_eq!(
            (answer.receivers.as_slice(), answer.content.as_str()),
            (&["trial@test".to_owned()][..], Some("n2"))
        );
        assert!(minion.stopped());
        assert_eq!(minion.lifetime(), Some(Duration::from_secs(5)));
        let last_words = minion.last_words().expect("it says what is sent should it fail");
        assert_eq!(
            (last_words.performative, last_words.in_reply_to, last_words.receivers),
            (Performative::Failure, answer.in_reply_to.clone(), answer.receivers.clone())
        );
        drop(minion);

        let mut boss = Trial::of_task(boss);
        boss.start(Value::Null).expect("starts");
        assert_eq!(boss.cloned(false), Ok(true));
        assert!(boss.sent().is_empty() && !boss.stopped() && boss.lifetime().is_none());
        boss.message(answer).expect("is read");
        assert_eq!(boss.printed(), ["Ok(Text(\"n2\"))"]);
        assert!(boss.stopped());
    }

    #[test]
    fn minions_failure_comes_back() {
        let mut boss = Trial::of_task(boss);
        boss.start(Value::Null).expect("starts");
        assert_eq!(boss.cloned(false), Ok(true));
        let failure = Message::new(Performative::Failure, "trial", Value::text("nothing here"));
        boss.message(Message { in_reply_to: Some("trial@test-minion-a11ce-1".into()), ..failure }).expect("is read");
        assert_eq!(boss.printed(), ["Err(Error { kind: Other, reason: \"nothing here\" })"]);
    }

    #[test]
    fn lost_minion_is_reported() {
        let mut trial = Trial::of_task(boss);
        trial.start(Value::Null).expect("starts");
        assert_eq!(trial.cloned(false), Ok(true));
        assert_eq!(trial.timer(), Ok(true));
        assert_eq!(trial.printed(), ["Err(Error { kind: Timeout, reason: \"the minion did not answer\" })"]);
        let mut trial = Trial::of_task(boss);
        trial.start(Value::Null).expect("starts");
        assert_eq!(trial.not_cloned("n0 is dead"), Ok(true));
        assert_eq!(trial.not_cloned("n2 is dead"), Ok(true));
        assert_eq!(trial.printed(), ["Err(Error { kind: Stayed, reason: \"n2 is dead\" })"]);
    }
}
