//! Breakpoints of connected debuggers: with conditions, counts of visits, and texts to print instead of a pause.

use whimbrel_acl::{Symbol, Value, Var};
use whimbrel_platform::inspection::DebuggerLine;
use whimbrel_platform::limits::INSTRUCTION_BYTES_MAX;

use crate::syntax::ast::Term;
use crate::syntax::{self, quote};

/// Variable that takes the value of a term.
const VALUE: &str = "Value_of_log_point";

/// Breakpoint of a debugger.
#[derive(Debug)]
pub(crate) struct DebuggerBreakpoint {
    line: DebuggerLine,
    condition: Option<DebuggerFormula>,
    log: Option<Vec<LogPart>>,
    /// Number of visits at which the condition held.
    visits: u64,
}

/// Formula that is evaluated with the variables of a plan.
#[derive(Debug)]
pub(crate) struct DebuggerFormula(Term);

/// Part of the text of a log point.
#[derive(Debug)]
enum LogPart {
    Text(String),
    /// Term, as it is written, and the formula that gives its value to a variable.
    Term(String, DebuggerFormula),
}

/// Outcome of a visit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BreakpointVisit {
    /// The agent continues.
    Passed,
    /// The agent continues, and prints this.
    Log(String),
    /// The agent pauses.
    Pause,
    /// The agent pauses, because its condition cannot be evaluated for this reason.
    Fault(String),
}

/// Prover of formulas with the variables of a plan.
pub(crate) trait PlanFormulas {
    /// Proves a formula. Returns the value that its first solution gives to `variable`, `true` without a variable, and
    /// `None` if the formula does not hold.
    ///
    /// # Errors
    /// The proof was given up; contains the reason.
    fn prove(&self, formula: &DebuggerFormula, variable: Option<Symbol>) -> Result<Option<Value>, String>;
}

/// Checks the condition and the text of a debugger's breakpoint.
///
/// # Errors
/// One of them cannot be read; contains the reason.
pub fn check_breakpoint(line: &DebuggerLine) -> Result<(), String> {
    DebuggerBreakpoint::new(line).map(drop)
}

impl DebuggerBreakpoint {
    /// Makes a breakpoint that was not visited.
    ///
    /// # Errors
    /// The condition or the text of the line cannot be read; contains the reason.
    pub fn new(line: &DebuggerLine) -> Result<Self, String> {
        let condition = line.condition.as_deref().map(|text| formula(text, "formula", text)).transpose()?;
        let log = line.log.as_deref().map(log_parts).transpose()?;
        Ok(Self { line: line.clone(), condition, log, visits: 0 })
    }

    pub fn line(&self) -> &DebuggerLine {
        &self.line
    }

    pub fn is_at(&self, file: &str, line: u32) -> bool {
        self.line.at.line == line && self.line.at.file == file
    }

    /// Counts a visit.
    pub fn visit(&mut self, formulas: &dyn PlanFormulas) -> BreakpointVisit {
        match self.condition.as_ref().map(|condition| formulas.prove(condition, None)) {
            Some(Ok(None)) => return BreakpointVisit::Passed,
            Some(Err(why)) => return BreakpointVisit::Fault(why),
            Some(Ok(Some(_))) | None => {}
        }
        self.visits += 1;
        match &self.log {
            _ if !self.line.hits.is_none_or(|hits| hits.counts(self.visits)) => BreakpointVisit::Passed,
            Some(parts) => BreakpointVisit::Log(parts.iter().map(|part| part.text(formulas)).collect()),
            None => BreakpointVisit::Pause,
        }
    }
}

impl DebuggerFormula {
    /// Quotes the formula; `var` gives the slot of each variable.
    pub fn quote(&self, var: &mut dyn FnMut(Symbol) -> Var) -> Value {
        quote::quote(&self.0, var)
    }
}

impl LogPart {
    fn text(&self, formulas: &dyn PlanFormulas) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Term(written, term) => match formulas.prove(term, Some(Symbol::new(VALUE))) {
                Ok(Some(Value::Str(text))) => text.to_string(),
                Ok(Some(Value::Var(_))) => written.trim().to_owned(),
                Ok(Some(value)) => value.to_string(),
                Ok(None) => format!("{{{written}}}"),
                Err(why) => format!("{{{written}: {why}}}"),
            },
        }
    }
}

