//! Terms: numbers, strings, lists, arithmetic.

use whimbrel_acl::{Symbol, Text};

use super::{Height, Parse, Parser};
use crate::syntax::ast::{Op, Span, Term, Variable};
use crate::syntax::diagnostics::nearest;
use crate::syntax::lexer::Tok;
use crate::syntax::signatures;

/// Elements and tail of `[a, b | T]`.
pub(super) struct ListParts {
    pub(super) items: Vec<Term>,
    pub(super) tail: Option<Box<Term>>,
}

/// List that is being read.
struct OpenList {
    items: Vec<Term>,
    height: Height,
    /// True if no element follows.
    is_over: bool,
}

impl OpenList {
    fn add(&mut self, item: Term, height: Height) {
        self.items.push(item);
        self.height = self.height.max(height);
    }
}

/// Returns true if a literal or variable may begin with this token.
pub(super) fn begins_literal(kind: Tok) -> bool {
    matches!(
        kind,
        Tok::Atom
            | Tok::Var
            | Tok::Anonymous
            | Tok::Numbered
            | Tok::True
            | Tok::False
            | Tok::Tilde
            | Tok::Begin
            | Tok::End
            | Tok::NsSign
    )
}

/// Returns true if a term or formula may begin with this token.
pub(super) fn begins_term(kind: Tok) -> bool {
    begins_literal(kind)
        || matches!(
            kind,
            Tok::Number
                | Tok::Str
                | Tok::Not
                | Tok::LeftBrace
                | Tok::LeftParen
                | Tok::LeftBracket
                | Tok::Plus
                | Tok::Minus
        )
}

pub(super) fn is_arithmetic(op: Op) -> bool {
    matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::IntDiv | Op::Mod | Op::Pow | Op::Neg)
}

impl Parser<'_, '_> {
    /// Parses an argument: any term or formula.
    pub(super) fn term(&mut self) -> Parse<Term> {
        let term = self.formula()?;
        Ok(self.named(term))
    }

    /// Replaces the name `this_ns`, as data, by the name of its namespace.
    fn named(&self, term: Term) -> Term {
        match term {
            Term::Literal(mut literal) if literal.functor.as_str() == "this_ns" && literal.args.is_empty() => {
                literal.functor = self.this_namespace.unwrap_or(whimbrel_acl::sym::DEFAULT);
                Term::Literal(literal)
            }
            other => other,
        }
    }

    #[inline(never)]
    pub(super) fn string(&mut self) -> Parse<Term> {
        let token = self.advance();
        let raw = self.text_of(token.span);
        let inner = raw.strip_prefix('"').unwrap_or(raw);
        let inner = inner.strip_suffix('"').unwrap_or(inner);
        self.height = Height::default();
        let text = if inner.contains('\\') { Text::from(translated(inner)) } else { Text::from(inner) };
        if matches!(self.peek(), Tok::Plus) {
            let help = "texts are joined by `.concat(Text1, Text2, Result)`";
            let span = self.token().span;
            return Err(self.error_with_help(span, "a string is not a number", "cannot be added", help));
        }
        Ok(Term::Str(text))
    }

    #[inline(never)]
    pub(super) fn list(&mut self) -> Parse<Term> {
        let ListParts { items, tail } = self.list_parts()?;
        Ok(Term::List { items, tail })
    }

    /// Parses `[a, b | T]`: elements are terms without `|` and `&` unless in parentheses, in the default namespace.
    #[inline(never)]
    pub(super) fn list_parts(&mut self) -> Parse<ListParts> {
        let outer = self.namespace.take();
        let parts = self.list_in_default_namespace();
        self.namespace = outer;
        parts
    }

    /// Parses a list; one whose first elements are lists is read without recursion.
    fn list_in_default_namespace(&mut self) -> Parse<ListParts> {
        let flat = self.flat;
        let mut around: Vec<OpenList> = Vec::new();
        let mut list = self.open_list()?;
        loop {
            while self.next_element_is_list(&list) {
                self.flat += 1;
                around.push(std::mem::replace(&mut list, self.open_list()?));
            }
            let complete = self.list_elements(&mut list)?;
            if !complete {
                continue;
            }
            let parts = self.close_list(list)?;
            let Some(outer) = around.pop() else {
                self.flat = flat;
                return Ok(parts);
            };
            self.flat -= 1;
            list = outer;
            let ListParts { items, tail } = parts;
            list.add(Term::List { items, tail }, self.height);
            list.is_over = !self.accept(Tok::Comma);
        }
    }

