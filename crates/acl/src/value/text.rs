//! Values as text, in AgentSpeak's notation and as Jason prints them: strings are quoted, without escapes.

use std::fmt::{self, Display, Write};

use super::code::{self, Bare};
use super::{Annot, Structure, Value};
use crate::{Symbol, sym};

/// Bound of whole numbers that are written without a fraction: those that a 64-bit integer holds.
const WHOLE_MAX: f64 = 9_223_372_036_854_775_808.0;

/// Writes a number as Jason does. Whole numbers have no fraction; others are written as by Java's `Double.toString`:
/// `3`, `0.5`, `1.0E-4`, `1.0E21`.
///
/// # Errors
/// Errors of `out`.
pub fn write_number(out: &mut impl Write, n: f64) -> fmt::Result {
    if n.fract() == 0.0 && n.abs() <= WHOLE_MAX {
        return write!(out, "{}", n as i64);
    }
    if n.is_nan() {
        return out.write_str("NaN");
    }
    if n.is_infinite() {
        return out.write_str(if n > 0.0 { "Infinity" } else { "-Infinity" });
    }
    if (1e-3..1e7).contains(&n.abs()) {
        return write!(out, "{n}");
    }
    let shortest = format!("{n:e}");
    // Java wants two digits at least, the nearest ones: the least double is 4.9E-324, not 5.0E-324.
    let scientific = if shortest.contains('.') { shortest } else { format!("{n:.1e}") };
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    write!(out, "{digits}E{exponent}")
}

/// Returns the notation of a binary operator between its operands.
fn infix(functor: Symbol) -> Option<&'static str> {
    Some(match functor {
        sym::AND => " & ",
        sym::OR => " | ",
        sym::EQ => " == ",
        sym::NE => " \\== ",
        sym::LT => " < ",
        sym::LE => " <= ",
        sym::GT => " > ",
        sym::GE => " >= ",
        sym::UNIFY => " = ",
        sym::UNIV => " =.. ",
        sym::ADD => "+",
        sym::SUB => "-",
        sym::MUL => "*",
        sym::DIV => "/",
        sym::INTDIV => " div ",
        sym::MOD => " mod ",
        sym::POW => "**",
        _ => return None,
    })
}

fn is_arithmetic(functor: Symbol) -> bool {
    matches!(functor, sym::ADD | sym::SUB | sym::MUL | sym::DIV | sym::INTDIV | sym::MOD | sym::POW)
}

/// An operand of arithmetic: a negative number is in parentheses.
struct Operand<'a>(&'a Value);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Num(n) if *n < 0.0 => write!(f, "({})", self.0),
            other => other.fmt(f),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(b) => b.fmt(f),
            Self::Int(n) => n.fmt(f),
            Self::Num(n) => write_number(f, *n),
            Self::Atom(sym::CODE_BODY) => f.write_str("{ }"),
            Self::Atom(name) => name.fmt(f),
            Self::Str(text) => write!(f, "\"{text}\""),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::Nil => f.write_str("[]"),
            Self::List(_) => write_list(f, self),
            Self::Term(term) => term.fmt(f),
            Self::Var(var) => write_variable(f, var.name, var.slot),
            Self::Map(pairs) => {
                f.write_char('{')?;
                write_separated(f, pairs.iter(), |f, (key, value)| write!(f, "{key}: {value}"))?;
                f.write_char('}')
            }
            Self::Record(record) => {
                write!(f, "{}{{", record.name)?;
                write_separated(f, record.fields.iter(), |f, (name, value)| write!(f, "{name}: {value}"))?;
                f.write_char('}')
            }
            Self::Object(object) => write!(f, "{}", object.contents()),
        }
    }
}

/// Prints as Jason does: `{k->v}`, `{a,b}`, and queues as Java does, `[a, b]`.
impl fmt::Display for super::Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Map(pairs) => {
                f.write_char('{')?;
                write_separated(f, pairs.iter(), |f, (key, value)| write!(f, "{key}->{value}"))?;
                f.write_char('}')
            }
            Self::Set(items) => {
                f.write_char('{')?;
                write_separated(f, items.iter(), |f, value| value.fmt(f))?;
                f.write_char('}')
            }
            _ => {
                f.write_char('[')?;
                for (place, value) in self.values().enumerate() {
                    f.write_str(if place > 0 { ", " } else { "" })?;
                    value.fmt(f)?;
                }
                f.write_char(']')
            }
        }
    }
}

fn write_variable(f: &mut fmt::Formatter<'_>, name: Symbol, slot: u32) -> fmt::Result {
    if name == sym::ANY { write!(f, "_{slot}") } else { name.fmt(f) }
}

fn write_separated<T>(
    f: &mut fmt::Formatter<'_>,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (i, item) in items.enumerate() {
        if i > 0 {
            f.write_char(',')?;
        }
        write(f, item)?;
    }
    Ok(())
}

