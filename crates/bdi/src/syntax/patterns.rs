//! Goal patterns: directives that add plans around the plans of their block, so that a goal is pursued in a certain
//! way. They were defined for AgentSpeak by Hübner, Bordini and Wooldridge ("Programming declarative goals using plan
//! patterns", 2006).

use whimbrel_acl::{Symbol, Text};

use super::ast::{
    BodyStep, CodeTerm, Literal, Op, Plan, PlanBody, Rule, Span, StepKind, Term, Trigger, TriggerKind, TriggerOp,
    Variable,
};
use super::parser::literals::is_dotted;

/// Goal pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalPattern {
    /// Declarative goal: achieved only once it is believed.
    Dg,
    /// Backtracking declarative goal: other plans are tried until it is believed.
    Bdg,
    /// Exclusive backtracking declarative goal: each plan is tried once.
    Ebdg,
    /// Blind commitment: pursued until believed.
    Bc,
    /// Single-minded commitment: given up once it is believed to be impossible.
    Smc,
    /// Relativised commitment: given up when its motivation is gone.
    Rc,
    /// Open-minded commitment: both.
    Omc,
    /// Maintenance goal: pursued again whenever it is no longer believed.
    Mg,
    /// Sequenced goal adoption: one instance at a time.
    Sga,
}

/// Every pattern: its name, the number of required arguments, and its usage.
const PATTERNS: [(GoalPattern, &str, usize, &str); 9] = [
    (GoalPattern::Dg, "dg", 1, "write `{ begin dg(goal) }`"),
    (GoalPattern::Bdg, "bdg", 1, "write `{ begin bdg(goal) }`"),
    (GoalPattern::Ebdg, "ebdg", 1, "write `{ begin ebdg(goal) }`"),
    (GoalPattern::Bc, "bc", 1, "write `{ begin bc(goal) }` or `{ begin bc(goal, pattern(goal)) }`"),
    (GoalPattern::Smc, "smc", 2, "write `{ begin smc(goal, failure) }`"),
    (GoalPattern::Rc, "rc", 2, "write `{ begin rc(goal, motivation) }`"),
    (GoalPattern::Omc, "omc", 3, "write `{ begin omc(goal, failure, motivation) }`"),
    (GoalPattern::Mg, "mg", 1, "write `{ begin mg(goal) }` or `{ begin mg(goal, pattern(goal)) }`"),
    (GoalPattern::Sga, "sga", 3, "write `{ begin sga(\"trigger\", \"context\", goal) }`"),
];

impl GoalPattern {
    /// Returns the pattern of that name.
    pub fn named(name: &str) -> Option<Self> {
        PATTERNS.iter().find(|entry| entry.1 == name).map(|entry| entry.0)
    }

    /// Returns the names of all patterns.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PATTERNS.iter().map(|entry| entry.1)
    }

    fn entry(self) -> Option<&'static (Self, &'static str, usize, &'static str)> {
        PATTERNS.iter().find(|entry| entry.0 == self)
    }

    fn needed(self) -> usize {
        self.entry().map_or(0, |entry| entry.2)
    }

    /// Returns advice how to write the pattern.
    pub fn usage(self) -> &'static str {
        self.entry().map_or("", |entry| entry.3)
    }
}

/// Arguments of a pattern.
pub struct Arguments {
    /// Arguments as written.
    pub terms: Vec<Term>,
    /// Event of `sga`.
    pub trigger: Option<Trigger>,
    /// Context of `sga`.
    pub context: Option<Term>,
    /// Place of the directive, and of everything it adds.
    pub span: Span,
    /// Source file.
    pub file: Text,
}

/// Result of a pattern.
#[derive(Default)]
pub struct Expanded {
    /// Beliefs to add.
    pub beliefs: Vec<Rule>,
    /// Plans, including those of the block.
    pub plans: Vec<Plan>,
}

