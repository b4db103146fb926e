//! Backlog: an agent that gets more messages than it can handle leaves them in the mailbox, where they slow their
//! senders, rather than in the mind.

use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Text, Value};
use whimbrel_bdi::code::Image;
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_platform::capabilities::Inspectable;
use whimbrel_platform::inspection::Look;
use whimbrel_platform::limits::{MIND_COUNTED_EVERY_BYTES, TURN_STEPS_AFTER_SENDING};
use whimbrel_platform::{AgentBody, Mailbox, Next, Outbox, Time, Turn, growth};
use whimbrel_testkit::Simulation;

/// Busy agent with its mailbox.
struct BusyAgent {
    simulation: Simulation,
    agent: Agent,
    mailbox: Mailbox,
    followed: bool,
}

fn image(program: &str) -> Arc<Image> {
    let loaded = whimbrel_bdi::load(program, &Text::from("busy.asl"), &mut NoFiles);
    loaded.unwrap_or_else(|error| panic!("{:?}", error.diagnostics)).0
}

impl BusyAgent {
    fn new(program: &str) -> Self {
        let agent = Agent::new(AgentConfig::new(image(program)));
        Self { simulation: Simulation::new(1), agent, mailbox: Mailbox::default(), followed: false }
    }

    fn send(&mut self, performative: Performative, content: Value) {
        let message = AclMessage::new(performative, Aid::local("ann"), Aid::local("busy"), content);
        self.mailbox.push(MessageBody::Owned(Box::new(message)));
    }

    fn turn(&mut self) -> Next {
        let mut outbox = Outbox::default();
        if self.followed {
            drop(self.agent.inspect(Look { follow: true }, Time::ZERO));
        }
        let mut turn = Turn {
            aid: Aid::local("busy"),
            now: Time::ZERO,
            mailbox: &mut self.mailbox,
            outbox: &mut outbox,
            budget: 64,
            services: self.simulation.services(),
        };
        self.agent.turn(&mut turn)
    }

    /// Gives turns, so many at most, until the agent waits.
    fn rest(&mut self, turns: usize) {
        for _ in 0..turns {
            if matches!(self.turn(), Next::Wait) {
                return;
            }
        }
        panic!("still busy after {turns} turns");
    }
}

const JOBS: usize = 2_000;

/// Program with a plan of some twenty steps for each message.
const WORKER: &str = "
    done(0).
    +!job(N) <- A = N + 1; B = A + 1; C = B + 1; D = C + 1; E = D + 1; F = E + 1; G = F + 1; H = G + 1; I = H + 1;
                J = I + 1; K = J + 1; L = K + 1; M = L + 1; O = M + 1; P = O + 1; !count.
    @c[atomic] +!count : done(N) <- -+done(N + 1).
    +!report : done(N) <- .print(N).
";

#[test]
fn busy_agent_leaves_messages_in_mailbox() {
    for program in [
        WORKER.to_owned(),
        WORKER.replace("+!job", "@j[atomic] +!job"),
        format!("{WORKER} +!kqml_received(_, _, _, _) : false."),
    ] {
        let mut busy = BusyAgent::new(&program);
        (0..JOBS).for_each(|n| busy.send(Performative::Request, Value::term("job", [Value::Num(n as f64)])));
        for _ in 0..100 {
            busy.turn();
        }
        let taken = JOBS - busy.mailbox.len();
        assert!((64..1_000).contains(&taken), "{taken} taken in 6,400 cycles");
        busy.rest(10_000);
        busy.send(Performative::Request, Value::atom("report"));
        busy.rest(10);
        assert_eq!(busy.simulation.output(), [format!("[busy] {JOBS}")]);
    }
}

