//! Compiled programs: plans, rules and formulas with variables turned into slots, shared by all agents of a program.

mod asking;
mod build;
pub mod compile;
mod decorated;
mod site;

use std::sync::Arc;

use smallvec::SmallVec;
use whimbrel_acl::{Annots, Structure, Symbol, Text, Value, sym};

use crate::actions::InternalAction;
use crate::syntax::ast;
pub use crate::syntax::ast::{TriggerKind, TriggerOp};
pub use build::{
    build, build_annots, build_args, calls_nothing, match_expr, match_slot, number, plain_atom, push_plain_value,
};
pub use decorated::{decorate, unify_decorated};
pub use site::{Hint, Plans, Site};

/// Functors that no program can write: code and special variables as data.
pub mod reserved {
    pub use crate::syntax::quote::reserved::*;
}

/// Key of a predicate: name, namespace, arity, negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Key {
    /// Name.
    pub functor: Symbol,
    /// Namespace.
    pub namespace: Symbol,
    /// Number of arguments.
    pub arity: u16,
    /// Strong negation.
    pub negated: bool,
}

/// Most keys differ in their names: all parts are combined in one number, for one round of the hash.
impl std::hash::Hash for Key {
    #[inline]
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.bits());
    }
}

impl Key {
    /// Returns a number that differs for nearly all keys that differ.
    #[inline]
    pub fn bits(&self) -> u64 {
        let other = self.namespace.index() ^ (u32::from(self.arity) << 16) ^ (u32::from(self.negated) << 31);
        (u64::from(self.functor.index()) << 32) | u64::from(other)
    }

    /// Returns the key of a structure.
    #[inline]
    pub fn of(term: &Structure) -> Self {
        Self { functor: term.functor, namespace: term.namespace, arity: term.args.len() as u16, negated: term.negated }
    }

    /// Returns the key of a literal value, if the value is a literal.
    pub fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::Term(term) => Some(Self::of(term)),
            other => Some(Self { functor: other.functor()?, namespace: sym::DEFAULT, arity: 0, negated: false }),
        }
    }
}

/// Expression: builds a value, or is matched against one. Slots are relative to a frame's base. Rare variants are
/// boxed, so that an expression takes no more room than a value, and variants are told apart at a glance.
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
    /// Key of the structure.
    pub key: Key,
    /// Arguments.
    pub args: Vec<Expr>,
    /// Annotations.
    pub annots: Vec<Expr>,
    /// Open tail of the annotations.
    pub annots_tail: Option<Expr>,
    /// Likely place of the agent's beliefs of this predicate, for a query.
    pub hint: Hint,
}

impl TermExpr {
    /// Returns true if no annotations are written.
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
    /// Returns true if an operand is not a literal number.
    pub fn has_variables(&self) -> bool {
        [Some(&self.left), self.right.as_ref()].into_iter().flatten().any(Expr::is_no_number)
    }
}

impl Expr {
    /// Returns true if the expression contains anything but number literals.
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
    /// Name of the function.
    pub name: Symbol,
    /// Implementation.
    pub function: Function,
    /// Arguments.
    pub args: Vec<Expr>,
}

/// Implementation of a function.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    /// A built-in function.
    Native(crate::actions::NativeFunction),
    /// A rule with one more argument, the result.
    Rule(Symbol),
}

/// Logical formula.
#[derive(Clone, Debug)]
pub enum Formula {
    /// Always holds.
    True,
    /// Never holds.
    False,
    /// A query for a belief or a rule's head.
    Query(Box<TermExpr>),
    /// A call of an internal action.
    Call(Box<CallExpr>),
    /// A relation.
    Relation(Box<RelationExpr>),
    /// A conjunction.
    And(Vec<Formula>),
    /// A disjunction.
    Or(Vec<Formula>),
    /// A negation.
    Not(Box<Formula>),
    /// The formula that a variable or a dynamic literal holds.
    Dynamic(Expr),
}

/// Relation between two expressions.
#[derive(Clone, Debug)]
pub struct RelationExpr {
    /// The relation.
    pub op: Symbol,
    /// Left side.
    pub left: Expr,
    /// Right side.
    pub right: Expr,
}

/// Call of an internal action.
#[derive(Clone, Debug)]
pub struct CallExpr {
    /// Name, leading dot included.
    pub name: Symbol,
    /// Implementation.
    pub action: InternalAction,
    /// Arguments.
    pub args: Vec<Expr>,
    /// Arguments as formulas, where they are logical; as many as `args`.
    pub formulas: Vec<Option<Formula>>,
    /// Annotations on the call, if any.
    pub annots: Vec<Expr>,
}

/// Rule of the belief base.
#[derive(Clone, Debug)]
pub struct CompiledRule {
    /// Key of the head.
    pub key: Key,
    /// Patterns of the head for a query's arguments, each of which is in the slot of its place. `None` for a variable
    /// that is new in the head: that slot is the variable.
    pub args: Vec<Option<Expr>>,
    /// Annotations of the head.
    pub annots: Vec<Expr>,
    /// Condition under which the head holds.
    pub body: Formula,
    /// Number of variables.
    pub slots: u32,
    /// Names of the variables.
    pub names: Arc<[Symbol]>,
    /// Source of the rule.
    pub source: Arc<ast::Rule>,
}

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

/// Compiled program: immutable, shared by all its agents.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Name for messages: the file.
    pub name: Text,
    /// Fingerprint of the program's text and all its includes; 0 if it was not made from text.
    pub fingerprint: u64,
    /// SHA-256 of the [bundle](crate::Bundle) from which another node can make the program; `None` if it is not to
    /// travel.
    pub code: Option<[u8; 32]>,
    /// Plans in source order, library plans last.
    pub plans: Vec<Arc<CompiledPlan>>,
    /// Initial beliefs in source order.
    pub facts: Vec<Value>,
    /// Rules in source order, each with the number of facts before it.
    pub rules: Vec<(usize, Arc<CompiledRule>)>,
    /// Initial goals in source order.
    pub goals: Vec<Value>,
    /// Functions backed by rules.
    pub functions: Vec<ast::FunctionRule>,
    /// Number of generated labels: `p__labels` was the last.
    pub labels: u32,
    /// Index of the plans.
    pub index: crate::mind::PlanIndex,
    /// Names of the plans.
    pub names: crate::mind::ImageNames,
    /// True if some plan reacts to meta-events.
    pub has_meta_plans: bool,
    /// True if the program calls functions at all.
    pub calls_functions: bool,
    /// True if a context or another formula queries the agent's desires. These include the event being processed, so
    /// events are recorded in full then.
    pub asks_desires: bool,
    /// True if a formula queries the agent's intentions, including the current one.
    pub asks_intentions: bool,
    /// True if the program queries the platform.
    pub asks_others: bool,
    /// True if some plan reacts to the agent falling idle or waking.
    pub tells_idleness: bool,
    /// True if a plan of the program's own handles messages as such (`+!kqml_received`).
    pub handles_messages: bool,
    /// Syntax tree of the program, to find its parts again in another process.
    pub source: Arc<ast::Program>,
}
