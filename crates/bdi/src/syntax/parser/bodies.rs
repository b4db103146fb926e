//! Plan bodies: steps, groups, forks and control structures.

use whimbrel_acl::Symbol;
use whimbrel_platform::limits;

use super::literals::is_dotted;
use super::terms::{begins_term, is_arithmetic};
use super::{Failed, Height, Parse, Parser};
use crate::syntax::ast::{BodyStep, CodeTerm, ELIF, Literal, Op, PlanBody, Span, StepKind, Term};
use crate::syntax::lexer::Tok;
use crate::syntax::signatures;

fn begins_step(kind: Tok) -> bool {
    begins_term(kind) || matches!(kind, Tok::Bang | Tok::BangBang | Tok::Question | Tok::If | Tok::For | Tok::While)
}

fn is_control(kind: Tok) -> bool {
    matches!(kind, Tok::If | Tok::For | Tok::While)
}

/// Makes the step `.name(args)`, as written at `span`.
fn action_step(name: &str, args: Vec<Term>, span: Span) -> BodyStep {
    let literal = Literal { args, ..Literal::bare(Symbol::new(name), span) };
    BodyStep { kind: StepKind::InternalAction, term: Term::Literal(literal), span }
}

fn code(steps: Vec<BodyStep>) -> Term {
    Term::Code(CodeTerm::Body(PlanBody { steps }))
}

/// Kind of fork: continues in several intentions at once.
#[derive(Clone, Copy)]
struct ForkKind {
    sign: Tok,
    name: &'static str,
}

const FORK_AND: ForkKind = ForkKind { sign: Tok::ForkAnd, name: "and" };
const FORK_OR: ForkKind = ForkKind { sign: Tok::ForkOr, name: "or" };

/// Levels between a branch of an `if` and the next one, as data.
const ELIF_LEVELS: usize = 3;

impl Parser<'_, '_> {
    /// Parses the body of a plan: steps up to a token that cannot continue it.
    pub(super) fn plan_body(&mut self) -> Parse<PlanBody> {
        let start = self.token().span;
        let (body, height) = self.steps(|_, height| height)?;
        if body.steps.len() > limits::BODY_STEPS_MAX {
            let message = format!("this body has more than {} steps", limits::BODY_STEPS_MAX);
            return Err(self.error_with_help(start, message, "begins here", "move steps to plans of sub-goals"));
        }
        self.grown(height)?;
        Ok(body)
    }

    /// Parses a body inside a term or another body. As data each step is a level deeper than the one before.
    pub(super) fn body(&mut self) -> Parse<PlanBody> {
        let (body, height) = self.steps(|before, height| height.deeper(before))?;
        self.grown(height)?;
        Ok(body)
    }

    /// Parses steps. Also returns the greatest of their heights, which `level` computes from the number of steps
    /// before.
    fn steps(&mut self, level: impl Fn(usize, Height) -> Height) -> Parse<(PlanBody, Height)> {
        let mut steps = Vec::new();
        let mut height = Height::default();
        loop {
            let control = is_control(self.peek());
            if control {
                steps.push(self.control()?);
            } else {
                self.fork_or(&mut steps)?;
            }
            height = height.max(level(steps.len(), self.height));
            let separated = self.accept(Tok::Semicolon);
            if !(separated || control) || !begins_step(self.peek()) {
                return Ok((PlanBody { steps }, height));
            }
        }
    }

    /// Parses `a ||| b`, whose branches may be `|&|`.
    fn fork_or(&mut self, steps: &mut Vec<BodyStep>) -> Parse<()> {
        self.fork(FORK_OR, steps, |parser, steps| parser.fork(FORK_AND, steps, Self::step))
    }

    fn fork(
        &mut self,
        fork: ForkKind,
        steps: &mut Vec<BodyStep>,
        branch: impl Fn(&mut Self, &mut Vec<BodyStep>) -> Parse<()>,
    ) -> Parse<()> {
        let first = steps.len();
        branch(self, steps)?;
        if self.peek() != fork.sign {
            return Ok(());
        }
        let mut height = self.height;
        let own = steps.split_off(first);
        let span = own.first().map(|step| step.span).unwrap_or(self.last);
        let mut args = vec![Term::Literal(Literal::bare(Symbol::new(fork.name), span)), code(own)];
        while self.accept(fork.sign) {
            let mut steps = Vec::new();
            branch(self, &mut steps)?;
            height = height.max(self.height);
            args.extend(branches(fork, steps));
        }
        self.grown(height)?;
        steps.push(action_step(".fork", args, span));
        Ok(())
    }

