//! Arithmetic on doubles (Java's semantics).

use whimbrel_acl::{Symbol, Value, sym};

/// Computes `functor(args)` if that is an arithmetic operation on numbers.
#[inline]
pub fn evaluate(functor: Symbol, args: &[Value]) -> Option<f64> {
    // Operators have the lowest symbols; most functors are ruled out by this one comparison.
    if functor > sym::POW {
        return None;
    }
    match args {
        [a, b] => binary(functor, a.as_f64()?, b.as_f64()?),
        [a] if functor == sym::SUB => Some(-a.as_f64()?),
        _ => None,
    }
}

/// Returns true if `functor` with `arity` arguments is an arithmetic operation.
pub fn is_operation(functor: Symbol, arity: usize) -> bool {
    match functor {
        sym::SUB => arity == 1 || arity == 2,
        sym::ADD | sym::MUL | sym::DIV | sym::INTDIV | sym::MOD | sym::POW => arity == 2,
        _ => false,
    }
}

/// Computes `a functor b`, if that is an arithmetic operation.
#[inline]
pub fn binary(functor: Symbol, a: f64, b: f64) -> Option<f64> {
    match functor {
        sym::ADD => Some(a + b),
        sym::SUB => Some(a - b),
        _ => rarer(functor, a, b),
    }
}

fn rarer(functor: Symbol, a: f64, b: f64) -> Option<f64> {
    Some(match functor {
        sym::MUL => a * b,
        sym::DIV => a / b,
        sym::INTDIV => integer_division(a, b),
        sym::MOD => a % b,
        sym::POW => a.powf(b),
        _ => return None,
    })
}

/// Computes `div`: both operands as integers, the quotient towards zero. By zero it is the double quotient, an
/// infinity.
fn integer_division(a: f64, b: f64) -> f64 {
    if (b as i64) == 0 { a / b } else { ((a as i64).wrapping_div(b as i64)) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations() {
        let value = |f, a, b| evaluate(f, &[Value::Num(a), Value::Num(b)]);
        assert_eq!(value(sym::INTDIV, 7.0, 2.0), Some(3.0));
        assert_eq!(value(sym::MOD, -7.0, 2.0), Some(-1.0));
        assert_eq!(value(sym::POW, 2.0, 10.0), Some(1024.0));
        assert_eq!(value(sym::AND, 1.0, 1.0), None);
        assert_eq!(evaluate(sym::SUB, &[Value::Num(3.0)]), Some(-3.0));
        assert_eq!(evaluate(sym::ADD, &[Value::Num(3.0), Value::atom("a")]), None);
    }
}
