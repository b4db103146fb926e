//! Endurance: a society of chatting agents, of which some are killed, suspended, moved and flooded all the time. No
//! message is lost, and memory stays flat. Runs for a moment; for as long as you like with
//! `WHIMBREL_ENDURANCE_SECONDS=600 cargo test --release -p whimbrel-runtime --test it endurance -- --nocapture`.

use std::time::{Duration, Instant};

use whimbrel_acl::{Aid, MessageBody, Performative, Value};
use whimbrel_runtime::{Agent, Context, Platform};

const AGENTS: usize = 10_000;
/// Variable that is set in the process with the society.
const OWN_PROCESS: &str = "WHIMBREL_ENDURANCE_ALONE";
/// Time in which even a busy machine loses messages to killed agents and full mailboxes.
const TROUBLE_MAX: Duration = Duration::from_secs(60);
/// Number of messages in flight above which no new ones are added.
const QUEUED_MAX: u64 = 20_000;

/// Agent that forwards news to a neighbour, a stranger, or a common hub, until the news wears out.
struct Gossip {
    index: usize,
    state: u64,
}

impl Gossip {
    fn draw(&mut self, below: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % below
    }
}

fn name(index: usize) -> Aid {
    Aid::local(format!("gossip{}", index % AGENTS + 1).as_str())
}

impl Agent for Gossip {
    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        // News wears out as it is forwarded; failures are no news.
        let Value::Int(left) = message.content else { return };
        if left == 0 || message.performative == Performative::Failure {
            return;
        }
        let to = match self.draw(10) {
            0 => self.draw(AGENTS),
            1 => self.index / 1_000 * 1_000,
            _ => self.index + 1,
        };
        let mut news = message.into_message();
        news.content = Value::Int(left - 1);
        news.receivers[0] = name(to);
        ctx.send(news);
    }
}

fn gossip(index: usize) -> Gossip {
    Gossip { index, state: index as u64 + 1 }
}

fn resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// Disturbs an agent, or undoes a disturbance.
fn trouble(platform: &Platform, dice: u64, suspended: &mut Vec<Aid>) {
    let index = (dice >> 8) as usize % AGENTS;
    let victim = name(index);
    match dice % 16 {
        0..4 => {
            platform.kill(victim);
            // The name may still wait for a turn to end; then the agent stays away this time.
            let _ = platform.spawn(victim.name, gossip(index));
        }
        4..8 if platform.suspend(victim).is_ok() => suspended.push(victim),
        8..12 => platform.move_to_worker(victim, (dice >> 40) as usize),
        _ => {
            // Floods an agent with a small mailbox.
            for _ in 0..200 {
                platform.send(crate::kit::inform("outside", victim, Value::Int(0)));
            }
        }
    }
    if suspended.len() > 200 {
        let agent = suspended.swap_remove((dice >> 20) as usize % suspended.len());
        let _ = platform.resume(agent);
    }
}

/// Waits until the platform is idle, for as long as progress continues: a busy machine takes its time.
fn come_to_rest(platform: &Platform) {
    let mut handled = None;
    while !platform.wait_idle_for(Duration::from_secs(60)) {
        let now = Some(platform.counters().handled);
        assert_ne!(now, handled, "nothing moves, and there is no rest: {}", platform.counters());
        handled = now;
    }
}

/// Runs in a process of its own, so that its memory is not mixed with other tests'.
#[test]
fn a_society_outlasts_trouble() {
    if std::env::var_os(OWN_PROCESS).is_none() {
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "endurance::a_society_outlasts_trouble", "--nocapture"]).env(OWN_PROCESS, "yes");
        assert!(alone.status().unwrap().success());
        return;
    }
    let seconds = std::env::var("WHIMBREL_ENDURANCE_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(2.0);
    let lines = crate::kit::Lines::default();
    let platform = Platform::builder().workers(2).mailbox_limits(100, 500).output(lines).build();
    let agents = platform.spawn_population("gossip", AGENTS, gossip).unwrap();
    let (began, duration) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut suspended = Vec::new();
    let mut warm = None;
    let mut reported = Instant::now();
    let undisturbed = || platform.counters().dead == 0 && began.elapsed() < TROUBLE_MAX;
    while began.elapsed() < duration || undisturbed() {
        for _ in 0..100 {
            let dice = platform.services().random();
            platform.send(crate::kit::inform("outside", agents[dice as usize % AGENTS], Value::Int(200)));
            trouble(&platform, dice.rotate_left(17), &mut suspended);
        }
        // News is made no faster than it wears out, even where workers seldom have a processor.
        while !platform.wait_idle_for(Duration::from_millis(50)) && platform.counters().queued > QUEUED_MAX {}
        if warm.is_none() && began.elapsed() > duration / 5 {
            warm = Some(resident_mb());
        }
        if reported.elapsed() > Duration::from_secs(10) {
            reported = Instant::now();
            println!("{:4.0} s, {:.0} MB, {}", began.elapsed().as_secs_f64(), resident_mb(), platform.counters());
        }
    }
    suspended.into_iter().for_each(|agent| drop(platform.resume(agent)));
    come_to_rest(&platform);
    let (counters, end) = (platform.counters(), resident_mb());
    println!("{counters}; {:.0} MB when warm, {end:.0} MB at the end", warm.unwrap_or(0.0));
    counters.check().unwrap();
    assert_eq!(counters.queued, 0);
    assert!(counters.dead > 0 && counters.handled > 10_000);
    assert!(end < warm.unwrap_or(end) * 1.3 + 20.0, "memory grew");
    assert!(platform.stop());
}
