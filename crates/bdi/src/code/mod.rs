//! Compiled programs: plans, rules and formulas with variables turned into slots, shared by all agents of a program.

mod asking;
mod build;
pub mod compile;
mod decorated;
mod site;

use std::sync::Arc;

use smallvec::SmallVec;
use whimbrel_acl::{Annots, Structure, Symbol, Text, Value, sym};

use crate::actions::Action;
use crate::syntax::ast;
pub use crate::syntax::ast::{TriggerKind, TriggerOp};
pub use build::{
    build, build_annots, build_args, calls_nothing, match_expr, match_slot, number, plain_atom, push_plain_value,
};
pub use decorated::{decorate, unify_decorated};
pub use site::{Hint, Plans, Site};

/// Functors no program can write: code and special variables as data.
pub mod reserved {
    pub use crate::syntax::quote::reserved::*;
}

/// What tells predicates apart: name, namespace, arity, negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Key {
    /// The name.
    pub functor: Symbol,
    /// The namespace.
    pub namespace: Symbol,
    /// How many arguments.
    pub arity: u16,
    /// Strong negation.
    pub negated: bool,
}

/// Most keys differ in their names: all in one number, for one round of the hash.
impl std::hash::Hash for Key {
    #[inline]
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.bits());
    }
}

impl Key {
    /// A number that differs for nearly all keys that differ.
    #[inline]
    pub fn bits(&self) -> u64 {
        let other = self.namespace.index() ^ (u32::from(self.arity) << 16) ^ (u32::from(self.negated) << 31);
        (u64::from(self.functor.index()) << 32) | u64::from(other)
    }

    /// The key of a structure.
    #[inline]
    pub fn of(term: &Structure) -> Self {
        Self { functor: term.functor, namespace: term.namespace, arity: term.args.len() as u16, negated: term.negated }
    }

    /// The key of a literal value, if it is one.
    pub fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::Term(term) => Some(Self::of(term)),
            other => Some(Self { functor: other.functor()?, namespace: sym::DEFAULT, arity: 0, negated: false }),
        }
    }
}

/// An expression: builds a value, or is matched against one. Slots are relative to a frame's base. What is rare has a box, so that
/// it takes no more than a value does, and is told from one at a glance.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A ground value.
    Const(Value),
    /// A variable.
    Slot(u32),
    /// A structure.
    Term(Box<TermExpr>),
    /// A list cell.
    Cons(Box<(Expr, Expr)>),
    /// Arithmetic; unary minus has one operand.
    Arith(Box<ArithExpr>),
    /// Arithmetic of three operands or more, from left to right.
    Chain(Box<ChainExpr>),
    /// A list of many elements that are not all known.
    LongList(Box<(Vec<Expr>, Expr)>),
    /// A function call.
    Function(Box<FunctionExpr>),
    /// A logical or relational operation as data.
    Operation(Box<(Symbol, Vec<Expr>)>),
    /// Any other value with variables in it, relative to the frame: quoted code, decorated variables.
    Quote(Box<Value>),
}

/// A structure to build or match.
#[derive(Clone, Debug)]
pub struct TermExpr {
    /// What it is called.
    pub key: Key,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// Its annotations.
    pub annots: Vec<Expr>,
    /// The open tail of its annotations.
    pub annots_tail: Option<Expr>,
    /// Where the agent's beliefs of this predicate are, if it is a query.
    pub hint: Hint,
}

impl TermExpr {
    /// Whether no annotations are written.
    #[inline]
    pub fn has_no_annots(&self) -> bool {
        self.annots.is_empty() && self.annots_tail.is_none()
    }
}

/// An arithmetic operation.
#[derive(Clone, Debug)]
pub struct ArithExpr {
    /// The operation.
    pub op: Symbol,
    /// Left operand, or the only one.
    pub left: Expr,
    /// Right operand.
    pub right: Option<Expr>,
}

impl ArithExpr {
    /// Whether it is more than written numbers.
    pub fn has_variables(&self) -> bool {
        [Some(&self.left), self.right.as_ref()].into_iter().flatten().any(Expr::is_no_number)
    }
}

impl Expr {
    /// True if the expression has anything but number literals in it.
    pub fn is_no_number(&self) -> bool {
        match self {
            Self::Const(Value::Num(_)) => false,
            Self::Arith(inner) => inner.has_variables(),
            Self::Chain(chain) => chain.first.is_no_number() || chain.rest.iter().any(|(_, it)| it.is_no_number()),
            _ => true,
        }
    }
}

/// Arithmetic of many operands, from left to right.
#[derive(Clone, Debug)]
pub struct ChainExpr {
    /// The first operand.
    pub first: Expr,
    /// Operator and operand of each further step.
    pub rest: Vec<(Symbol, Expr)>,
}

