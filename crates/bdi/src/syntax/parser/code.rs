//! Code as data: plans, triggers, bodies and rules in braces.

use super::literals::is_truth;
use super::terms::begins_literal;
use super::{Failed, Height, Parse, Parser};
use crate::syntax::ast::{
    BodyStep, CodeTerm, Literal, Plan, PlanBody, Rule, Span, StepKind, Term, Trigger, TriggerKind, TriggerOp, Variable,
};
use crate::syntax::lexer::Tok;

/// Label `@label`, `@label[annotations]`, `@[annotations]` or `@Variable`.
#[derive(Default)]
pub(super) struct Label {
    pub(super) literal: Option<Literal>,
    pub(super) variable: Option<Variable>,
}

impl Parser<'_, '_> {
    /// Parses code in braces.
    #[inline(never)]
    pub(super) fn code(&mut self) -> Parse<Term> {
        self.open()?;
        self.quoted += 1;
        let code = self.code_inside();
        self.quoted -= 1;
        let code = code?;
        self.close(Tok::RightBrace, &["`;`", "`}`"])?;
        self.grown(self.height)?;
        Ok(Term::Code(code))
    }

    #[inline(never)]
    fn code_inside(&mut self) -> Parse<CodeTerm> {
        let start = self.token().span;
        match self.peek() {
            Tok::RightBrace => {
                self.height = Height::default();
                Ok(CodeTerm::Body(PlanBody::default()))
            }
            Tok::At => self.plan_term(start),
            _ if self.begins_trigger() => self.plan_term(start),
            _ => self.body_or_rule(start),
        }
    }

    /// Returns true at `+`, `-` or `^`, followed by a literal with `!`, `?` or neither. Steps that add or delete
    /// beliefs look the same.
    fn begins_trigger(&self) -> bool {
        matches!(self.peek(), Tok::Plus | Tok::Minus | Tok::Caret)
            && (begins_literal(self.peek_at(1)) || matches!(self.peek_at(1), Tok::Bang | Tok::Question))
    }

    /// Parses a plan, a trigger, or a body that begins with `+belief` or `-belief`.
    #[inline(never)]
    fn plan_term(&mut self, start: Span) -> Parse<CodeTerm> {
        let mut height = Height::default();
        let label = if self.peek() == Tok::At { Some(self.label(true)?) } else { None };
        let trigger_start = self.token().span;
        let trigger = self.trigger()?;
        height = height.max(self.height);
        let mut context = None;
        if self.accept(Tok::Colon) {
            context = Some(self.condition()?);
            height = height.max(self.height);
        }
        let bare = label.is_none() && context.is_none() && trigger.kind == TriggerKind::Belief;
        if self.peek() == Tok::Semicolon {
            return self.body_after(trigger, bare, trigger_start);
        }
        let mut body = None;
        if self.accept(Tok::Arrow) {
            body = Some(self.body()?);
            height = height.max(self.height);
        }
        self.height = height;
        if bare && body.is_none() {
            return self.body_of(trigger, trigger_start).map(CodeTerm::Body);
        }
        if label.is_none() && context.is_none() && body.is_none() {
            return Ok(CodeTerm::Trigger(Box::new(trigger)));
        }
        let label = label.unwrap_or_default();
        Ok(CodeTerm::Plan(Box::new(Plan {
            label: label.literal,
            label_variable: label.variable,
            trigger,
            context: context.filter(|context| !is_truth(context)),
            goal_condition: None,
            body: body.unwrap_or_default(),
            sub_plans: Vec::new(),
            span: self.span_from(start),
            file: self.file.clone(),
        })))
    }

    /// Parses `+b; ...`, where the apparent trigger was the first step of a body.
    fn body_after(&mut self, trigger: Trigger, bare: bool, start: Span) -> Parse<CodeTerm> {
        if !bare {
            let span = self.token().span;
            let help = "a plan's body follows `<-`";
            return Err(self.error_with_help(span, "`;` cannot follow a trigger", "not here", help));
        }
        let height = self.height;
        let mut body = self.body_of(trigger, start)?;
        self.advance();
        if self.peek() != Tok::RightBrace {
            body.steps.extend(self.body()?.steps);
            self.height = self.height.max(height);
        }
        Ok(CodeTerm::Body(body))
    }

    fn body_of(&mut self, trigger: Trigger, start: Span) -> Parse<PlanBody> {
        let kind = match trigger.op {
            TriggerOp::Add => StepKind::Add,
            TriggerOp::Delete => StepKind::Delete,
            TriggerOp::Meta => {
                let help = "meta-events are of goals: `^!g`";
                return Err(self.error_with_help(start, "a meta-event of a belief", "expected `!` after it", help));
            }
        };
        let span = self.span_from(start);
        Ok(PlanBody { steps: vec![BodyStep { kind, term: trigger.term, span }] })
    }

