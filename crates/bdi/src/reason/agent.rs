//! An AgentSpeak agent as the platform sees it.

use std::sync::{Arc, LazyLock};

use whimbrel_acl::{Aid, Text, Value};
use whimbrel_platform::{AgentBody, Next, Time, Turn};

use super::Cycle;
use super::cycle::with_own_source;
use crate::code::{Image, TriggerKind, TriggerOp, compile};
use crate::logic::Bindings;
use crate::mind::{Event, Mind, Options, RuleRef};
use crate::syntax::{self, Diagnostic, Loader, ast};

/// The plans every agent has for messages, behind its own.
const LIBRARY: &str = include_str!("../library/kqml.asl");

/// The name their file is known by.
pub(crate) const LIBRARY_FILE: &str = "kqml.asl";

static LIBRARY_PROGRAM: LazyLock<ast::Program> = LazyLock::new(|| {
    let parsed = syntax::parse_program(LIBRARY, &Text::from(LIBRARY_FILE), &mut syntax::NoFiles);
    debug_assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    parsed.program
});

/// A program that is not well formed, with all that is wrong.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the program has errors")]
pub struct ProgramError {
    /// What is wrong, errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses and compiles a program; warnings come with it.
///
/// # Errors
/// The program is not well formed.
pub fn load(text: &str, file: &Text, loader: &mut dyn Loader) -> Result<(Arc<Image>, Vec<Diagnostic>), ProgramError> {
    let parsed = syntax::parse_program(text, file, loader);
    if !parsed.is_ok() {
        return Err(ProgramError { diagnostics: parsed.diagnostics });
    }
    Ok((Arc::new(compile_program(parsed.program, file.clone())), parsed.diagnostics))
}

/// Compiles a program with the library behind it.
pub fn compile_program(program: ast::Program, name: Text) -> Image {
    compile::compile(program, &LIBRARY_PROGRAM, name)
}

/// What an agent is made of.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Its program.
    pub image: Arc<Image>,
    /// How it reasons.
    pub options: Options,
    /// Beliefs beyond the program's.
    pub beliefs: Vec<Value>,
    /// Goals beyond the program's.
    pub goals: Vec<Value>,
    /// The environment it acts on.
    pub environment: Option<Aid>,
}

impl AgentConfig {
    /// An agent of this program and nothing else.
    pub fn new(image: Arc<Image>) -> Self {
        Self { image, options: Options::default(), beliefs: Vec::new(), goals: Vec::new(), environment: None }
    }
}

/// An AgentSpeak agent.
#[derive(Debug)]
pub struct Agent {
    image: Option<Arc<Image>>,
    mind: Box<Mind>,
    bindings: Bindings,
    scratch: Vec<Value>,
    /// Beliefs and goals to begin with.
    first: Option<Box<(Vec<Value>, Vec<Value>)>>,
}

impl Agent {
    /// An agent that begins with its first turn.
    pub fn new(config: AgentConfig) -> Self {
        let mind = Box::new(Mind {
            options: config.options,
            environment: config.environment,
            source: config.image.name.clone(),
            has_meta_plans: config.image.has_meta_plans,
            tells_idleness: config.image.tells_idleness,
            handles_messages: config.image.handles_messages,
            ..Mind::default()
        });
        let first = Some(Box::new((config.beliefs, config.goals)));
        Self { image: Some(config.image), mind, bindings: Bindings::default(), scratch: Vec::new(), first }
    }

    /// An agent that goes on with a mind that was kept.
    pub(crate) fn resumed(image: Arc<Image>, mind: Mind, first: Option<(Vec<Value>, Vec<Value>)>) -> Self {
        Self {
            image: Some(image),
            mind: Box::new(mind),
            bindings: Bindings::default(),
            scratch: Vec::new(),
            first: first.map(Box::new),
        }
    }

    /// Reads back an agent that [`AgentBody::snapshot`] wrote. `image` must be its program.
    ///
    /// # Errors
    /// The bytes are no snapshot of an agent of this program.
    pub fn restore(bytes: &[u8], image: Arc<Image>, now: Time) -> Result<Self, crate::snapshot::SnapshotError> {
        crate::snapshot::read(bytes, image, now)
    }