/// Expands the pattern around the plans of the block `inner`.
///
/// # Errors
/// Returns the fault of the arguments.
pub fn expand(pattern: GoalPattern, arguments: &Arguments, inner: Vec<Plan>) -> Result<Expanded, String> {
    let needed = pattern.needed();
    if arguments.terms.len() < needed {
        let name = pattern.entry().map_or("", |entry| entry.1);
        let plural = if needed == 1 { "" } else { "s" };
        return Err(format!("the pattern `{name}` needs {needed} argument{plural}"));
    }
    let builder = Builder { span: arguments.span, file: arguments.file.clone() };
    let argument = |index: usize, what: &str| match arguments.terms.get(index) {
        Some(Term::Literal(literal)) if !is_dotted(literal.functor.as_str()) => Ok(literal.clone()),
        _ => Err(format!("the pattern's {what} must be a belief's or goal's literal")),
    };
    if pattern == GoalPattern::Sga {
        return builder.sequenced(arguments, argument(2, "goal")?);
    }
    let goal = argument(0, "goal")?;
    let mut expanded = Expanded::default();
    expanded.plans = match pattern {
        GoalPattern::Dg => builder.declarative(&goal, inner, true),
        GoalPattern::Bdg => builder.backtracking(&goal, inner),
        GoalPattern::Ebdg => builder.exclusive(&goal, inner),
        GoalPattern::Bc => builder.inside(&goal, arguments, inner, false)?,
        GoalPattern::Mg => {
            expanded.beliefs.push(builder.fact(goal.clone()));
            let mut plans = builder.inside(&goal, arguments, inner, true)?;
            plans.push(builder.plan(builder.belief(TriggerOp::Delete, &goal), None, vec![builder.achieve(&goal)]));
            plans
        }
        GoalPattern::Smc => {
            let failure = argument(1, "failure condition")?;
            let mut plans = builder.blind(&goal, inner);
            let fail = vec![builder.action(".fail_goal", vec![Term::Literal(goal)])];
            plans.push(builder.plan(builder.belief(TriggerOp::Add, &failure), None, fail));
            plans
        }
        GoalPattern::Rc => {
            let mut plans = builder.blind(&goal, inner);
            plans.push(builder.unmotivated(&goal, &argument(1, "motivation")?));
            plans
        }
        GoalPattern::Omc => {
            let mut plans = builder.blind(&goal, inner);
            plans.extend(builder.given_up(&goal, &argument(1, "failure condition")?));
            plans.push(builder.unmotivated(&goal, &argument(2, "motivation")?));
            plans
        }
        GoalPattern::Sga => Vec::new(),
    };
    Ok(expanded)
}

/// Builder of plans at the place of the directive.
struct Builder {
    span: Span,
    file: Text,
}

impl Builder {
    fn literal(&self, name: &str, args: Vec<Term>) -> Literal {
        let functor = Symbol::new(name);
        Literal { namespace: None, negated: false, functor, args, annots: None, span: self.span }
    }

    fn variable(&self, name: &str) -> Term {
        let name = Symbol::new(name);
        Term::Var(Variable { name, namespace: None, negated: false, annots: None, span: self.span })
    }

    fn step(&self, kind: StepKind, literal: &Literal) -> BodyStep {
        BodyStep { kind, term: Term::Literal(literal.clone()), span: self.span }
    }

    fn achieve(&self, goal: &Literal) -> BodyStep {
        self.step(StepKind::Achieve, goal)
    }

    fn action(&self, name: &str, args: Vec<Term>) -> BodyStep {
        self.step(StepKind::InternalAction, &self.literal(name, args))
    }

    fn trigger(&self, op: TriggerOp, kind: TriggerKind, literal: &Literal) -> Trigger {
        Trigger { op, kind, term: Term::Literal(literal.clone()) }
    }

    fn belief(&self, op: TriggerOp, literal: &Literal) -> Trigger {
        self.trigger(op, TriggerKind::Belief, literal)
    }

    fn goal(&self, op: TriggerOp, literal: &Literal) -> Trigger {
        self.trigger(op, TriggerKind::Achieve, literal)
    }

    fn plan(&self, trigger: Trigger, context: Option<Term>, steps: Vec<BodyStep>) -> Plan {
        Plan {
            label: None,
            label_variable: None,
            trigger,
            context,
            goal_condition: None,
            body: PlanBody { steps },
            sub_plans: Vec::new(),
            span: self.span,
            file: self.file.clone(),
        }
    }

    fn fact(&self, head: Literal) -> Rule {
        Rule { head, body: None, span: self.span, file: self.file.clone() }
    }

    /// Returns the plans for a goal that counts as achieved only once it is believed. With `once`, a goal that is
    /// intended already is not pursued twice. A pattern that retries must not have that, since a retried goal is
    /// still intended.
    fn declarative(&self, goal: &Literal, inner: Vec<Plan>, once: bool) -> Vec<Plan> {
        let achieved = || self.goal(TriggerOp::Add, goal);
        let mut plans = vec![self.plan(achieved(), Some(Term::Literal(goal.clone())), Vec::new())];
        if once {
            let intended = self.literal(".intend", vec![Term::Literal(goal.clone())]);
            plans.push(self.plan(achieved(), Some(Term::Literal(intended)), Vec::new()));
        }
        for mut plan in inner {
            if let Some(own) = pursued(&plan, goal) {
                plan.body.steps.push(self.step(StepKind::Test, &own));
            }
            plans.push(plan);
        }
        let succeed = self.action(".succeed_goal", vec![Term::Literal(goal.clone())]);
        plans.push(self.plan(self.belief(TriggerOp::Add, goal), None, vec![succeed]));
        plans
    }

