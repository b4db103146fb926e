//! Questions, plan bodies and programs that an operator gives to a running agent.

use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Performative, Text};
use whimbrel_bdi::code::Image;
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig, Bundle};
use whimbrel_platform::capabilities::Inspectable;
use whimbrel_platform::inspection::{DebugOrder, Instructed, Instruction, Look, ReportTo};
use whimbrel_platform::{AgentBody, Mailbox, Outbox, Time, Turn};
use whimbrel_testkit::Simulation;

/// Agent in the hands of an operator.
struct OperatedAgent {
    simulation: Simulation,
    image: Arc<Image>,
    agent: Agent,
    now: Time,
}

fn report_to() -> ReportTo {
    ReportTo { who: Aid::local("operator"), ticket: Text::from("t1") }
}

impl OperatedAgent {
    fn new(program: &str) -> Self {
        let loaded = whimbrel_bdi::load(program, &Text::from("bob.asl"), &mut NoFiles);
        let (image, _) = loaded.unwrap_or_else(|error| panic!("{:?}", error.diagnostics));
        let agent = Agent::new(AgentConfig::new(Arc::clone(&image)));
        let mut simulation = Simulation::new(1);
        simulation.spawn("operator", Box::new(Agent::new(AgentConfig::new(Arc::default()))));
        let mut bob = Self { simulation, image, agent, now: Time::ZERO };
        bob.turn();
        bob
    }

    /// Gives the agent a turn. Returns the messages that it sends.
    fn turn(&mut self) -> Vec<AclMessage> {
        let (mut outbox, mut mailbox) = (Outbox::default(), Mailbox::default());
        let mut turn = Turn {
            aid: Aid::local("bob"),
            now: self.now,
            mailbox: &mut mailbox,
            outbox: &mut outbox,
            budget: 1_000,
            services: self.simulation.services(),
        };
        self.agent.turn(&mut turn);
        let mut sent = Vec::new();
        while let Some((_, message)) = outbox.take_first() {
            sent.push(*message.into_message());
            outbox.take_rest(|_, _| ());
        }
        sent
    }

    /// Returns the first report within some turns.
    fn report(&mut self) -> String {
        for _ in 0..50 {
            if let Some(message) = self.turn().first() {
                assert_eq!(message.extras().in_reply_to.as_deref(), Some("t1"));
                let failed = if message.performative == Performative::Failure { "failure: " } else { "" };
                return format!("{failed}{}", message.content);
            }
            self.now = Time(self.now.0 + 100_000);
        }
        panic!("no report");
    }

    fn told(&mut self, instruction: &Instruction) -> Instructed {
        self.agent.instruct(instruction, self.now)
    }

    fn query(&mut self, formula: &str, limit: usize) -> String {
        let instruction = Instruction::Query { formula: formula.to_owned(), limit, report: report_to() };
        assert_eq!(self.told(&instruction), Instructed::Done);
        self.report()
    }

    fn begin(&mut self, body: &str) {
        let instruction = Instruction::Perform { body: body.to_owned(), report: report_to() };
        assert_eq!(self.told(&instruction), Instructed::Done);
    }

    fn perform(&mut self, body: &str) -> String {
        self.begin(body);
        self.report()
    }

    fn load(&mut self, name: &str, text: &str) -> String {
        let bundle = Bundle { text: text.to_owned(), included: Vec::new() }.encode().unwrap();
        let instruction = Instruction::Load { name: name.to_owned(), bundle, begin: false, report: report_to() };
        match self.told(&instruction) {
            Instructed::Refused(why) => why,
            _ => self.report(),
        }
    }

    fn restore(&mut self) {
        let bytes = self.agent.snapshot(self.now).unwrap();
        self.agent = Agent::restore(&bytes, Arc::clone(&self.image), self.now).unwrap();
    }

    fn plans(&mut self) -> Vec<String> {
        let seen = self.agent.inspect(Look::default(), self.now);
        seen.plans.into_iter().map(|plan| format!("{} <- {}", plan.trigger, plan.body)).collect()
    }
}

