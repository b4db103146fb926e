//! AgentSpeak agent as the platform sees it.

use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::{Aid, Symbol, Value};
use whimbrel_platform::capabilities::{Durable, Inspectable, Mobile};
use whimbrel_platform::durable::Origin;
use whimbrel_platform::growth;
use whimbrel_platform::inspection::{Inspection, Instructed, Instruction, Look, Workload};
use whimbrel_platform::limits::{self, MIND_COUNTED_EVERY_BYTES};
use whimbrel_platform::mobility::{Hop, HopRequest};
use whimbrel_platform::{AgentBody, BadDelta, Next, Time, Turn};

use super::operator::{self, Aside};
use super::passive::Passive;
use crate::actions::ACTIONS;
use crate::code::Image;
use crate::logic::{Bindings, levels};
use crate::mind::{Mind, ReasoningOptions};
use crate::reason::{Cycle, FailureNote, NOTHING_SENT, Spares, awaited, hopped};
use crate::snapshot::{self, Begin, Saves, SnapshotError, SnapshotSubject};

/// Configuration of an agent.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Program.
    pub image: Arc<Image>,
    /// Reasoning options.
    pub options: ReasoningOptions,
    /// Beliefs beyond the program's.
    pub beliefs: Vec<Value>,
    /// Goals beyond the program's.
    pub goals: Vec<Value>,
    /// Environment to act on.
    pub environment: Option<Aid>,
}

impl AgentConfig {
    /// Creates the configuration of an agent with only this program.
    pub fn new(image: Arc<Image>) -> Self {
        Self { image, options: ReasoningOptions::default(), beliefs: Vec::new(), goals: Vec::new(), environment: None }
    }
}

/// Makes a cycle of this agent in this turn.
macro_rules! cycle {
    ($agent:ident, $image:ident, $turn:ident) => {
        Cycle {
            image: &$image,
            program: &$image,
            mind: &mut $agent.mind,
            bindings: &mut $agent.bindings,
            scratch: &mut $agent.scratch,
            aid: $turn.aid,
            now: $turn.now,
            services: $turn.services,
            actions: &ACTIONS,
            mailbox: $turn.mailbox,
            outbox: $turn.outbox,
            top: 0,
            spares: Spares::default(),
            acted: false,
            done: false,
            sensed: false,
            context_steps: limits::PROOF_STEPS_MAX,
            last_asked: None,
            cycles_left: $turn.budget,
            left_after_sending: NOTHING_SENT,
            memory_due: $agent.memory_due,
            hop: None,
            failure_note: FailureNote::default(),
        }
    };
}

/// AgentSpeak agent.
#[derive(Debug)]
pub struct Agent {
    image: Option<Arc<Image>>,
    mind: Box<Mind>,
    bindings: Bindings,
    scratch: Vec<Value>,
    /// First actions of its next turn.
    begin: Option<Box<Begin>>,
    /// State of its last save, if it is saved at all.
    saves: Option<Box<Saves>>,
    /// Rare parts of an agent.
    aside: Option<Box<Aside>>,
    /// Bytes to allocate before the mind's memory is counted again. During a turn: its thread's total at that moment.
    pub(super) memory_due: u64,
    /// Bytes of the mind at the last count before memory became short; 0 if there was none.
    pub(super) memory_before: usize,
    /// Bytes of names made by its turns. They stay as long as the process, and count towards the mind.
    pub(super) names_made: u64,
}