fn write_list(f: &mut fmt::Formatter<'_>, list: &Value) -> fmt::Result {
    f.write_char('[')?;
    let mut items = list.items();
    write_separated(f, items.by_ref(), |f, item| item.fmt(f))?;
    if !matches!(items.tail(), Value::Nil) {
        write!(f, "|{}", items.tail())?;
    }
    f.write_char(']')
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if code::is_code(self) {
            return code::write(f, self);
        }
        match (self.args.as_slice(), infix(self.functor)) {
            ([left, right], Some(operator)) if is_arithmetic(self.functor) => {
                return write!(f, "({}{operator}{})", Operand(left), Operand(right));
            }
            ([left, right], Some(operator)) => return write!(f, "({left}{operator}{right})"),
            ([operand], _) if self.functor == sym::NOT => return write!(f, "not ({operand})"),
            ([operand], _) if self.functor == sym::SUB => return write!(f, "(-{operand})"),
            _ => {}
        }
        write_name(f, self.namespace, self.negated, self.functor)?;
        if !self.args.is_empty() {
            f.write_char('(')?;
            let bare_from = code::first_bare_argument(self.functor);
            write_separated(f, self.args.iter().enumerate(), |f, (i, arg)| {
                if i >= bare_from { Bare(arg).fmt(f) } else { arg.fmt(f) }
            })?;
            f.write_char(')')?;
        }
        write_annots(f, &self.annots)
    }
}

fn write_name(f: &mut fmt::Formatter<'_>, namespace: Symbol, negated: bool, functor: Symbol) -> fmt::Result {
    if namespace != sym::DEFAULT {
        write!(f, "{namespace}::")?;
    }
    if negated {
        f.write_char('~')?;
    }
    functor.fmt(f)
}

fn write_annots(f: &mut fmt::Formatter<'_>, annots: &[Annot]) -> fmt::Result {
    if annots.is_empty() {
        return Ok(());
    }
    f.write_char('[')?;
    for (i, annot) in annots.iter().enumerate() {
        match annot {
            Annot::Tail(var) => write!(f, "|{}", Value::Var(*var))?,
            _ if i > 0 => write!(f, ",{}", annot.to_value())?,
            _ => annot.to_value().fmt(f)?,
        }
    }
    f.write_char(']')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Var;

    #[test]
    fn numbers_print_as_in_java() {
        let text = |n| Value::Num(n).to_string();
        for (n, expected) in [
            (1.0, "1"),
            (-0.25, "-0.25"),
            (1e-4, "1.0E-4"),
            (12_345_678.9, "1.23456789E7"),
            (1e21, "1.0E21"),
            (0.1 + 0.2, "0.30000000000000004"),
            (0.001, "0.001"),
            (9_999_999.5, "9999999.5"),
            (1e7, "10000000"),
            (-0.0, "0"),
            (9.223_372_036_854_775e18, "9223372036854774784"),
            (1e19, "1.0E19"),
            (f64::from_bits(1), "4.9E-324"),
            (f64::MAX, "1.7976931348623157E308"),
            (2e-323, "2.0E-323"),
            (1.234e-5, "1.234E-5"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::INFINITY, "Infinity"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(text(n), expected);
        }
    }

    #[test]
    fn structures_print_in_agentspeak() {
        let annots = [Annot::new(Value::term("source", [Value::atom("bob")])), Annot::new(Value::atom("c"))];
        let fact = Structure::full(
            sym::DEFAULT,
            true,
            "p".into(),
            [Value::Num(1.0), Value::from("s")].into_iter().collect(),
            annots.into_iter().collect(),
        );
        assert_eq!(Value::from(fact).to_string(), "~p(1,\"s\")[c,source(bob)]");
    }

    #[test]
    fn operators_print_infix() {
        let [p, q] = ["p", "q"].map(Value::atom);
        for (functor, text) in [
            (sym::AND, "p & q"),
            (sym::OR, "p | q"),
            (sym::EQ, "p == q"),
            (sym::NE, r"p \== q"),
            (sym::LT, "p < q"),
            (sym::LE, "p <= q"),
            (sym::GT, "p > q"),
            (sym::GE, "p >= q"),
            (sym::UNIFY, "p = q"),
            (sym::UNIV, "p =.. q"),
            (sym::ADD, "p+q"),
            (sym::SUB, "p-q"),
            (sym::MUL, "p*q"),
            (sym::DIV, "p/q"),
            (sym::INTDIV, "p div q"),
            (sym::MOD, "p mod q"),
            (sym::POW, "p**q"),
        ] {
            let printed = Value::term(functor, [p.clone(), q.clone()]).to_string();
            assert_eq!(printed, format!("({text})"));
        }
        let negative = Value::term(sym::SUB, [Value::Num(-1.0), Value::Num(-0.5)]);
        assert_eq!(negative.to_string(), "((-1)-(-0.5))", "two signs side by side are no operator");
    }

    #[test]
    fn decorated_variables_print_as_written() {
        let variable = |name: &str| Value::Var(Var { slot: 0, name: name.into() });
        let decorated = |namespace, negated, annots| {
            Value::term(sym::CODE_VAR, [variable("P"), namespace, Value::Bool(negated), annots]).to_string()
        };
        assert_eq!(decorated(Value::atom("ns"), true, Value::Nil), "ns::~P");
        assert_eq!(decorated(Value::Null, false, variable("A")), "P[|A]");
        assert_eq!(decorated(Value::Null, false, Value::list([Value::atom("b")])), "P[b]");
    }
}