    fn open_list(&mut self) -> Parse<OpenList> {
        self.open()?;
        let is_over = matches!(self.peek(), Tok::RightBracket | Tok::Bar);
        Ok(OpenList { items: Vec::new(), height: Height::default(), is_over })
    }

    fn next_element_is_list(&self, list: &OpenList) -> bool {
        !list.is_over && self.peek() == Tok::LeftBracket
    }

    /// Parses elements up to one that is a list, or to the last one. Returns true if that was the last.
    fn list_elements(&mut self, list: &mut OpenList) -> Parse<bool> {
        while !list.is_over {
            if self.peek() == Tok::LeftBracket {
                return Ok(false);
            }
            if !begins_term(self.peek()) {
                return Err(self.missing_element(list.items.is_empty()));
            }
            let item = self.list_element()?;
            list.add(item, self.height);
            list.is_over = !self.accept(Tok::Comma);
        }
        Ok(true)
    }

    /// Parses the tail and the closing bracket of a list.
    fn close_list(&mut self, list: OpenList) -> Parse<ListParts> {
        let OpenList { mut items, mut height, .. } = list;
        let mut tail = None;
        if self.accept(Tok::Bar) {
            self.list_tail(&mut items, &mut tail)?;
            height = height.max(self.height);
        }
        let expected: &[&str] = if tail.is_some() { &["`]`"] } else { &["`,`", "`|`", "`]`"] };
        self.close(Tok::RightBracket, expected)?;
        self.grown(height)?;
        Ok(ListParts { items, tail })
    }

    fn missing_element(&mut self, first: bool) -> super::Failed {
        if !first && self.peek() == Tok::RightBracket {
            return self.unexpected_with_help(&["another element"], "leave out the last `,`");
        }
        self.unexpected(&["a term", "`]`"])
    }

    pub(super) fn list_element(&mut self) -> Parse<Term> {
        // Jason does not read `[not (a)]`, but prints it.
        let element = if self.peek() == Tok::Not { self.negation()? } else { self.operand()? };
        Ok(self.named(element))
    }

    /// Parses the tail of a list after `|`: a variable, or a list, which is joined.
    #[inline(never)]
    fn list_tail(&mut self, items: &mut Vec<Term>, tail: &mut Option<Box<Term>>) -> Parse<()> {
        match self.peek() {
            Tok::Var | Tok::Anonymous | Tok::Numbered => {
                let variable = self.plain_variable();
                *tail = Some(Box::new(Term::Var(variable)));
            }
            Tok::LeftBracket => {
                let rest = self.list_parts()?;
                items.extend(rest.items);
                *tail = rest.tail;
            }
            _ => {
                let help = "what follows `|` is the rest of the list: a variable or another list";
                return Err(self.unexpected_with_help(&["a variable", "a list"], help));
            }
        }
        Ok(())
    }

    /// Parses a bare variable.
    #[inline(never)]
    pub(super) fn plain_variable(&mut self) -> Variable {
        let token = self.advance();
        let text = self.text_of(token.span);
        let name = match token.kind {
            Tok::Anonymous => self.anonymous_name(text.get(1..).unwrap_or_default()),
            _ => Symbol::new(text),
        };
        self.height = Height::default();
        Variable { name, namespace: None, negated: false, annots: None, span: token.span }
    }

    /// Parses an operand of a relation: arithmetic, a string, a list or code.
    pub(super) fn operand(&mut self) -> Parse<Term> {
        match self.peek() {
            Tok::Str => self.string(),
            Tok::LeftBracket => self.list(),
            Tok::LeftBrace => self.code(),
            _ => self.sum(),
        }
    }

    fn sum(&mut self) -> Parse<Term> {
        let start = self.token().span;
        let first = self.product()?;
        match self.peek() {
            Tok::Plus | Tok::Minus => self.left_chain(first, start, true),
            _ => Ok(first),
        }
    }