    #[inline(never)]
    fn body_or_rule(&mut self, start: Span) -> Parse<CodeTerm> {
        let mut body = self.body()?;
        let height = self.height;
        if self.peek() != Tok::RuleSign {
            return Ok(CodeTerm::Body(body));
        }
        let sign = self.advance().span;
        let head = match (body.steps.pop(), body.steps.is_empty()) {
            (Some(BodyStep { kind, term: Term::Literal(head), .. }), true)
                if matches!(kind, StepKind::Action | StepKind::InternalAction)
                    && !head.functor.as_str().starts_with('.') =>
            {
                head
            }
            _ => {
                let help = "a rule is one literal, `:-` and a formula: `{ h(X) :- b(X) & c }`";
                return Err(self.error_with_help(sign, "`:-` cannot follow this", "not after a single literal", help));
            }
        };
        let condition = self.condition()?;
        self.height = self.height.max(height);
        let rule = Rule { head, body: Some(condition), span: self.span_from(start), file: self.file.clone() };
        Ok(CodeTerm::Rule(Box::new(rule)))
    }

    /// Parses `+`, `-` or `^`, then `!`, `?` or nothing, then a literal.
    pub(super) fn trigger(&mut self) -> Parse<Trigger> {
        let op = match self.peek() {
            Tok::Plus => TriggerOp::Add,
            Tok::Minus => TriggerOp::Delete,
            Tok::Caret => TriggerOp::Meta,
            _ => {
                let help = "a plan begins with its event, such as `+!goal`, `+belief` or `-!goal`";
                return Err(self.unexpected_with_help(&["`+`", "`-`", "`^`"], help));
            }
        };
        self.advance();
        let kind = match self.peek() {
            Tok::Bang => TriggerKind::Achieve,
            Tok::Question => TriggerKind::Test,
            _ => TriggerKind::Belief,
        };
        if kind != TriggerKind::Belief {
            self.advance();
        }
        let term = self.trigger_literal(kind)?;
        Ok(Trigger { op, kind, term })
    }

    fn trigger_literal(&mut self, kind: TriggerKind) -> Parse<Term> {
        match self.peek() {
            Tok::BangBang | Tok::Bang => {
                let help = "events of new and of waiting goals are the same: `+!goal`";
                return Err(self.unexpected_with_help(&["a literal"], help));
            }
            next if begins_literal(next) => {}
            Tok::Plus | Tok::Minus => {
                let help = "an event has one sign: `+belief`, `-belief` or `+!goal`";
                return Err(self.unexpected_with_help(&["`!`", "`?`", "a literal"], help));
            }
            _ if kind == TriggerKind::Belief => return Err(self.unexpected(&["`!`", "`?`", "a literal"])),
            _ => return Err(self.unexpected(&["a literal"])),
        }
        let start = self.token().span;
        let term = self.literal()?;
        if let Term::Literal(literal) = &term
            && literal.functor.as_str().starts_with('.')
        {
            let message = format!("the internal action `{}` cannot be an event", literal.functor);
            let span = self.span_from(start);
            return Err(self.error(span, message, "expected a belief or goal"));
        }
        Ok(term)
    }

    /// Parses a plan's label; only a plan term may have a variable as label.
    pub(super) fn label(&mut self, in_term: bool) -> Parse<Label> {
        let start = self.advance().span;
        if in_term && matches!(self.peek(), Tok::Var | Tok::Anonymous | Tok::Numbered) {
            let mut variable = self.plain_variable();
            variable.annots = self.annotations()?;
            return Ok(Label { literal: None, variable: Some(variable) });
        }
        let (functor, named) = match self.accept_name() {
            Some((functor, _)) => (functor, true),
            None if self.peek() == Tok::LeftBracket => (whimbrel_acl::sym::EMPTY, false),
            None => return Err(self.bad_label()),
        };
        let annots = self.annotations()?;
        let namespace = if named && !in_term { self.current_namespace() } else { None };
        let span = self.span_from(start);
        if self.peek() == Tok::LeftParen {
            let at = self.token().span;
            return Err(self.error_with_help(
                at,
                "a label has no arguments",
                "not here",
                "write annotations in brackets: `@label[atomic]`",
            ));
        }
        let literal = Literal { namespace, negated: false, functor, args: Vec::new(), annots, span };
        Ok(Label { literal: Some(literal), variable: None })
    }

    fn bad_label(&mut self) -> Failed {
        let help = match self.peek() {
            Tok::Var => "a label begins with a lower-case letter: `@label`",
            _ => "a label is a name, annotations, or both: `@label[atomic]`",
        };
        self.unexpected_with_help(&["a label"], help)
    }
}
