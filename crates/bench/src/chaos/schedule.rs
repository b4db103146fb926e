//! Schedule of faults, made of a plan and a seed before anything is started. The same seed gives the same faults.

use std::time::Duration;

use toml::Spanned;

use super::plan::{Fault, FaultPlan, Target, When};

/// A fault that happens once.
#[derive(Clone, Debug, PartialEq)]
pub struct Blow {
    /// Start of the fault, from the beginning of the run.
    pub at: Duration,
    /// End of the fault.
    pub until: Duration,
    /// Index of the fault in the plan.
    pub fault: usize,
    /// Victims of the fault.
    pub victims: Vec<Victim>,
}

/// A node or a server, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Victim {
    Node(u8),
    Server(u8),
}

impl std::fmt::Display for Victim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Node(k) => write!(f, "n{k}"),
            Self::Server(k) => write!(f, "s{k}"),
        }
    }
}

/// Random numbers of a seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct FaultRandom(pub u64);

impl FaultRandom {
    /// Returns a number below this one; 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed % (end.max(1) as u64)) as usize
    }

    /// Returns a random time from a half to one and a half of this one.
    fn around(&mut self, mean: Duration) -> Duration {
        let micros = usize::try_from(mean.as_micros()).unwrap_or(usize::MAX / 2);
        Duration::from_micros((micros / 2 + self.below(micros)) as u64)
    }
}

/// Returns all faults of a plan, in order.
pub fn schedule(plan: &FaultPlan, seed: u64) -> Vec<Blow> {
    let mut random = FaultRandom(seed);
    let last = plan.run.time.map_or(Duration::MAX, |time| time.0);
    let first = |(number, fault): (usize, &Fault), random: &mut FaultRandom| match fault.when {
        When::At(at) => (at, number, 1),
        When::Every { mean, times } => (random.around(mean), number, times.unwrap_or(u64::MAX)),
    };
    let mut due: Vec<(Duration, usize, u64)> =
        plan.faults.iter().map(Spanned::get_ref).enumerate().map(|fault| first(fault, &mut random)).collect();
    let (mut blows, mut unfinished): (Vec<Blow>, Vec<Blow>) = (Vec::new(), Vec::new());
    loop {
        due.retain(|(at, _, times)| *at <= last && *times > 0);
        let Some(next) = due.iter_mut().min() else { break };
        let (at, number, times) = *next;
        unfinished.retain(|blow| blow.until > at);
        let Some(fault) = plan.faults.get(number).map(Spanned::get_ref) else { break };
        let Some(blow) = place(plan, fault, number, at, &unfinished, &mut random) else { break };
        let mean = if let When::Every { mean, .. } = fault.when { mean } else { Duration::ZERO };
        *next = (blow.at + random.around(mean), number, times - 1);
        if blow.at <= last {
            unfinished.push(blow.clone());
            blows.push(blow);
        }
    }
    blows.sort_by_key(|blow| blow.at);
    blows
}

/// Returns the fault, as soon as another is permitted and a target runs. Targets that the plan names run.
fn place(
    plan: &FaultPlan,
    fault: &Fault,
    number: usize,
    due: Duration,
    unfinished: &[Blow],
    random: &mut FaultRandom,
) -> Option<Blow> {
    let mut at = due;
    loop {
        let until = at + fault.time;
        let meanwhile: Vec<&Blow> = unfinished.iter().filter(|other| other.at < until && at < other.until).collect();
        let struck: Vec<Victim> = meanwhile.iter().flat_map(|blow| blow.victims.iter().copied()).collect();
        if meanwhile.len() < plan.run.together.get()
            && let Some(victims) = choose(plan, &fault.targets, struck, random)
        {
            return Some(Blow { at, until, fault: number, victims });
        }
        at = meanwhile.iter().map(|blow| blow.until).min()?;
    }
}

/// Chooses a victim for each target, none of them in a fault already; the narrowest targets first.
pub fn choose(
    plan: &FaultPlan,
    targets: &[Target],
    mut struck: Vec<Victim>,
    random: &mut FaultRandom,
) -> Option<Vec<Victim>> {
    let nodes = || (1..=plan.nodes()).map(Victim::Node);
    let servers = || (1..=plan.servers()).map(Victim::Server);
    let of = |target: &Target| -> Vec<Victim> {
        match target {
            Target::AnyNode => nodes().collect(),
            Target::AnyServer => servers().collect(),
            Target::Any => nodes().chain(servers()).collect(),
            Target::Node(k) => vec![Victim::Node(*k)],
            Target::Server(k) => vec![Victim::Server(*k)],
        }
    };
    let mut candidates: Vec<Vec<Victim>> = targets.iter().map(of).collect();
    candidates.sort_by_key(Vec::len);
    let mut victims = Vec::new();
    for mut candidates in candidates {
        candidates.retain(|victim| !struck.contains(victim));
        let victim = *candidates.get(random.below(candidates.len()))?;
        struck.push(victim);
        victims.push(victim);
    }
    Some(victims)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "society = { project = \"p\" }\nrun = { together = 2 }\n\
        [[fault]]\nkind = \"kill\"\ntarget = \"any\"\nevery = \"2s\"\ntimes = 50\n\
        [[fault]]\nkind = \"pause\"\ntarget = [\"node\", \"node\"]\nevery = \"3s\"\ntimes = 20\nfor = \"4s\"\n\
        [[fault]]\nkind = \"kill\"\ntarget = \"s2\"\nat = \"9s\"\n";

    #[test]
    fn seed_determines_faults() {
        let plan = FaultPlan::parse(PLAN).unwrap();
        let blows = schedule(&plan, 7);
        assert_eq!(blows, schedule(&plan, 7));
        assert_ne!(blows, schedule(&plan, 8));
        let of = |fault| blows.iter().filter(|blow| blow.fault == fault).count();
        assert_eq!((of(0), of(1), of(2)), (50, 20, 1));
        let struck: std::collections::BTreeSet<Victim> = blows.iter().flat_map(|blow| blow.victims.clone()).collect();
        assert_eq!(struck.len(), 6, "{struck:?}");
    }

    #[test]
    fn limited_run_ends_in_time() {
        let text = PLAN.replace("together = 2", "for = \"10s\"").replace("times = 50", "");
        let blows = schedule(&FaultPlan::parse(&text).unwrap(), 1);
        assert!(blows.len() > 3 && blows.iter().all(|blow| blow.at <= Duration::from_secs(10)), "{blows:?}");
    }
}
