//! Properties of plans of faults, for any text. The fuzz target looks for violations; a test of `whimbrel` replays
//! those that were found.

use std::time::Duration;

#[path = "../../crates/bench/src/chaos/plan.rs"]
#[allow(dead_code, reason = "the benchmarks use all of it")]
mod plan;
#[path = "../../crates/bench/src/chaos/schedule.rs"]
mod schedule;

use plan::{FaultPlan, Wrong};
use schedule::{Blow, schedule};

/// Times in one fault that are still tried: more take long.
const TIMES_MAX: u64 = 2_000;

/// Checks a plan. An error's place is inside the text. A schedule is in order, uses only existing nodes, and never
/// has too many faults at a time.
pub fn chaos_plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let plan = match FaultPlan::parse(text) {
        Ok(plan) => plan,
        Err(Wrong { place, what }) => return assert!(place.end <= text.len() && !what.is_empty(), "{what}"),
    };
    if plan.faults.iter().map(|fault| most(&plan, fault.get_ref())).sum::<u64>() > TIMES_MAX {
        return;
    }
    let blows = schedule(&plan, bytes.len() as u64);
    assert_eq!(blows, schedule(&plan, bytes.len() as u64));
    assert!(blows.is_sorted_by_key(|blow| blow.at));
    for (number, blow) in blows.iter().enumerate() {
        let at_once: Vec<&Blow> = blows.iter().take(number + 1).filter(|other| other.until > blow.at).collect();
        assert!(at_once.len() <= plan.run.together.get() || blow.at == blow.until, "{at_once:?}");
        let mut victims: Vec<_> = at_once.iter().flat_map(|blow| &blow.victims).collect();
        victims.sort_unstable();
        assert!(victims.windows(2).all(|pair| pair[0] != pair[1]), "{at_once:?}");
        let there = |victim: &schedule::Victim| match victim {
            schedule::Victim::Node(k) => *k <= plan.nodes(),
            schedule::Victim::Server(k) => *k <= plan.servers(),
        };
        assert!(blow.victims.iter().all(there));
        assert!(plan.run.time.is_none_or(|time| blow.at <= time.0));
    }
}

/// Returns the most times that a fault may happen.
fn most(plan: &FaultPlan, fault: &plan::Fault) -> u64 {
    match fault.when {
        plan::When::At(_) => 1,
        plan::When::Every { mean, times } => {
            let run = plan.run.time.map_or(Duration::MAX, |time| time.0);
            let fitting = run.as_micros() / (mean.as_micros() / 2).max(1);
            times.unwrap_or(u64::MAX).min(u64::try_from(fitting).unwrap_or(u64::MAX))
        }
    }
}

/// Seeds: plans.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "[society]\nproject = \"bank\"\n\n[[fault]]\nkind = \"kill\"\ntarget = \"any\"\nevery = \"2s\"\ntimes = 10\n",
        "[society]\nproject = \"p.mas2j\"\nnodes = 5\nservers = 3\ntakeover = \"1s\"\n[run]\nfor = \"30s\"\nseed = 7\ntogether = 2\n\
         [[fault]]\nkind = \"pause\"\ntarget = [\"n1\", \"server\"]\nat = \"5s\"\nfor = \"3s\"\n\
         [[fault]]\nkind = \"partition\"\ntarget = \"node\"\nevery = \"4s\"\n",
        "society = { project = \"p\", store = \"folder\", agents = 9 }\n\
         fault = [{ kind = \"disk-full\", target = \"n1\", at = \"1s\" }]\n\
         end = { tell = \"enough\", to = \"a*\", performative = \"achieve\" }\n\
         register = [{ agents = \"r*\", clients = 3 }]\n",
        "[society]\nproject = \"p\"\n[[fault]]\nkind = \"slow-link\"\ntarget = \"s1\"\nat = \"1s\"\nrate = \"64kbit\"\n\
         [[fault]]\nkind = \"clock-step\"\ntarget = \"n3\"\nevery = \"1s\"\ntimes = 3\nby = \"-1h\"\n\
         [[check]]\nask = \"a\"\ncontent = \"total(T)\"\nexpect = \"total(8)\"\n[[check]]\nlines = \"x\"\ntimes = 0\n\
         [[check]]\nunique = \"[a\"\n[[check]]\nagents = \"a*\"\ncount = 3\n",
        "[society]\nproject = \"p\"\nstore = \"nats://127.0.0.1:4222/x\"\nnodes = 2\n",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