/// A function call.
#[derive(Clone, Debug)]
pub struct FunctionExpr {
    /// Its name.
    pub name: Symbol,
    /// What computes it.
    pub function: Function,
    /// Its arguments.
    pub args: Vec<Expr>,
}

/// What computes a function's value.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    /// Built in.
    Native(crate::actions::NativeFunction),
    /// A rule with one more argument, the result.
    Rule(Symbol),
}

/// A logical formula.
#[derive(Clone, Debug)]
pub enum Formula {
    /// Holds.
    True,
    /// Does not hold.
    False,
    /// A belief or a rule's head.
    Query(Box<TermExpr>),
    /// An internal action.
    Call(Box<CallExpr>),
    /// A relation.
    Relation(Box<RelationExpr>),
    /// All of them.
    And(Vec<Formula>),
    /// One of them.
    Or(Vec<Formula>),
    /// None.
    Not(Box<Formula>),
    /// What a variable or a dynamic literal holds.
    Dynamic(Expr),
}

/// A relation between two expressions.
#[derive(Clone, Debug)]
pub struct RelationExpr {
    /// The relation.
    pub op: Symbol,
    /// Left side.
    pub left: Expr,
    /// Right side.
    pub right: Expr,
}

/// A call of an internal action.
#[derive(Clone, Debug)]
pub struct CallExpr {
    /// Its name, leading dot included.
    pub name: Symbol,
    /// What it does.
    pub action: Action,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// Its arguments as formulas, where they are logical: same length as `args`.
    pub formulas: Vec<Option<Formula>>,
    /// The annotations on the call, if any.
    pub annots: Vec<Expr>,
}

/// A rule of the belief base.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What its head is called.
    pub key: Key,
    /// What the head asks of the arguments of a query, of which each is in the slot of its place: nothing if it is a variable that
    /// the head has not had before, which is that slot.
    pub args: Vec<Option<Expr>>,
    /// The head's annotations.
    pub annots: Vec<Expr>,
    /// What must hold.
    pub body: Formula,
    /// How many variables it has.
    pub slots: u32,
    /// Their names.
    pub names: Arc<[Symbol]>,
    /// Its source.
    pub source: Arc<ast::Rule>,
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its label with annotations.
    pub label: Value,
    /// `+`, `-` or `^`.
    pub op: TriggerOp,
    /// Belief, achievement or test.
    pub kind: TriggerKind,
    /// The trigger.
    pub head: Head,
    /// When it is applicable.
    pub context: Formula,
    /// When its goal counts as achieved.
    pub goal_condition: Option<Formula>,
    /// What to do.
    pub body: Arc<Body>,
    /// How many variables the plan has, its trigger's arguments first.
    pub slots: u32,
    /// The names of the variables.
    pub names: Arc<[Symbol]>,
    /// `[atomic]`
    pub atomic: bool,
    /// Whether it is an ordinary plan for a literal: without a goal condition or plans within it.
    pub is_ordinary: bool,
    /// Whether it is an ordinary plan, and not atomic.
    pub is_plain: bool,
    /// `[breakpoint]` and others, as written.
    pub annots: Annots,
    /// Plans that are relevant only while this one runs.
    pub sub_plans: Vec<Arc<Plan>>,
    /// How many variables of the enclosing plan are shared with this sub-plan, by (own slot, its slot).
    pub shared: Vec<(u32, u32)>,
    /// Its source.
    pub source: Arc<ast::Plan>,
}

/// What a plan's trigger matches.
#[derive(Clone, Debug)]
pub enum Head {
    /// A literal. Argument `i` of the event is in slot `i`; `args[i]` says what else it must match.
    Literal {
        /// What it is called.
        key: Key,
        /// What each argument must match; `None` if any will do. Empty if that is so of all.
        args: Vec<Option<Expr>>,
        /// Annotations that must be there.
        annots: Vec<Expr>,
        /// What takes the other annotations.
        annots_tail: Option<Expr>,
        /// The variable in `[source(V)]`, if that is all there is about annotations.
        source: Option<u32>,
    },
    /// A variable: any literal that matches the expression, no argument slots.
    Any(Expr),
}

/// A plan body as a sequence of operations, control structures turned into jumps.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// The operations. Running off the end ends the body.
    pub ops: Vec<Op>,
    /// The source of each operation.
    pub sources: Vec<Source>,
    /// The file they are from.
    pub file: Text,
}

impl Body {
    /// Whether nothing follows the operation at `pc`.
    pub fn is_last(&self, pc: u32) -> bool {
        self.skip_jumps(pc + 1) as usize >= self.ops.len()
    }