const SHOP: &str = "
stock(apple, 3). stock(tea, 7). stock(pear, 0).
open.
sells(X) :- stock(X, N) & N > 0.
endless(X) :- endless(f(X)).
+!sell(X, N) : stock(X, Before) & Before >= N <- .wait(500); -stock(X, Before); +stock(X, Before - N); .print(sold(X)).
+!price(X, P) <- P = 3.
";

#[test]
fn query_finds_bindings() {
    let mut bob = OperatedAgent::new(SHOP);
    let all = "answers([[binding(\"X\",apple),binding(\"N\",3)],[binding(\"X\",tea),binding(\"N\",7)]],false)";
    assert_eq!(bob.query("?stock(X, N) & N > 0.", 10), all);
    assert_eq!(bob.query("sells(X)", 1), "answers([[binding(\"X\",apple)]],true)");
    assert_eq!(bob.query("open & stock(_, 7)", 10), "answers([[]],false)");
    assert_eq!(bob.query("closed", 10), "answers([],false)");
    assert_eq!(bob.query("X = f(Y)", 10), "answers([[binding(\"X\",f(Y))]],false)");
    assert!(bob.query("endless(1)", 10).starts_with("failure: failed(refused,\""));
    assert_eq!(bob.query("open", 10), "answers([[]],false)", "the agent goes on");
}

#[test]
fn paused_agent_answers_queries() {
    let mut bob = OperatedAgent::new(SHOP);
    assert_eq!(bob.told(&Instruction::Debug(DebugOrder::Pause)), Instructed::Done);
    assert_eq!(bob.query("open", 10), "answers([[]],false)");
    bob.begin("+closed");
    assert!(bob.turn().is_empty());
    assert_eq!(bob.query("closed", 10), "answers([],false)");
    assert_eq!(bob.told(&Instruction::Debug(DebugOrder::Continue)), Instructed::Done);
    assert_eq!(bob.report(), "performed([])");
    assert_eq!(bob.query("closed", 10), "answers([[]],false)");
}

#[test]
fn performed_body_reports_values() {
    let mut bob = OperatedAgent::new(SHOP);
    assert_eq!(bob.perform("!price(tea, P); Q = P * 2; +paid(Q)"), "performed([binding(\"P\",3),binding(\"Q\",6)])");
    assert_eq!(bob.query("paid(X)", 10), "answers([[binding(\"X\",6)]],false)");
    assert_eq!(bob.perform(".print(hello)."), "performed([])");
    assert_eq!(bob.simulation.output(), ["[bob] hello"]);
    assert_eq!(bob.perform("if (open) { Z = yes } else { Z = no }"), "performed([binding(\"Z\",yes)])");
}

#[test]
fn failed_body_reports_reason() {
    let mut bob = OperatedAgent::new(SHOP);
    let nothing = bob.perform("!fetch(tea)");
    assert!(nothing.starts_with("failure: failed(no_relevant,"), "{nothing}");
    let refused = bob.perform("!sell(pear, 1)");
    assert!(refused.starts_with("failure: failed(no_applicable,"), "{refused}");
    let tested = bob.perform("?closed(X)");
    assert!(tested.starts_with("failure: failed(test_goal_failed,"), "{tested}");
    assert_eq!(bob.perform("!price(tea, P)"), "performed([binding(\"P\",3)])", "the agent goes on");
}

#[test]
fn restored_agent_finishes_body() {
    let mut bob = OperatedAgent::new(SHOP);
    bob.begin("!sell(tea, 2); ?stock(tea, N)");
    assert!(bob.turn().is_empty());
    bob.restore();
    assert_eq!(bob.report(), "performed([binding(\"N\",5)])");
}

