//! Printed code can be parsed again, and is unchanged then.

use proptest::prelude::*;
use whimbrel_acl::value::Bare;
use whimbrel_acl::{Symbol, Value};
use whimbrel_bdi::syntax::ast::{
    Annotations, BodyStep, CodeTerm, Literal, Namespace, Op, Plan, PlanBody, Rule, Span, StepKind, Term, Trigger,
    TriggerKind, TriggerOp, Variable,
};
use whimbrel_bdi::syntax::quote::{unquote_plan, unquote_term};
use whimbrel_bdi::syntax::{parse_plan, parse_term};

use crate::quote::quoted;

/// Generator of terms from bytes: each choice takes one, and zeros and the end give simple terms.
struct Maker<'a> {
    bytes: &'a [u8],
    depth: usize,
}

const ARITHMETIC: [Op; 7] = [Op::Add, Op::Sub, Op::Mul, Op::Div, Op::IntDiv, Op::Mod, Op::Pow];
const RELATIONS: [Op; 8] = [Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Unify, Op::Univ];
const STEPS: [StepKind; 10] = [
    StepKind::Action,
    StepKind::Add,
    StepKind::AddNewFocus,
    StepKind::AddEnd,
    StepKind::Delete,
    StepKind::DeleteNewFocus,
    StepKind::Replace,
    StepKind::Achieve,
    StepKind::AchieveNewFocus,
    StepKind::Test,
];

