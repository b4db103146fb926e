//! Text to trees, by recursive descent.

use super::{
    ActionExpression, ActionOp, BinaryOp, ContentExpression, Identifying, ModalOp, Profile, Quantifier, ReferentialOp,
    SlContent, SlTerm, Wff, is_word,
};
use crate::codec::{DecodeError, DecodeErrorKind, date};
use crate::limits::SL_DEPTH_MAX;
use crate::tokens::{FipaToken, FipaTokens, TokenKind, is_float, is_integer};
use crate::{Symbol, Text};

/// Quantifiers that may stand in front of a formula. In SL2 they stand before all else, universal ones first.
//= fipa00008 4.3 PrenexExpression
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prenex {
    Any,
    ExistsOnly,
    None,
}

struct SlParser<'a> {
    tokens: FipaTokens<'a>,
    profile: Profile,
    depth: usize,
}

/// First token after an opening bracket.
struct HeadToken<'a> {
    at: usize,
    /// Operator or symbol.
    name: String,
    /// The operator, if it is not quoted, which would make it a symbol like others.
    operator: &'a str,
}

pub(super) fn content(bytes: &[u8], profile: Profile) -> Result<SlContent, DecodeError> {
    let mut parser = SlParser { tokens: FipaTokens::new(bytes), profile, depth: 0 };
    parser.open("`(`, which begins the content")?;
    let mut expressions = vec![parser.content_expression()?];
    while !parser.at_close()? {
        expressions.push(parser.content_expression()?);
    }
    parser.close()?;
    let token = parser.tokens.next()?;
    match token.kind {
        TokenKind::End => Ok(SlContent { expressions }),
        _ => Err(DecodeError::new(token.at, DecodeErrorKind::Trailing)),
    }
}

impl<'a> SlParser<'a> {
    fn open(&mut self, expected: &'static str) -> Result<usize, DecodeError> {
        let token = self.tokens.next()?;
        if token.kind != TokenKind::Open {
            return Err(DecodeError::expected(token.at, expected, token.kind.describe()));
        }
        if self.depth >= SL_DEPTH_MAX {
            return Err(DecodeError::too_deep(token.at, SL_DEPTH_MAX));
        }
        self.depth += 1;
        Ok(token.at)
    }

    fn close(&mut self) -> Result<(), DecodeError> {
        let token = self.tokens.next()?;
        if token.kind != TokenKind::Close {
            return Err(DecodeError::expected(token.at, "`)`", token.kind.describe()));
        }
        self.depth -= 1;
        Ok(())
    }

    fn at_close(&self) -> Result<bool, DecodeError> {
        Ok(self.tokens.peek()?.kind == TokenKind::Close)
    }

