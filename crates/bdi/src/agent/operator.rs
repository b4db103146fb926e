//! Inspection and instruction of an agent by its operator.

use std::time::Duration;

use whimbrel_acl::{Structure, Symbol, Text, Value, Var};
use whimbrel_platform::Time;
use whimbrel_platform::inspection::{
    DebuggerLine, DebuggerSetup, FailureStops, Inspection, Instructed, Instruction, Look, ProgramLine, Texts,
};
use whimbrel_platform::limits::{BREAKPOINTS_MAX, INSPECTION_FOLLOWED_MS, INSTRUCTION_BYTES_MAX, QUERY_ANSWERS_MAX};

use super::Agent;
use crate::bundle::Bundle;
use crate::code::{Key, TriggerKey, TriggerKind, TriggerOp};
use crate::inspect::{Inspector, PlanName, has_step, plan_names};
use crate::numbering::Numbering;
use crate::reason::{Edit, MindQuery, ProgramLoad, Watch, structure, with_own_source};
use crate::syntax::{self, Diagnostic, Severity, ast, quote};

/// Rare parts of an agent: its operator's watch and changes, and a recall.
#[derive(Debug, Default)]
pub(super) struct Aside {
    /// True if the agent was recalled, and did not notice yet.
    pub recalled: bool,
    /// Changes for its next turn.
    pub edits: Vec<Edit>,
    /// Watch of an operator who follows or debugs the agent.
    pub watch: Option<Watch>,
}

impl Aside {
    /// Returns true if all parts are empty.
    pub fn is_empty(&self) -> bool {
        !self.recalled && self.edits.is_empty() && self.watch.is_none()
    }

    /// Returns true if nothing is lost when the agent leaves memory.
    pub fn may_be_forgotten(&self, now: Time) -> bool {
        !self.recalled && self.edits.is_empty() && self.watch.as_ref().is_none_or(|watch| watch.is_over(now))
    }

    /// Returns true while an operator has paused the agent.
    pub fn is_paused(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.paused().is_some())
    }

    /// Returns the reason why the agent must not leave its node now, if there is one.
    pub fn stays(&self) -> Option<&str> {
        if !self.edits.is_empty() {
            return Some("an operator just told it something");
        }
        self.watch
            .as_ref()
            .and_then(Watch::paused)
            .map(|_| "it is paused by a debugger: `whimbrel debug AGENT continue`")
    }
}

impl Agent {
    pub(super) fn look_into(&mut self, look: Look, now: Time) -> Inspection {
        let Some(image) = self.image() else { return Inspection::default() };
        if look.follow {
            let until = now + Duration::from_millis(INSPECTION_FOLLOWED_MS);
            self.aside().watch.get_or_insert_default().follow(until);
        }
        let watch = self.aside_if_any().and_then(|aside| aside.watch.as_ref());
        let inspector =
            Inspector { image: &image, mind: self.mind(), now, breakpoints: watch.and_then(Watch::breakpoints) };
        let mut seen = inspector.inspect(&mut Texts::default());
        if let Some(watch) = watch {
            watch.tell(&mut seen);
        }
        seen
    }