    /// The program.
    pub(crate) fn image(&self) -> Option<Arc<Image>> {
        self.image.clone()
    }

    /// Beliefs and goals it has not taken up yet.
    pub(crate) fn first(&self) -> Option<&(Vec<Value>, Vec<Value>)> {
        self.first.as_deref()
    }

    /// The mind, to look at.
    pub fn mind(&self) -> &Mind {
        &self.mind
    }
}

impl AgentBody for Agent {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        // The program is taken out for the turn: it is reached by a plain reference, its count is never touched.
        let Some(image) = self.image.take() else { return Next::Wait };
        let mut cycle = Cycle {
            image: &image,
            program: &image,
            mind: &mut self.mind,
            bindings: &mut self.bindings,
            scratch: &mut self.scratch,
            aid: turn.aid,
            now: turn.now,
            services: turn.services,
            mailbox: turn.mailbox,
            outbox: turn.outbox,
            top: 0,
            spare_message: None,
            spare_content: None,
            acted: false,
            done: false,
            sensed: false,
            cycles_left: turn.budget,
        };
        if let Some(first) = self.first.take() {
            cycle.begin(&first.0, &first.1);
        }
        let next = cycle.run_turn();
        self.image = Some(image);
        next
    }

    fn duplicate(&self, now: Time) -> Option<Box<dyn AgentBody>> {
        crate::snapshot::duplicate(self, now)
    }

    fn snapshot(&self, now: Time) -> Option<Vec<u8>> {
        crate::snapshot::write(self, now)
    }
}

impl Cycle<'_> {
    fn run_turn(&mut self) -> Next {
        if self.mind.sleeping && !self.mailbox.is_empty() {
            self.tell_idleness(false);
        }
        while let Some(left) = self.cycles_left.checked_sub(1) {
            self.cycles_left = left;
            if !self.is_idle() && self.run() {
                continue;
            }
            if self.tell_idleness(true) {
                continue;
            }
            return match self.mind.next_timer() {
                Some(due) => Next::WaitUntil(due),
                None => Next::Wait,
            };
        }
        Next::Ready
    }

    /// Whether a cycle would find nothing to do, seen at a glance: if in doubt, no.
    fn is_idle(&self) -> bool {
        self.mailbox.is_empty() && self.mind.timers.is_empty() && self.is_at_rest()
    }

    /// Takes up the initial beliefs and goals: the project's beliefs, the program's (last first, so that they are
    /// found in source order), the project's goals, the program's.
    fn begin(&mut self, beliefs: &[Value], goals: &[Value]) {
        if self.mind.random.get() == 0 {
            self.mind.random.set(self.services.random());
        }
        for belief in beliefs {
            self.add_initial_belief(belief);
        }
        let image = self.image;
        let mut rules = image.rules.iter().enumerate().rev().peekable();
        for place in (0..=image.facts.len()).rev() {
            while let Some((number, (_, rule))) = rules.next_if(|(_, (before, _))| *before == place) {
                self.mind.beliefs.add_rule(rule.key, RuleRef::Image(number as u32), false);
            }
            if let Some(fact) = place.checked_sub(1).and_then(|place| image.facts.get(place)) {
                self.add_initial_belief(fact);
            }
        }
        for goal in goals.iter().chain(&image.goals) {
            self.add_initial_goal(goal.clone());
        }
    }

    pub(super) fn add_initial_goal(&mut self, goal: Value) {
        let Some(mut literal) = super::select::structure(goal) else { return };
        with_own_source(&mut literal);
        let event = super::step_event(literal, TriggerKind::Achieve);
        if self.mind.has_meta_plans {
            self.tell_pending(&event);
        }
        self.add_event(event);
    }

    pub(super) fn add_initial_belief(&mut self, belief: &Value) {
        let Some(mut literal) = super::select::structure(belief.clone()) else { return };
        with_own_source(&mut literal);
        if let Some(changed) = self.mind.beliefs.add(literal, false) {
            let event = Event::external(TriggerOp::Add, TriggerKind::Belief, changed);
            if self.has_candidates(&event.trigger()) {
                self.add_event(event);
            }
        }
    }
}