    fn retry(&self, goal: &Literal) -> Plan {
        self.plan(self.goal(TriggerOp::Delete, goal), None, vec![self.achieve(goal)])
    }

    fn backtracking(&self, goal: &Literal, inner: Vec<Plan>) -> Vec<Plan> {
        let mut plans = self.declarative(goal, inner, false);
        plans.push(self.retry(goal));
        plans
    }

    /// Returns plans of the block that are each tried once: belief `p__f(number, goal)` records that.
    fn exclusive(&self, goal: &Literal, inner: Vec<Plan>) -> Vec<Plan> {
        let tried = |number: Term| self.literal("p__f", vec![number, Term::Literal(goal.clone())]);
        let mut plans = vec![self.plan(self.goal(TriggerOp::Add, goal), Some(Term::Literal(goal.clone())), Vec::new())];
        let mut count = 0;
        for mut plan in inner {
            if let Some(own) = pursued(&plan, goal) {
                count += 1;
                let mark = tried(Term::Num(f64::from(count)));
                let untried = Term::Op(Op::Not, vec![Term::Literal(mark.clone())]);
                plan.context = Some(match plan.context.take() {
                    Some(context) => Term::Op(Op::And, vec![untried, context]),
                    None => untried,
                });
                plan.body.steps.insert(0, self.step(StepKind::Add, &mark));
                plan.body.steps.push(self.step(StepKind::Test, &own));
            }
            plans.push(plan);
        }
        plans.push(self.retry(goal));
        let forget = || self.action(".abolish", vec![Term::Literal(tried(self.variable("_1")))]);
        let succeed = self.action(".succeed_goal", vec![Term::Literal(goal.clone())]);
        plans.push(self.plan(self.belief(TriggerOp::Add, goal), None, vec![forget(), succeed]));
        plans.push(self.plan(self.belief(TriggerOp::Delete, goal), None, vec![forget()]));
        plans
    }

    fn blind(&self, goal: &Literal, inner: Vec<Plan>) -> Vec<Plan> {
        let mut plans = self.backtracking(goal, inner);
        plans.push(self.pursue_again(goal));
        plans
    }

    fn pursue_again(&self, goal: &Literal) -> Plan {
        self.plan(self.goal(TriggerOp::Add, goal), None, vec![self.achieve(goal)])
    }

    /// Returns the plans under the pattern given as second argument; by default `bdg` for `bc`, and `bc` for `mg`.
    fn inside(
        &self,
        goal: &Literal,
        arguments: &Arguments,
        inner: Vec<Plan>,
        maintenance: bool,
    ) -> Result<Vec<Plan>, String> {
        let mut plans = match arguments.terms.get(1) {
            None if maintenance => return Ok(self.blind(goal, inner)),
            None => self.backtracking(goal, inner),
            Some(Term::Literal(literal)) => {
                let pattern = GoalPattern::named(literal.functor.as_str())
                    .filter(|pattern| !matches!(pattern, GoalPattern::Mg | GoalPattern::Sga))
                    .ok_or_else(|| format!("`{}` is no pattern that another one can use", literal.functor))?;
                let terms = literal.args.iter().map(|term| in_namespace_of(term, goal)).collect();
                let arguments =
                    Arguments { terms, trigger: None, context: None, span: self.span, file: self.file.clone() };
                expand(pattern, &arguments, inner)?.plans
            }
            Some(_) => return Err("the pattern to use must be a literal".to_owned()),
        };
        if !maintenance {
            plans.push(self.pursue_again(goal));
        }
        Ok(plans)
    }

    fn unmotivated(&self, goal: &Literal, motivation: &Literal) -> Plan {
        let succeed = self.action(".succeed_goal", vec![Term::Literal(goal.clone())]);
        self.plan(self.belief(TriggerOp::Delete, motivation), None, vec![succeed])
    }

