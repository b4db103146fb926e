//! Agent that counts its messages, and tells the count when it is asked (query-ref).

use whimbrel_guest::{Agent, Context, Failure, Message, Performative, agent};

#[derive(Default)]
struct Counter {
    seen: i64,
}

#[agent]
impl Agent for Counter {
    fn on_message(&mut self, ctx: Context, message: Message) -> Result<(), Failure> {
        if message.performative != Performative::QueryRef {
            self.seen += 1;
            return Ok(());
        }
        Ok(ctx.send(&message.reply(Performative::Inform, self.seen))?)
    }
}