    /// Parses one step, or a group in parentheses, whose steps are added one by one.
    fn step(&mut self, steps: &mut Vec<BodyStep>) -> Parse<()> {
        let start = self.token().span;
        let kind = self.step_kind()?;
        if self.is_group() {
            self.open()?;
            let body = self.body()?;
            self.close(Tok::RightParen, &["`;`", "`)`"])?;
            if kind.is_some() {
                let span = self.span_from(start);
                return Err(self.error(span, "several steps cannot have one operator", "a group of steps"));
            }
            steps.extend(body.steps);
            return Ok(());
        }
        let line = self.token().span.line;
        let term = match kind {
            Some(StepKind::Achieve | StepKind::AchieveNewFocus) => self.literal()?,
            _ if begins_term(self.peek()) => self.formula()?,
            Some(_) => return Err(self.missing_operand()),
            None => return Err(self.missing_step()),
        };
        let span = Span { line, ..self.span_from(start) };
        if let (None, Term::Code(CodeTerm::Body(_))) = (kind, &term)
            && let Term::Code(CodeTerm::Body(body)) = term
        {
            steps.extend(body.steps);
            return Ok(());
        }
        let kind = self.classified(kind, &term, span)?;
        steps.push(BodyStep { kind, term, span });
        Ok(())
    }

    fn missing_operand(&mut self) -> Failed {
        match self.peek() {
            Tok::Bang | Tok::Question => {
                let help = "if a new plan begins here, the clause before it needs a `.` at its end";
                self.unexpected_with_help(&["a literal"], help)
            }
            _ => self.unexpected(&["a literal"]),
        }
    }

    fn missing_step(&mut self) -> Failed {
        match self.peek() {
            Tok::Else | Tok::Elif => {
                let help = "no `;` or `.` may stand between `}` and `else`";
                self.unexpected_with_help(&["a step of the plan's body"], help)
            }
            Tok::Dot | Tok::RightBrace if self.last.end > 0 => {
                self.unexpected_with_help(&["a step of the plan's body"], "for an empty body leave out `<-`")
            }
            _ => self.unexpected(&["a step of the plan's body"]),
        }
    }

    /// Parses the operator of a step; `None` if there is none.
    fn step_kind(&mut self) -> Parse<Option<StepKind>> {
        let kind = match (self.peek(), self.peek_at(1)) {
            (Tok::BangBang, _) => StepKind::AchieveNewFocus,
            (Tok::Bang, _) => StepKind::Achieve,
            (Tok::Question, _) => StepKind::Test,
            (Tok::Plus, Tok::Plus) => StepKind::AddNewFocus,
            (Tok::Plus, Tok::Less) => StepKind::AddFront,
            (Tok::Plus, Tok::Greater) => StepKind::AddEnd,
            (Tok::Plus, _) => StepKind::Add,
            (Tok::Minus, Tok::Plus) => StepKind::Replace,
            (Tok::Minus, Tok::Minus) => StepKind::DeleteNewFocus,
            (Tok::Minus, _) => StepKind::Delete,
            (Tok::Caret, _) => {
                let span = self.token().span;
                let help = "meta-events come from the platform; a plan handles them: `^!g[state(S)] <- ...`";
                return Err(self.error_with_help(span, "`^` cannot be a step's operator", "not here", help));
            }
            _ => return Ok(None),
        };
        self.advance();
        let is_long = matches!(
            kind,
            StepKind::AddNewFocus
                | StepKind::AddFront
                | StepKind::AddEnd
                | StepKind::Replace
                | StepKind::DeleteNewFocus
        );
        if is_long {
            self.advance();
        }
        Ok(Some(kind))
    }

    /// Returns true if the parenthesis here holds steps, not a formula: it contains a sign that only steps have.
    fn is_group(&self) -> bool {
        if self.peek() != Tok::LeftParen {
            return false;
        }
        let (mut parens, mut others) = (0_usize, 0_usize);
        let mut at = self.at;
        let mut before = (Tok::Unknown, Tok::Unknown);
        loop {
            let kind = self.tokens.get(at).map_or(Tok::Eof, |token| token.kind);
            match kind {
                Tok::LeftBracket | Tok::LeftBrace => others += 1,
                Tok::RightBracket | Tok::RightBrace => others = others.saturating_sub(1),
                Tok::Eof | Tok::Dot => return false,
                _ if others > 0 => {}
                Tok::LeftParen => parens += 1,
                Tok::RightParen => parens -= 1,
                Tok::Semicolon | Tok::ForkAnd | Tok::ForkOr | Tok::Bang | Tok::BangBang => return true,
                Tok::Question | Tok::If | Tok::For | Tok::While => return true,
                Tok::Plus | Tok::Minus | Tok::Less | Tok::Greater
                    if before.0 == Tok::LeftParen && matches!(before.1, Tok::Plus | Tok::Minus) =>
                {
                    return true;
                }
                _ => {}
            }
            if parens == 0 {
                return false;
            }
            before = (before.1, kind);
            at += 1;
        }
    }

