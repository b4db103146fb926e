//! Syntax tree of AgentSpeak programs. In a complete tree, namespaces are resolved and includes folded in.

use whimbrel_acl::{Symbol, Text, Value};

/// Place in a source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Line of the first byte, from 1.
    pub line: u32,
}

/// Whole program: one file with all its includes.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Facts and rules in source order.
    pub beliefs: Vec<Rule>,
    /// Initial goals in source order.
    pub goals: Vec<Goal>,
    /// Plans in source order.
    pub plans: Vec<Plan>,
    /// `{ register_function("name", arity, "rule") }`.
    pub functions: Vec<FunctionRule>,
    /// Namespaces declared local: their names are made unique per agent.
    pub local_namespaces: Vec<Symbol>,
}

/// Initial goal.
#[derive(Clone, Debug)]
pub struct Goal {
    /// Goal to achieve.
    pub literal: Literal,
    /// Place in the source.
    pub span: Span,
    /// Source file.
    pub file: Text,
}

/// Function backed by a rule: `name(args)` evaluates to the last argument of `rule(args, Result)`.
#[derive(Clone, Debug)]
pub struct FunctionRule {
    /// Name of the function, dots included.
    pub name: Symbol,
    /// Number of arguments.
    pub arity: u32,
    /// Functor of the rule.
    pub rule: Symbol,
}

/// Rule `head :- body`; a fact has no body.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Conclusion.
    pub head: Literal,
    /// Condition.
    pub body: Option<Term>,
    /// Place in the source.
    pub span: Span,
    /// Source file.
    pub file: Text,
}

/// Plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// `@label[annotations]`; the functor is [`sym::EMPTY`](whimbrel_acl::sym::EMPTY) if only annotations are given.
    pub label: Option<Literal>,
    /// `@Label` in a plan term: the variable holds the label, and `label` is `None`.
    pub label_variable: Option<Variable>,
    /// Triggering event.
    pub trigger: Trigger,
    /// Context: the condition under which the plan is applicable.
    pub context: Option<Term>,
    /// `<: condition`, under which the plan's goal counts as achieved.
    pub goal_condition: Option<Term>,
    /// Body.
    pub body: PlanBody,
    /// `{ plans }` after the body, relevant only while this plan runs.
    pub sub_plans: Vec<Plan>,
    /// Place in the source.
    pub span: Span,
    /// Source file.
    pub file: Text,
}

/// Triggering event.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// `+`, `-` or `^`.
    pub op: TriggerOp,
    /// Belief, achievement goal or test goal.
    pub kind: TriggerKind,
    /// Literal, or a variable that stands for any.
    pub term: Term,
}

/// Event that concerns a trigger's literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum TriggerOp {
    /// `+`
    Add,
    /// `-`
    Delete,
    /// `^`, a meta-event: a goal changed its state.
    Meta,
}

/// Kind of a trigger's literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum TriggerKind {
    /// A belief.
    Belief,
    /// `!`, an achievement goal.
    Achieve,
    /// `?`, a test goal.
    Test,
}

/// Plan body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanBody {
    /// Steps in order.
    pub steps: Vec<BodyStep>,
}

/// Step of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyStep {
    /// Kind of the step.
    pub kind: StepKind,
    /// Operand.
    pub term: Term,
    /// Place in the source.
    pub span: Span,
}

/// Kind of a body step. Control structures are internal actions with code as arguments: `if (c) {a} else {b}` is
/// `.if_then_else(c, {a}, {b})`, `while` is `.loop(c, {a})`, `for` is `.foreach(c, {a})`, `a |&| b` is
/// `.fork(and, {a}, {b})`, `a ||| b` is `.fork(or, {a}, {b})`. A condition with `elif` has the functor [`ELIF`]. Its
/// arguments are each condition with its code, then the code of `else` if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// `!g`
    Achieve,
    /// `!!g`
    AchieveNewFocus,
    /// `?q`
    Test,
    /// `+b`, `+{plan}`
    Add,
    /// `++b`
    AddNewFocus,
    /// `+<b`
    AddFront,
    /// `+>b`, `+>{plan}`
    AddEnd,
    /// `-b`, `-{plan}`
    Delete,
    /// `--b`
    DeleteNewFocus,
    /// `-+b`
    Replace,
    /// `act(..)`: an action on the environment.
    Action,
    /// `.ia(..)` or `lib.ia(..)`.
    InternalAction,
    /// A relational expression, such as `X = 1`.
    Constraint,
    /// `X`: a variable that holds a body or a literal.
    Variable,
}

/// Functor of an `if` with `elif`, which no program can write. As data it is nested `.if_then_else`.
pub const ELIF: &str = "$elif";

/// Term, logical formula or piece of code: the language lets each hold the others.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A number.
    Num(f64),
    /// A string, escapes translated.
    Str(Text),
    /// A variable.
    Var(Variable),
    /// An atom, structure or internal action; `true` and `false` too.
    Literal(Literal),
    /// `[a, b | T]`
    List {
        /// Elements.
        items: Vec<Term>,
        /// Tail after `|`.
        tail: Option<Box<Term>>,
    },
    /// Arithmetic, relational or logical operation. `&` and `|` have any number of operands, from right to left:
    /// `a & b & c` is `a & (b & c)`.
    Op(Op, Vec<Term>),
    /// Arithmetic of three operands or more, from left to right: `a + b - c` is `(a + b) - c`.
    Chain(Box<Term>, Vec<(Op, Term)>),
    /// Code in braces.
    Code(CodeTerm),
    /// Value without textual form, in code that was made while a program ran: a container, for instance.
    Data(Value),
}

/// Code as a term.
#[derive(Clone, Debug, PartialEq)]
pub enum CodeTerm {
    /// `{ @l +!g : c <- b }`
    Plan(Box<Plan>),
    /// `{ +!g }`
    Trigger(Box<Trigger>),
    /// `{ a; !g }`
    Body(PlanBody),
    /// `{ h :- b }`
    Rule(Box<Rule>),
}

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named by their symbols in `Op::symbol`")]
pub enum Op {
    And,
    Or,
    Not,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Unify,
    Univ,
    Add,
    Sub,
    Mul,
    Div,
    IntDiv,
    Mod,
    Pow,
    Neg,
}

/// Occurrence of a variable, which may have a namespace, a negation and annotations of its own: `ns::~X[a]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Name; each anonymous `_` has a distinct name `_<n>`.
    pub name: Symbol,
    /// `ns::X`
    pub namespace: Option<Namespace>,
    /// `~X`
    pub negated: bool,
    /// `X[a]`
    pub annots: Option<Annotations>,
    /// Place in the source.
    pub span: Span,
}

/// An atom or structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    /// Namespace; `None` is the default namespace.
    pub namespace: Option<Namespace>,
    /// `~`
    pub negated: bool,
    /// Name; begins with or contains a dot if it names an internal action or function.
    pub functor: Symbol,
    /// The arguments.
    pub args: Vec<Term>,
    /// Annotations, if any are written.
    pub annots: Option<Annotations>,
    /// Place in the source.
    pub span: Span,
}

impl Literal {
    /// Creates a literal that is only a name, written at `span`.
    pub fn bare(functor: Symbol, span: Span) -> Self {
        Self { namespace: None, negated: false, functor, args: Vec::new(), annots: None, span }
    }
}

/// `[a, b | T]` after a literal or variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// The annotations written out.
    pub items: Vec<Term>,
    /// Tail after `|`.
    pub tail: Option<Box<Term>>,
}

/// Namespace as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Namespace {
    /// Name.
    Name(Symbol),
    /// Variable.
    Var(Symbol),
}
