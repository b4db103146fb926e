//! `printf` as in Java's `String.format`, for strings and doubles.

use std::iter::Peekable;
use std::str::Chars;

use whimbrel_acl::Value;

use super::text_of;

/// Conversion: `%` argument `$`, flags, width, precision, letter.
#[derive(Default)]
struct Conversion {
    /// Number of the argument, from 1; 0 is the next one.
    argument: usize,
    /// `%<s`: the argument of the conversion before.
    again: bool,
    left: bool,
    plus: bool,
    space: bool,
    zeros: bool,
    grouped: bool,
    in_parentheses: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    letter: char,
}

/// Widest field: a program's typing error must not cost memory without bound.
const WIDTH_MAX: usize = 10_000;

/// Returns the text of a format with its arguments inserted.
///
/// # Errors
/// Returns the reason if the arguments do not fit the format.
pub fn format(format: &str, args: &[Value]) -> Result<String, String> {
    let mut text = String::new();
    let mut letters = format.chars().peekable();
    let (mut next, mut last) = (0, None);
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let conversion = Conversion::parse(&mut letters).ok_or("the format ends within a conversion such as %.2f")?;
        match conversion.letter {
            'n' => text.push('\n'),
            '%' => text.push_str(&conversion.pad("%".to_owned())),
            _ => {
                let place = match (conversion.again, conversion.argument) {
                    (true, _) => last.ok_or("%< has no conversion before it")?,
                    (false, 0) => {
                        next += 1;
                        next - 1
                    }
                    (false, number) => number - 1,
                };
                last = Some(place);
                let missing = || format!("%{} has no argument: it would be number {}", conversion.letter, place + 1);
                let arg = args.get(place).ok_or_else(missing)?;
                text.push_str(&conversion.apply(arg).ok_or_else(|| conversion.misfit(arg))?);
            }
        }
    }
    Ok(text)
}

fn number(letters: &mut Peekable<Chars<'_>>) -> Option<usize> {
    let mut number = None;
    while let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(10)) {
        letters.next();
        number = Some((number.unwrap_or(0) * 10 + digit as usize).min(WIDTH_MAX));
    }
    number
}

impl Conversion {
    fn parse(letters: &mut Peekable<Chars<'_>>) -> Option<Self> {
        let mut conversion = Self::default();
        let starts_with_zero = letters.peek() == Some(&'0');
        if !starts_with_zero && let Some(first) = number(letters) {
            if letters.peek() == Some(&'$') {
                letters.next();
                conversion.argument = first;
            } else {
                conversion.width = first;
                return conversion.finish(letters);
            }
        }
        while let Some(flag) = letters.peek() {
            match flag {
                '-' => conversion.left = true,
                '+' => conversion.plus = true,
                ' ' => conversion.space = true,
                '0' => conversion.zeros = true,
                ',' => conversion.grouped = true,
                '(' => conversion.in_parentheses = true,
                '#' => conversion.alternate = true,
                '<' => conversion.again = true,
                _ => break,
            }
            letters.next();
        }
        conversion.width = number(letters).unwrap_or(0);
        conversion.finish(letters)
    }

    /// Reads the precision and the letter.
    fn finish(mut self, letters: &mut Peekable<Chars<'_>>) -> Option<Self> {
        if letters.peek() == Some(&'.') {
            letters.next();
            self.precision = Some(number(letters)?);
        }
        self.letter = letters.next()?;
        Some(self)
    }

    fn apply(&self, arg: &Value) -> Option<String> {
        let text = match self.letter {
            's' | 'S' | 'b' | 'B' => {
                let text = if self.letter.eq_ignore_ascii_case(&'s') { java_text(arg) } else { truth(arg) };
                self.pad(text.chars().take(self.precision.unwrap_or(usize::MAX)).collect())
            }
            'f' | 'e' | 'E' | 'g' | 'G' => self.number(arg.as_f64()?),
            _ => return None,
        };
        Some(if self.letter.is_uppercase() { text.to_uppercase() } else { text })
    }

    /// Explains why an argument does not fit; where Java has words for that, they come first.
    fn misfit(&self, arg: &Value) -> String {
        match self.letter {
            letter @ ('d' | 'x' | 'X' | 'o') if arg.as_f64().is_some() => {
                format!("{letter} != java.lang.Double: numbers are doubles; write %.0f for whole ones")
            }
            letter @ ('d' | 'x' | 'X' | 'o' | 'f' | 'e' | 'E' | 'g' | 'G') => {
                format!("%{letter} is for numbers, and {arg} is none; %s writes anything")
            }
            letter => format!("%{letter} is no conversion: write %s for anything, %.2f or %.0f for numbers"),
        }
    }

