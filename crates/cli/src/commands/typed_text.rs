//! AgentSpeak that a person types: faults shown in it, and its variables found in answers.

use whimbrel_acl::Value;
use whimbrel_bdi::syntax::{Diagnostic, render};
use whimbrel_operator::VariableValue;
use whimbrel_terminal as terminal;

/// Shows what is wrong with the part of a typed line that begins at this byte, with the whole line.
pub fn show_faults(line: &str, begin: usize, faults: Vec<Diagnostic>) {
    let color = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    for mut fault in faults {
        fault.file = "line".into();
        fault.span.start = fault.span.start.saturating_add(begin as u32);
        fault.span.end = fault.span.end.saturating_add(begin as u32);
        terminal::say_line(&render(&fault, line, color));
    }
}

/// Returns the values of a question's variables, if an answer matches the question. Annotations do not count.
pub fn variables_of(question: &Value, answer: &Value) -> Option<Vec<VariableValue>> {
    let mut found = Vec::new();
    matches(question, answer, &mut found).then(|| {
        let shown = found.into_iter().filter(|(name, _): &(String, Value)| !name.starts_with('_'));
        shown.map(|(name, value)| VariableValue { name, value: value.to_string() }).collect()
    })
}

fn matches(question: &Value, answer: &Value, found: &mut Vec<(String, Value)>) -> bool {
    if let Value::Var(variable) = question {
        let name = variable.name.as_str();
        if name.starts_with('_') {
            return true;
        }
        if let Some((_, known)) = found.iter().find(|(other, _)| other == name) {
            return known == answer;
        }
        found.push((name.to_owned(), answer.clone()));
        return true;
    }
    if question.is_list() && answer.is_list() {
        let (wanted, given): (Vec<&Value>, Vec<&Value>) = (question.items().collect(), answer.items().collect());
        let all = wanted.iter().zip(&given).all(|(wanted, given)| matches(wanted, given, found));
        return wanted.len() == given.len() && all;
    }
    let is_same = match (question, answer) {
        (Value::Term(_), Value::Term(_)) => question.functor() == answer.functor(),
        _ => return question == answer || (question.functor().is_some() && question.functor() == answer.functor()),
    };
    let (wanted, given) = (question.args(), answer.args());
    is_same
        && wanted.len() == given.len()
        && wanted.iter().zip(given).all(|(wanted, given)| matches(wanted, given, found))
}

/// Returns the value of a term's text, if it is one.
pub fn value_in(text: &str) -> Option<Value> {
    whimbrel_bdi::syntax::parse_term(text).ok().map(|term| whimbrel::options::value_of(&term))
}
