//! Travels in the middle of its work: loops within calls within a recursion, and at any depth it moves on, with its stack.
//!
//! `request tour([n2, n1, ...])`: it climbs through its work, and moves to the next node of the list each time that its checksum
//! says so, until the list is used up. The sum it reports does not depend on where it has been.

use whimbrel_guest::blocking::{move_to, receive};
use whimbrel_guest::{Context, Error, Message, Performative, Template, Value, agent};

#[agent]
fn travel(ctx: Context) -> Result<(), Error> {
    loop {
        let asked = receive(&Template::performative(Performative::Request))?;
        let mut tour = Tour::of(&asked);
        let sum = climb(ctx, &mut tour, 8);
        let moves = i64::from(tour.moves);
        let answer = Value::term("sum", [Value::Int(sum.into()), moves.into(), ctx.node().into()]);
        ctx.send(&asked.reply(Performative::Inform, answer))?;
    }
}

/// The nodes to go to, and how often it came to another one.
struct Tour {
    nodes: std::vec::IntoIter<String>,
    moves: u32,
}

impl Tour {
    fn of(asked: &Message) -> Self {
        let nodes = asked.content.as_term().and_then(|(_, arguments)| arguments.first()).map(Value::items);
        let names = nodes.unwrap_or_default().iter().filter_map(Value::as_str).map(str::to_owned);
        Self { nodes: names.collect::<Vec<_>>().into_iter(), moves: 0 }
    }

    /// Moves on if there is somewhere to go. That it stays where a node is closed to it changes no sum.
    fn go_on(&mut self, ctx: Context) {
        if let Some(node) = self.nodes.next() {
            let from = ctx.node();
            let _ = move_to(&node);
            self.moves += u32::from(ctx.node() != from);
        }
    }
}

/// Loops within a recursion. Each level mixes what those below it made.
fn climb(ctx: Context, tour: &mut Tour, level: u32) -> u32 {
    let mut sum = 2_166_136_261_u32 ^ level;
    for round in 0..3 {
        if level > 0 {
            sum = mix(sum, climb(ctx, tour, level - 1));
        }
        for step in 0..10 {
            sum = mix(sum, round * 10 + step);
            if sum % 7 == 0 {
                tour.go_on(ctx);
            }
        }
    }
    sum
}

/// One step of FNV-1a, 32 bits at once.
fn mix(sum: u32, with: u32) -> u32 {
    (sum ^ with).wrapping_mul(16_777_619)
}