/// Parses a formula that a person wrote as `shown`.
fn formula(text: &str, what: &str, shown: &str) -> Result<DebuggerFormula, String> {
    if text.len() > INSTRUCTION_BYTES_MAX {
        return Err(format!("a {what} of {} bytes: at most {INSTRUCTION_BYTES_MAX}", text.len()));
    }
    let why = |faults: Vec<syntax::Diagnostic>| faults.first().map(|fault| fault.message.clone()).unwrap_or_default();
    let parsed =
        syntax::parse_formula(text.trim()).map_err(|faults| format!("{shown} is no {what}: {}", why(faults)))?;
    Ok(DebuggerFormula(parsed))
}

/// Parses the text of a log point: text, and terms in braces.
fn log_parts(text: &str) -> Result<Vec<LogPart>, String> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let (term, after) = after.split_once('}').ok_or_else(|| format!("a {{ without }} in {text:?}"))?;
        let asked = format!("{VALUE} = ({term})");
        parts
            .extend([LogPart::Text(before.to_owned()), LogPart::Term(term.to_owned(), formula(&asked, "term", term)?)]);
        rest = after;
    }
    parts.push(LogPart::Text(rest.to_owned()));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_platform::inspection::HitCount;

    /// Formulas of which all hold but `fail`, with the value 7.
    struct Sevens;

    impl PlanFormulas for Sevens {
        fn prove(&self, formula: &DebuggerFormula, _: Option<Symbol>) -> Result<Option<Value>, String> {
            match formula.quote(&mut |name| Var { slot: 0, name }).to_string().as_str() {
                "deep" => Err("too deep".to_owned()),
                text => Ok((text != "fail").then_some(Value::Num(7.0))),
            }
        }
    }

    fn line(condition: Option<&str>, hits: Option<HitCount>, log: Option<&str>) -> DebuggerLine {
        let text = |text: &str| text.to_owned();
        DebuggerLine { condition: condition.map(text), hits, log: log.map(text), ..DebuggerLine::default() }
    }

    #[test]
    fn visits_that_count_pause() {
        let pauses = |hits| {
            let mut breakpoint = DebuggerBreakpoint::new(&line(None, Some(hits), None)).unwrap();
            let visits = (1..=6).filter(|_| breakpoint.visit(&Sevens) == BreakpointVisit::Pause);
            visits.collect::<Vec<i32>>()
        };
        assert_eq!(pauses(HitCount::Exactly(2)), [2]);
        assert_eq!(pauses(HitCount::AtLeast(5)), [5, 6]);
        assert_eq!(pauses(HitCount::AtMost(2)), [1, 2]);
        assert_eq!(pauses(HitCount::Every(3)), [3, 6]);
        assert!(pauses(HitCount::Every(0)).is_empty());
    }

    #[test]
    fn failed_condition_counts_nothing() {
        let visit = |line: &DebuggerLine| DebuggerBreakpoint::new(line).unwrap().visit(&Sevens);
        assert_eq!(visit(&line(Some("fail"), Some(HitCount::AtLeast(0)), None)), BreakpointVisit::Passed);
        assert_eq!(visit(&line(Some("open"), None, None)), BreakpointVisit::Pause);
        assert_eq!(visit(&line(Some("deep"), None, None)), BreakpointVisit::Fault("too deep".to_owned()));
        let log = line(Some("open"), None, Some("N is {N}, {M}."));
        assert_eq!(visit(&log), BreakpointVisit::Log("N is 7, 7.".to_owned()));
    }

    #[test]
    fn unreadable_breakpoint_is_refused() {
        let refused = |line: &DebuggerLine| check_breakpoint(line).unwrap_err();
        assert!(refused(&line(Some("open("), None, None)).starts_with("open( is no formula: "));
        assert!(refused(&line(None, None, Some("{open(}"))).starts_with("open( is no term: "));
        assert_eq!(refused(&line(None, None, Some("{N"))), r#"a { without } in "{N""#);
        assert!(refused(&line(Some(&"a".repeat(5_000)), None, None)).contains("at most 4000"));
    }
}