    /// Returns the kind of a step with this operator and this term.
    fn classified(&mut self, kind: Option<StepKind>, term: &Term, span: Span) -> Parse<StepKind> {
        match kind {
            None => self.classified_plain(term, span),
            Some(kind @ (StepKind::Achieve | StepKind::AchieveNewFocus)) => match term {
                Term::Literal(literal) if is_dotted(literal.functor.as_str()) => {
                    Err(self.misplaced_action(literal.functor, span))
                }
                _ => Ok(kind),
            },
            Some(StepKind::Test) => match term {
                Term::Literal(literal) if is_dotted(literal.functor.as_str()) => {
                    Err(self.misplaced_action(literal.functor, span))
                }
                Term::Literal(_) | Term::Var(_) => Ok(StepKind::Test),
                Term::Op(op, _) if !is_arithmetic(*op) => Ok(StepKind::Test),
                _ => {
                    let help = "test a belief, or a formula in parentheses: `?(a(X) & X > 3)`";
                    Err(self.error_with_help(span, "this cannot be tested", "expected a literal or formula", help))
                }
            },
            Some(kind) => self.classified_update(kind, term, span),
        }
    }

    fn misplaced_action(&mut self, functor: Symbol, span: Span) -> Failed {
        let message = format!("the internal action `{functor}` cannot have an operator");
        self.error_with_help(span, message, "an operator before an internal action", format!("write `{functor}(...)`"))
    }

    fn classified_plain(&mut self, term: &Term, span: Span) -> Parse<StepKind> {
        let (what, help) = match term {
            Term::Var(_) => return Ok(StepKind::Variable),
            Term::Literal(literal) if is_dotted(literal.functor.as_str()) => {
                self.warn_function_step(literal, span);
                self.warn_class(literal, span);
                return Ok(StepKind::InternalAction);
            }
            Term::Literal(_) => return Ok(StepKind::Action),
            Term::Chain(..) => ("arithmetic", "bind its value: `X = Y + 1`"),
            Term::Op(op, _) if is_arithmetic(*op) => ("arithmetic", "bind its value: `X = Y + 1`"),
            // As data, a formula in braces is a body of one step that must hold.
            Term::Op(Op::And | Op::Or | Op::Not, _) if self.quoted > 0 => return Ok(StepKind::Constraint),
            Term::Op(Op::And | Op::Or | Op::Not, _) => {
                let help = "it fails when it is reached; to test it write `?(a & b)`";
                if !self.session.at_run_time {
                    self.warn("formula-as-step", span, "a formula is not a step of a body", "not a step", help);
                }
                return Ok(StepKind::Action);
            }
            Term::Op(..) => return Ok(StepKind::Constraint),
            Term::Num(_) => ("a number", "bind it: `X = 3`"),
            Term::Str(_) => ("a string", "print it: `.print(\"...\")`"),
            Term::List { .. } => ("a list", "bind it: `X = [a,b]`"),
            Term::Code(CodeTerm::Plan(_)) => ("a plan", "add it with `+{ ... }`, delete it with `-{ ... }`"),
            Term::Code(CodeTerm::Rule(_)) => ("a rule", "add it with `+{ ... }`"),
            Term::Code(_) => ("code", "run it through a variable: `B = { ... }; B`"),
            Term::Data(_) => ("data", "bind it to a variable"),
        };
        Err(self.error_with_help(span, format!("{what} is not a step of a body"), "not a step", help))
    }

    /// Warns about an internal action of a package, which is a class in Jason. Here it is an action of the
    /// environment.
    fn warn_class(&mut self, literal: &Literal, span: Span) {
        let (name, arity) = (literal.functor.as_str(), literal.args.len());
        let is_known = name.starts_with('.')
            || whimbrel_platform::foreign_actions::is_foreign(name)
            || self.is_function(literal.functor, arity);
        if !is_known && !self.session.at_run_time {
            let message = format!("the internal action `{name}` is a Java class, which cannot run here");
            let help = "write it as a plan or a rule, or have the environment do it: it is asked as for any action";
            self.warn("java-action", span, message, "a Java class", help);
        }
    }

    fn warn_function_step(&mut self, literal: &Literal, span: Span) {
        let (name, arity) = (literal.functor, literal.args.len());
        let is_action = signatures::action_arity(name.as_str()).is_some_and(|range| range.contains(&arity));
        if self.is_function(name, arity) && !is_action && !self.session.at_run_time {
            let message = format!("the function `{name}` is not a step");
            self.warn(
                "function-as-step",
                span,
                message,
                "will fail when it runs",
                format!("use its value: `X = {name}(...)`"),
            );
        }
    }

