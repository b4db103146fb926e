//! The syntax tree of AgentSpeak programs. Namespaces are resolved and includes folded in when a tree is complete.

use whimbrel_acl::{Symbol, Text, Value};

/// Where something stands in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Line of the first byte, from 1.
    pub line: u32,
}

/// A whole program: one file and all it includes.
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

/// An initial goal.
#[derive(Clone, Debug)]
pub struct Goal {
    /// What is to be achieved.
    pub literal: Literal,
    /// Where it stands.
    pub span: Span,
    /// Its file.
    pub file: Text,
}

/// A function backed by a rule: `name(args)` evaluates to the last argument of `rule(args, Result)`.
#[derive(Clone, Debug)]
pub struct FunctionRule {
    /// The function's name, dots included.
    pub name: Symbol,
    /// How many arguments it takes.
    pub arity: u32,
    /// The rule's functor.
    pub rule: Symbol,
}

/// A rule `head :- body`; a fact has no body.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What follows.
    pub head: Literal,
    /// From what.
    pub body: Option<Term>,
    /// Where it stands.
    pub span: Span,
    /// Its file.
    pub file: Text,
}

/// A plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// `@label[annotations]`; [`sym::EMPTY`](whimbrel_acl::sym::EMPTY) as functor if only annotations are given.
    pub label: Option<Literal>,
    /// `@Label` in a plan term: the label is what the variable holds; `label` is `None` then.
    pub label_variable: Option<Variable>,
    /// What it is for.
    pub trigger: Trigger,
    /// When it is applicable.
    pub context: Option<Term>,
    /// `<: condition`: when its goal counts as achieved.
    pub goal_condition: Option<Term>,
    /// What to do.
    pub body: Body,
    /// `{ plans }` after the body, relevant only while this plan runs.
    pub sub_plans: Vec<Plan>,
    /// Where it stands.
    pub span: Span,
    /// Its file.
    pub file: Text,
}

/// A triggering event.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// `+`, `-` or `^`.
    pub op: TriggerOp,
    /// Belief, achievement goal or test goal.
    pub kind: TriggerKind,
    /// The literal, or a variable that stands for any.
    pub term: Term,
}

/// What happens to a trigger's literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum TriggerOp {
    /// `+`
    Add,
    /// `-`
    Delete,
    /// `^`, a meta-event: a goal changed its state.
    Meta,
}

/// What a trigger's literal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum TriggerKind {
    /// A belief.
    Belief,
    /// `!`, an achievement goal.
    Achieve,
    /// `?`, a test goal.
    Test,
}

/// A plan body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// Its steps in order.
    pub steps: Vec<Step>,
}

/// One step of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What to do.
    pub kind: StepKind,
    /// With what.
    pub term: Term,
    /// Where it stands.
    pub span: Span,
}

/// What a body step does. Control structures are internal actions with code as arguments:
/// `if (c) {a} else {b}` is `.if_then_else(c, {a}, {b})`, `while` is `.loop(c, {a})`, `for` is `.foreach(c, {a})`,
/// `a |&| b` is `.fork(and, {a}, {b})`, `a ||| b` is `.fork(or, {a}, {b})`. With `elif` a condition has the functor
/// [`ELIF`] and as arguments each condition with its code, and the code of `else` if there is one.
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

/// The functor of an `if` with `elif`, which no program can write. As data it is nested `.if_then_else`.
pub const ELIF: &str = "$elif";

/// A term, logical formula or piece of code: the language lets each hold the others.
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
        /// The elements.
        items: Vec<Term>,
        /// What follows `|`.
        tail: Option<Box<Term>>,
    },
    /// An arithmetic, relational or logical operation. `&` and `|` have any number of operands, from right to left:
    /// `a & b & c` is `a & (b & c)`.
    Op(Op, Vec<Term>),
    /// Three operands of arithmetic or more, from left to right: `a + b - c` is `(a + b) - c`.
    Chain(Box<Term>, Vec<(Op, Term)>),
    /// Code in braces.
    Code(Code),
    /// A value that no text says, in code that was made while a program ran: a container, for instance.
    Data(Value),
}

/// Code as a term.
#[derive(Clone, Debug, PartialEq)]
pub enum Code {
    /// `{ @l +!g : c <- b }`
    Plan(Box<Plan>),
    /// `{ +!g }`
    Trigger(Box<Trigger>),
    /// `{ a; !g }`
    Body(Body),
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

/// A variable occurrence, which may carry a namespace, a negation and annotations of its own: `ns::~X[a]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name; each anonymous `_` has a distinct name `_<n>`.
    pub name: Symbol,
    /// `ns::X`
    pub namespace: Option<Namespace>,
    /// `~X`
    pub negated: bool,
    /// `X[a]`
    pub annots: Option<Annotations>,
    /// Where it stands.
    pub span: Span,
}

/// An atom or structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    /// Its namespace; `None` is the default namespace.
    pub namespace: Option<Namespace>,
    /// `~`
    pub negated: bool,
    /// The name; begins with or contains a dot if it names an internal action or function.
    pub functor: Symbol,
    /// The arguments.
    pub args: Vec<Term>,
    /// The annotations, if any are written.
    pub annots: Option<Annotations>,
    /// Where it stands.
    pub span: Span,
}

impl Literal {
    /// A literal that is only a name, written at `span`.
    pub fn bare(functor: Symbol, span: Span) -> Self {
        Self { namespace: None, negated: false, functor, args: Vec::new(), annots: None, span }
    }
}

/// `[a, b | T]` after a literal or variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// The annotations written out.
    pub items: Vec<Term>,
    /// What follows `|`.
    pub tail: Option<Box<Term>>,
}

/// A namespace as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Namespace {
    /// By name.
    Name(Symbol),
    /// By a variable.
    Var(Symbol),
}
