//! Breakpoints of a client: lines of its files, and the nearest steps of plans.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use whimbrel_bdi::check_breakpoint;
use whimbrel_operator::{PlanSteps, SourceLines};
use whimbrel_platform::inspection::{DebuggerLine, HitCount, ProgramLine};

use super::protocol::{self, WantedBreakpoint};

/// Names of programs that a refusal lists.
const NAMED_MAX: usize = 6;

/// Breakpoint of a client.
#[derive(Clone, Debug)]
pub struct SourceBreakpoint {
    /// Number in the session.
    pub id: i64,
    /// Line that the client wanted.
    pub wanted: u32,
    /// Condition, count and text that the client wanted, or the reason why they cannot be used.
    when: Result<PauseCondition, String>,
    /// Place, and whether it is another line; or the reason why there is none.
    pub place: Result<ProgramLine, String>,
}

/// Condition, count of visits, and text to print instead of a pause.
#[derive(Clone, Debug, Default)]
struct PauseCondition {
    condition: Option<String>,
    hits: Option<HitCount>,
    log: Option<String>,
}

impl SourceBreakpoint {
    /// Returns the line at which agents are to pause, and when.
    fn line(&self) -> Option<DebuggerLine> {
        let (at, when) = (self.place.clone().ok()?, self.when.clone().ok()?);
        Some(DebuggerLine { at, condition: when.condition, hits: when.hits, log: when.log })
    }
}

impl PauseCondition {
    fn read(wanted: &WantedBreakpoint) -> Result<Self, String> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let hits = given(&wanted.hit_condition).map(|text| hit_count(&text)).transpose()?;
        let line = DebuggerLine {
            condition: given(&wanted.condition),
            hits,
            log: given(&wanted.log_message),
            ..DebuggerLine::default()
        };
        check_breakpoint(&line)?;
        Ok(Self { condition: line.condition, hits, log: line.log })
    }
}

/// Reads a count of visits, as editors let people write it: a number, perhaps behind a comparison or `%`.
fn hit_count(text: &str) -> Result<HitCount, String> {
    let (order, number) = text.trim().split_at(text.trim().find(|c: char| c.is_ascii_digit()).unwrap_or(0));
    let number: u64 = number.parse().map_err(|_| unreadable_count(text))?;
    Ok(match order.trim_end() {
        "" | "=" | "==" => HitCount::Exactly(number),
        ">=" => HitCount::AtLeast(number),
        ">" => HitCount::AtLeast(number.saturating_add(1)),
        "<=" => HitCount::AtMost(number),
        "<" => HitCount::AtMost(number.saturating_sub(1)),
        "%" if number > 0 => HitCount::Every(number),
        _ => return Err(unreadable_count(text)),
    })
}

fn unreadable_count(text: &str) -> String {
    format!("{text} is no count of visits: write 3 for the third, >= 3 from the third on, % 3 for each third")
}

/// Files of the society that is debugged, and the breakpoints in them.
#[derive(Debug, Default)]
pub struct SourceBreakpoints {
    files: Vec<SourceLines>,
    /// Breakpoints by the client's path.
    set: FxHashMap<PathBuf, Vec<SourceBreakpoint>>,
    last_id: i64,
}

impl SourceBreakpoints {
    /// Takes in the files of the nodes. Returns the breakpoints that have another place by that.
    pub fn set_files(&mut self, files: Vec<SourceLines>) -> Vec<SourceBreakpoint> {
        if files == self.files {
            return Vec::new();
        }
        self.files = files;
        let mut changed = Vec::new();
        for (path, set) in &mut self.set {
            for breakpoint in set {
                let place = place_in(&self.files, path, breakpoint.wanted);
                if place != breakpoint.place {
                    breakpoint.place = place;
                    changed.push(breakpoint.clone());
                }
            }
        }
        changed
    }

    /// Replaces the breakpoints of a file.
    pub fn set(&mut self, path: &Path, lines: &[(u32, WantedBreakpoint)]) -> Vec<SourceBreakpoint> {
        let mut set = Vec::new();
        for (line, wanted) in lines {
            self.last_id += 1;
            let (when, place) = (PauseCondition::read(wanted), place_in(&self.files, path, *line));
            set.push(SourceBreakpoint { id: self.last_id, wanted: *line, when, place });
        }
        self.set.insert(path.to_owned(), set.clone());
        set
    }

    /// Returns the lines at which agents are to pause.
    pub fn lines(&self) -> Vec<DebuggerLine> {
        let mut lines: Vec<DebuggerLine> = self.set.values().flatten().filter_map(SourceBreakpoint::line).collect();
        lines.sort_by(|one, other| (&one.at.file, one.at.line).cmp(&(&other.at.file, other.at.line)));
        lines.dedup();
        lines
    }

    /// Returns true if a breakpoint has no place yet.
    pub fn has_unplaced(&self) -> bool {
        self.set.values().flatten().any(|breakpoint| breakpoint.place.is_err())
    }

    /// Returns the numbers of the breakpoints at a place, without log points.
    pub fn ids_at(&self, file: &str, line: u32) -> Vec<i64> {
        let is_there = |place: &ProgramLine| place.file == file && place.line == line;
        let all = self.set.values().flatten();
        let mut ids: Vec<i64> = all
            .filter(|it| it.line().is_some_and(|line| line.log.is_none() && is_there(&line.at)))
            .map(|breakpoint| breakpoint.id)
            .collect();
        ids.sort_unstable();
        ids
    }