#[test]
fn loaded_program_exchanges_plans() {
    let mut bob = OperatedAgent::new(SHOP);
    assert_eq!(bob.perform(".add_plan(\"+!learned <- true.\")"), "performed([])");
    let new = "
        stock(lemon, 9). tax(2).
        sells(lemon).
        rich :- tax(X) & X > 1.
        +!price(X, P) <- P = 4.
        +!rest <- true.
    ";
    assert_eq!(bob.load("new.asl", new), "loaded(2,2,1,2)");
    let plans = bob.plans();
    assert_eq!(plans.len(), 3, "{plans:?}");
    assert!(plans[0].contains("price") && plans[1].contains("rest") && plans[2].contains("learned"), "{plans:?}");
    let stock = bob.query("stock(X, _)", 10);
    assert!(stock.contains("apple") && !stock.contains("lemon"), "beliefs stay: {stock}");
    assert_eq!(bob.query("tax(X) & rich", 10), "answers([[binding(\"X\",2)]],false)");
    assert_eq!(bob.query("sells(X)", 10), "answers([[binding(\"X\",lemon)]],false)", "the rule is gone");
    assert_eq!(bob.perform("!price(tea, P)"), "performed([binding(\"P\",4)])");
    // The rules and plans of a loaded program are known as such after a restart, too.
    bob.restore();
    assert_eq!(bob.load("newer.asl", "poor :- not rich. +!price(X, 5)."), "loaded(2,1,1,0)");
    assert_eq!(bob.query("rich", 10), "answers([],false)");
    assert_eq!(bob.perform("!price(tea, P); !learned"), "performed([binding(\"P\",5)])");
    assert_eq!(bob.agent.inspect(Look::default(), bob.now).details[0].value, "newer.asl");
}

#[test]
fn intention_finishes_old_plan() {
    let mut bob =
        OperatedAgent::new("+!go <- .wait(200); !say(one); .wait(200); !say(two). +!say(X) <- .print(old, X).");
    bob.begin("!go");
    assert!(bob.turn().is_empty());
    assert_eq!(bob.load("new.asl", "+!go <- .print(new). +!say(X) <- .print(new, X)."), "loaded(2,2,0,0)");
    assert_eq!(bob.report(), "performed([])");
    assert_eq!(bob.simulation.output(), ["[bob] newone", "[bob] newtwo"]);
    assert_eq!(bob.perform("!go"), "performed([])");
    assert_eq!(bob.simulation.output()[2..], ["[bob] new"]);
}

#[test]
fn unloadable_program_changes_nothing() {
    let mut bob = OperatedAgent::new(SHOP);
    assert_eq!(bob.perform(".add_plan(\"@mine +!learned <- true.\")"), "performed([])");
    let before = bob.plans();
    assert!(bob.load("bad.asl", "+!go <- .").contains("bad.asl:1: error"));
    let taken = "failure: failed(refused,\"the agent acquired another plan with the label mine: rename or remove one\"";
    assert!(bob.load("new.asl", "@mine +!other.").starts_with(taken));
    let twice = bob.load("new.asl", "@a +!x. @a +!y.");
    assert!(twice.contains("label a"), "{twice}");
    assert_eq!(bob.plans(), before);
}

#[test]
fn malformed_operator_text_is_refused() {
    let mut bob = OperatedAgent::new(SHOP);
    let (report, limit) = (report_to(), 5);
    for instruction in [
        Instruction::Query { formula: "stock(".to_owned(), limit, report: report.clone() },
        Instruction::Query { formula: String::new(), limit, report: report.clone() },
        Instruction::Query { formula: "x".repeat(5_000), limit, report: report.clone() },
        Instruction::Perform { body: "!go;;".to_owned(), report: report.clone() },
        Instruction::Perform { body: "} x {".to_owned(), report: report.clone() },
        Instruction::Load { name: "x.asl".to_owned(), bundle: vec![7], begin: false, report },
    ] {
        assert!(matches!(bob.told(&instruction), Instructed::Refused(_)), "{instruction:?}");
    }
    assert!(bob.turn().is_empty());
}
