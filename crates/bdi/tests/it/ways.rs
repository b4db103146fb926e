//! Random programs print the same on the fast paths and on the regular one, in turns of any length, and when they are
//! written and restored between their steps.

use std::fmt::Write;
use std::sync::Arc;
use whimbrel_platform::capabilities::Inspectable;

use whimbrel_acl::Text;
use whimbrel_bdi::code::Image;
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_platform::inspection::Look;
use whimbrel_platform::{AgentBody, Next, Turn};
use whimbrel_testkit::{Random, Simulation, with_seeds};

use crate::snapshots::output_of_saved;

/// Number of goals: each pursues only later ones, so that all of them end.
const GOALS: u64 = 5;

/// Author of random programs.
struct Author {
    random: Random,
    /// Next number that the current plan prints.
    line: u32,
}

impl Author {
    fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), line: 0 }
    }

    fn pick(&mut self, choices: &[&str]) -> String {
        (*self.random.pick(choices).expect("there are some")).to_owned()
    }

    fn value(&mut self) -> String {
        self.pick(&["0", "1", "2", "a", "b", "X", "X", "X + 1", "[X]", "f(X)", "\"text\"", "f(1)", "g(f(X), [1])"])
    }

    fn belief(&mut self) -> String {
        let value = self.value();
        match self.random.between(0..=9) {
            0 => "flag".to_owned(),
            1 => format!("~p({value})"),
            2 => format!("r({value}, {})", self.value()),
            3..=5 => format!("q({value})"),
            _ => format!("p({value})"),
        }
    }

    fn query(&mut self) -> String {
        let belief = match self.random.between(0..=7) {
            0 => "flag".to_owned(),
            1 => "q(Y)".to_owned(),
            2 => "p(Z)".to_owned(),
            3 => "alike(X, Y, _)".to_owned(),
            4 => "c(Y) & p(Y)".to_owned(),
            5 => "r(_, Z)".to_owned(),
            _ => self.belief(),
        };
        match self.random.between(0..=5) {
            0 => format!("not {belief}"),
            1 => format!("{belief} & not flag"),
            _ => belief,
        }
    }

    fn step(&mut self, goal: u64) -> String {
        self.line += 1;
        let line = self.line;
        // A plan for a change of beliefs must not trigger itself for ever.
        if goal > GOALS {
            return match self.random.between(0..=2) {
                0 => format!("-{}", self.belief()),
                1 => format!("if ({}) {{ .print({line}, X) }}", self.query()),
                _ => format!(".print({line}, X)"),
            };
        }
        match self.random.between(0..=20) {
            0..=2 => format!(".print({line}, X)"),
            3..=5 => format!("+{}", self.belief()),
            6..=9 => format!("-{}", self.belief()),
            10..=12 => format!("-+{}", self.belief()),
            13 => format!("+{}[{}]", self.belief(), self.pick(&["a", "b", "source(ann)"])),
            14 => format!("-{}[{}]", self.belief(), self.pick(&["a", "source(self)", "source(ann)"])),
            15..=17 if goal < GOALS => {
                let (op, other) = (self.pick(&["!", "!", "!!"]), self.random.between(goal + 1..=GOALS));
                format!("{op}g{other}({})", self.value())
            }
            18 => format!("if ({}) {{ {} }}", self.query(), self.step(goal)),
            19 => format!("for (c(K{line})) {{ {}; .print({line}, K{line}) }}", self.step(goal)),
            20 => format!("X \\== {}", self.pick(&["3", "4", "2", "a"])),
            _ => format!("+{}; -{}", self.belief(), self.belief()),
        }
    }

    fn plan(&mut self, trigger: &str, goal: u64, text: &mut String) {
        let label = if self.random.one_in(8) {
            format!("@l{}[atomic] ", self.line + 1000 * goal as u32)
        } else {
            String::new()
        };
        let context = if self.random.one_in(2) { format!(" : {}", self.query()) } else { String::new() };
        let steps: Vec<String> = (0..self.random.between(0..=5)).map(|_| self.step(goal)).collect();
        let body = if steps.is_empty() { String::new() } else { format!(" <- {}", steps.join("; ")) };
        self.line += 1;
        writeln!(text, "{label}{trigger}{context}{body}.").expect("text takes all");
    }

    fn program(mut self) -> String {
        let mut text = "c(1). c(2). alike(Y, Y, same). alike(1, 2, other). p(0).\n".to_owned();
        for goal in 0..=GOALS {
            self.line = 100 * goal as u32;
            for _ in 0..self.random.between(0..=2) {
                let pattern = self.pick(&["X", "X", "1", "a", "f(X)"]);
                self.plan(&format!("+!g{goal}({pattern})"), goal, &mut text);
            }
            self.plan(&format!("+!g{goal}(X)"), goal, &mut text);
            if self.random.one_in(2) {
                writeln!(text, "-!g{goal}(X) <- .print(failed, {goal}, X).").expect("text takes all");
            }
        }
        for _ in 0..self.random.between(0..=2) {
            let trigger = self.pick(&["+p(X)", "-p(X)", "+q(1)", "-q(X)", "+flag", "+r(X, _)"]);
            let trigger = if trigger == "+flag" { "+flag[source(X)]".to_owned() } else { trigger };
            self.plan(&trigger, GOALS + 1, &mut text);
        }
        for _ in 0..self.random.between(1..=4) {
            let goal = self.random.between(0..=2);
            writeln!(text, "!g{goal}({}).", self.pick(&["0", "1", "a", "f(2)"])).expect("text takes all");
        }
        text += "!end. +!end <- .wait(50); .findall(X, p(X), P); .findall(X, q(X)[source(self)], Q); .findall(f(X, Y), r(X, Y), R);
            .findall(X, ~p(X), N); .count(flag, F); .print(P, Q, R, N, F).\n";
        text
    }
}

struct Thinker {
    agent: Agent,
    budget: u32,
    followed: bool,
}

impl AgentBody for Thinker {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        turn.budget = self.budget;
        if self.followed {
            drop(self.agent.inspect(Look { follow: true }, turn.now));
        }
        self.agent.turn(turn)
    }
}

fn said(image: &Arc<Image>, budget: u32, followed: bool) -> Vec<String> {
    let mut simulation = Simulation::new(7);
    let agent = Agent::new(AgentConfig::new(Arc::clone(image)));
    simulation.spawn("prog", Box::new(Thinker { agent, budget, followed }));
    simulation.run_for(5_000);
    simulation.output()
}

#[test]
fn fast_paths_do_not_change_results() {
    with_seeds(1_000, |seed| {
        let text = Author::new(seed).program();
        let loaded = whimbrel_bdi::load(&text, &Text::from("prog.asl"), &mut NoFiles);
        let image = loaded.unwrap_or_else(|error| panic!("{text}\n{:#?}", error.diagnostics)).0;
        let ordinary = said(&image, 1_000, true);
        assert!(!ordinary.is_empty(), "{text}");
        for budget in [1, 2, 3, 1_000] {
            assert_eq!(said(&image, budget, false), ordinary, "seed {seed}, {budget} cycles a turn:\n{text}");
        }
        assert_eq!(output_of_saved(&image, 2, seed), ordinary, "seed {seed}, saved:\n{text}");
    });
}