    /// Returns plans for failure: the goal that wanted this one fails, or the intention is dropped if there is none.
    fn given_up(&self, goal: &Literal, failure: &Literal) -> [Plan; 2] {
        let outer = Trigger { op: TriggerOp::Add, kind: TriggerKind::Achieve, term: self.variable("G") };
        let outer = Term::Code(CodeTerm::Trigger(Box::new(outer)));
        let means = self.literal("im", vec![self.variable("_1"), outer, self.variable("_2"), self.variable("_3")]);
        let stack = Term::List {
            items: vec![self.variable("_4"), Term::Literal(means)],
            tail: Some(Box::new(self.variable("_5"))),
        };
        let intention = self.literal("intention", vec![self.variable("_6"), stack]);
        let wanted = self.literal(".intend", vec![Term::Literal(goal.clone()), Term::Literal(intention)]);
        let fail = self.action(".fail_goal", vec![self.variable("G")]);
        let drop = self.action(".drop_intention", vec![Term::Literal(goal.clone())]);
        [
            self.plan(self.belief(TriggerOp::Add, failure), Some(Term::Literal(wanted)), vec![fail]),
            self.plan(self.belief(TriggerOp::Add, failure), None, vec![drop]),
        ]
    }

    /// Returns plans for sequenced adoption: belief `f__l(goal)` records that an instance is being pursued, and
    /// others wait.
    fn sequenced(&self, arguments: &Arguments, goal: Literal) -> Result<Expanded, String> {
        let (Some(trigger), Some(context)) = (&arguments.trigger, &arguments.context) else {
            return Err("the pattern needs a trigger and a context".to_owned());
        };
        let busy = self.literal("f__l", vec![Term::Literal(goal.clone())]);
        let any = Term::Literal(self.literal("f__l", vec![self.variable("_1")]));
        let pursue = self.literal("f__g", vec![Term::Literal(goal.clone())]);
        let when = |busy: Term| Some(Term::Op(Op::And, vec![busy, context.clone()]));
        let idle = Term::Op(Op::Not, vec![any.clone()]);
        let (add, delete) = (self.step(StepKind::Add, &busy), self.step(StepKind::Delete, &busy));
        let plans = vec![
            self.plan(trigger.clone(), when(idle), vec![self.achieve(&pursue)]),
            self.plan(trigger.clone(), when(any), vec![add.clone()]),
            self.plan(self.goal(TriggerOp::Add, &pursue), None, vec![add, self.achieve(&goal), delete.clone()]),
            self.plan(self.goal(TriggerOp::Delete, &pursue), None, vec![delete]),
            self.plan(
                self.belief(TriggerOp::Delete, &busy),
                Some(Term::Literal(busy.clone())),
                vec![self.achieve(&pursue)],
            ),
        ];
        Ok(Expanded { beliefs: Vec::new(), plans })
    }
}

fn in_namespace_of(term: &Term, goal: &Literal) -> Term {
    match term {
        Term::Literal(literal) if literal.namespace.is_none() => {
            Term::Literal(Literal { namespace: goal.namespace.clone(), ..literal.clone() })
        }
        other => other.clone(),
    }
}

/// Returns the literal of the plan's trigger, if the plan is for the goal.
fn pursued(plan: &Plan, goal: &Literal) -> Option<Literal> {
    match &plan.trigger {
        Trigger { kind: TriggerKind::Achieve, term: Term::Literal(literal), .. } if may_match(literal, goal) => {
            Some(literal.clone())
        }
        _ => None,
    }
}

/// Returns true if two literals could become equal, whatever their variables hold.
fn may_match(a: &Literal, b: &Literal) -> bool {
    let annots = a.annots.as_ref().is_none_or(|annots| {
        let others = b.annots.as_ref().map(|annots| annots.items.as_slice()).unwrap_or_default();
        annots.items.iter().all(|annot| others.iter().any(|other| terms_may_match(annot, other)))
    });
    annots
        && a.functor == b.functor
        && a.negated == b.negated
        && a.namespace == b.namespace
        && a.args.len() == b.args.len()
        && a.args.iter().zip(&b.args).all(|(a, b)| terms_may_match(a, b))
}

fn terms_may_match(a: &Term, b: &Term) -> bool {
    match (a, b) {
        (Term::Var(_), _) | (_, Term::Var(_)) => true,
        (Term::Literal(a), Term::Literal(b)) => may_match(a, b),
        (Term::List { items: a, tail: None }, Term::List { items: b, tail: None }) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| terms_may_match(a, b))
        }
        (Term::List { .. }, Term::List { .. }) => true,
        (Term::Op(..) | Term::Chain(..), _) | (_, Term::Op(..) | Term::Chain(..)) => true,
        (a, b) => a == b,
    }
}
