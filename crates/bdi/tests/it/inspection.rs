//! Inspection: looking at an agent, pausing, continuing and stepping change nothing; and the inspection is correct.

use std::sync::Arc;
use whimbrel_platform::capabilities::{Inspectable, Mobile};

use whimbrel_acl::Text;
use whimbrel_bdi::code::Image;
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_platform::inspection::{
    DebugOrder, DebuggerLine, DebuggerSetup, FailureStops, HitCount, Inspection, Instructed, Instruction, Look,
    ProgramLine,
};
use whimbrel_platform::{AgentBody, Next, Time, Turn};
use whimbrel_testkit::Simulation;

use crate::snapshots::{PROGRAM_MS, programs};

const GLANCE: Look = Look { follow: false };
const FOLLOW: Look = Look { follow: true };

/// Turns of a program with a disturbance each; later only some have one, for programs that take thousands.
const TURNS_DISTURBED: u64 = 150;

/// Lines from the beginning of a plan that get breakpoints.
const LINES_OF_PLAN: u32 = 6;

/// Disturbance of an agent.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Disturbance {
    None,
    /// Inspected before each turn.
    Glances,
    /// Inspected before each turn, and its cycles are recorded.
    Follows,
    /// Each of its cycles is a step of a paused agent, inspected before and after.
    Steps,
    /// Each of its plans has a breakpoint; it continues after each pause.
    Breaks,
    /// Lines of its plans have breakpoints; it continues after each pause.
    BreaksAtLines,
    /// Each step of its intentions is ordered, and pauses at each failure.
    StepsInto,
    /// At times an operator begins or ends to debug it.
    ComesAndGoes,
}

struct Disturbed {
    agent: Agent,
    how: Disturbance,
    turns: u64,
    budget: u32,
}

impl Disturbed {
    fn order(&mut self, order: DebugOrder) -> Instructed {
        self.agent.instruct(&Instruction::Debug(order), Time::ZERO)
    }

    fn step(&mut self, turn: &mut Turn<'_>) -> Next {
        if self.turns == 1 {
            assert_eq!(self.order(DebugOrder::Pause), Instructed::Done);
        }
        let before = self.agent.inspect(GLANCE, turn.now);
        assert!(before.paused && !before.stepping);
        assert_eq!(self.order(DebugOrder::Step), Instructed::Done);
        let next = self.agent.turn(turn);
        let after = self.agent.inspect(GLANCE, turn.now);
        assert!(after.paused && !after.stepping);
        match next {
            Next::Wait if after.cycle > before.cycle => Next::Ready,
            Next::Wait => {
                // The agent had nothing to do: a continuing agent tells when it will have.
                assert_eq!(self.order(DebugOrder::Continue), Instructed::Done);
                let next = self.agent.turn(turn);
                assert_eq!(self.order(DebugOrder::Pause), Instructed::Done);
                next
            }
            other => other,
        }
    }

    fn go_on_at_breakpoints(&mut self, turn: &mut Turn<'_>) -> Next {
        if self.turns == 1 {
            for plan in self.agent.inspect(GLANCE, turn.now).plans {
                let instruction = Instruction::Breakpoint { plan: plan.label, on: true };
                // The hundredth is the last.
                let _ = self.agent.instruct(&instruction, turn.now);
            }
        }
        self.go_on(turn)
    }

    fn go_on_at_lines(&mut self, turn: &mut Turn<'_>) -> Next {
        if self.turns == 1 {
            let plans = self.agent.inspect(GLANCE, turn.now).plans;
            for (plan, line) in
                plans.iter().flat_map(|plan| (plan.line..plan.line + LINES_OF_PLAN).map(move |line| (plan, line)))
            {
                let at = ProgramLine { file: plan.file.clone(), line };
                // A line without steps is refused, and so is one beyond the limit.
                let _ = self.agent.instruct(&Instruction::LineBreakpoint { at, on: true }, turn.now);
            }
        }
        self.go_on(turn)
    }