    /// Follows an instruction: at once where possible, and otherwise in the next turn.
    ///
    /// # Errors
    /// Returns the reason if that is impossible.
    pub(super) fn obey(&mut self, instruction: &Instruction) -> Result<(), String> {
        match instruction {
            Instruction::Debug(order) => {
                let mut watch = self.aside().watch.take().unwrap_or_default();
                let outcome = watch.obey(*order, self.mind());
                self.aside().watch = Some(watch);
                outcome.map_err(str::to_owned)?;
            }
            Instruction::Debugger(setup) => self.set_debugger(setup),
            Instruction::Breakpoint { plan, on } => {
                let plan = self.plan_named(bounded(plan)?)?;
                if !self.aside().watch.get_or_insert_default().set_breakpoint(plan, *on) {
                    return Err(format!("it has {BREAKPOINTS_MAX} breakpoints already"));
                }
            }
            Instruction::LineBreakpoint { at, on } => {
                if *on && !self.has_step_at(at) {
                    return Err(format!("no step begins in line {} of {}", at.line, bounded(&at.file)?));
                }
                if !self.aside().watch.get_or_insert_default().set_line_breakpoint(at, *on) {
                    return Err(format!("it has {BREAKPOINTS_MAX} breakpoints already"));
                }
            }
            Instruction::Believe { belief, add: true } => {
                let (mut literal, _) = literal(belief, "belief")?;
                with_own_source(&mut literal);
                self.aside().edits.push(Edit::Add(literal));
            }
            Instruction::Believe { belief, add: false } => {
                let (literal, variables) = literal(belief, "belief")?;
                let table = self.mind().beliefs.table(&Key::of(&literal));
                if table.is_none_or(|table| table.is_empty()) {
                    return Err(format!("it does not believe {literal}"));
                }
                self.aside().edits.push(Edit::Remove(literal, variables));
            }
            Instruction::Pursue { goal } => {
                let goal = goal.trim_start();
                let (mut literal, _) = literal(goal.strip_prefix("!").unwrap_or(goal), "goal")?;
                self.knows_plan_for(&literal)?;
                with_own_source(&mut literal);
                self.aside().edits.push(Edit::Pursue(literal));
            }
            Instruction::Query { formula, limit, report } => {
                let text = phrase(bounded(formula)?, "?");
                let parsed = syntax::parse_formula(text).map_err(|wrong| unreadable("formula", text, &wrong))?;
                let (formula, variables) = with_variables(|var| quote::quote(&parsed, var));
                let limit = (*limit).min(QUERY_ANSWERS_MAX);
                let query = MindQuery { formula, variables, limit, report: report.clone() };
                self.aside().edits.push(Edit::Query(query));
            }
            Instruction::Perform { body, report } => {
                let text = phrase(bounded(body)?, "");
                let parsed = syntax::parse_body(text).map_err(|wrong| unreadable("plan body", text, &wrong))?;
                let (body, variables) = with_variables(|var| quote::quote_body(&parsed, var));
                self.aside().edits.push(Edit::Perform(body, variables, report.clone()));
            }
            Instruction::Load { name, bundle, begin, report } => {
                let program = program_of(name, bundle)?;
                let load =
                    ProgramLoad { name: Text::from(name.as_str()), program, begin: *begin, report: report.clone() };
                self.aside().edits.push(Edit::Load(Box::new(load)));
            }
            _ => return Err("this cannot be done".to_owned()),
        }
        Ok(())
    }

    /// Sets what pauses the agent while debuggers are connected to its node. An agent that nothing can pause is not
    /// watched.
    fn set_debugger(&mut self, setup: &DebuggerSetup) {
        let lines = setup.lines.iter().filter(|line| self.has_step_at(&line.at)).cloned();
        let lines: Vec<DebuggerLine> = lines.collect();
        let pauses = !lines.is_empty() || setup.failures != FailureStops::Never || setup.entry;
        let is_watched = self.aside_if_any().is_some_and(|aside| aside.watch.is_some());
        if pauses || is_watched {
            self.aside().watch.get_or_insert_default().set_debugger(&lines, setup);
        }
    }

    /// Finds the agent's plan of this name, with or without `@`.
    fn plan_named(&self, name: &str) -> Result<PlanName, String> {
        let wanted = name.trim().trim_start_matches('@');
        let Some(image) = self.image() else { return Err("it has its turn".to_owned()) };
        let known = plan_names(&image, self.mind());
        if let Some(found) = known.iter().find(|known| known.to_string() == wanted) {
            return Ok(*found);
        }
        let names: Vec<String> = known.iter().map(PlanName::to_string).collect();
        let near = syntax::nearest(wanted, names.iter().map(String::as_str));
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Err(format!("it has no plan named {wanted}{hint}"))
    }

    /// Returns true if a step of one of the agent's plans begins in this line.
    fn has_step_at(&self, at: &ProgramLine) -> bool {
        self.image().is_some_and(|image| has_step(&image, self.mind(), at))
    }