#[test]
fn endless_intentions_leave_time_for_messages() {
    let mut busy = BusyAgent::new(
        "!begin. +!begin <- for (.range(I, 1, 200)) { !!loop(I) }.
         +!loop(I) : not enough <- X = I + 1; !!loop(I). +!loop(_).",
    );
    (0..100).for_each(|_| drop(busy.turn()));
    busy.send(Performative::Inform, Value::atom("enough"));
    busy.rest(100);
}

/// A waiting atomic plan lets nothing else run: only a message can end its wait, behind a queue of events.
#[test]
fn waiting_atomic_plan_hears_behind_backlog() {
    for followed in [false, true] {
        let mut busy = BusyAgent::new("@a[atomic] +!begin <- .wait(\"+go\"); .print(went). +!other. +go.");
        busy.followed = followed;
        busy.send(Performative::Request, Value::atom("begin"));
        (0..200).for_each(|_| busy.send(Performative::Request, Value::atom("other")));
        busy.send(Performative::Inform, Value::atom("go"));
        busy.rest(1_000);
        assert_eq!(busy.simulation.output(), ["[busy] went"], "followed: {followed}");
    }
}

/// A request that may make the mind too large ends the turn, even in the last cycle of an atomic plan.
#[test]
fn bulky_request_ends_turn() {
    let steps = "; +x; -x".repeat(20);
    let mut busy = BusyAgent::new(&format!("@p[atomic] +!go(_) <- +y{steps}; .print(done). +!bulky(_)."));
    busy.send(Performative::Request, Value::term("go", [Value::Num(0.0)]));
    let text = Value::from("x".repeat(MIND_COUNTED_EVERY_BYTES as usize));
    busy.send(Performative::Request, Value::term("bulky", [Value::list([text])]));
    // As an allocator does that counts: without one, messages have no weight.
    growth::note(1);
    busy.turn();
    assert_eq!(busy.simulation.output(), [""; 0], "the turn goes on");
    busy.rest(10);
    assert_eq!(busy.simulation.output(), ["[busy] done"]);
}

#[test]
fn intentions_continue_after_sending() {
    let steps = "; .print(step)".repeat(100);
    for others in 0..4 {
        let goals = "!other. ".repeat(others);
        let mut busy = BusyAgent::new(&format!(
            "!one. {goals} +!one <- .send(bob, tell, a); .print(sent){steps}. +!other <- .print(step){steps}."
        ));
        busy.simulation.spawn("bob", Box::new(Agent::new(AgentConfig::new(image("k.")))));
        busy.simulation.run_for(1);
        let sent = |busy: &BusyAgent| busy.simulation.output().iter().position(|line| line == "[busy] sent");
        for _ in 0..10 {
            if sent(&busy).is_none() {
                busy.turn();
            }
        }
        let after = busy.simulation.output().len() - sent(&busy).unwrap_or_default();
        // Others take steps between the sending and the line, and their goals' events take cycles without a step.
        let most = TURN_STEPS_AFTER_SENDING as usize;
        assert!((most - 1 - 2 * others..=most).contains(&after), "{after} steps beside {others} intentions");
    }
}

/// The turn ends at any step of a plan that sends, also when a message has just been taken.
#[test]
fn ending_turn_takes_messages_in() {
    let steps = "; .send(bob, tell, a)".repeat(40);
    for before in 0..40 {
        let mut busy =
            BusyAgent::new(&format!("@p[atomic] +!go(_) <- .send(bob, tell, a){steps}. +!r(_). +b <- .print(heard)."));
        busy.simulation.spawn("bob", Box::new(Agent::new(AgentConfig::new(image("k.")))));
        busy.simulation.run_for(1);
        let ask = |name| Value::term(name, [Value::Num(0.0)]);
        busy.send(Performative::Request, ask("go"));
        (0..before).for_each(|_| busy.send(Performative::Request, ask("r")));
        busy.send(Performative::Inform, Value::atom("b"));
        busy.rest(100);
        assert_eq!(busy.simulation.output(), ["[busy] heard"], "behind {before} requests");
    }
}