    /// Reads an opening bracket and the symbol after it.
    fn head(&mut self) -> Result<HeadToken<'a>, DecodeError> {
        let at = self.open("`(`")?;
        let token = self.tokens.next()?;
        match token.kind {
            TokenKind::Bare(text) if is_word(text) => Ok(HeadToken { at, name: text.to_owned(), operator: text }),
            TokenKind::Literal(_) | TokenKind::Bytes(_) => {
                Ok(HeadToken { at, name: crate::tokens::text_of(token, "a symbol")?, operator: "" })
            }
            other => Err(DecodeError::expected(token.at, "an operator or a symbol", other.describe())),
        }
    }

    /// Returns the operator after the next bracket, if a bracket comes next.
    fn peek_operator(&self) -> Result<&'a str, DecodeError> {
        let mut ahead = self.tokens.clone();
        if ahead.next()?.kind != TokenKind::Open {
            return Ok("");
        }
        match ahead.next()?.kind {
            TokenKind::Bare(text) => Ok(text),
            _ => Ok(""),
        }
    }

    /// Refuses a construct that the profile lacks.
    fn require(&self, profile: Profile, at: usize, construct: &'static str) -> Result<(), DecodeError> {
        if self.profile >= profile {
            return Ok(());
        }
        let kind = DecodeErrorKind::Profile { construct, profile: self.profile.language() };
        Err(DecodeError::new(at, kind))
    }

    //= fipa00008 2.1 ContentExpression
    fn content_expression(&mut self) -> Result<ContentExpression, DecodeError> {
        let operator = self.peek_operator()?;
        if ReferentialOp::of_word(operator).is_some() {
            return Ok(ContentExpression::Identifying(self.identifying()?));
        }
        if is_action(operator) {
            return Ok(ContentExpression::Action(self.action()?));
        }
        Ok(ContentExpression::Proposition(self.formula(Prenex::Any)?))
    }

    //= fipa00008 2.1 Wff
    fn formula(&mut self, prenex: Prenex) -> Result<Wff, DecodeError> {
        if self.tokens.peek()?.kind != TokenKind::Open {
            return self.proposition();
        }
        let head = self.head()?;
        let formula = self.compound(&head, prenex)?;
        self.close()?;
        Ok(formula)
    }

    fn compound(&mut self, head: &HeadToken<'_>, prenex: Prenex) -> Result<Wff, DecodeError> {
        if let Some(quantifier) = Quantifier::of_word(head.operator) {
            return self.quantified(quantifier, head.at, prenex);
        }
        if let Some(operator) = BinaryOp::of_word(head.operator) {
            let simple = matches!(operator, BinaryOp::And | BinaryOp::Or);
            self.require(if simple { Profile::Sl1 } else { Profile::Sl2 }, head.at, operator.word())?;
            let one = Box::new(self.formula(Prenex::None)?);
            return Ok(Wff::Binary(operator, one, Box::new(self.formula(Prenex::None)?)));
        }
        if let Some(operator) = ModalOp::of_word(head.operator) {
            self.require(Profile::Sl2, head.at, operator.word())?;
            let agent = self.term()?;
            return Ok(Wff::Modal(operator, agent, Box::new(self.formula(Prenex::Any)?)));
        }
        if let Some(operator) = ActionOp::of_word(head.operator) {
            return self.happens(operator, head.at);
        }
        match head.operator {
            "not" => {
                self.require(Profile::Sl1, head.at, "not")?;
                Ok(Wff::Not(Box::new(self.formula(Prenex::None)?)))
            }
            "=" => Ok(Wff::Equal(self.term()?, self.term()?)),
            "result" => Ok(Wff::Result(self.term()?, self.term()?)),
            "true" | "false" | "action" | "|" | ";" | "iota" | "any" | "all" => {
                Err(DecodeError::expected(head.at, "a formula", format!("`({}`", head.name)))
            }
            _ => {
                let mut arguments = vec![self.term()?];
                while !self.at_close()? {
                    arguments.push(self.term()?);
                }
                Ok(Wff::Predicate(Symbol::new(&head.name), arguments))
            }
        }
    }

    fn quantified(&mut self, quantifier: Quantifier, at: usize, prenex: Prenex) -> Result<Wff, DecodeError> {
        self.require(Profile::Sl2, at, quantifier.word())?;
        let allowed = match quantifier {
            Quantifier::Forall => prenex == Prenex::Any,
            Quantifier::Exists => prenex != Prenex::None,
        };
        if !allowed {
            self.require(Profile::Sl, at, "a quantifier that is not in front, universal ones first")?;
        }
        let token = self.tokens.next()?;
        let TokenKind::Bare(variable) = token.kind else {
            return Err(DecodeError::expected(token.at, "a variable", token.kind.describe()));
        };
        let Some(name) = variable.strip_prefix('?').filter(|name| !name.is_empty()) else {
            return Err(DecodeError::expected(token.at, "a variable", token.kind.describe()));
        };
        let inner = if quantifier == Quantifier::Exists { Prenex::ExistsOnly } else { Prenex::Any };
        Ok(Wff::Quantified(quantifier, Symbol::new(name), Box::new(self.formula(inner)?)))
    }

    fn happens(&mut self, operator: ActionOp, at: usize) -> Result<Wff, DecodeError> {
        if operator == ActionOp::Feasible {
            self.require(Profile::Sl2, at, "feasible")?;
        }
        let action = self.action()?;
        if self.at_close()? {
            return Ok(Wff::Happens(operator, action, None));
        }
        self.require(Profile::Sl2, at, "an action with a formula")?;
        Ok(Wff::Happens(operator, action, Some(Box::new(self.formula(Prenex::Any)?))))
    }

    //= fipa00008 2.1 PropositionSymbol
    fn proposition(&mut self) -> Result<Wff, DecodeError> {
        let token = self.tokens.next()?;
        match token.kind {
            TokenKind::Bare("true") => Ok(Wff::True),
            TokenKind::Bare("false") => Ok(Wff::False),
            TokenKind::Bare(text) if is_word(text) => Ok(Wff::Symbol(Symbol::new(text))),
            TokenKind::Literal(_) | TokenKind::Bytes(_) => {
                Ok(Wff::Symbol(Symbol::new(&crate::tokens::text_of(token, "a proposition")?)))
            }
            other => Err(DecodeError::expected(token.at, "an expression", other.describe())),
        }
    }

    //= fipa00008 2.1 IdentifyingExpression
    fn identifying(&mut self) -> Result<Identifying, DecodeError> {
        let head = self.head()?;
        let unknown = || DecodeError::expected(head.at, "iota, any or all", head.name.clone());
        let operator = ReferentialOp::of_word(head.operator).ok_or_else(unknown)?;
        self.require(Profile::Sl2, head.at, operator.word())?;
        let term = self.term()?;
        let description = self.formula(Prenex::None)?;
        self.close()?;
        Ok(Identifying { operator, term, description })
    }

    //= fipa00008 2.1 ActionExpression
    fn action(&mut self) -> Result<ActionExpression, DecodeError> {
        let head = self.head()?;
        let action = match head.operator {
            "action" => ActionExpression::Action(self.term()?, self.term()?),
            "|" | ";" => {
                self.require(Profile::Sl2, head.at, if head.operator == "|" { "|" } else { ";" })?;
                let (one, other) = (Box::new(self.action()?), Box::new(self.action()?));
                if head.operator == "|" {
                    ActionExpression::Either(one, other)
                } else {
                    ActionExpression::Then(one, other)
                }
            }
            _ => return Err(DecodeError::expected(head.at, "an action", format!("`({}`", head.name))),
        };
        self.close()?;
        Ok(action)
    }

    //= fipa00008 2.1 TermOrIE
    fn term(&mut self) -> Result<SlTerm, DecodeError> {
        if self.tokens.peek()?.kind != TokenKind::Open {
            let token = self.tokens.next()?;
            return self.constant(token);
        }
        let operator = self.peek_operator()?;
        if ReferentialOp::of_word(operator).is_some() {
            return Ok(SlTerm::Identifying(Box::new(self.identifying()?)));
        }
        if is_action(operator) {
            return Ok(SlTerm::Action(Box::new(self.action()?)));
        }
        let head = self.head()?;
        let term = match head.operator {
            "sequence" => SlTerm::Sequence(self.terms()?),
            "set" => SlTerm::Set(self.terms()?),
            _ => self.functional(&head.name)?,
        };
        self.close()?;
        Ok(term)
    }

    fn terms(&mut self) -> Result<Vec<SlTerm>, DecodeError> {
        let mut terms = Vec::new();
        while !self.at_close()? {
            terms.push(self.term()?);
        }
        Ok(terms)
    }

    //= fipa00008 2.1 FunctionalTerm
    fn functional(&mut self, name: &str) -> Result<SlTerm, DecodeError> {
        let name = Symbol::new(name);
        if !matches!(self.tokens.peek()?.kind, TokenKind::Bare(text) if text.starts_with(':')) {
            return Ok(SlTerm::Function(name, self.terms()?));
        }
        let mut parameters = Vec::new();
        while !self.at_close()? {
            let token = self.tokens.next()?;
            let parameter = match token.kind {
                TokenKind::Bare(text) => text.strip_prefix(':').filter(|name| !name.is_empty()),
                _ => None,
            };
            let Some(parameter) = parameter else {
                return Err(DecodeError::expected(token.at, "`:parameter`", token.kind.describe()));
            };
            parameters.push((Symbol::new(parameter), self.term()?));
        }
        Ok(SlTerm::Frame(name, parameters))
    }

    //= fipa00008 2.1 Constant
    fn constant(&mut self, token: FipaToken<'_>) -> Result<SlTerm, DecodeError> {
        match token.kind {
            TokenKind::Literal(text) => Ok(SlTerm::Literal(Text::from(text.as_ref()))),
            TokenKind::Bytes(bytes) => Ok(match std::str::from_utf8(bytes) {
                Ok(text) => SlTerm::Literal(Text::from(text)),
                Err(_) => SlTerm::Bytes(bytes.to_vec()),
            }),
            TokenKind::Bare(text) => self.bare(text, token.at),
            other => Err(DecodeError::expected(token.at, "a term", other.describe())),
        }
    }

    fn bare(&mut self, text: &str, at: usize) -> Result<SlTerm, DecodeError> {
        if let Some(name) = text.strip_prefix('?').filter(|name| !name.is_empty()) {
            self.require(Profile::Sl2, at, "a variable")?;
            return Ok(SlTerm::Variable(Symbol::new(name)));
        }
        if let Some(number) = number(text) {
            return Ok(number);
        }
        if date::is_time(text) {
            return Ok(SlTerm::Time(Text::from(text)));
        }
        match is_word(text) {
            true => Ok(SlTerm::Word(Symbol::new(text))),
            false => Err(DecodeError::expected(at, "a term", TokenKind::Bare(text).describe())),
        }
    }
}

fn is_action(operator: &str) -> bool {
    matches!(operator, "action" | "|" | ";")
}

//= fipa00008 2.2 NumericalConstant
fn number(text: &str) -> Option<SlTerm> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(digits) = unsigned.strip_prefix("0x").or(unsigned.strip_prefix("0X")) {
        let magnitude = i64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with(['+', '-']))?;
        return Some(SlTerm::Integer(if negative { -magnitude } else { magnitude }));
    }
    if let (true, Ok(n)) = (is_integer(text), text.parse()) {
        return Some(SlTerm::Integer(n));
    }
    // A number beyond the range of doubles is refused.
    let nearest = text.parse().ok().filter(|n: &f64| n.is_finite());
    nearest.filter(|_| is_integer(text) || is_float(text)).map(SlTerm::Float)
}