impl Maker<'_> {
    fn byte(&mut self) -> usize {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                usize::from(*first)
            }
            None => 0,
        }
    }

    fn choice<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.byte() % from.len()]
    }

    /// Returns true once in `n` times.
    fn once_in(&mut self, n: usize) -> bool {
        self.byte() % n == n - 1
    }

    fn many<T>(&mut self, most: usize, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        let count = self.byte() % (most + 1);
        (0..count).map(|_| make(self)).collect()
    }

    fn name(&mut self) -> Symbol {
        Symbol::new(self.choice(&["a", "b", "go", "p1", "x_Y", "'Big'", "'two words'", "begin", "end", "self"]))
    }

    fn variable_name(&mut self) -> Symbol {
        Symbol::new(self.choice(&["X", "Y", "Zoo_1", "_7", "_12X"]))
    }

    fn namespace(&mut self) -> Option<Namespace> {
        match self.byte() % 8 {
            6 => Some(Namespace::Name(Symbol::new(self.choice(&["ns", "'my ns'"])))),
            7 => Some(Namespace::Var(self.variable_name())),
            _ => None,
        }
    }

    fn plain_variable(&mut self) -> Variable {
        let name = self.variable_name();
        Variable { name, namespace: None, negated: false, annots: None, span: Span::default() }
    }

    fn variable(&mut self) -> Variable {
        let (namespace, negated) = (self.namespace(), self.once_in(10));
        Variable { namespace, negated, annots: self.annotations(), ..self.plain_variable() }
    }

    fn number(&mut self) -> f64 {
        match self.byte() % 4 {
            0 => self.byte() as f64,
            1 => -(self.byte() as f64) / 8.0,
            2 => self.choice(&[0.1, 1e-4, 1e21, 123456.789, 4.9e-324, 1.7976931348623157e308, 9.2e18, 1e7]),
            _ => {
                let bits = (0..8).fold(0, |bits, _| bits << 8 | self.byte() as u64);
                Some(f64::from_bits(bits)).filter(|n| n.is_finite()).unwrap_or(0.5)
            }
        }
    }

    fn annotations(&mut self) -> Option<Annotations> {
        if !self.once_in(4) {
            return None;
        }
        let items = self.many(2, Self::element);
        let tail = self.once_in(3).then(|| Box::new(Term::Var(self.plain_variable())));
        (!items.is_empty() || tail.is_some()).then_some(Annotations { items, tail })
    }

    fn literal(&mut self) -> Literal {
        let functor = self.name();
        let args = self.many(3, Self::term);
        let keyword = functor.as_str() == "self" && args.is_empty();
        let namespace = if keyword { None } else { self.namespace() };
        Literal {
            namespace,
            negated: self.once_in(6),
            functor,
            args,
            annots: self.annotations(),
            span: Span::default(),
        }
    }

    fn action(&mut self) -> Literal {
        let functor = Symbol::new(self.choice(&[".print", "lib.act", ".my_name"]));
        Literal { args: self.many(3, Self::term), ..Literal::bare(functor, Span::default()) }
    }

    fn deeper<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        let made = make(self);
        self.depth -= 1;
        made
    }

    fn term(&mut self) -> Term {
        if self.byte().is_multiple_of(6) && self.depth < 6 { self.deeper(Self::formula) } else { self.element() }
    }

    /// Makes a term that may stand in a list: no formula.
    fn element(&mut self) -> Term {
        let kinds = if self.depth < 6 { 12 } else { 5 };
        let kind = self.byte() % kinds;
        self.deeper(|maker| match kind {
            1 => Term::Var(maker.plain_variable()),
            2 => Term::Str(maker.choice(&["", "text", "a b'c", "tab\\t", "é // x"]).into()),
            3 => Term::Literal(Literal::bare(maker.name(), Span::default())),
            4 => Term::Literal(Literal::bare(Symbol::new(maker.choice(&["true", "false"])), Span::default())),
            5 | 6 => Term::Literal(maker.literal()),
            7 => Term::Literal(maker.action()),
            8 => Term::Var(maker.variable()),
            9 => {
                let items = maker.many(3, Self::element);
                // A list that is only a tail is the tail.
                let open = !items.is_empty() && maker.once_in(3);
                let tail = open.then(|| Box::new(Term::Var(maker.plain_variable())));
                Term::List { items, tail }
            }
            10 => maker.arithmetic(),
            11 => Term::Code(maker.code()),
            _ => Term::Num(maker.number()),
        })
    }

    fn arithmetic(&mut self) -> Term {
        let kind = if self.depth < 6 { self.byte() % 6 } else { 0 };
        self.deeper(|maker| match kind {
            3 => match maker.arithmetic() {
                Term::Num(n) => Term::Num(-n),
                other => Term::Op(Op::Neg, vec![other]),
            },
            4 | 5 => Term::Op(maker.choice(&ARITHMETIC), vec![maker.arithmetic(), maker.arithmetic()]),
            2 => Term::Literal(Literal {
                args: vec![maker.arithmetic()],
                ..Literal::bare(Symbol::new("math.abs"), Span::default())
            }),
            1 => Term::Var(maker.variable()),
            _ => Term::Num(maker.number()),
        })
    }

    fn relation(&mut self) -> Term {
        let mut side = || if self.once_in(2) { self.arithmetic() } else { self.element() };
        let (left, right) = (side(), side());
        Term::Op(self.choice(&RELATIONS), vec![left, right])
    }

    fn formula(&mut self) -> Term {
        let kind = if self.depth < 6 { self.byte() % 8 } else { 0 };
        self.deeper(|maker| match kind {
            1 => Term::Literal(maker.action()),
            2 => Term::Var(maker.plain_variable()),
            3 => maker.relation(),
            4 => Term::Op(Op::And, vec![maker.formula(), maker.formula()]),
            5 => Term::Op(Op::Or, vec![maker.formula(), maker.formula()]),
            6 => Term::Op(Op::Not, vec![maker.formula()]),
            _ => Term::Literal(maker.literal()),
        })
    }

    fn body(&mut self) -> PlanBody {
        PlanBody { steps: self.many(3, Self::step) }
    }

    fn step(&mut self) -> BodyStep {
        let kinds = if self.depth < 4 { 7 } else { 5 };
        let kind = self.byte() % kinds;
        let (kind, term) = self.deeper(|maker| match kind {
            1 => (StepKind::InternalAction, Term::Literal(maker.action())),
            2 => (StepKind::Constraint, maker.relation()),
            3 => (StepKind::Variable, Term::Var(maker.variable())),
            4 => (maker.choice(&STEPS[1..]), Term::Var(maker.variable())),
            5 => (StepKind::InternalAction, maker.control()),
            _ => (maker.choice(&STEPS), Term::Literal(maker.literal())),
        });
        BodyStep { kind, term, span: Span::default() }
    }

    /// Makes `if`, `for`, `while` and forks, whose code is printed without braces. Around a single variable braces
    /// would make a difference, and are lost.
    fn control(&mut self) -> Term {
        let code = |maker: &mut Self| {
            let mut body = maker.body();
            if matches!(body.steps.as_slice(), [only] if only.kind == StepKind::Variable) {
                body.steps.clear();
            }
            Term::Code(CodeTerm::Body(body))
        };
        let (name, args) = match self.byte() % 4 {
            0 => (".if_then_else", vec![self.formula(), code(self), code(self)]),
            1 => (".loop", vec![self.formula(), code(self)]),
            2 => (".foreach", vec![self.formula(), code(self)]),
            _ => {
                let way = Symbol::new(self.choice(&["and", "or"]));
                (".fork", vec![Term::Literal(Literal::bare(way, Span::default())), code(self), code(self)])
            }
        };
        Term::Literal(Literal { args, ..Literal::bare(Symbol::new(name), Span::default()) })
    }

    fn trigger(&mut self) -> Trigger {
        let op = self.choice(&[TriggerOp::Add, TriggerOp::Delete, TriggerOp::Meta]);
        let kind = self.choice(&[TriggerKind::Achieve, TriggerKind::Test]);
        let term = if self.once_in(5) { Term::Var(self.variable()) } else { Term::Literal(self.literal()) };
        Trigger { op, kind, term }
    }

    fn plan(&mut self) -> Plan {
        let label = self.once_in(2).then(|| {
            let functor = self.choice(&["l1", "begin", ""]);
            let annots = self.annotations();
            let functor = if annots.is_none() && functor.is_empty() { "l2" } else { functor };
            Literal { annots, ..Literal::bare(Symbol::new(functor), Span::default()) }
        });
        let context = self.once_in(2).then(|| self.formula());
        Plan {
            label,
            label_variable: None,
            trigger: self.trigger(),
            context: context.filter(|context| !matches!(context, Term::Var(variable) if variable.namespace.is_some())),
            goal_condition: None,
            body: self.body(),
            sub_plans: Vec::new(),
            span: Span::default(),
            file: "".into(),
        }
    }

    fn code(&mut self) -> CodeTerm {
        match self.byte() % 4 {
            0 => {
                let plan = self.plan();
                if plan.label.is_none() && plan.context.is_none() && plan.body.steps.is_empty() {
                    return CodeTerm::Trigger(Box::new(plan.trigger));
                }
                CodeTerm::Plan(Box::new(plan))
            }
            1 => CodeTerm::Trigger(Box::new(self.trigger())),
            2 => CodeTerm::Rule(Box::new(Rule {
                head: self.literal(),
                body: Some(self.formula()),
                span: Span::default(),
                file: "".into(),
            })),
            _ => CodeTerm::Body(self.body()),
        }
    }
}