    fn number(&self, n: f64) -> String {
        let negative = n.is_sign_negative() && !n.is_nan();
        let size = n.abs();
        let precision = self.precision.unwrap_or(6);
        let digits = if n.is_nan() {
            "NaN".to_owned()
        } else if n.is_infinite() {
            "Infinity".to_owned()
        } else {
            match self.letter {
                'f' => self.group(Decimal::new(size).fixed(precision)),
                'e' | 'E' => Decimal::new(size).scientific(precision),
                _ => self.general(size, precision.max(1)),
            }
        };
        let (before, after) = match negative {
            true if self.in_parentheses => ("(", ")"),
            true => ("-", ""),
            false if self.plus => ("+", ""),
            false if self.space => (" ", ""),
            false => ("", ""),
        };
        let missing = self.width.saturating_sub(before.len() + digits.len() + after.len());
        if self.zeros && n.is_finite() && !self.left {
            return format!("{before}{}{digits}{after}", "0".repeat(missing));
        }
        self.pad(format!("{before}{digits}{after}"))
    }

    /// Formats `%g`: in full unless the number is tiny or large, otherwise with an exponent.
    fn general(&self, size: f64, precision: usize) -> String {
        if size == 0.0 {
            return self.group(Decimal::new(size).fixed(precision - 1));
        }
        let rounded = Decimal::new(size).rounded(precision);
        let exponent = rounded.exponent;
        if (-4..precision as i32).contains(&exponent) {
            let places = (precision as i32 - 1 - exponent).max(0) as usize;
            return self.group(Decimal::new(size).fixed(places));
        }
        Decimal::new(size).scientific(precision - 1)
    }