    fn classified_update(&mut self, kind: StepKind, term: &Term, span: Span) -> Parse<StepKind> {
        let plan_may = matches!(kind, StepKind::Add | StepKind::AddFront | StepKind::AddEnd | StepKind::Delete);
        let (what, help) = match term {
            Term::Literal(literal) if is_dotted(literal.functor.as_str()) => {
                return Err(self.misplaced_action(literal.functor, span));
            }
            Term::Literal(_) | Term::Var(_) | Term::Code(CodeTerm::Rule(_)) => return Ok(kind),
            Term::Code(CodeTerm::Plan(_)) if plan_may => return Ok(kind),
            Term::Code(CodeTerm::Plan(_)) => ("a plan", "plans are added with `+{ ... }` or `+>{ ... }`"),
            Term::Code(_) => ("code", "what is added or deleted is a belief, a rule or a plan"),
            _ => ("this", "what is added or deleted is a belief, a rule or a plan"),
        };
        let message = format!("{what} cannot be added or deleted with this operator");
        Err(self.error_with_help(span, message, "expected a belief", help))
    }

    fn control(&mut self) -> Parse<BodyStep> {
        match self.peek() {
            Tok::If => self.conditional(),
            Tok::For => self.repeated(".foreach"),
            _ => self.repeated(".loop"),
        }
    }

    /// Parses `for (c) { .. }` and `while (c) { .. }`.
    fn repeated(&mut self, action: &str) -> Parse<BodyStep> {
        let start = self.advance().span;
        let condition = self.control_condition()?;
        let height = self.height;
        let block = self.block()?;
        self.grown(height.max(self.height))?;
        Ok(action_step(action, vec![condition, code(block)], self.span_from(start)))
    }

    /// Parses `if (c) { .. } elif (c) { .. } else { .. }`.
    fn conditional(&mut self) -> Parse<BodyStep> {
        let start = self.token().span;
        let mut branches = Vec::new();
        let mut otherwise = None;
        let mut height = Height::default();
        loop {
            self.advance();
            let condition = self.control_condition()?;
            height = height.max(self.height);
            let block = self.block()?;
            height = height.max(self.height);
            // Quoted as data, each branch nests in the code of the one before.
            height = height.max(self.height.deeper(ELIF_LEVELS * branches.len()));
            branches.push((condition, block));
            match self.peek() {
                Tok::Elif => {}
                Tok::Else if self.peek_at(1) == Tok::If => {
                    let span = self.token().span;
                    let help = "write `elif (condition) { ... }`";
                    return Err(self.error_with_help(span, "`else if` is written `elif`", "not followed by `{`", help));
                }
                Tok::Else => {
                    self.advance();
                    otherwise = Some(self.block()?);
                    height = height.max(self.height);
                    break;
                }
                _ => break,
            }
        }
        let end = self.span_from(start);
        self.grown(height)?;
        let name = if branches.len() > 1 { ELIF } else { ".if_then_else" };
        let mut args: Vec<Term> =
            branches.into_iter().flat_map(|(condition, block)| [condition, code(block)]).collect();
        args.extend(otherwise.map(code));
        Ok(action_step(name, args, end))
    }

    fn control_condition(&mut self) -> Parse<Term> {
        if self.peek() != Tok::LeftParen {
            let help = "the condition stands in parentheses: `if (condition) { ... }`";
            return Err(self.unexpected_with_help(&["`(`"], help));
        }
        self.open()?;
        let condition = self.condition()?;
        self.close(Tok::RightParen, &["`)`"])?;
        Ok(condition)
    }

    fn block(&mut self) -> Parse<Vec<BodyStep>> {
        if self.peek() != Tok::LeftBrace {
            return Err(self.unexpected_with_help(&["`{`"], "the steps stand in braces: `if (c) { a; b }`"));
        }
        self.open()?;
        self.height = Height::default();
        let steps = if self.peek() == Tok::RightBrace { Vec::new() } else { self.body()?.steps };
        self.close(Tok::RightBrace, &["`;`", "`}`"])?;
        Ok(steps)
    }
}

/// Returns the branches that `steps` add to a fork: those of a fork of the same kind are merged.
fn branches(fork: ForkKind, mut steps: Vec<BodyStep>) -> Vec<Term> {
    if let [step] = steps.as_mut_slice()
        && let Term::Literal(literal) = &mut step.term
        && literal.functor.as_str() == ".fork"
        && matches!(literal.args.first(), Some(Term::Literal(way)) if way.functor.as_str() == fork.name)
    {
        return literal.args.drain(1..).collect();
    }
    vec![code(steps)]
}
