//! Advice: go to the documents, or have them sent.

use crate::context::Context;
use crate::error::{Error, ErrorKind};
use crate::message::{Message, Performative};
use crate::value::Value;

/// Job with documents that another node has. The advising node measures or assumes the parts that are not given.
///
/// ```
/// use whimbrel_guest::{Choice, Context, Error, Job, agent};
///
/// #[agent]
/// async fn scout(ctx: Context) -> Result<(), Error> {
///     let job = Job::with(60, 4_096).pass(0.05).work(4.0);
///     if ctx.advise("n2", &job).await? == Choice::Go {
///         ctx.move_to("n2").await?;
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    parts: Vec<Value>,
}

/// Advice for a [`Job`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Go to the documents.
    Go,
    /// Have them sent.
    Ask,
}

impl Job {
    /// A job with so many documents of so many bytes each.
    pub fn with(documents: u64, bytes: u64) -> Self {
        Self { parts: Vec::new() }.and("documents", documents as f64).and("bytes", bytes as f64)
    }

    /// Sets the share of the documents that is wanted here, from 0 to 1.
    #[must_use]
    pub fn pass(self, share: f64) -> Self {
        self.and("pass", share)
    }

    /// Sets the work with a byte, in nanoseconds.
    #[must_use]
    pub fn work(self, ns: f64) -> Self {
        self.and("work", ns)
    }

    /// Sets the number of questions, asked one after the other, that are needed from afar.
    #[must_use]
    pub fn requests(self, count: u64) -> Self {
        self.and("requests", count as f64)
    }

    /// Sets another part of the job, as the guide names it: `keeps`, `question`, `packs_to`, `handling`, `clients`, ...
    #[must_use]
    pub fn and(mut self, part: &str, number: f64) -> Self {
        self.parts.push(Value::term(part, [Value::from(number)]));
        self
    }
}

impl Context {
    /// Asks whether to go to a node for a job, or to ask there. The answer comes when everything is measured, within a
    /// second or two.
    ///
    /// # Errors
    /// There is no such node, or it is this one; the job is malformed; or messages to the AMS are not granted.
    pub async fn advise(self, node: &str, job: &Job) -> Result<Choice, Error> {
        let content = Value::term("advise", [Value::text(node), Value::List(job.parts.clone())]);
        let question = Message { performative: Performative::QueryRef, ..Message::request("ams", content) };
        let answer = self.ask(question).await?;
        match answer.content.as_term() {
            Some(("advice", [choice, ..])) if choice.as_str() == Some("go") => Ok(Choice::Go),
            Some(("advice", _)) => Ok(Choice::Ask),
            Some(("no_advice", [_, why])) => Err(Error::new(ErrorKind::Other, why.as_str().unwrap_or_default())),
            _ => Err(Error::new(ErrorKind::Other, "the AMS gives no advice")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Trial;

    async fn scout(ctx: Context) -> Result<(), Error> {
        for _ in 0..3 {
            match ctx.advise("n2", &Job::with(60, 4_096).pass(0.05)).await {
                Ok(choice) => ctx.print(format!("{choice:?}")),
                Err(why) => ctx.print(why.to_string()),
            }
        }
        Ok(())
    }

    #[test]
    fn advice_asks_the_ams() {
        let mut trial = Trial::of_task(scout);
        trial.start(Value::Null).expect("starts");
        let number = |name: &str, number: f64| Value::term(name, [Value::from(number)]);
        let job = [number("documents", 60.0), number("bytes", 4096.0), number("pass", 0.05)];
        let asked = trial.sent().remove(0);
        assert_eq!((asked.performative.clone(), asked.receivers.len()), (Performative::QueryRef, 1));
        assert_eq!(asked.content, Value::term("advise", [Value::text("n2"), Value::list(job)]));
        let advice = |choice: &str| {
            Value::term("advice", [Value::Atom(choice.into()), 1.5.into(), 2.into(), Value::list([""; 0])])
        };
        trial.message(asked.reply(Performative::Inform, advice("go"))).expect("is read");
        let asked = trial.sent().remove(0);
        trial.message(asked.reply(Performative::Inform, advice("ask"))).expect("is read");
        let asked = trial.sent().remove(0);
        let why = Value::term("no_advice", [Value::Atom("no_such_node".into()), "there is no node named n2".into()]);
        trial.message(asked.reply(Performative::Failure, why)).expect("is read");
        assert_eq!(trial.printed(), ["Go", "Ask", "failed: there is no node named n2"]);
    }
}
