//! Agent that travels round, and sends minions: the usual patterns of mobile agents.
//!
//! `request tour([[n2], [n3, n4]], WithinMs, StayMs)`: the scout goes to each of these stops, on the first node of each
//! that it can reach. It tells `visits(Node)` there, stays for `StayMs`, comes home, and tells
//! `toured(Nodes, Missed, End, Home)`.
//! `request send([n2, n3], Ms, WorkMs)`: the scout stays, sends a minion to the first of these nodes that it can reach,
//! and tells the minion's answer. After `WorkMs` of work, a minion on a node whose name begins with `n` counts the
//! letters of the name; others fail.

use std::time::Duration;

use whimbrel_guest::{Context, Error, Itinerary, Leg, Message, Performative, Template, TourEnd, Value, agent};

const USAGE: &str = "tour([[n2], [n3, n4]], WithinMs, StayMs), send([n2], Ms, WorkMs)";

#[agent]
async fn scout(ctx: Context) -> Result<(), Error> {
    loop {
        let asked = ctx.receive(Template::performative(Performative::Request)).await;
        let answer = match asked.content.as_term() {
            Some(("tour", [stops, within, stay])) => tour(ctx, &asked, stops, (ms(within), ms(stay))).await?,
            Some(("send", [nodes, within, work])) => send(ctx, nodes, ms(within), ms(work)).await,
            _ => {
                ctx.send(&asked.reply(Performative::NotUnderstood, USAGE))?;
                continue;
            }
        };
        ctx.send(&asked.reply(Performative::Inform, answer))?;
    }
}

fn ms(value: &Value) -> Duration {
    Duration::from_millis(value.as_int().unwrap_or_default() as u64)
}

fn names(nodes: &Value) -> impl Iterator<Item = &str> {
    nodes.items().iter().filter_map(Value::as_str)
}

async fn tour(
    ctx: Context,
    asked: &Message,
    stops: &Value,
    (within, stay): (Duration, Duration),
) -> Result<Value, Error> {
    let stops = stops.items().iter().enumerate();
    let mut tour = stops.fold(Itinerary::new(), |tour, (number, nodes)| tour.stop(names(nodes), number));
    tour = tour.within(within).returning();
    let mut seen = Vec::new();
    while let Leg::At { node, task } = tour.next(ctx).await {
        let visits = Value::term("visits", [Value::text(ctx.node())]);
        ctx.send(&Message::inform(asked.sender.as_str(), visits))?;
        if !stay.is_zero() {
            ctx.sleep(stay).await;
        }
        seen.push(Value::text(format!("{task} on {node}")));
    }
    let end = match tour.ended() {
        Some(TourEnd::Done) => "done",
        Some(TourEnd::Late) => "late",
        Some(TourEnd::Recalled) => "recalled",
        _ => "no_way_back",
    };
    let missed = tour.missed().iter().map(|missed| Value::text(&missed.node)).collect();
    Ok(Value::term("toured", [Value::List(seen), Value::List(missed), Value::atom(end), Value::text(ctx.node())]))
}

async fn send(ctx: Context, nodes: &Value, within: Duration, work: Duration) -> Value {
    let task = async |ctx: Context| {
        ctx.sleep(work).await;
        let node = ctx.node();
        if node.starts_with('n') { Ok(node.len() as i64) } else { Err(format!("{node} is no name")) }
    };
    match ctx.dispatch(names(nodes), within, task).await {
        Ok(letters) => Value::term("heard", [letters, Value::text(ctx.node())]),
        Err(error) => Value::term("heard", [Value::text(error.to_string()), Value::text(ctx.node())]),
    }
}