    /// Returns true if the sign here more likely begins the next clause, after a missing full stop. Either a goal
    /// follows it, or it stands first on its line and what precedes is no number.
    fn begins_clause(&self, left: Option<&Term>) -> bool {
        let goal = matches!(self.peek_at(1), Tok::Bang | Tok::Question);
        let no_number =
            matches!(left, Some(Term::Literal(literal)) if !self.is_function(literal.functor, literal.args.len()));
        goal || (no_number && self.is_first_on_line(self.token()))
    }

    fn product(&mut self) -> Parse<Term> {
        let start = self.token().span;
        let first = self.power()?;
        match self.peek() {
            Tok::Star | Tok::Slash | Tok::Div | Tok::Mod => self.left_chain(first, start, false),
            _ => Ok(first),
        }
    }

    /// Parses the operands of a sum or product after the first one.
    #[inline(never)]
    fn left_chain(&mut self, first: Term, start: Span, is_sum: bool) -> Parse<Term> {
        let mut rest = Vec::new();
        let mut heights = vec![self.height];
        while let Some(op) = chain_sign(self.peek(), is_sum) {
            if is_sum && self.begins_clause(rest.is_empty().then_some(&first)) {
                break;
            }
            if rest.is_empty() {
                let span = self.span_from(start);
                self.check_number(&first, span)?;
            }
            self.advance();
            let start = self.token().span;
            let right = if is_sum { self.product()? } else { self.power()? };
            let span = self.span_from(start);
            self.check_number(&right, span)?;
            rest.push((op, right));
            heights.push(self.height);
        }
        let Some(last) = heights.len().checked_sub(1).filter(|last| *last > 0) else { return Ok(first) };
        let depth = |place: usize| last - place.max(1);
        let all = heights.into_iter().enumerate().map(|(place, height)| height.deeper(depth(place)));
        let height = all.fold(Height::default(), Height::max);
        self.grown(height)?;
        Ok(chained(first, rest))
    }

    /// Parses `a ** b ** c`, right to left.
    #[inline(never)]
    fn power(&mut self) -> Parse<Term> {
        let start = self.token().span;
        let first = self.signed()?;
        if self.peek() != Tok::StarStar {
            return Ok(first);
        }
        let span = self.span_from(start);
        self.check_number(&first, span)?;
        let mut operands = vec![(first, self.height)];
        while self.accept(Tok::StarStar) {
            let start = self.token().span;
            let operand = self.signed()?;
            let span = self.span_from(start);
            self.check_number(&operand, span)?;
            operands.push((operand, self.height));
        }
        self.folded(Op::Pow, operands)
    }

    /// Folds operands to `a op (b op (c op d))`.
    #[inline(never)]
    fn folded(&mut self, op: Op, mut operands: Vec<(Term, Height)>) -> Parse<Term> {
        let Some((mut right, mut height)) = operands.pop() else { return Err(super::Failed) };
        while let Some((left, left_height)) = operands.pop() {
            self.grown(height.max(left_height))?;
            height = self.height;
            right = Term::Op(op, vec![left, right]);
        }
        self.height = height;
        Ok(right)
    }

    /// Parses a number, a literal or a formula in parentheses, with an optional sign.
    #[inline(never)]
    fn signed(&mut self) -> Parse<Term> {
        let sign = self.peek();
        if !matches!(sign, Tok::Plus | Tok::Minus) {
            return self.simple();
        }
        self.advance();
        let start = self.token().span;
        let operand = self.simple()?;
        let span = self.span_from(start);
        self.check_number(&operand, span)?;
        match (sign, operand) {
            (Tok::Minus, Term::Num(n)) => Ok(Term::Num(-n)),
            (Tok::Minus, operand) => {
                self.grown(self.height)?;
                Ok(Term::Op(Op::Neg, vec![operand]))
            }
            (_, operand) => Ok(operand),
        }
    }

