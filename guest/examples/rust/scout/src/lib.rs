//! Goes round, and sends others: what travelling agents do again and again.
//!
//! `request round([n2, n3])`: it goes to each of these nodes itself, comes home, and tells where it was and how many it missed.
//! `request send([n2, n3])`: it stays, sends a minion to each of them, and tells what they say.

use std::time::Duration;

use whimbrel_guest::{Context, Error, Itinerary, Message, Performative, Template, Value, agent};

const PATIENCE: Duration = Duration::from_secs(10);

#[agent]
async fn scout(ctx: Context) -> Result<(), Error> {
    loop {
        let asked = ctx.receive(Template::performative(Performative::Request)).await;
        let answer = match asked.content.as_term() {
            Some(("round", [nodes])) => go_round(ctx, nodes).await?,
            Some(("send", [nodes])) => send_minions(ctx, nodes).await,
            _ => {
                ctx.send(&asked.reply(Performative::NotUnderstood, "round([n2, n3]) or send([n2, n3])"))?;
                continue;
            }
        };
        ctx.send(&Message { content: answer, ..asked.reply(Performative::Inform, Value::Null) })?;
    }
}

fn names(nodes: &Value) -> impl Iterator<Item = &str> {
    nodes.items().iter().filter_map(Value::as_str)
}

async fn go_round(ctx: Context, nodes: &Value) -> Result<Value, Error> {
    let home = ctx.node();
    let mut journey = names(nodes).fold(Itinerary::new(), |journey, node| journey.stop([node])).within(PATIENCE);
    let mut seen = Vec::new();
    while let Some(node) = journey.next(ctx).await {
        seen.push(Value::text(format!("{node} is {}", ctx.node())));
    }
    ctx.move_to(&home).await?;
    let missed = journey.missed().len() as i64;
    Ok(Value::term("saw", [Value::List(seen), missed.into(), ctx.node().into()]))
}

async fn send_minions(ctx: Context, nodes: &Value) -> Value {
    let mut said = Vec::new();
    for node in names(nodes) {
        let task = async |ctx: Context| Value::text(format!("a minion is on {}", ctx.node()));
        said.push(match ctx.dispatch(node, PATIENCE, task).await {
            Ok(answer) => answer,
            Err(error) => Value::text(format!("no minion on {node}: {error}")),
        });
    }
    Value::term("heard", [Value::List(said), Value::Int(0), ctx.node().into()])
}