    /// Returns a file as clients know it.
    pub fn source(&self, file: &str) -> Value {
        let name = Path::new(file).file_name().map_or_else(|| file.into(), |name| name.to_string_lossy());
        match self.files.iter().find(|known| known.file == file).and_then(|known| known.path.as_ref()) {
            Some(path) => json!({ "name": name, "path": path }),
            None => json!({ "name": name, "presentationHint": "deemphasize" }),
        }
    }

    /// Returns true for a file of the society, false for one with plans that every agent has.
    pub fn knows(&self, file: &str) -> bool {
        self.files.iter().any(|known| known.file == file)
    }

    /// Returns a breakpoint as clients know it. `offset` is added to lines.
    pub fn shown(&self, breakpoint: &SourceBreakpoint, offset: i64) -> Value {
        let SourceBreakpoint { id, wanted, when, place } = breakpoint;
        match when.as_ref().and(place.as_ref()).map_err(|why| when.as_ref().err().unwrap_or(why)) {
            Ok(ProgramLine { file, line }) => {
                let mut shown = json!({
                    "id": id, "verified": true, "line": i64::from(*line) + offset, "source": self.source(file),
                });
                if line != wanted {
                    let message = format!("no step begins in line {wanted}: moved to line {line}");
                    protocol::set(&mut shown, "message", json!(message));
                }
                shown
            }
            Err(why) => json!({ "id": id, "verified": false, "line": i64::from(*wanted) + offset, "message": why }),
        }
    }
}

/// Returns the place of a breakpoint: the nearest step.
fn place_in(files: &[SourceLines], path: &Path, line: u32) -> Result<ProgramLine, String> {
    let shown = path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_it = |file: &&SourceLines| match &file.path {
        Some(known) => Path::new(known) == whole,
        None => path.ends_with(&file.file),
    };
    let Some(file) = files.iter().find(is_it) else {
        let names: Vec<&str> = files.iter().map(|file| file.file.as_str()).map(short).collect();
        let more = names.len().saturating_sub(NAMED_MAX);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let names = names.get(..names.len().min(NAMED_MAX)).unwrap_or_default().join(", ");
        let those = if names.is_empty() {
            "it has no AgentSpeak program".to_owned()
        } else {
            format!("its programs: {names}{more}")
        };
        return Err(format!("no agent of this society runs {shown}; {those}"));
    };
    let found = nearest_step(&file.plans, line)
        .ok_or_else(|| format!("no plan of {shown} has a step in line {line} or after it"))?;
    Ok(ProgramLine { file: file.file.clone(), line: found })
}

fn short(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// Returns the line of the step that is nearest to a line: in its plan the next one, or else the last one; between
/// plans the first one of the next plan.
fn nearest_step(plans: &[PlanSteps], line: u32) -> Option<u32> {
    let around = plans.iter().filter(|plan| plan.line <= line).max_by_key(|plan| plan.line);
    let within = around.filter(|plan| plan.steps.last().is_some_and(|last| line <= *last));
    let next = |steps: &[u32]| steps.iter().copied().find(|step| *step >= line);
    let in_plan = within.and_then(|plan| next(&plan.steps));
    in_plan.or_else(|| plans.iter().filter_map(|plan| next(&plan.steps)).min())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breakpoints_move_to_steps() {
        let plan = |line: u32, steps: &[u32]| PlanSteps { line, steps: steps.to_vec() };
        let plans = [plan(3, &[4, 7]), plan(9, &[9]), plan(12, &[]), plan(14, &[15])];
        for (line, found) in [
            (1, Some(4)),
            (3, Some(4)),
            (5, Some(7)),
            (7, Some(7)),
            (8, Some(9)),
            (10, Some(15)),
            (12, Some(15)),
            (16, None),
        ] {
            assert_eq!(nearest_step(&plans, line), found, "{line}");
        }
    }

    #[test]
    fn strange_files_are_explained() {
        let file =
            SourceLines { file: "src/bob.asl".to_owned(), path: Some("/x/src/bob.asl".to_owned()), plans: vec![] };
        let mut breakpoints = SourceBreakpoints::default();
        breakpoints.set_files(vec![file]);
        let at = |line| [(line, WantedBreakpoint::default())];
        let set = breakpoints.set(Path::new("/x/amy.asl"), &at(1));
        let shown = breakpoints.shown(&set[0], 0);
        assert_eq!(shown["verified"], false);
        assert_eq!(shown["message"], "no agent of this society runs amy.asl; its programs: bob.asl");
        let set = breakpoints.set(Path::new("/x/src/bob.asl"), &at(7));
        assert_eq!(set[0].place, Err("no plan of bob.asl has a step in line 7 or after it".to_owned()));
    }

    #[test]
    fn counts_are_read_as_written() {
        for (text, expected) in [
            ("3", HitCount::Exactly(3)),
            (" == 3", HitCount::Exactly(3)),
            (">= 3", HitCount::AtLeast(3)),
            (">3", HitCount::AtLeast(4)),
            ("<= 3", HitCount::AtMost(3)),
            ("< 3", HitCount::AtMost(2)),
            ("%3", HitCount::Every(3)),
        ] {
            assert_eq!(hit_count(text), Ok(expected), "{text}");
        }
        for text in ["", "three", "3 times", "~3", "%0", "-3"] {
            assert!(hit_count(text).is_err_and(|why| why.contains("no count of visits")), "{text}");
        }
    }
}
