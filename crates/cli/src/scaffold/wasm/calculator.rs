//! Sums what it is asked to sum.

use whimbrel_guest::{Agent, Context, Failure, Message, Performative, Value, agent};

/// State of the agent, which moves with it to other nodes.
#[derive(Default)]
struct Calculator {
    done: i64,
}

#[agent]
impl Agent for Calculator {
    fn on_message(&mut self, ctx: Context, message: Message) -> Result<(), Failure> {
        let answer = match message.content.as_term() {
            Some(("sum", [numbers])) => {
                self.done += 1;
                let sum: f64 = numbers.items().iter().filter_map(Value::as_f64).sum();
                message.reply(Performative::Inform, Value::term("sum", [sum.into()]))
            }
            _ => message.reply(Performative::NotUnderstood, "ask me for sum([1, 2, 3])"),
        };
        Ok(ctx.send(&answer)?)
    }
}