    fn step_into(&mut self, turn: &mut Turn<'_>) -> Next {
        if self.turns == 1 {
            let setup = DebuggerSetup { failures: FailureStops::All, ..DebuggerSetup::default() };
            assert_eq!(self.agent.instruct(&Instruction::Debugger(Arc::new(setup)), turn.now), Instructed::Done);
            assert_eq!(self.order(DebugOrder::Pause), Instructed::Done);
        }
        self.go_on_by(DebugOrder::Into, turn)
    }

    /// Has a turn, and continues from a breakpoint.
    fn go_on(&mut self, turn: &mut Turn<'_>) -> Next {
        self.go_on_by(DebugOrder::Continue, turn)
    }

    fn go_on_by(&mut self, order: DebugOrder, turn: &mut Turn<'_>) -> Next {
        let next = self.agent.turn(turn);
        if self.agent.stays().is_none() {
            return next;
        }
        assert_eq!(self.order(order), Instructed::Done);
        Next::Ready
    }
}

impl AgentBody for Disturbed {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        self.turns += 1;
        turn.budget = self.budget;
        let much_disturbed = self.turns <= TURNS_DISTURBED;
        match self.how {
            Disturbance::Glances | Disturbance::Follows if !much_disturbed && !self.turns.is_multiple_of(50) => {}
            Disturbance::Steps if !much_disturbed => drop(self.order(DebugOrder::End)),
            Disturbance::None => {}
            Disturbance::Glances => drop(self.agent.inspect(GLANCE, turn.now)),
            Disturbance::Follows => drop(self.agent.inspect(FOLLOW, turn.now)),
            Disturbance::Steps => return self.step(turn),
            Disturbance::Breaks => return self.go_on_at_breakpoints(turn),
            Disturbance::BreaksAtLines => return self.go_on_at_lines(turn),
            Disturbance::StepsInto if !much_disturbed => drop(self.order(DebugOrder::End)),
            Disturbance::StepsInto => return self.step_into(turn),
            Disturbance::ComesAndGoes if self.turns % 7 == 3 => {
                self.order(DebugOrder::Pause);
                assert_eq!(self.agent.turn(turn), Next::Wait);
                self.order(DebugOrder::Continue);
            }
            Disturbance::ComesAndGoes if self.turns % 7 == 6 => drop(self.order(DebugOrder::End)),
            Disturbance::ComesAndGoes => {}
        }
        self.agent.turn(turn)
    }
}

fn output(image: &Arc<Image>, how: Disturbance, budget: u32) -> Vec<String> {
    let mut simulation = Simulation::new(7);
    let agent = Agent::new(AgentConfig::new(Arc::clone(image)));
    simulation.spawn("prog", Box::new(Disturbed { agent, how, turns: 0, budget }));
    simulation.run_for(PROGRAM_MS);
    simulation.output()
}