    fn simple(&mut self) -> Parse<Term> {
        match self.peek() {
            Tok::Number => {
                let token = self.advance();
                self.height = Height::default();
                Ok(Term::Num(self.text_of(token.span).parse().unwrap_or(f64::NAN)))
            }
            Tok::LeftParen => {
                self.open()?;
                let inner = self.formula()?;
                self.close(Tok::RightParen, &["`)`"])?;
                Ok(inner)
            }
            Tok::Str | Tok::LeftBracket | Tok::LeftBrace => {
                let span = self.token().span;
                let help = "texts are joined by `.concat(Text1, Text2, Result)`, lists too";
                Err(self.error_with_help(span, "this is not a number", "no operand of arithmetic", help))
            }
            _ => self.literal(),
        }
    }

    /// Checks an operand of arithmetic, which takes numbers, variables, functions and arithmetic.
    #[inline(never)]
    fn check_number(&mut self, term: &Term, span: Span) -> Parse<()> {
        let functor = match term {
            Term::Num(_) | Term::Var(_) | Term::Chain(..) => return Ok(()),
            Term::Op(op, _) if is_arithmetic(*op) => return Ok(()),
            Term::Literal(literal) if self.is_function(literal.functor, literal.args.len()) => return Ok(()),
            Term::Literal(literal) => literal.functor.as_str(),
            _ => return Err(self.error(span, "this is not a number", "no operand of arithmetic")),
        };
        let message = format!("`{functor}` is not a number");
        let help = match signatures::function_arity(functor) {
            Some(arity) => format!("the function `{functor}` takes {}", signatures::arguments_text(&arity)),
            None if functor.contains('.') && !functor.starts_with(['.', '\'']) => {
                match nearest(functor, signatures::function_names()) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => format!(
                        "if `{functor}` is a function, register it first: \
                         {{ register_function(\"{functor}\", arity, \"rule\") }}"
                    ),
                }
            }
            None => "arithmetic takes numbers, variables and functions; query a belief for its value first".to_owned(),
        };
        Err(self.error_with_help(span, message, "no operand of arithmetic", help))
    }

    /// Returns true if a literal of that name and arity is a function call.
    pub(super) fn is_function(&self, functor: Symbol, arity: usize) -> bool {
        let name = functor.as_str();
        name.contains('.')
            && (signatures::function_arity(name).is_some_and(|range| range.contains(&arity))
                || self.session.functions.get(&functor).is_some_and(|registered| *registered as usize == arity))
    }
}

/// Returns the operation for a sign of a sum or product.
fn chain_sign(kind: Tok, is_sum: bool) -> Option<Op> {
    match kind {
        Tok::Plus if is_sum => Some(Op::Add),
        Tok::Minus if is_sum => Some(Op::Sub),
        Tok::Star if !is_sum => Some(Op::Mul),
        Tok::Slash if !is_sum => Some(Op::Div),
        Tok::Div if !is_sum => Some(Op::IntDiv),
        Tok::Mod if !is_sum => Some(Op::Mod),
        _ => None,
    }
}

/// Returns `first op a op b ..`, from left to right. A first operand in parentheses that is such a chain itself is
/// continued.
pub(in crate::syntax) fn chained(first: Term, mut rest: Vec<(Op, Term)>) -> Term {
    let of_kind = |op: Op| rest.first().is_some_and(|(next, _)| is_sum(*next) == is_sum(op));
    let first = match first {
        Term::Op(op, mut operands) if operands.len() == 2 && is_arithmetic(op) && op != Op::Pow && of_kind(op) => {
            let right = operands.pop();
            let left = operands.pop();
            rest.splice(0..0, right.map(|right| (op, right)));
            left.unwrap_or(Term::Num(0.0))
        }
        Term::Chain(inner, more) if more.first().is_some_and(|(op, _)| of_kind(*op)) => {
            rest.splice(0..0, more);
            *inner
        }
        first => first,
    };
    match rest.pop() {
        Some((op, right)) if rest.is_empty() => Term::Op(op, vec![first, right]),
        Some(last) => {
            rest.push(last);
            Term::Chain(Box::new(first), rest)
        }
        None => first,
    }
}

fn is_sum(op: Op) -> bool {
    matches!(op, Op::Add | Op::Sub)
}

/// Translates `\n` and `\"`, the only escapes that mean another character; Jason retains all others as written.
fn translated(raw: &str) -> String {
    raw.replace("\\n", "\n").replace("\\\"", "\"")
}