fn maker(bytes: &[u8]) -> Maker<'_> {
    Maker { bytes, depth: 0 }
}

fn plan_value(plan: Plan) -> Value {
    quoted(&Term::Code(CodeTerm::Plan(Box::new(plan))))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn terms_survive_printing(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let value = quoted(&maker(&bytes).term());
        let text = value.to_string();
        let parsed = parse_term(&text).map_err(|problems| TestCaseError::fail(format!("{text}\n{problems:#?}")))?;
        let again = quoted(&parsed);
        prop_assert!(again == value, "printed {text}\nagain   {again}\nas {value:?}\nnot {again:?}");
    }

    #[test]
    fn terms_survive_quoting(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let value = quoted(&maker(&bytes).term());
        let back = unquote_term(&value).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let again = quoted(&back);
        prop_assert!(again == value, "printed {value}\nagain   {again}");
    }

    #[test]
    fn plans_survive_printing(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let value = plan_value(maker(&bytes).plan());
        let text = format!("{}.", Bare(&value));
        let parsed = parse_plan(&text).map_err(|problems| TestCaseError::fail(format!("{text}\n{problems:#?}")))?;
        let again = plan_value(parsed);
        prop_assert!(again == value, "printed {text}\nagain   {}", Bare(&again));
    }

    #[test]
    fn plans_survive_quoting(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let value = plan_value(maker(&bytes).plan());
        let back = unquote_plan(&value).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let again = plan_value(back);
        prop_assert!(again == value, "printed {value}\nagain   {again}");
    }
}