impl Agent {
    /// Creates an agent that begins with its first turn.
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
        let begin = Begin { first: Some((config.beliefs, config.goals)), ..Begin::default() };
        Self::with_mind(config.image, mind, begin)
    }

    /// Creates an agent that continues with a restored mind.
    pub(crate) fn restored(image: Arc<Image>, mind: Mind, begin: Begin) -> Self {
        Self::with_mind(image, Box::new(mind), begin)
    }

    fn with_mind(image: Arc<Image>, mind: Box<Mind>, begin: Begin) -> Self {
        Self {
            image: Some(image),
            mind,
            bindings: Bindings::default(),
            scratch: Vec::new(),
            begin: Some(Box::new(begin)),
            saves: None,
            aside: None,
            memory_due: MIND_COUNTED_EVERY_BYTES,
            memory_before: 0,
            names_made: 0,
        }
    }

    /// Restores an agent that [`AgentBody::snapshot`] wrote. `image` must be its program.
    ///
    /// # Errors
    /// Returns an error if the bytes are no snapshot of an agent of this program.
    pub fn restore(bytes: &[u8], image: Arc<Image>, now: Time) -> Result<Self, crate::snapshot::SnapshotError> {
        crate::snapshot::read(bytes, image, now)
    }

    /// Returns the program.
    pub(crate) fn image(&self) -> Option<Arc<Image>> {
        self.image.clone()
    }

    /// Returns the agent as it will be written at `now`.
    pub(crate) fn subject<'a>(&'a self, image: &'a Image, now: Time) -> SnapshotSubject<'a> {
        subject(self.begin.as_deref(), image, now)
    }

    /// Returns the number of its present save.
    pub(crate) fn save_number(&self) -> u64 {
        self.saves.as_ref().map_or_else(|| self.begin.as_ref().map_or(0, |begin| begin.save), |saves| saves.number())
    }

    fn save(&mut self, now: Time, out: &mut Vec<u8>, whole: bool) -> bool {
        let Some(image) = &self.image else { return false };
        let subject = subject(self.begin.as_deref(), image, now);
        let saves = match &mut self.saves {
            Some(saves) => saves,
            none if whole => none.insert(Box::new(Saves::go_on(&mut self.mind, subject))),
            None => return false,
        };
        if whole { saves.whole(&mut self.mind, subject, out) } else { saves.delta(&mut self.mind, subject, out) }
    }

    /// Carries out the first actions of the first turn, also of the first one after restoring.
    #[cold]
    #[inline(never)]
    fn begin(cycle: &mut Cycle<'_>, begin: &Begin, saves: Option<&mut Saves>) {
        if let Some(clock) = begin.clock {
            snapshot::move_times(cycle.mind, clock.ahead());
            cycle.mind.beliefs.index_again();
            if let Some(saves) = saves {
                saves.clock_changed(clock.ahead());
            }
        }
        if let Some((beliefs, goals)) = &begin.first {
            cycle.begin(beliefs, goals);
        }
    }

    /// Returns the mind for inspection.
    pub fn mind(&self) -> &Mind {
        &self.mind
    }

    pub(super) fn aside(&mut self) -> &mut Aside {
        self.aside.get_or_insert_default()
    }

    pub(super) fn aside_if_any(&self) -> Option<&Aside> {
        self.aside.as_deref()
    }

    /// Applies the delta of the next save. The agent was restored from a complete save and has had no turn since.
    ///
    /// # Errors
    /// Returns an error if the bytes are no delta, or not the next one. The agent is useless then.
    pub fn apply_delta(&mut self, delta: &[u8], now: Time) -> Result<(), BadDelta> {
        let told = |error: SnapshotError| BadDelta(error.to_string());
        let (Some(image), Some(begin), None) = (&self.image, &mut self.begin, &self.saves) else {
            return Err(told(SnapshotError::GoneOn));
        };
        snapshot::apply_delta(delta, &mut self.mind, begin, image, now).map_err(told)
    }

    /// Makes [`Durable::save_delta`] continue from the save that the agent was restored from, without a complete save
    /// before. Returns false if the agent has no program. To be called before its first turn.
    pub fn go_on_saving(&mut self) -> bool {
        let Some(image) = &self.image else { return false };
        if self.saves.is_none() {
            let subject = subject(self.begin.as_deref(), image, Time::ZERO);
            self.saves = Some(Box::new(Saves::go_on(&mut self.mind, subject)));
        }
        true
    }

    /// Returns the bytes of memory of the mind, its working storage and the names that it made. Counting stops soon
    /// after `enough`.
    pub(super) fn footprint(&self, enough: usize) -> usize {
        let working = (self.bindings.len() as usize + self.scratch.capacity()) * size_of::<Value>();
        self.mind.footprint(enough) + working + self.names_made as usize
    }

    /// Frees the mind's memory at once, because the agent ends, and others may need the room.
    pub(super) fn forget(&mut self, instead: Mind) {
        *self.mind = instead;
        (self.bindings, self.scratch, self.saves) = (Bindings::default(), Vec::new(), None);
    }

    #[inline(always)]
    fn have_turn(&mut self, turn: &mut Turn<'_>) -> Next {
        // An earlier turn on this thread may have panicked and left its excess.
        levels::take();
        if let Some(aside) = self.aside.take() {
            return self.unusual_turn(aside, turn);
        }
        self.mind.close_gaps();
        // The program is taken out for the turn: a plain reference reaches it without touching its count.
        let Some(image) = self.image.take() else { return Next::Wait };
        let mut cycle = cycle!(self, image, turn);
        let begin = self.begin.take();
        if let Some(begin) = &begin {
            Self::begin(&mut cycle, begin, self.saves.as_deref_mut());
        }
        let is_first = begin.is_some_and(|begin| begin.first.is_some());
        let next = if is_first && image.asks_others { cycle.run_first_turn() } else { cycle.run_turn() };
        cycle.tell_excess();
        self.image = Some(image);
        next
    }

    /// Gives a turn to an agent that an operator deals with, or that is recalled.
    #[cold]
    #[inline(never)]
    fn unusual_turn(&mut self, mut aside: Box<Aside>, turn: &mut Turn<'_>) -> Next {
        let Some(image) = self.image.take() else { return Next::Wait };
        let mut cycle = cycle!(self, image, turn);
        if let Some(begin) = self.begin.take() {
            Self::begin(&mut cycle, &begin, self.saves.as_deref_mut());
        }
        if std::mem::take(&mut aside.recalled) {
            cycle.called_home();
        }
        for edit in aside.edits.drain(..) {
            cycle.carry_out(edit);
        }
        aside.watch = aside.watch.filter(|watch| !watch.is_over(turn.now));
        let next = match &mut aside.watch {
            Some(watch) => cycle.run_turn_watched(watch),
            None => cycle.run_turn(),
        };
        cycle.tell_excess();
        self.image = Some(image);
        self.aside = Some(aside).filter(|aside| !aside.is_empty());
        next
    }
}