    fn group(&self, digits: String) -> String {
        if !self.grouped {
            return digits;
        }
        let (whole, fraction) = digits.split_once('.').map_or((digits.as_str(), None), |(w, f)| (w, Some(f)));
        let mut grouped = String::new();
        for (place, digit) in whole.chars().enumerate() {
            if place > 0 && (whole.len() - place) % 3 == 0 {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        match fraction {
            Some(fraction) => format!("{grouped}.{fraction}"),
            None => grouped,
        }
    }

    fn pad(&self, text: String) -> String {
        let missing = " ".repeat(self.width.saturating_sub(text.chars().count()));
        if self.left { text + &missing } else { missing + &text }
    }
}

fn truth(value: &Value) -> String {
    (*value != Value::Bool(false)).to_string()
}

/// Returns the text that Java prints for an argument: numbers are doubles, lists have spaces.
fn java_text(value: &Value) -> String {
    match value {
        Value::Num(n) => java_double(*n),
        list if list.is_list() => {
            let items: Vec<String> = list.items().map(|item| text_of(item).into_owned()).collect();
            format!("[{}]", items.join(", "))
        }
        other => text_of(other).into_owned(),
    }
}

/// Formats a number as Java's `Double.toString` does, `1.0` for an integer.
fn java_double(n: f64) -> String {
    if n.is_finite() && n.fract() == 0.0 {
        return if n.abs() < 1e7 { format!("{n:.1}") } else { exponent_form(n) };
    }
    Value::Num(n).to_string()
}

fn exponent_form(n: f64) -> String {
    let written = format!("{n:e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    format!("{digits}{point}E{exponent}")
}

/// Shortest digits that identify a positive double: `0.d1d2d3.. * 10^(exponent + 1)`. Java rounds these digits, half
/// away from zero, rather than the double's exact value.
struct Decimal {
    digits: Vec<u8>,
    exponent: i32,
}

impl Decimal {
    fn new(size: f64) -> Self {
        let written = format!("{size:e}");
        let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
        let digits = digits.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
        Self { digits, exponent: exponent.parse().unwrap_or(0) }
    }

    /// Rounds to the first `count` digits.
    fn rounded(mut self, count: usize) -> Self {
        let up = self.digits.get(count).is_some_and(|digit| *digit >= 5);
        self.digits.truncate(count);
        if up {
            for digit in self.digits.iter_mut().rev() {
                if *digit < 9 {
                    *digit += 1;
                    return self;
                }
                *digit = 0;
            }
            self.digits.insert(0, 1);
            self.digits.truncate(count.max(1));
            self.exponent += 1;
        }
        self
    }

    fn digit(&self, place: i32) -> char {
        let digit = usize::try_from(place).ok().and_then(|place| self.digits.get(place));
        char::from(digit.copied().unwrap_or(0) + b'0')
    }

    /// Formats in full, with `places` digits after the point.
    fn fixed(self, places: usize) -> String {
        let count = self.exponent + 1 + places as i32;
        if count < 0 {
            return Self { digits: Vec::new(), exponent: 0 }.fixed(places);
        }
        let rounded = self.rounded(count as usize);
        let last_whole = rounded.exponent.max(0);
        let first = rounded.exponent;
        let whole = (0..=last_whole).map(|i| rounded.digit(first - last_whole + i));
        let fraction = (0..places as i32).map(|i| rounded.digit(first + 1 + i));
        let whole: String = whole.collect();
        if places == 0 { whole } else { format!("{whole}.{}", fraction.collect::<String>()) }
    }

    /// Formats with one digit, a point, `places` digits, and the exponent with at least two digits.
    fn scientific(self, places: usize) -> String {
        let rounded = self.rounded(places + 1);
        let fraction: String = (1..=places as i32).map(|place| rounded.digit(place)).collect();
        let point = if places == 0 { "" } else { "." };
        let sign = if rounded.exponent < 0 { '-' } else { '+' };
        format!("{}{point}{fraction}e{sign}{:02}", rounded.digit(0), rounded.exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str, args: &[f64]) -> String {
        let args: Vec<Value> = args.iter().map(|n| Value::Num(*n)).collect();
        format(text, &args).unwrap_or_else(|why| why)
    }

    #[test]
    fn numbers_are_formatted_as_in_java() {
        let text = "%5.1f|%-8.3f|%+.0f|%08.2f|%,.2f|%(.1f";
        let args = [1.25, 2.0, 3.5, -4.125, 1_234_567.891, -2.5];
        assert_eq!(numbers(text, &args), "  1.3|2.000   |+4|-0004.13|1,234,567.89|(2.5)");
        let args = [12345.678, 0.000_123_45, 0.0001, 123_456.0];
        assert_eq!(numbers("%e|%.2E|%g|%.3g", &args), "1.234568e+04|1.23E-04|0.000100000|1.23e+05");
        let args = [0.125, 1.005, 0.25, 0.5, 1.5, 2.5, 9.996, 0.04];
        assert_eq!(numbers("%.2f %.2f %.1f %.0f %.0f %.0f %.2f %.1f", &args), "0.13 1.01 0.3 1 2 3 10.00 0.0");
        assert_eq!(
            numbers("%f %.3f %s %s", &[1e12, 0.0, 3.0, 12_345_678.0]),
            "1000000000000.000000 0.000 3.0 1.2345678E7"
        );
        let why = "d != java.lang.Double: numbers are doubles; write %.0f for whole ones";
        assert_eq!(numbers("%d", &[3.0]), why);
        assert_eq!(numbers("%.1f %.0f %e", &[99.96, 999.5, 0.0]), "100.0 1000 0.000000e+00");
    }

    #[test]
    fn texts_are_formatted_as_in_java() {
        let abc = Value::atom("abc");
        let args = [abc.clone(), abc.clone(), abc.clone(), abc, Value::atom("abcdef")];
        let ok = |text: &str| Ok(text.to_owned());
        assert_eq!(format("%s|%S|%10s|%-10s|%.2s", &args), ok("abc|ABC|       abc|abc       |ab"));
        assert_eq!(format("%2$s %1$s %<s%n%%", &[Value::atom("a"), Value::atom("b")]), ok("b a a\n%"));
        let list = Value::list([Value::Num(1.0), Value::from("a")]);
        assert_eq!(format("%s", &[list]), ok("[1, a]"));
    }

    #[test]
    fn misfits_are_explained() {
        let why = |text: &str, args: &[Value]| format(text, args).unwrap_err();
        assert_eq!(why("%s", &[]), "%s has no argument: it would be number 1");
        assert_eq!(why("%f", &[Value::atom("a")]), "%f is for numbers, and a is none; %s writes anything");
        assert!(why("%q", &[Value::atom("a")]).starts_with("%q is no conversion"));
        assert!(why("100%", &[]).starts_with("the format ends"));
        assert_eq!(why("%<s", &[Value::atom("a")]), "%< has no conversion before it");
    }
}
