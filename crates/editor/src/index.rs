//! Names in the programs of a society: what stands at a place, where it is defined, where else it occurs.

use rustc_hash::FxHashSet;
use whimbrel_acl::{Symbol, Text};
use whimbrel_bdi::syntax::ast::{Literal, Plan, Rule, Span, TriggerKind, TriggerOp, Variable};
use whimbrel_bdi::syntax::{Tok, tokens};
use whimbrel_platform::limits;

use crate::society::{LiteralRole, MemberProgram, NameOccurrence, SocietyText, TreeVisitor, walk_plan, walk_rule};

/// Meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameMeaning {
    /// Belief, goal, action or other literal.
    Literal {
        /// Name.
        functor: Symbol,
        /// Number of arguments.
        arity: usize,
        /// Role.
        role: LiteralRole,
    },
    /// Internal action or function.
    Action(Symbol),
    /// Variable.
    Variable(Symbol),
}

/// Name at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameSite {
    /// Meaning of the name.
    pub meaning: NameMeaning,
    /// Place of the name alone.
    pub span: Span,
}

/// Place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FilePlace {
    /// File.
    pub file: Text,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl FilePlace {
    /// Makes the place of a span.
    pub fn new(file: &Text, span: Span) -> Self {
        Self { file: file.clone(), start: span.start, end: span.end }
    }

    /// Returns the place as a span, without its line.
    pub fn span(&self) -> Span {
        Span { start: self.start, end: self.end, line: 0 }
    }
}

/// Returns the programs that a file is or is included in.
pub fn programs_of<'a>(society: &'a SocietyText, file: &'a str) -> impl Iterator<Item = &'a MemberProgram> {
    society.programs.iter().filter(move |program| has_file(program, file))
}

fn has_file(program: &MemberProgram, file: &str) -> bool {
    program.file.as_str() == file
        || program.occurrences.literals.iter().any(|found| found.file.as_str() == file)
        || program.occurrences.calls.iter().any(|call| call.file.as_str() == file)
}

/// Finds the name at a byte of a file.
pub fn site_at(society: &SocietyText, file: &str, byte: usize) -> Option<NameSite> {
    let text = society.texts.get(file)?;
    let is_at = |span: Span| span.start as usize <= byte && byte <= span.end as usize;
    let program = programs_of(society, file).next()?;
    let found = &program.occurrences;
    let literals = found.literals.iter().filter(|found| found.file.as_str() == file && is_at(found.span));
    let literals = literals.filter_map(|found| {
        let span = name_span(text, found.span, found.functor.as_str())?;
        let NameOccurrence { functor, arity, role, .. } = *found;
        Some(NameSite { meaning: NameMeaning::Literal { functor, arity, role }, span })
    });
    let calls = found.calls.iter().filter(|call| call.file.as_str() == file && is_at(call.span));
    let calls = calls.filter_map(|call| {
        let span = name_span(text, call.span, call.name.as_str())?;
        Some(NameSite { meaning: NameMeaning::Action(call.name), span })
    });
    let variables = variables_at(program, file, byte).into_iter().filter_map(|(name, span)| {
        let span = name_span(text, span, name.as_str())?;
        Some(NameSite { meaning: NameMeaning::Variable(name), span })
    });
    let sites = literals.chain(calls).chain(variables).filter(|site| is_at(site.span));
    sites.min_by_key(|site| site.span.end - site.span.start)
}

/// Returns the place of a name within that of its literal: it may stand behind a namespace and a negation.
pub fn name_span(text: &str, span: Span, name: &str) -> Option<Span> {
    let whole = text.get(span.start as usize..span.end as usize)?;
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = 0;
    while let Some(found) = whole.get(from..).and_then(|rest| rest.find(name)) {
        let (start, end) = (from + found, from + found + name.len());
        let before = whole.get(..start).and_then(|before| before.chars().next_back());
        let after = whole.get(end..).unwrap_or_default();
        let is_whole = !before.is_some_and(is_part) && !after.chars().next().is_some_and(is_part);
        // The namespace before `::` may have the same name.
        if is_whole && !after.trim_start().starts_with("::") {
            return Some(Span { start: span.start + start as u32, end: span.start + end as u32, line: span.line });
        }
        from = end;
    }
    None
}

/// Variables of a clause with their places.
#[derive(Default)]
struct Variables(Vec<(Symbol, Span)>);

