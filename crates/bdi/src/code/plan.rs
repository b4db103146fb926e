//! Plans and their bodies.

use std::sync::Arc;

use smallvec::SmallVec;
use whimbrel_acl::{Annots, Symbol, Text, Value};

use super::{CallExpr, Expr, Formula, Key, Site, TriggerKey};
use crate::syntax::ast::{self, TriggerKind, TriggerOp};

/// Plan.
#[derive(Clone, Debug)]
pub struct CompiledPlan {
    /// Label with annotations.
    pub label: Value,
    /// `+`, `-` or `^`.
    pub op: TriggerOp,
    /// Belief, achievement or test.
    pub kind: TriggerKind,
    /// The trigger.
    pub head: Head,
    /// Context: the condition under which the plan is applicable.
    pub context: Formula,
    /// Condition under which the plan's goal counts as achieved.
    pub goal_condition: Option<Formula>,
    /// Body.
    pub body: Arc<CompiledBody>,
    /// Number of variables of the plan, its trigger's arguments first.
    pub slots: u32,
    /// Names of the variables.
    pub names: Arc<[Symbol]>,
    /// `[atomic]`
    pub atomic: bool,
    /// True for an ordinary plan for a literal: without a goal condition or sub-plans.
    pub is_ordinary: bool,
    /// True for an ordinary plan that is not atomic.
    pub is_plain: bool,
    /// Annotations such as `[breakpoint]`, as written.
    pub annots: Annots,
    /// Sub-plans: relevant only while this plan runs.
    pub sub_plans: Vec<Arc<CompiledPlan>>,
    /// Variables that this sub-plan shares with the enclosing plan, as (own slot, enclosing slot).
    pub shared: Vec<(u32, u32)>,
    /// Source of the plan.
    pub source: Arc<ast::Plan>,
}

impl CompiledPlan {
    /// Returns the number of its trigger's arguments.
    #[inline]
    pub(crate) fn arity(&self) -> u16 {
        match &self.head {
            Head::Literal { key, .. } => key.arity,
            Head::Any(_) => 0,
        }
    }

    /// Returns the name in its trigger, unless a variable stands there.
    pub(crate) fn trigger_functor(&self) -> Option<Symbol> {
        match &self.head {
            Head::Literal { key, .. } => Some(key.functor),
            Head::Any(_) => None,
        }
    }

    /// Returns true if this is the plan's trigger, or the plan is for any predicate.
    #[inline]
    pub(crate) fn has_trigger(&self, trigger: &TriggerKey) -> bool {
        let has_key = match &self.head {
            Head::Literal { key, .. } => *key == trigger.key,
            Head::Any(_) => true,
        };
        self.op == trigger.op && self.kind == trigger.kind && has_key
    }

    /// Returns true if an argument is another constant than the trigger's, without binding anything.
    #[inline]
    pub(crate) fn rejects(&self, args: &[Value]) -> bool {
        let Head::Literal { args: patterns, .. } = &self.head else { return false };
        patterns.iter().zip(args).any(|(pattern, arg)| pattern.as_ref().is_some_and(|pattern| pattern.is_other(arg)))
    }

    /// Returns the name of the plan's own variable for the argument at `place`, if it has one there.
    #[inline]
    pub(crate) fn name_of_argument(&self, place: u32) -> Option<Symbol> {
        let Head::Literal { args, .. } = &self.head else { return None };
        let own = args.get(place as usize).is_none_or(Option::is_none);
        self.names.get(place as usize).copied().filter(|_| own)
    }
}

/// Pattern of a plan's trigger.
#[derive(Clone, Debug)]
pub enum Head {
    /// A literal. Argument `i` of the event is in slot `i`, and must also match `args[i]`.
    Literal {
        /// Key of the literal.
        key: Key,
        /// Pattern of each argument; `None` matches anything. Empty if all match anything.
        args: Vec<Option<Expr>>,
        /// Annotations that the event must have.
        annots: Vec<Expr>,
        /// Variable that takes the other annotations.
        annots_tail: Option<Expr>,
        /// Variable in `[source(V)]`, if that is the only annotation.
        source: Option<u32>,
    },
    /// A variable: matches any literal that matches the expression, without argument slots.
    Any(Expr),
}