    /// The operation that is reached at `pc`, jumps followed.
    #[inline]
    pub fn skip_jumps(&self, mut pc: u32) -> u32 {
        while let Some(Op::Jump(target)) = self.ops.get(pc as usize) {
            pc = *target;
        }
        pc
    }
}

/// Where an operation comes from.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its line.
    pub line: u32,
    /// The step as written.
    pub step: Arc<ast::Step>,
}

/// Which way a belief goes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddMode {
    /// `+b`, `+<b`: at the front; its event belongs to the intention.
    Front,
    /// `+>b`: at the end.
    End,
    /// `++b`: its event is an intention of its own.
    NewFocus,
}

/// A message to send.
#[derive(Clone, Debug)]
pub struct SendExpr {
    /// To whom.
    pub to: Expr,
    /// The performative.
    pub performative: Symbol,
    /// What it says.
    pub content: Expr,
    /// The same as a call, for receivers that are no plain names.
    pub call: CallExpr,
}

/// What a step does with its literal.
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
    /// What a change in beliefs by the step is to plans.
    pub fn triggers(self) -> &'static [TriggerOp] {
        match self {
            Self::Achieve => &[],
            Self::Add => &[TriggerOp::Add],
            Self::Delete => &[TriggerOp::Delete],
            Self::Replace => &[TriggerOp::Add, TriggerOp::Delete],
        }
    }
}

/// One operation of a plan body: one step of an intention, but for jumps.
#[derive(Clone, Debug)]
pub enum Op {
    /// A step about a literal without annotations: what most goals and changes of beliefs are.
    Plain(PlainStep, Box<Site>),
    /// `!g`
    Achieve(Expr),
    /// `!!g`
    AchieveNewFocus(Expr),
    /// `?q`: the query, and the literal for the event `+?q` if there is no answer.
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
    /// `.send(To, performative, Content)` that expects no answer: what most messages are.
    Send(Box<SendExpr>),
    /// A relation that must hold.
    Constraint(Formula),
    /// A step whose term is a variable: a literal or a body.
    Dynamic(ast::StepKind, Expr),
    /// `if`: where to go if the condition does not hold.
    If(Formula, u32),
    /// Goes on elsewhere, in no time.
    Jump(u32),
    /// `while`: where to go when the condition no longer holds.
    While(Formula, u32),
    /// `for`: where to go when there is no further solution.
    For(Formula, u32),
    /// Goes on with the branches, each an intention of its own; they meet at the join after the last one.
    Fork {
        /// Whether the first branch to end wins, instead of waiting for all.
        first_wins: bool,
        /// Where each branch begins.
        branches: SmallVec<[u32; 4]>,
        /// Where the branches meet.
        join: u32,
    },
    /// The end of a branch.
    Join,
}

/// A compiled program: immutable, shared by all its agents.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// A name for messages: the file.
    pub name: Text,
    /// A fingerprint of its text and of all it includes; 0 if it was not made from text.
    pub fingerprint: u64,
    /// SHA-256 of the [bundle](crate::Bundle) that it can be made of elsewhere; `None` if it is not to travel.
    pub code: Option<[u8; 32]>,
    /// Plans in source order, library plans last.
    pub plans: Vec<Arc<Plan>>,
    /// Initial beliefs in source order.
    pub facts: Vec<Value>,
    /// Rules in source order, each with its place among the facts: how many facts stand before it.
    pub rules: Vec<(usize, Arc<Rule>)>,
    /// Initial goals in source order.
    pub goals: Vec<Value>,
    /// Functions backed by rules.
    pub functions: Vec<ast::FunctionRule>,
    /// How far automatic labels have come: `p__labels` was the last.
    pub labels: u32,
    /// The index of the plans.
    pub index: crate::mind::PlanIndex,
    /// The names of the plans.
    pub names: crate::mind::ImageNames,
    /// Whether some plan is for meta-events.
    pub has_meta_plans: bool,
    /// Whether the program calls functions at all.
    pub calls_functions: bool,
    /// Whether a context or another formula asks for the agent's desires, the one that is looked at among them: its
    /// events are all written out then.
    pub asks_desires: bool,
    /// Whether a formula asks for the agent's intentions, the one that is at work among them.
    pub asks_intentions: bool,
    /// True if the program asks somewhere what others have told the platform.
    pub asks_others: bool,
    /// Whether some plan is for the agent's falling idle or waking.
    pub tells_idleness: bool,
    /// Whether a plan of the program's own is for messages as such (`+!kqml_received`).
    pub handles_messages: bool,
    /// The program's text, to find it again in another process.
    pub source: Arc<ast::Program>,
}
