//! Agent that travels in the middle of its work, in loops within calls within a recursion: it moves at any depth, with
//! its stack.
//!
//! `request tour([n2, n1, ...], Seed)`: the agent climbs through 295,230 steps of work. After one in 2,000 of them,
//! drawn by the seed (0 if there is none), it moves to the next node of the list, until the list is used up. The sum
//! that it reports does not depend on its route.

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

/// Nodes of a tour, and the number of moves so far.
struct Tour {
    nodes: std::vec::IntoIter<String>,
    moves: u32,
    /// Number of the current step, and the seed that draws the steps with a move.
    steps: u32,
    seed: u32,
}

impl Tour {
    fn of(asked: &Message) -> Self {
        let (_, arguments) = asked.content.as_term().unwrap_or_default();
        let nodes = arguments.first().map(Value::items).unwrap_or_default();
        let names = nodes.iter().filter_map(Value::as_str).map(str::to_owned);
        let seed = arguments.get(1).and_then(Value::as_int).unwrap_or_default();
        Self { nodes: names.collect::<Vec<_>>().into_iter(), moves: 0, steps: 0, seed: seed as u32 }
    }

    /// Returns true if the agent moves after this step.
    fn is_drawn(&mut self) -> bool {
        let drawn = self.steps.wrapping_mul(2_654_435_761) ^ self.seed.wrapping_mul(40_503);
        let drawn = (drawn ^ drawn >> 15).wrapping_mul(2_246_822_519);
        self.steps += 1;
        (drawn ^ drawn >> 13) % 2_000 == 0
    }

    /// Moves to the next node, if there is one. Staying, because a node is closed, changes no sum.
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
            if tour.is_drawn() {
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
