//! Clauses: beliefs, rules, initial goals and plans, with recovery after an error.

use super::literals::is_truth;
use super::{Failed, Parse, Parser};
use crate::syntax::ast::{Goal, Op, Plan, PlanBody, Rule, Span, StepKind, Term};
use crate::syntax::diagnostics::Diagnostic;
use crate::syntax::lexer::{Tok, Token};
use crate::syntax::signatures;

impl Parser<'_, '_> {
    /// Parses all clauses and directives of the text into the session's program.
    pub(crate) fn program(&mut self) {
        self.components(None);
    }

    /// Parses clauses and directives up to the end of the text, or to the `{ end }` of the directive `block`.
    pub(super) fn components(&mut self, block: Option<Span>) {
        loop {
            match (self.peek(), self.peek_at(1)) {
                (Tok::Eof, _) => {
                    if let Some(span) = block {
                        let help = "close it with `{ end }`";
                        self.error_with_help(span, "this block is not closed", "begins here", help);
                    }
                    return;
                }
                (Tok::LeftBrace, Tok::End) => {
                    let span = self.token().span;
                    self.advance();
                    self.advance();
                    if !self.accept(Tok::RightBrace) {
                        self.unexpected(&["`}`"]);
                    }
                    if block.is_some() {
                        return;
                    }
                    let help = "blocks begin with a directive such as `{ begin namespace(ns) }`";
                    self.error_with_help(self.span_from(span), "there is no block to end here", "", help);
                }
                _ => self.component(),
            }
        }
    }

    fn component(&mut self) {
        let start = self.at;
        self.anonymous = self.numbered;
        self.open.clear();
        self.flat = 0;
        let namespaces = (self.namespace, self.this_namespace);
        let parsed = match self.peek() {
            Tok::LeftBrace => self.directive(),
            Tok::Bang => self.initial_goal(),
            Tok::Plus | Tok::Minus | Tok::Caret | Tok::At => self.plan().map(|plan| {
                self.session.program.plans.push(plan);
            }),
            Tok::Atom | Tok::Begin | Tok::End | Tok::Var | Tok::Anonymous | Tok::Numbered => self.belief(),
            Tok::Tilde | Tok::NsSign | Tok::True | Tok::False => self.belief(),
            _ => Err(self.no_clause()),
        };
        if parsed.is_err() {
            (self.namespace, self.this_namespace) = namespaces;
            self.skip_clause(start);
        }
    }

    fn no_clause(&mut self) -> Failed {
        let help = match self.peek() {
            Tok::BangBang => "an initial goal begins with a single `!`",
            Tok::Question => "an initial goal is an achievement goal: `!goal.`",
            Tok::Dot => "this full stop ends no clause; leave it out",
            Tok::RightBrace | Tok::RightParen | Tok::RightBracket => "there is no open bracket that this would close",
            _ => "a clause is a belief `b(1).`, a rule `h(X) :- b(X).`, a goal `!g.` or a plan `+!g : c <- a; b.`",
        };
        let mut diagnostic = self.unexpected_diagnostic(&["a belief", "a goal", "a plan"]);
        diagnostic.help.get_or_insert_with(|| help.to_owned());
        self.report_unexpected(diagnostic)
    }

    /// Skips to the full stop that ends the clause with the error. Stops at a directive's `{ begin` or `{ end`, and
    /// skips at least one token after `start`.
    fn skip_clause(&mut self, start: usize) {
        self.open.clear();
        self.flat = 0;
        if self.at == start {
            let skipped = self.advance().kind;
            if skipped == Tok::Dot {
                return;
            }
        }
        loop {
            match (self.peek(), self.peek_at(1)) {
                (Tok::Eof, _) | (Tok::LeftBrace, Tok::Begin | Tok::End) => return,
                (Tok::Dot, _) => {
                    self.advance();
                    return;
                }
                _ => {
                    self.advance();
                }
            }
        }
    }