/// Plan body as a sequence of operations; control structures are jumps.
#[derive(Clone, Debug, Default)]
pub struct CompiledBody {
    /// Operations. The body ends after the last one.
    pub ops: Vec<BodyOp>,
    /// Source of each operation.
    pub sources: Vec<Source>,
    /// File of the body.
    pub file: Text,
}

impl CompiledBody {
    /// Returns true if no operation follows the one at `pc`.
    pub fn is_last(&self, pc: u32) -> bool {
        self.skip_jumps(pc + 1) as usize >= self.ops.len()
    }

    /// Returns the operation that is reached at `pc` after all jumps.
    #[inline]
    pub fn skip_jumps(&self, mut pc: u32) -> u32 {
        while let Some(BodyOp::Jump(target)) = self.ops.get(pc as usize) {
            pc = *target;
        }
        pc
    }
}

/// Source of an operation.
#[derive(Clone, Debug)]
pub struct Source {
    /// Line.
    pub line: u32,
    /// Step as written.
    pub step: Arc<ast::BodyStep>,
}

/// Position at which a belief is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddMode {
    /// `+b`, `+<b`: at the front; its event belongs to the intention.
    Front,
    /// `+>b`: at the end.
    End,
    /// `++b`: its event is an intention of its own.
    NewFocus,
}

/// Message to send.
#[derive(Clone, Debug)]
pub struct SendExpr {
    /// Receiver.
    pub to: Expr,
    /// Performative.
    pub performative: Symbol,
    /// Content.
    pub content: Expr,
    /// The same message as a call, for receivers that are not plain names.
    pub call: CallExpr,
}

/// Effect of a plain step on its literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainStep {
    /// `!g`
    Achieve,
    /// `+b`
    Add,
    /// `-b`
    Delete,
    /// `-+b`
    Replace,
}

impl PlainStep {
    /// Returns the triggers of plans that react to the step's changes of beliefs.
    pub fn triggers(self) -> &'static [TriggerOp] {
        match self {
            Self::Achieve => &[],
            Self::Add => &[TriggerOp::Add],
            Self::Delete => &[TriggerOp::Delete],
            Self::Replace => &[TriggerOp::Add, TriggerOp::Delete],
        }
    }
}

/// Operation of a plan body: one step of an intention, except for jumps.
#[derive(Clone, Debug)]
pub enum BodyOp {
    /// A step about a literal without annotations, as most goals and changes of beliefs are.
    Plain(PlainStep, Box<Site>),
    /// `!g`
    Achieve(Expr),
    /// `!!g`
    AchieveNewFocus(Expr),
    /// `?q`: the query, and the literal of the event `+?q` if there is no answer.
    Test(Formula, Option<Expr>),
    /// `+b`, `+>b`, `++b`
    Add(Expr, AddMode),
    /// `-b`, `--b` (new focus)
    Delete(Expr, bool),
    /// `-+b`
    Replace(Expr),
    /// An action on the environment.
    Act(Expr),
    /// An internal action.
    Call(Box<CallExpr>),
    /// `.send(To, performative, Content)` without an expected answer, as most messages are.
    Send(Box<SendExpr>),
    /// A relation that must hold.
    Constraint(Formula),
    /// A step whose term is a variable: a literal or a body.
    Dynamic(ast::StepKind, Expr),
    /// `if`, with the jump target if the condition does not hold.
    If(Formula, u32),
    /// Jump, which takes no step.
    Jump(u32),
    /// `while`, with the jump target when the condition no longer holds.
    While(Formula, u32),
    /// `for`, with the jump target when there is no further solution.
    For(Formula, u32),
    /// Fork into branches, each an intention of its own. They meet at the join after the last one.
    Fork {
        /// True if the first branch to end wins, instead of waiting for all.
        first_wins: bool,
        /// Start of each branch.
        branches: SmallVec<[u32; 4]>,
        /// Join of the branches.
        join: u32,
    },
    /// End of a branch.
    Join,
}
