//! Traveller written as an `async` function. It moves in the middle of its loops, too, but only where it awaits
//! something. Its module needs no preparation for that: the waiting function is a value in its memory.

use whimbrel_guest::{Context, Error, Performative, Template, Value, agent};

#[agent]
async fn wander(ctx: Context) -> Result<(), Error> {
    loop {
        let asked = ctx.receive(Template::performative(Performative::Request)).await;
        let nodes = asked.content.as_term().and_then(|(_, arguments)| arguments.first()).map(Value::items);
        let mut nodes = nodes.unwrap_or_default().iter().filter_map(Value::as_str);
        let mut moves = 0_i64;
        let mut sum = 2_166_136_261_u32;
        for round in 0..1000 {
            for step in 0..10 {
                sum = (sum ^ (round * 10 + step)).wrapping_mul(16_777_619);
            }
            if sum % 7 == 0
                && let Some(node) = nodes.next()
            {
                // Staying at a node, because the next is closed, changes no sum.
                let from = ctx.node();
                let _ = ctx.move_to(node).await;
                moves += i64::from(ctx.node() != from);
            }
        }
        let answer = Value::term("sum", [Value::Int(sum.into()), moves.into(), ctx.node().into()]);
        ctx.send(&asked.reply(Performative::Inform, answer))?;
    }
}
