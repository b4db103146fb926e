//! Expressions and formulas, with variables turned into slots.

use std::sync::Arc;

use whimbrel_acl::{Symbol, Value};

use super::{Hint, InternalAction, Key};
use crate::syntax::{FunctionId, ast};

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

    /// Returns true if the expression is another constant than this value.
    #[inline]
    pub(crate) fn is_other(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Const(Value::Num(a)), Value::Num(b)) => a != b,
            (Self::Const(Value::Atom(a)), Value::Atom(b)) => a != b,
            _ => false,
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
    Native(FunctionId),
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

impl CallExpr {
    /// Creates the call of an action whose arguments are values already.
    pub fn bare(name: Symbol, action: InternalAction) -> Self {
        Self { name, action, args: Vec::new(), formulas: Vec::new(), annots: Vec::new() }
    }
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