    /// Refuses a goal without plans, which would only fail.
    fn knows_plan_for(&self, goal: &Structure) -> Result<(), String> {
        let Some(image) = self.image() else { return Ok(()) };
        let trigger = TriggerKey { op: TriggerOp::Add, kind: TriggerKind::Achieve, key: Key::of(goal) };
        if !self.mind().plans.candidates(&image, &trigger).all().is_empty() {
            return Ok(());
        }
        let goals: Vec<String> = goals_with_plans(&image, self.mind());
        let wanted = goal.functor.as_str();
        let near = syntax::nearest(&format!("{wanted}/{}", goal.args.len()), goals.iter().map(String::as_str));
        let hint = near.map(|near| format!("; it has some for !{near}")).unwrap_or_default();
        Err(format!("it has no plan for !{wanted}/{}{hint}", goal.args.len()))
    }
}

/// Returns the goals with plans, as `serve/1`.
fn goals_with_plans(image: &crate::code::Image, mind: &crate::mind::Mind) -> Vec<String> {
    let plans = mind.plans.all(image);
    let goals = plans.iter().filter_map(|(_, plan)| match &plan.head {
        crate::code::Head::Literal { key, .. } if plan.op == TriggerOp::Add && plan.kind == TriggerKind::Achieve => {
            Some(format!("{}/{}", key.functor, key.arity))
        }
        _ => None,
    });
    goals.collect()
}

fn bounded(text: &str) -> Result<&str, String> {
    if text.len() > INSTRUCTION_BYTES_MAX {
        return Err(format!("it has {} bytes: at most {INSTRUCTION_BYTES_MAX}", text.len()));
    }
    Ok(text)
}

/// Returns a person's phrase without this beginning and without a full stop.
fn phrase<'a>(text: &'a str, beginning: &str) -> &'a str {
    let text = text.trim();
    let text = text.strip_prefix(beginning).unwrap_or(text);
    text.strip_suffix('.').unwrap_or(text).trim()
}

/// Quotes code as a value. Also returns its variables, whose slots are counted from 0.
fn with_variables(quote: impl FnOnce(&mut dyn FnMut(Symbol) -> Var) -> Value) -> (Value, Vec<Var>) {
    let mut names = Numbering::default();
    let value = quote(&mut |name| quote::numbered(&mut names, name));
    let variables = (0..).zip(names.iter()).map(|(slot, name)| Var { slot, name: *name });
    (value, variables.collect())
}

/// Parses a program that came as a bundle.
fn program_of(name: &str, bundle: &[u8]) -> Result<ast::Program, String> {
    let bundle = Bundle::decode(bundle).map_err(|error| error.to_string())?;
    let parsed = syntax::parse_program(&bundle.text, &Text::from(name), &mut bundle.loader(name));
    match parsed.diagnostics.iter().find(|found| found.severity == Severity::Error) {
        Some(error) => Err(error.to_string()),
        None => Ok(parsed.program),
    }
}

/// Parses a person's literal, with or without a full stop. Also returns its number of variables.
fn literal(text: &str, what: &str) -> Result<(Structure, u32), String> {
    let text = bounded(text)?.trim();
    let text = text.strip_suffix('.').unwrap_or(text);
    let parsed = syntax::parse_literal(text).map_err(|wrong| unreadable(what, text, &wrong))?;
    let mut names = Numbering::default();
    let value = quote::quote(&parsed, &mut |name| Var { slot: names.number(name), name });
    match (&parsed, structure(value)) {
        (ast::Term::Literal(literal), Some(structure)) if !literal.functor.as_str().contains('.') => {
            Ok((structure, names.len() as u32))
        }
        _ => Err(format!("{text} is no {what}: a literal is, such as likes(tea)")),
    }
}

fn unreadable(what: &str, text: &str, wrong: &[Diagnostic]) -> String {
    let why = wrong.first().map_or("it cannot be read", |diagnostic| diagnostic.message.as_str());
    format!("{text} is no {what}: {why}")
}

/// Returns the outcome in the platform's terms.
pub(super) fn instructed(outcome: Result<(), String>) -> Instructed {
    outcome.map_or_else(Instructed::Refused, |()| Instructed::Done)
}
