//! Agents that go to and fro between two processes: how long does a hop take, with all that belongs to it?

use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use whimbrel::Society;
use whimbrel::runtime::{Agent, Context, Platform};
use whimbrel::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_net::{Authority, LinkSecurity, NODE_DAYS};

use super::Metrics;
use super::arguments::{MobilityArguments, MoverKind};
use crate::messaging::{hub_of, start_other};
use crate::percentile;
use whimbrel::node::node_secrets::{NodeSecrets, read_secrets};
use whimbrel_terminal::options::SecurityLevel;

const PROJECT: &str = "MAS hops { agents: mover; }";
const MOVER: (&str, &str) = (
    "mover.asl",
    "+!go(0, _, _).\n\
     +!go(N, Home, Away)[source(A)] <- .move_to(Away); .move_to(Home); .send(A, tell, back); !go(N-1, Home, Away)[source(A)].\n",
);
/// Depth of recursion of the agent that moves with its stack.
const DEPTH: i64 = 16;
/// Trips that are not counted: code is compiled, links have seen nothing yet.
const WARM_UP: usize = 100;
/// Longest time that the agent may be away.
const PATIENCE: Duration = Duration::from_secs(60);

/// Notes when the agent is back.
struct ReturnWatcher(Sender<Instant>);

impl Agent for ReturnWatcher {
    fn on_message(&mut self, _ctx: &mut Context<'_, '_>, _message: MessageBody) {
        let _ = self.0.send(Instant::now());
    }
}

fn society(what: &MobilityArguments) -> anyhow::Result<Society> {
    Ok(match what.mover {
        MoverKind::Asl => Society::built_in(PROJECT, &[MOVER])?,
        MoverKind::Weak | MoverKind::Strong => Society::open(Path::new(&what.shuttle))?,
    })
}

/// Returns the request to the agent.
fn errand(what: &MobilityArguments, watcher: Aid, mover: Aid) -> AclMessage {
    let text = |text: &str| Value::Str(text.into());
    let trips = what.trips + WARM_UP as u64;
    let (act, name, mut parts) = match what.mover {
        MoverKind::Asl => {
            let go = [Value::Num(trips as f64), Value::atom("n1"), Value::atom("n2")];
            (Performative::Other("achieve".into()), "go", go.to_vec())
        }
        _ => (Performative::Request, "shuttle", vec![text("n1"), text("n2"), Value::Int(trips as i64)]),
    };
    if what.mover == MoverKind::Strong {
        parts.push(Value::Int(DEPTH));
    }
    AclMessage::new(act, watcher, mover, Value::term(name, parts))
}

/// Runs it: the agent begins here, and goes to the process that this one starts.
pub fn run(what: &MobilityArguments) -> anyhow::Result<Metrics> {
    let society = society(what)?;
    let platform = Platform::builder().workers(1).loader(society.loader()).build();
    let level = LinkSecurity::from(what.security);
    let mut authority = (level != LinkSecurity::Open).then(|| Authority::create("whimbrel")).transpose()?;
    let mut secrets = |node: &str| -> anyhow::Result<NodeSecrets> {
        let issued = authority.as_mut().map(|authority| authority.issue(node, &[], NODE_DAYS));
        Ok(NodeSecrets { token: String::new(), credentials: issued.transpose()? })
    };
    let hub = hub_of("n1", level, secrets("n1")?, &platform)?;
    platform.link_with(hub.links());
    let mut other = start_other(hub.address().unwrap_or_default(), &secrets("n2")?)?;
    let (back, backs) = channel();
    let watcher = platform.spawn("watcher", ReturnWatcher(back))?;
    let mover = *society.start(&platform)?.first().context("there is nobody to move")?;
    platform.wait_idle();
    let began = Instant::now();
    platform.send(errand(what, watcher, mover));
    let measured = measure(&backs, what.trips as usize, began);
    let _ = other.stdin.as_mut().map(|input| input.flush());
    drop(other.stdin.take());
    hub.leave(Duration::from_secs(1));
    let _ = other.wait();
    platform.stop();
    measured
}

fn measure(backs: &Receiver<Instant>, trips: usize, began: Instant) -> anyhow::Result<Metrics> {
    let (mut before, mut us) = (began, Vec::with_capacity(trips));
    for trip in 0..trips + WARM_UP {
        let now = match backs.recv_timeout(PATIENCE) {
            Ok(now) => now,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                bail!("the agent did not come back from its trip number {trip}");
            }
        };
        if trip >= WARM_UP {
            us.push((now - before).as_secs_f64() * 1e6 / 2.0);
        }
        before = now;
    }
    ensure!(!us.is_empty(), "there was no trip");
    let hops = 2.0 * us.len() as f64;
    let seconds = us.iter().sum::<f64>() * 2.0 / 1e6;
    Ok(vec![
        ("hop_p50_us", percentile(50.0, &mut us)),
        ("hop_p99_us", percentile(99.0, &mut us)),
        ("hops_per_s", Some(hops / seconds)),
    ])
}

/// Runs the other process: a node where the agent comes to, until the first one closes the pipe.
pub fn second(what: &MobilityArguments, first: &str) -> anyhow::Result<()> {
    let platform = Platform::builder().workers(1).loader(society(what)?.loader()).build();
    let level = LinkSecurity::from(what.security);
    let hub = hub_of("n2", level, read_secrets()?, &platform)?;
    platform.link_with(hub.links());
    hub.connect_to("n1", first);
    let until = Instant::now() + Duration::from_secs(10);
    while !hub.has_links(1) {
        ensure!(Instant::now() < until, "cannot link with {first}");
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("ready");
    std::io::stdin().read_line(&mut String::new())?;
    hub.leave(Duration::from_secs(1));
    platform.stop();
    Ok(())
}

/// Returns the name of a level of security.
pub fn security(level: SecurityLevel) -> &'static str {
    crate::messaging::security_name(level)
}