#[test]
fn operator_does_not_change_results() {
    let programs = programs();
    assert!(programs.len() > 200, "only {} programs", programs.len());
    let disturbances = [
        (Disturbance::Glances, 1),
        (Disturbance::Follows, 1),
        (Disturbance::Follows, 100),
        (Disturbance::Steps, 100),
        (Disturbance::Breaks, 100),
        (Disturbance::BreaksAtLines, 100),
        (Disturbance::StepsInto, 100),
        (Disturbance::ComesAndGoes, 5),
    ];
    let different = |(name, image): &(String, Arc<Image>)| {
        let undisturbed = output(image, Disturbance::None, 100);
        let wrong = disturbances.into_iter().find(|(how, budget)| output(image, *how, *budget) != undisturbed)?;
        Some(format!("{name} ({wrong:?})"))
    };
    // Half a minute on one core: all cores take part.
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let different: Vec<String> = std::thread::scope(|scope| {
        let parts = programs.chunks(programs.len().div_ceil(cores));
        let parts = parts.map(|part| scope.spawn(move || part.iter().filter_map(different).collect::<Vec<_>>()));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(different.is_empty(), "{} of {}: {different:#?}", different.len(), programs.len());
}

/// Agent by itself, inspected between its turns.
struct InspectedAgent {
    simulation: Simulation,
    agent: Agent,
    mailbox: whimbrel_platform::Mailbox,
    now: Time,
}

impl InspectedAgent {
    fn new(program: &str) -> Self {
        let loaded = whimbrel_bdi::load(program, &Text::from("bob.asl"), &mut NoFiles);
        let (image, _) = loaded.unwrap_or_else(|error| panic!("{:?}", error.diagnostics));
        let agent = Agent::new(AgentConfig::new(image));
        Self { simulation: Simulation::new(1), agent, mailbox: whimbrel_platform::Mailbox::default(), now: Time::ZERO }
    }

    fn turn(&mut self, budget: u32) -> Next {
        let mut outbox = whimbrel_platform::Outbox::default();
        let mut turn = Turn {
            aid: whimbrel_acl::Aid::local("bob"),
            now: self.now,
            mailbox: &mut self.mailbox,
            outbox: &mut outbox,
            budget,
            services: self.simulation.services(),
        };
        self.agent.turn(&mut turn)
    }

    fn look(&mut self) -> Inspection {
        self.agent.inspect(GLANCE, self.now)
    }

    fn told(&mut self, instruction: Instruction) -> Instructed {
        self.agent.instruct(&instruction, self.now)
    }

    fn debug(&mut self, order: DebugOrder) -> Instructed {
        self.told(Instruction::Debug(order))
    }

    fn json(&mut self) -> String {
        serde_json::to_string_pretty(&self.look()).unwrap()
    }
}

const HOUSE: &str = r#"
likes(tea).
likes(beer)[source(amy), sure(0.9)].
~open(door).
stock::left(3).
drink(X) :- likes(X) & not X == beer.

!serve(amy).
!count(0).

@s[important] +!serve(Who) : drink(What) & likes(What)
   <- ?stock::left(N);
      !bring(What, Who);
      .print("done").
+!bring(What, Who)
   <- .wait(500);
      for (likes(Else)) {
         if (Who == amy & not Else == beer) { !greet(Who) } else { .print("no") }
      }.
+!greet(Who) <- .wait(ready(Who)).
@c[breakpoint] +!count(N) : N < 3 <- !count(N + 1).
+!count(_).
+likes(X)[source(Who)] <- .print(Who, " likes ", X).
"#;

#[test]
fn whole_mind_is_shown() {
    let mut bob = InspectedAgent::new(HOUSE);
    bob.turn(30);
    insta::assert_snapshot!("waits", bob.json());
    bob.now = Time(500_000);
    bob.turn(30);
    insta::assert_snapshot!("waits_deeper", bob.json());
}

#[test]
fn breakpoint_pauses_before_first_step() {
    let mut bob = InspectedAgent::new(HOUSE);
    assert_eq!(bob.told(Instruction::Breakpoint { plan: "@s".to_owned(), on: true }), Instructed::Done);
    assert_eq!(bob.turn(30), Next::Wait);
    let seen = bob.look();
    assert_eq!((seen.paused, seen.paused_by.as_deref()), (true, Some("the breakpoint of s")));
    let frame = &seen.intentions.last().unwrap().frames[0];
    assert_eq!((frame.trigger.as_str(), frame.step.as_deref()), ("+!serve(amy)", Some("?stock::left(N)")));
    let recent: Vec<String> = seen.recent.iter().map(|it| format!("{} {}", it.cycle, it.text)).collect();
    insta::assert_snapshot!("until_the_breakpoint", recent.join("\n"));
    // Once the agent is debugged, the program's breakpoints count, too.
    assert_eq!(bob.debug(DebugOrder::Continue), Instructed::Done);
    assert_eq!(bob.turn(30), Next::Wait);
    assert_eq!(bob.look().paused_by.as_deref(), Some("the breakpoint of c"));
    // The rest of the cycle, and so on, until the plan is chosen again.
    let mut stood_by = Vec::new();
    while stood_by.last().is_none_or(|by| by == "a step") {
        assert_eq!(bob.debug(DebugOrder::Step), Instructed::Done);
        assert!(bob.look().stepping);
        assert_eq!(bob.turn(30), Next::Wait);
        stood_by.extend(bob.look().paused_by);
    }
    assert_eq!(stood_by, ["a step", "a step", "the breakpoint of c"]);
    let marks = |bob: &mut InspectedAgent| -> Vec<String> {
        let plans = bob.look().plans.into_iter().filter(|plan| plan.breakpoint);
        plans.map(|plan| plan.label).collect()
    };
    assert_eq!(marks(&mut bob), ["s", "c"]);
    // The program's breakpoints can be removed, too, until debugging ends.
    assert_eq!(bob.told(Instruction::Breakpoint { plan: "c".to_owned(), on: false }), Instructed::Done);
    assert_eq!(marks(&mut bob), ["s"]);
    assert_eq!(bob.debug(DebugOrder::Continue), Instructed::Done);
    assert_ne!(bob.turn(30), Next::Wait);
    assert!(!bob.look().paused);
    assert_eq!(bob.debug(DebugOrder::End), Instructed::Done);
    assert_eq!(marks(&mut bob), ["c"]);
}

const DAY: &str = "!day.
+!day <- !wash(1);
   !eat;
   .print(end).
+!wash(X) <- +clean(X);
   .print(washed).
+!eat <- +bread; .fail.
-!eat <- +hungry.
+!walk <- !fly.
";

impl InspectedAgent {
    /// Returns the place of a pause: the line of the next step with its depth, and why the agent paused.
    fn place(&mut self) -> (u32, usize, String) {
        let seen = self.look();
        let frames = seen.intentions.iter().find(|intention| Some(intention.id) == seen.current);
        let frames = frames.map(|intention| intention.frames.as_slice()).unwrap_or_default();
        let line = frames.first().and_then(|frame| frame.step_line).unwrap_or_default();
        (line, frames.len(), seen.paused_by.unwrap_or_default())
    }

    fn goes(&mut self, order: DebugOrder) -> (u32, usize, String) {
        assert_eq!(self.debug(order), Instructed::Done, "{order:?}");
        while self.turn(30) == Next::Ready {}
        self.place()
    }

    fn debugger(&mut self, lines: &[u32], failures: FailureStops) {
        let line = |line: &u32| ProgramLine { file: "bob.asl".to_owned(), line: *line }.into();
        self.set_up(DebuggerSetup { lines: lines.iter().map(line).collect(), failures, ..DebuggerSetup::default() });
    }

    fn set_up(&mut self, setup: DebuggerSetup) {
        assert_eq!(self.told(Instruction::Debugger(Arc::new(setup))), Instructed::Done);
    }
}

#[test]
fn steps_follow_the_intention() {
    let step = |line, depth| (line, depth, "a step".to_owned());
    let begun = || {
        let mut bob = InspectedAgent::new(DAY);
        bob.debugger(&[2, 99], FailureStops::Never);
        while bob.turn(30) == Next::Ready {}
        assert_eq!(bob.place(), (2, 1, "the breakpoint in line 2 of bob.asl".to_owned()));
        bob
    };
    let mut bob = begun();
    assert_eq!(bob.goes(DebugOrder::Into), step(5, 2));
    assert_eq!(bob.goes(DebugOrder::Into), step(6, 2));
    assert_eq!(bob.goes(DebugOrder::Out), step(3, 1));
    assert_eq!(bob.goes(DebugOrder::Over), step(4, 1), "the failure of the sub-goal was handled on the way");
    assert_eq!(bob.goes(DebugOrder::Over), (0, 0, String::new()), "the intention ended");
    let mut bob = begun();
    assert_eq!(bob.goes(DebugOrder::Over), step(3, 1));
    // The step pauses before the first step of whatever comes after the intention.
    assert_eq!(bob.goes(DebugOrder::Out), (0, 0, String::new()));
    assert_eq!(bob.told(Instruction::Pursue { goal: "wash(2)".to_owned() }), Instructed::Done);
    while bob.turn(30) == Next::Ready {}
    assert_eq!(bob.place(), step(5, 1));
}

/// Returns a breakpoint in this line of the program of bob.
fn breakpoint(line: u32, condition: &str, hits: Option<HitCount>, log: Option<&str>) -> DebuggerLine {
    let at = ProgramLine { file: "bob.asl".to_owned(), line };
    DebuggerLine { at, condition: Some(condition.to_owned()), hits, log: log.map(str::to_owned) }
}

const LOOP: &str = "limit(4).
!count(1).
+!count(N) : N < 8
   <- X = N * 2;
      !count(N + 1).
+!count(_).
deep(X) :- deep(s(X)).
";

#[test]
fn condition_knows_beliefs_and_variables() {
    let set_up = |line: DebuggerLine| {
        let mut bob = InspectedAgent::new(LOOP);
        bob.set_up(DebuggerSetup { lines: vec![line], ..DebuggerSetup::default() });
        while bob.turn(30) == Next::Ready {}
        bob
    };
    let variables = |bob: &mut InspectedAgent| {
        let seen = bob.look();
        seen.intentions.first().and_then(|it| it.frames.first()).map(|frame| frame.unifier.clone()).unwrap_or_default()
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut bob = set_up(breakpoint(5, "limit(M) & X > M", None, None));
    assert_eq!(bob.place().0, 5);
    assert_eq!(variables(&mut bob), [pair("N", "3"), pair("X", "6")], "nothing of the condition stays bound");
    assert_eq!(bob.goes(DebugOrder::Continue).0, 5);
    assert_eq!(variables(&mut bob)[0], pair("N", "4"));
    // Only visits at which the condition holds count.
    let mut bob = set_up(breakpoint(5, "limit(M) & X > M", Some(HitCount::Every(2)), None));
    assert_eq!(variables(&mut bob)[0], pair("N", "4"));
    // The count stays if the debugger sets other breakpoints.
    let lines =
        vec![breakpoint(5, "limit(M) & X > M", Some(HitCount::Every(2)), None), breakpoint(4, "false", None, None)];
    bob.set_up(DebuggerSetup { lines, ..DebuggerSetup::default() });
    assert_eq!(bob.goes(DebugOrder::Continue).0, 5);
    assert_eq!(variables(&mut bob)[0], pair("N", "6"));
    let mut bob = set_up(breakpoint(5, "deep(1)", None, None));
    let (line, _, why) = bob.place();
    assert!(line == 5 && why.contains("whose condition cannot be evaluated: "), "{why}");
}

#[test]
fn log_point_prints_and_continues() {
    let mut bob = InspectedAgent::new(LOOP);
    let log = Some("N is {N}, then {N + X / 2}; {limit(4)} {Nobody}");
    bob.set_up(DebuggerSetup { lines: vec![breakpoint(5, "N > 6", None, log)], ..DebuggerSetup::default() });
    while bob.turn(30) == Next::Ready {}
    assert!(!bob.look().paused);
    assert_eq!(bob.simulation.output(), ["[bob] N is 7, then 14; limit(4) Nobody"]);
}

#[test]
fn new_agent_pauses_at_entry() {
    let entry = |entry| DebuggerSetup { entry, ..DebuggerSetup::default() };
    let mut bob = InspectedAgent::new(DAY);
    bob.set_up(entry(true));
    while bob.turn(30) == Next::Ready {}
    assert_eq!(bob.place(), (2, 1, "the beginning of its program".to_owned()));
    bob.set_up(entry(true));
    assert_eq!(bob.goes(DebugOrder::Continue), (0, 0, String::new()), "it has begun");
    let mut amy = InspectedAgent::new(DAY);
    amy.set_up(entry(true));
    amy.set_up(entry(false));
    while amy.turn(30) == Next::Ready {}
    assert!(!amy.look().paused);
}

#[test]
fn failures_pause_with_their_stack() {
    let failed = |failures| {
        let mut bob = InspectedAgent::new(DAY);
        bob.debugger(&[], failures);
        while bob.turn(30) == Next::Ready {}
        bob
    };
    let mut bob = failed(FailureStops::Unhandled);
    assert!(bob.look().failed.is_none(), "a plan handles it");
    assert_eq!(bob.told(Instruction::Pursue { goal: "walk".to_owned() }), Instructed::Done);
    while bob.turn(30) == Next::Ready {}
    let seen = bob.look();
    let failure = seen.failed.expect("it paused");
    assert_eq!((failure.handled, failure.text.as_str()), (false, "bob.asl:9: !fly failed: no plan for +!fly/0"));
    assert_eq!(failure.intention.map(|it| it.frames[0].trigger.clone()).as_deref(), Some("+!walk"));
    assert_eq!(bob.debug(DebugOrder::Continue), Instructed::Done);
    assert!(bob.look().failed.is_none());
    let mut bob = failed(FailureStops::All);
    let failure = bob.look().failed.expect("it paused");
    assert_eq!((failure.handled, failure.intention.map(|it| it.frames.len())), (true, Some(2)));
    assert!(failure.text.starts_with("bob.asl:7: .fail failed"), "{}", failure.text);
}

#[test]
fn departed_debuggers_leave_nothing() {
    let mut bob = InspectedAgent::new(DAY);
    bob.debugger(&[99], FailureStops::Never);
    assert!(bob.agent.stays().is_none() && bob.look().cycle.is_none(), "no line of its program: it is not watched");
    bob.debugger(&[6], FailureStops::All);
    while bob.turn(30) == Next::Ready {}
    assert!(bob.look().paused);
    let ends = DebuggerSetup { ends: true, ..DebuggerSetup::default() };
    assert_eq!(bob.told(Instruction::Debugger(Arc::new(ends))), Instructed::Done);
    while bob.turn(30) == Next::Ready {}
    let seen = bob.look();
    assert!(!seen.paused && seen.beliefs.iter().any(|belief| belief.text == "hungry"), "{:?}", seen.beliefs);
    bob.turn(30);
    assert_eq!(bob.look().cycle, None);
}

#[test]
fn inspected_agent_ignores_breakpoints() {
    let mut bob = InspectedAgent::new(HOUSE);
    bob.agent.inspect(FOLLOW, Time::ZERO);
    bob.turn(30);
    let seen = bob.agent.inspect(FOLLOW, Time::ZERO);
    assert!(!seen.paused && seen.cycle > Some(5), "{seen:?}");
    assert!(seen.recent.iter().any(|it| it.text == "+!count(0) -> c"), "{:?}", seen.recent);
    // When no operator looks any more, nothing is recorded.
    bob.now = Time(60_000_000);
    bob.turn(30);
    bob.turn(30);
    let seen = bob.look();
    assert_eq!((seen.cycle, seen.recent.len()), (None, 0));
}

#[test]
fn paused_mind_can_be_changed() {
    let mut bob = InspectedAgent::new(HOUSE);
    let believe = |belief: &str, add| Instruction::Believe { belief: belief.to_owned(), add };
    bob.turn(100);
    assert_eq!(bob.debug(DebugOrder::Pause), Instructed::Done);
    assert_eq!(bob.told(believe("likes(cake)[source(eve)].", true)), Instructed::Done);
    assert_eq!(bob.told(believe(" likes(beer) ", false)), Instructed::Done);
    assert_eq!(bob.told(believe("stock::left(_)", false)), Instructed::Done);
    assert_eq!(bob.told(Instruction::Pursue { goal: "!greet(eve)".to_owned() }), Instructed::Done);
    assert_eq!(bob.turn(100), Next::Wait);
    let seen = bob.look();
    let beliefs: Vec<&str> = seen.beliefs.iter().map(|belief| belief.text.as_str()).collect();
    assert_eq!(beliefs, ["drink(X) :- (likes(X) & not ((X == beer)))", "~open(door)", "likes(cake)", "likes(tea)"]);
    assert_eq!(seen.beliefs[2].sources, ["eve"]);
    let events: Vec<&str> = seen.events.iter().map(|event| event.text.as_str()).collect();
    assert_eq!(events, ["+likes(cake)[source(eve)]", "-likes(beer)", "-stock::left(3)", "+!greet(eve)"]);
    assert_eq!(seen.goals[0].text, "!greet(eve)");
    assert_eq!(bob.debug(DebugOrder::Continue), Instructed::Done);
    bob.turn(100);
    let seen = bob.look();
    assert!(seen.events.is_empty());
    assert!(seen.goals.iter().any(|goal| goal.text == "!greet(eve)" && goal.state == "waiting"), "{:?}", seen.goals);
}

/// AgentSpeak prints texts without distinguishing their own quotes from those around them.
#[test]
fn shown_belief_can_be_forgotten() {
    let texts = [r#"say \"x\""#, r"back\\slash", r"two\nlines", "plain"];
    let program = texts.map(|text| format!("bought([f(\"{text}\")], \"{text}\").")).join(" ");
    let mut bob = InspectedAgent::new(&program);
    bob.turn(100);
    for left in (0..texts.len()).rev() {
        let belief = bob.look().beliefs[0].text.clone();
        assert_eq!(bob.told(Instruction::Believe { belief: belief.clone(), add: false }), Instructed::Done, "{belief}");
        bob.turn(100);
        assert_eq!(bob.look().beliefs.len(), left, "{belief}");
    }
}

#[test]
fn impossible_instruction_is_explained() {
    let mut bob = InspectedAgent::new(HOUSE);
    bob.turn(100);
    let believe = |belief: &str| Instruction::Believe { belief: belief.to_owned(), add: true };
    let pursue = |goal: &str| Instruction::Pursue { goal: goal.to_owned() };
    let forget = |belief: &str| Instruction::Believe { belief: belief.to_owned(), add: false };
    let at = |plan: &str| Instruction::Breakpoint { plan: plan.to_owned(), on: true };
    let wrong = [
        believe("likes(tea"),
        believe("X"),
        believe(".print(1)"),
        believe("3"),
        believe(""),
        believe(&"x".repeat(5_000)),
        forget("hates(tea)"),
        pursue("serv(amy)"),
        pursue("nothing_like_it"),
        pursue("serve("),
        at("S"),
        at("@unheard_of"),
        Instruction::Debug(DebugOrder::Continue),
    ];
    let told = wrong.map(|instruction| match bob.told(instruction.clone()) {
        Instructed::Refused(why) => format!("{:.60}: {why:.120}", format!("{instruction:?}")),
        other => panic!("{instruction:?} is {other:?}"),
    });
    insta::assert_snapshot!("refusals", told.join("\n"));
    assert_eq!(bob.look().cycle, None, "what was refused leaves nothing behind");
}

#[test]
fn inspection_is_limited() {
    use std::fmt::Write;
    let mut program = "!deep(3000). +!deep(0) <- .wait(1000000). +!deep(N) <- !deep(N - 1); +done(N).\n".to_owned();
    (0..3_000).for_each(|n| writeln!(program, "b{}({n}, \"{}\").", n % 20, "x".repeat(3_000)).unwrap());
    (0..500).for_each(|n| writeln!(program, "+!g{n} <- .print({n}).").unwrap());
    let mut bob = InspectedAgent::new(&program);
    bob.turn(100_000);
    let seen = bob.look();
    let cut = seen.cut;
    assert_eq!(seen.beliefs.len() as u64 + cut.beliefs, 3_000);
    assert_eq!(seen.plans.len() as u64 + cut.plans, 502);
    assert_eq!(seen.intentions[0].frames.len() as u64 + cut.frames, 3_001);
    let json = serde_json::to_string(&seen).unwrap();
    assert!(json.len() < 400_000, "{}", json.len());
}
