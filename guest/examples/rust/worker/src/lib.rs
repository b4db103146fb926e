//! Sums the numbers that it is asked to sum, and keeps count.

use whimbrel_guest::{Agent, Context, Failure, Message, Performative, Value, agent};

#[derive(Default)]
struct SumWorker {
    /// Number of sums so far.
    done: i64,
}

#[agent]
impl Agent for SumWorker {
    fn on_start(&mut self, ctx: Context, _options: Value) -> Result<(), Failure> {
        Ok(ctx.register("sums", "arithmetic")?)
    }

    fn on_message(&mut self, ctx: Context, message: Message) -> Result<(), Failure> {
        let answer = match sum(&message) {
            Some(sum) => {
                self.done += 1;
                message.reply(Performative::Inform, Value::term("sum", [sum.into(), self.done.into()]))
            }
            None => message.reply(Performative::NotUnderstood, "I sum lists of whole numbers"),
        };
        Ok(ctx.send(&answer)?)
    }
}

/// Sum of the numbers in `request sum([1, 2, 3])`.
fn sum(message: &Message) -> Option<i64> {
    match message.content.as_term() {
        Some(("sum", [numbers])) if message.performative == Performative::Request => {
            numbers.items().iter().try_fold(0_i64, |sum, number| sum.checked_add(number.as_int()?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_guest::testing::Trial;

    #[test]
    fn sums_are_counted() {
        let mut trial = Trial::of_agent::<SumWorker>();
        trial.start(Value::Null).expect("starts");
        for done in 1..3 {
            let job = Value::term("sum", [Value::list([1, 2, 3])]);
            trial.message(Message::request("worker", job)).expect("is read");
            assert_eq!(trial.sent()[0].content, Value::term("sum", [6.into(), done.into()]));
        }
        trial.message(Message::request("worker", "what?")).expect("is read");
        assert_eq!(trial.sent()[0].performative, Performative::NotUnderstood);
    }
}