impl AgentBody for Agent {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        if growth::is_short() {
            self.hurry_memory_count();
        }
        self.memory_due = self.memory_due.saturating_add(growth::taken());
        let names = Symbol::bytes_made_here();
        let next = self.have_turn(turn);
        self.names_made += Symbol::bytes_made_here() - names;
        let taken = growth::taken();
        if taken < self.memory_due {
            self.memory_due -= taken;
            return next;
        }
        self.count_memory(next, turn)
    }

    fn duplicate(&self, now: Time) -> Option<Box<dyn AgentBody>> {
        crate::snapshot::duplicate(self, now)
    }

    fn snapshot(&self, now: Time) -> Option<Vec<u8>> {
        crate::snapshot::write(self, now)
    }

    fn origin(&self) -> Option<Origin> {
        let image = self.image.as_ref().filter(|_| !self.mind.options.is_volatile())?;
        // A mind whose program has no text cannot be restored.
        (image.fingerprint != 0).then(|| origin(image))
    }

    fn durable(&mut self) -> Option<&mut dyn Durable> {
        Some(self)
    }

    fn mobile(&mut self) -> Option<&mut dyn Mobile> {
        Some(self)
    }

    fn inspectable(&mut self) -> Option<&mut dyn Inspectable> {
        Some(self)
    }
}

impl Durable for Agent {
    fn passivate_after(&self) -> Option<Duration> {
        self.mind.options.passivate_after()
    }

    fn passivate(&mut self, now: Time) -> Option<Box<dyn AgentBody>> {
        // An agent that is followed or debugged must stay in memory.
        let forgettable = self.aside_if_any().is_none_or(|aside| aside.may_be_forgotten(now));
        let passive = if forgettable { Passive::of(self, now) } else { None };
        Some(Box::new(passive?))
    }

    fn save_whole(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        self.save(now, out, true)
    }

    fn save_delta(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        self.save(now, out, false)
    }
}

impl Mobile for Agent {
    fn recalled(&mut self) {
        self.aside().recalled = true;
    }

    fn stays(&self) -> Option<&str> {
        self.aside_if_any().and_then(Aside::stays)
    }

    fn awaits_hop(&self) -> Option<HopRequest> {
        awaited(&self.mind)
    }

    fn hopped(&mut self, hop: &Hop) {
        hopped(&mut self.mind, hop);
    }
}

impl Inspectable for Agent {
    fn inspect(&mut self, look: Look, now: Time) -> Inspection {
        self.look_into(look, now)
    }

    fn workload(&self) -> Workload {
        Workload {
            intentions: (self.mind.intentions.count() + self.mind.events.len()) as u64,
            paused: self.aside_if_any().is_some_and(Aside::is_paused),
            program: Some(self.mind.source.clone()),
        }
    }

    fn instruct(&mut self, instruction: &Instruction, now: Time) -> Instructed {
        let outcome = self.obey(instruction);
        self.aside = self.aside.take().filter(|aside| !aside.may_be_forgotten(now));
        operator::instructed(outcome)
    }
}

fn subject<'a>(begin: Option<&'a Begin>, image: &'a Image, now: Time) -> SnapshotSubject<'a> {
    let now = begin.and_then(|begin| begin.clock).map_or(now, |clock| clock.back(now));
    SnapshotSubject { image, begin, now }
}

/// Returns the origin from which an agent's program can be loaded again.
pub(super) fn origin(image: &Image) -> Origin {
    Origin::Program { path: image.name.to_string(), fingerprint: image.fingerprint, code: image.code }
}