    fn column(&self, span: Span) -> usize {
        let before = self.text.get(..span.start as usize).unwrap_or_default();
        span.start as usize - before.rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Takes the full stop that ends the clause which began at `start`. If the next clause begins here instead, only
    /// the full stop is missing: that is reported and nothing is skipped.
    fn end_clause(&mut self, start: Span, what: &str, expected: &[&'static str]) -> Parse<()> {
        if self.accept(Tok::Dot) {
            return Ok(());
        }
        let token = self.token();
        let next_line = token.kind == Tok::Eof || self.is_first_on_line(token);
        let next_clause = next_line && (token.kind == Tok::Eof || self.column(token.span) <= self.column(start));
        let closing = matches!(token.kind, Tok::RightParen | Tok::RightBracket | Tok::RightBrace);
        if next_clause && !closing {
            let span = self.end_of_last();
            let mut missing = Diagnostic::error(&self.file, span, format!("this {what} does not end"), "expected `.`");
            missing.expected = vec!["`.`"];
            missing.help = Some("every clause ends with a full stop".to_owned());
            self.report(missing);
            return Ok(());
        }
        Err(self.unfinished(token, next_line, closing, expected))
    }

    /// Returns the place of the last character of the last token taken.
    fn end_of_last(&self) -> Span {
        let Span { end, line, .. } = self.last;
        let lines = self.text_of(self.last).bytes().filter(|byte| *byte == b'\n').count();
        Span { start: end.saturating_sub(1), end, line: line + lines as u32 }
    }

    fn unfinished(&mut self, token: Token, next_line: bool, closing: bool, expected: &[&'static str]) -> Failed {
        if closing {
            let help = "there is no open bracket that this would close";
            return self.unexpected_with_help(expected, help);
        }
        if next_line && expected.contains(&"`;`") && !matches!(token.kind, Tok::Unknown) {
            let span = self.end_of_last();
            let mut missing = Diagnostic::error(&self.file, span, "expected `;` after this step", "expected `;`");
            missing.expected = expected.to_vec();
            missing.help = Some("steps are separated by `;`, the last one ends with `.`".to_owned());
            missing.related.push((token.span, "the next step".to_owned()));
            return self.report(missing);
        }
        self.unexpected(expected)
    }

    /// Parses a belief or a rule.
    fn belief(&mut self) -> Parse<()> {
        let start = self.token().span;
        let head = match self.literal()? {
            Term::Literal(head) => head,
            _ => {
                let span = self.span_from(start);
                let help = "names of beliefs begin with a lower-case letter";
                return Err(self.error_with_help(span, "a variable cannot be a belief", "a variable", help));
            }
        };
        if head.functor.as_str().starts_with('.') && !head.functor.as_str().starts_with(".'") {
            let message = format!("the internal action `{}` cannot be a belief", head.functor);
            let help = "internal actions stand in plan bodies, contexts and rule bodies";
            return Err(self.error_with_help(head.span, message, "not a belief", help));
        }
        let mut body = None;
        if self.accept(Tok::RuleSign) {
            let condition = self.condition()?;
            self.warn_body_only(&condition);
            body = Some(condition);
        } else if matches!(self.peek(), Tok::Arrow | Tok::Colon) {
            let help = format!(
                "a plan begins with its event, `+!{0} <- ...` or `+{0} <- ...`; a rule is written `{0} :- ...`",
                head.functor
            );
            return Err(self.unexpected_with_help(&["`.`", "`:-`"], help));
        }
        let (what, expected): (_, &[&str]) =
            if body.is_some() { ("rule", &["`&`", "`|`", "`.`"]) } else { ("belief", &["`.`", "`:-`"]) };
        self.end_clause(start, what, expected)?;
        let rule = Rule { head, body, span: self.span_from(start), file: self.file.clone() };
        self.session.program.beliefs.push(rule);
        Ok(())
    }

    fn initial_goal(&mut self) -> Parse<()> {
        let start = self.advance().span;
        let literal_start = self.token().span;
        let literal = match self.literal()? {
            Term::Literal(literal) => literal,
            _ => {
                let span = self.span_from(literal_start);
                let help = "names of goals begin with a lower-case letter";
                return Err(self.error_with_help(span, "a variable cannot be a goal", "a variable", help));
            }
        };
        if matches!(self.peek(), Tok::Arrow | Tok::Colon) {
            let name = literal.functor;
            let help = format!("a plan for the goal is written `+!{name} <- ...`; `!{name}.` is an initial goal");
            return Err(self.unexpected_with_help(&["`.`"], help));
        }
        self.end_clause(start, "goal", &["`.`"])?;
        let goal = Goal { literal, span: self.span_from(start), file: self.file.clone() };
        self.session.program.goals.push(goal);
        Ok(())
    }

    /// Parses a plan, its full stop and its sub-plans.
    pub(super) fn plan(&mut self) -> Parse<Plan> {
        let start = self.token().span;
        let label = if self.peek() == Tok::At { self.label(false)? } else { super::code::Label::default() };
        let trigger = self.trigger()?;
        let mut context = None;
        if self.accept(Tok::Colon) {
            let condition = self.condition()?;
            self.check_context(&condition)?;
            context = Some(condition).filter(|condition| !is_truth(condition));
        }
        let mut goal_condition = None;
        if self.accept(Tok::GoalCondition) {
            goal_condition = Some(self.condition()?);
        }
        let mut body = PlanBody::default();
        let mut expected: &[&str] = &["`:`", "`<-`", "`.`"];
        if self.accept(Tok::Arrow) {
            body = self.plan_body()?;
            expected = &["`;`", "`.`"];
        }
        if matches!(body.steps.first(), Some(step) if step.kind == StepKind::Action && is_truth(&step.term)) {
            body.steps.remove(0);
        }
        self.end_clause(start, "plan", expected)?;
        let mut plan = Plan {
            label: label.literal,
            label_variable: None,
            trigger,
            context,
            goal_condition,
            body,
            sub_plans: Vec::new(),
            span: self.span_from(start),
            file: self.file.clone(),
        };
        let follows = matches!(self.peek_at(1), Tok::RightBrace | Tok::At | Tok::Plus | Tok::Minus | Tok::Caret);
        if self.peek() == Tok::LeftBrace && follows {
            plan.sub_plans = self.sub_plans()?;
            plan.span = self.span_from(start);
        }
        Ok(plan)
    }

    /// Parses `{ plans }`. An error in one does not prevent the others from being read.
    fn sub_plans(&mut self) -> Parse<Vec<Plan>> {
        self.open()?;
        let mut plans = Vec::new();
        let depth = self.open.len();
        let mut failed = false;
        while !matches!(self.peek(), Tok::RightBrace | Tok::Eof) {
            let start = self.at;
            match self.plan() {
                Ok(plan) => plans.push(plan),
                Err(Failed) if matches!(self.peek(), Tok::LeftBrace) && self.peek_at(1) == Tok::End => {
                    return Err(Failed);
                }
                Err(Failed) => {
                    failed = true;
                    let open = self.open.get(..depth).map(<[Token]>::to_vec).unwrap_or_default();
                    self.skip_clause(start);
                    self.open = open;
                }
            }
        }
        if failed && self.peek() == Tok::Eof {
            return Err(Failed);
        }
        self.close(Tok::RightBrace, &["a plan", "`}`"])?;
        Ok(plans)
    }

    /// Finds an internal action in the formula that may stand only in plan bodies.
    fn body_only(formula: &Term) -> Option<(&'static str, Span)> {
        match formula {
            Term::Op(Op::And | Op::Or | Op::Not, operands) => operands.iter().find_map(Self::body_only),
            Term::Literal(literal) if signatures::is_body_only(literal.functor.as_str()) => {
                Some((literal.functor.as_str(), literal.span))
            }
            _ => None,
        }
    }

    fn check_context(&mut self, context: &Term) -> Parse<()> {
        match Self::body_only(context) {
            Some((name, span)) => {
                let message = format!("the internal action `{name}` cannot be used in a context");
                let help = "it acts or waits, and a context is only looked at; use it in the body";
                Err(self.error_with_help(span, message, "not in a context", help))
            }
            None => Ok(()),
        }
    }

    fn warn_body_only(&mut self, condition: &Term) {
        if let Some((name, span)) = Self::body_only(condition) {
            let message = format!("the internal action `{name}` never holds in a rule");
            self.warn("action-in-rule", span, message, "not in a rule", "it acts or waits; use it in a plan's body");
        }
    }
}