impl<'a> TreeVisitor<'a> for Variables {
    fn literal(&mut self, _literal: &'a Literal, _role: LiteralRole) {}

    fn variable(&mut self, variable: &'a Variable, _role: LiteralRole, _is_operand: bool) {
        self.0.push((variable.name, variable.span));
    }
}

/// Returns the variables of the clause at a byte of a file.
fn variables_at(program: &MemberProgram, file: &str, byte: usize) -> Vec<(Symbol, Span)> {
    let is_here =
        |of: &Text, span: Span| of.as_str() == file && span.start as usize <= byte && byte <= span.end as usize;
    let mut variables = Variables::default();
    let plans = program.program.plans.iter();
    plans.filter(|plan: &&Plan| is_here(&plan.file, plan.span)).for_each(|plan| walk_plan(plan, &mut variables));
    let rules = program.program.beliefs.iter();
    rules.filter(|rule: &&Rule| is_here(&rule.file, rule.span)).for_each(|rule| walk_rule(rule, &mut variables));
    variables.0
}

/// Returns where a name is defined: plans for goals, facts and rules for beliefs, otherwise where beliefs are added.
/// The file's own program comes first.
pub fn definitions(society: &SocietyText, file: &str, site: &NameSite) -> Vec<FilePlace> {
    match site.meaning {
        NameMeaning::Action(_) => Vec::new(),
        NameMeaning::Variable(_) => occurrences(society, file, site).into_iter().take(1).collect(),
        NameMeaning::Literal { functor, arity, .. } => {
            let is_name = |found: &&NameOccurrence| found.functor == functor && found.arity == arity;
            for is_definition in [is_main_definition, is_other_definition] {
                let own: Vec<FilePlace> = programs_of(society, file)
                    .flat_map(|program| places(society, program, |found| is_name(&found) && is_definition(found)))
                    .collect();
                if !own.is_empty() {
                    return unique(own);
                }
            }
            if let Some(program) = society.agents.get(&functor).filter(|program| arity == 0 && !program.is_empty()) {
                return vec![FilePlace { file: program.clone(), start: 0, end: 0 }];
            }
            let all = society
                .programs
                .iter()
                .flat_map(|program| places(society, program, |found| is_name(&found) && is_main_definition(found)));
            unique(all.collect())
        }
    }
}

fn is_main_definition(found: &NameOccurrence) -> bool {
    let is_goal = |kind: TriggerKind| kind != TriggerKind::Belief;
    match found.role {
        LiteralRole::Fact | LiteralRole::Head | LiteralRole::Label => true,
        LiteralRole::Trigger(TriggerOp::Add, kind) => is_goal(kind),
        _ => false,
    }
}

fn is_other_definition(found: &NameOccurrence) -> bool {
    matches!(found.role, LiteralRole::Add | LiteralRole::Replace | LiteralRole::Trigger(..))
}

/// Returns all places of the name at `site`: of a variable in its clause, of other names in the society.
pub fn occurrences(society: &SocietyText, file: &str, site: &NameSite) -> Vec<FilePlace> {
    match site.meaning {
        NameMeaning::Variable(name) => {
            let Some((text, program)) = society.texts.get(file).zip(programs_of(society, file).next()) else {
                return Vec::new();
            };
            let variables = variables_at(program, file, site.span.start as usize);
            let same = variables.into_iter().filter(|(other, _)| *other == name);
            let spans = same.filter_map(|(_, span)| name_span(text, span, name.as_str()));
            unique(spans.map(|span| FilePlace { file: Text::from(file), start: span.start, end: span.end }).collect())
        }
        NameMeaning::Literal { functor, arity, role } => {
            let is_label = role == LiteralRole::Label;
            let is_same = |found: &NameOccurrence| {
                found.functor == functor && found.arity == arity && (is_label || found.role != LiteralRole::Label)
            };
            unique(society.programs.iter().flat_map(|program| places(society, program, is_same)).collect())
        }
        NameMeaning::Action(name) => {
            let calls = society.programs.iter().flat_map(|program| &program.occurrences.calls);
            let spans = calls.filter(|call| call.name == name).filter_map(|call| {
                let text = society.texts.get(&call.file)?;
                Some(FilePlace::new(&call.file, name_span(text, call.span, name.as_str())?))
            });
            unique(spans.collect())
        }
    }
}

/// Returns the places of a program's literals that `is_wanted` selects.
fn places(
    society: &SocietyText,
    program: &MemberProgram,
    is_wanted: impl Fn(&NameOccurrence) -> bool,
) -> Vec<FilePlace> {
    let found = program.occurrences.literals.iter().filter(|found| is_wanted(found));
    let place = |found: &NameOccurrence| {
        let text = society.texts.get(&found.file)?;
        Some(FilePlace::new(&found.file, name_span(text, found.span, found.functor.as_str())?))
    };
    found.filter_map(place).collect()
}

/// Removes repetitions, which come from files that several programs include and from goal patterns.
fn unique(places: Vec<FilePlace>) -> Vec<FilePlace> {
    let mut seen = FxHashSet::default();
    places.into_iter().filter(|place| seen.insert(place.clone())).take(limits::EDITOR_PLACES_MAX).collect()
}

/// Returns true if `name` can replace the name at `site`.
pub fn is_name_for(site: &NameSite, name: &str) -> bool {
    let (found, faults) = tokens(name, &Text::new());
    let kinds: Vec<Tok> = found.iter().map(|token| token.kind).collect();
    let is_whole = faults.is_empty() && found.first().is_some_and(|token| token.span.end as usize == name.len());
    match site.meaning {
        NameMeaning::Variable(_) => is_whole && kinds == [Tok::Var, Tok::Eof],
        NameMeaning::Literal { .. } => {
            let has_dot = name.contains('.') && !name.starts_with('\'');
            is_whole && kinds == [Tok::Atom, Tok::Eof] && !has_dot
        }
        NameMeaning::Action(_) => false,
    }
}
