//! What travelling agents do again and again: going round, and sending someone.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use crate::blocking::Twin;
use crate::context::Context;
use crate::error::{Error, ErrorKind};
use crate::message::{Message, Performative, Template};
use crate::tasks::{Sleep, number};
use crate::value::Value;

/// The stops of a journey. Each may have alternatives, for when its node cannot be reached.
///
/// ```
/// use std::time::Duration;
/// use whimbrel_guest::{Context, Error, Itinerary, Message, agent};
///
/// #[agent]
/// async fn reader(ctx: Context) -> Result<(), Error> {
///     let mut journey = Itinerary::new().stop(["north"]).stop(["south", "south-mirror"]).within(Duration::from_secs(60));
///     let home = ctx.node();
///     while let Some(node) = journey.next(ctx).await {
///         ctx.print(format!("reading on {node}"));
///     }
///     ctx.move_to(&home).await?;
///     ctx.send(&Message::inform("librarian", journey.missed().len() as i64))
/// }
/// ```
#[derive(Debug, Default)]
pub struct Itinerary {
    stops: VecDeque<Vec<String>>,
    missed: Vec<(String, Error)>,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Itinerary {
    /// A journey without stops.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one stop more: on the first of these nodes that can be reached.
    #[must_use]
    pub fn stop<N: Into<String>>(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        self.stops.push_back(nodes.into_iter().map(Into::into).collect());
        self
    }

    /// The same, over after this time: no further stop is made then. It counts from the first.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.deadline = Some(Box::pin(Context.sleep(time)));
        self
    }

    /// Moves to the next stop that can be reached, and says on which node that is; `None` when there are no more, or no more
    /// time.
    pub async fn next(&mut self, ctx: Context) -> Option<String> {
        while let Some(nodes) = self.stops.pop_front() {
            if self.is_late().await {
                self.stops.clear();
                return None;
            }
            for node in nodes {
                match ctx.move_to(&node).await {
                    Ok(()) => return Some(node),
                    Err(error) => self.missed.push((node, error)),
                }
            }
        }
        None
    }

    /// The nodes that could not be reached, and why.
    pub fn missed(&self) -> &[(String, Error)] {
        &self.missed
    }

    async fn is_late(&mut self) -> bool {
        let Some(deadline) = &mut self.deadline else { return false };
        let late = std::future::poll_fn(|polling| Poll::Ready(deadline.as_mut().poll(polling).is_ready())).await;
        if late {
            self.deadline = None;
        }
        late
    }
}

impl Context {
    /// Sends a minion: a copy of this agent does `task` on that node, its result comes back, and nothing is left there.
    ///
    /// ```
    /// use std::time::Duration;
    /// use whimbrel_guest::{Context, Error, Value, agent};
    ///
    /// #[agent]
    /// async fn boss(ctx: Context) -> Result<(), Error> {
    ///     let count = async |ctx: Context| Value::from(ctx.search("sums", "").map_or(0, |found| found.len()) as i64);
    ///     let found = ctx.dispatch("n2", Duration::from_secs(5), count).await?;
    ///     ctx.print(format!("{:?} on n2", found.as_int()));
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// There is no copy, or it did not answer in time.
    pub async fn dispatch<F: Future<Output = Value>>(
        self,
        node: &str,
        within: Duration,
        task: impl FnOnce(Self) -> F,
    ) -> Result<Value, Error> {
        let sender = self.name();
        let id = format!("{sender}-minion-{}", number());
        if self.clone_to(node, "").await? == Twin::Copy {
            let content = task(self).await;
            self.send(&Message { in_reply_to: Some(id), ..Message::new(Performative::Inform, sender, content) })?;
            self.stop();
            return std::future::pending().await;
        }
        let answer = self.receive_within(Template::in_reply_to(id), within).await;
        let late = || Error::new(ErrorKind::Timeout, format!("the minion on {node} did not answer"));
        answer.map(|answer| answer.content).ok_or_else(late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Trial;

    async fn journey(ctx: Context) {
        let mut journey = Itinerary::new().stop(["n1"]).stop(["n2", "n3"]).stop(["n4"]).within(Duration::from_secs(1));
        while let Some(node) = journey.next(ctx).await {
            ctx.print(node);
        }
        ctx.print(format!("missed {:?}", journey.missed().iter().map(|(node, _)| node).collect::<Vec<_>>()));
    }

    #[test]
    fn a_journey_takes_another_way_if_a_node_is_dead() {
        let mut trial = Trial::of_task(journey);
        trial.start(Value::Null).expect("starts");
        assert_eq!(trial.printed(), ["n1"]);
        assert_eq!(trial.arrive(Some("n2 is dead")), Ok(true));
        assert_eq!(trial.arrive(None), Ok(true));
        assert_eq!(trial.printed(), ["n3"]);
        assert_eq!(trial.arrive(None), Ok(true));
        assert_eq!(trial.printed(), ["n4", "missed [\"n2\"]"]);
        assert!(trial.stopped());
    }

    #[test]
    fn a_journey_ends_when_its_time_is_over() {
        let mut trial = Trial::of_task(journey);
        trial.start(Value::Null).expect("starts");
        assert_eq!(trial.timer(), Ok(true));
        assert_eq!(trial.arrive(None), Ok(true));
        assert_eq!(trial.printed(), ["n1", "n2", "missed []"]);
    }

    async fn boss(ctx: Context) -> Result<(), Error> {
        let found = ctx.dispatch("n2", Duration::from_secs(5), async |ctx: Context| Value::from(ctx.node())).await?;
        ctx.print(found.as_str().unwrap_or_default());
        Ok(())
    }

    #[test]
    fn a_minion_answers_and_ends() {
        let mut minion = Trial::of_task(boss);
        minion.start(Value::Null).expect("starts");
        assert_eq!(minion.cloned(true), Ok(true));
        let answer = minion.sent().remove(0);
        assert_eq!(
            (answer.receivers.as_slice(), answer.content.as_str()),
            (&["trial@test".to_owned()][..], Some("n2"))
        );
        assert!(minion.stopped());
        drop(minion);

        let mut boss = Trial::of_task(boss);
        boss.start(Value::Null).expect("starts");
        assert_eq!(boss.cloned(false), Ok(true));
        assert!(boss.sent().is_empty() && !boss.stopped());
        boss.message(answer).expect("is read");
        assert_eq!(boss.printed(), ["n2"]);
        assert!(boss.stopped());
    }

    #[test]
    fn a_minion_that_is_lost_is_missed() {
        let mut trial = Trial::of_task(boss);
        trial.start(Value::Null).expect("starts");
        assert_eq!(trial.cloned(false), Ok(true));
        assert_eq!(trial.timer(), Err("not in time: the minion on n2 did not answer".to_owned()));
    }
}
