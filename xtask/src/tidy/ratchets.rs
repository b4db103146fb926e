//! Ratchets: the largest value that each figure of the repository may have, in `xtask/ratchets.toml`. They only fall.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Finding;
use super::figures::{Figure, Tenths, all};
use crate::repo::Repo;

const FILE: &str = "xtask/ratchets.toml";
/// Places that are shown of a figure that is too high.
const SHOWN_MAX: usize = 10;
/// Part of a ratchet that a figure may be lower by before the ratchet is to be tightened: one of so many.
const SLACK: u64 = 50;
const HEAD: &str = "\
# Largest value that each figure of the repository may have. `cargo xtask tidy` fails if a figure is higher,
# `cargo xtask tidy --figures` shows all, and `cargo xtask tidy --tighten` lowers these values to the present ones.
# No value ever rises.
";

/// Figures of the repository, with what is allowed of each.
pub struct Ratchets {
    figures: Vec<(Figure, Option<Tenths>)>,
    /// Lines of the file that say nothing of any figure.
    strange: Vec<Finding>,
}

impl Ratchets {
    /// Measures the repository.
    pub fn of(repo: &Repo) -> Self {
        // A test's repository has no such file, and no figures then.
        let Some(text) = repo.text(FILE) else { return Self { figures: Vec::new(), strange: Vec::new() } };
        Self::compare(all(repo), text)
    }

    fn compare(figures: Vec<Figure>, text: &str) -> Self {
        let (mut allowed, mut strange) = (BTreeMap::new(), Vec::new());
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let entry = line.split_once(" = ").and_then(|(name, value)| Some((name, Tenths::read(value)?)));
            match entry.filter(|(name, _)| figures.iter().any(|figure| figure.name == *name)) {
                Some((name, value)) => {
                    allowed.insert(name, value);
                }
                None => strange.push(Finding::new(FILE, index + 1, format!("`{line}` is no figure's: delete it"))),
            }
        }
        let with_ratchet = |figure: Figure| {
            let ratchet = allowed.get(figure.name).copied();
            (figure, ratchet)
        };
        Self { figures: figures.into_iter().map(with_ratchet).collect(), strange }
    }

    /// Returns the figures that are too high, with the places first that are new since the file was written.
    pub fn findings(&self, repo: &Repo) -> Vec<Finding> {
        let is_high =
            |(figure, allowed): &(Figure, Option<Tenths>)| allowed.is_some_and(|allowed| figure.now > allowed);
        let before = if self.figures.iter().any(is_high) { repo.before(FILE) } else { Ok(Repo::default()) };
        self.compared(&before.map(|before| all(&before)).unwrap_or_default())
    }

    fn compared(&self, before: &[Figure]) -> Vec<Finding> {
        let mut findings = self.strange.clone();
        for (figure, allowed) in &self.figures {
            let message = match allowed {
                None => format!("no ratchet for {}: run cargo xtask tidy --tighten", figure.name),
                Some(allowed) if figure.now > *allowed => {
                    let Figure { title, now, advice, .. } = figure;
                    format!("{title}: {now}, allowed {allowed}: {advice}{}", places(figure, before))
                }
                Some(_) => continue,
            };
            findings.push(Finding::new(FILE, 0, message));
        }
        findings
    }

    /// Returns a line for each ratchet that could be lowered by more than a little.
    pub fn slack(&self) -> Vec<String> {
        let is_loose = |now: Tenths, allowed: Tenths| now < allowed && (allowed.0 - now.0) * SLACK > allowed.0;
        let loose = self.figures.iter().filter_map(|(figure, allowed)| {
            let allowed = allowed.filter(|allowed| is_loose(figure.now, *allowed))?;
            Some(format!(
                "{FILE}: {} is {}, allowed {allowed}: run cargo xtask tidy --tighten",
                figure.name, figure.now
            ))
        });
        loose.collect()
    }

    /// Returns a table of all figures.
    pub fn table(&self) -> String {
        let mut table = format!("{:<64} {:>7} {:>7} {:>7}\n", "figure", "now", "allowed", "target");
        for (Figure { title, now, target, .. }, allowed) in &self.figures {
            let allowed = allowed.map_or("-".to_owned(), |allowed| allowed.to_string());
            let _ = writeln!(table, "{title:<64} {now:>7} {allowed:>7} {target:>7}");
        }
        table
    }

    /// Returns all places of one figure, a line each.
    pub fn places(&self, name: &str) -> Result<String, String> {
        let named = self.figures.iter().find(|(figure, _)| figure.name == name);
        let Some((figure, _)) = named else {
            let names: Vec<&str> = self.figures.iter().map(|(figure, _)| figure.name).collect();
            return Err(format!("no figure {name}: there are {}", names.join(", ")));
        };
        Ok(figure.places.iter().map(|place| format!("{place}\n")).collect())
    }

    /// Lowers each ratchet to its figure, and writes the file.
    pub fn tighten(&self, repo: &Repo) -> Result<(), String> {
        repo.write(FILE, &self.tightened())
    }

    fn tightened(&self) -> String {
        let mut text = HEAD.to_owned();
        for (Figure { name, now, .. }, allowed) in &self.figures {
            let lower = allowed.map_or(*now, |allowed| allowed.min(*now));
            let _ = writeln!(text, "{name} = {lower}");
        }
        text
    }
}

/// Returns some places of a figure, those first that it did not count before.
fn places(figure: &Figure, before: &[Figure]) -> String {
    let known = before.iter().find(|other| other.name == figure.name).map(|before| before.places.as_slice());
    let mut left: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for place in known.unwrap_or_default() {
        *left.entry((&place.path, &place.message)).or_default() += 1;
    }
    // Lines move with whatever is written above them.
    let (mut new, mut old) = (Vec::new(), Vec::new());
    for place in &figure.places {
        match left.get_mut(&(place.path.as_str(), place.message.as_str())) {
            Some(count) if *count > 0 => {
                *count -= 1;
                old.push(place);
            }
            _ => new.push(place),
        }
    }
    let mut text = match known {
        None => format!("; {} places:", figure.places.len()),
        Some(_) => format!("; {} places, {} of them new since the ratchet was set:", figure.places.len(), new.len()),
    };
    for place in new.into_iter().chain(old).take(SHOWN_MAX) {
        let _ = write!(text, "\n    {place}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(now: u64) -> Figure {
        let places = (1..=12).map(|line| Finding::new("a.rs", line, "x")).collect();
        let target = Tenths(0);
        Figure { name: "lines", title: "long lines", advice: "break them", target, now: Tenths(now), places }
    }

    fn findings(now: u64, text: &str) -> Vec<String> {
        let ratchets = Ratchets::compare(vec![figure(now)], text);
        ratchets.compared(&[]).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn higher_figures_fail_with_ten_places() {
        let found = findings(286, "# why\nlines = 28.5\n").concat();
        assert!(
            found.starts_with(
                "xtask/ratchets.toml: long lines: 28.6, allowed 28.5: break them; 12 places:\n    a.rs:1: x"
            ),
            "{found}"
        );
        assert_eq!(found.lines().count(), 11, "{found}");
        assert!(findings(286, "lines = 28.6\n").is_empty());
    }

    #[test]
    fn new_places_come_first() {
        let (before, mut now) = (figure(120), figure(130));
        now.places.iter_mut().for_each(|place| place.line += 5);
        now.places.push(Finding::new("z.rs", 3, "x"));
        let found = Ratchets::compare(vec![now], "lines = 12\n").compared(&[before])[0].to_string();
        let expected = "13, allowed 12: break them; 13 places, 1 of them new since the ratchet was set:\n    z.rs:3: x\n    a.rs:6: x";
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn strange_and_missing_lines_are_found() {
        let expected = [
            "xtask/ratchets.toml:1: `line = 3` is no figure's: delete it",
            "xtask/ratchets.toml: no ratchet for lines: run cargo xtask tidy --tighten",
        ];
        assert_eq!(findings(10, "line = 3\n"), expected);
    }

    #[test]
    fn ratchets_only_fall() {
        let tightened = |now, text| Ratchets::compare(vec![figure(now)], text).tightened();
        assert!(tightened(286, "lines = 30\n").ends_with("lines = 28.6\n"));
        assert!(tightened(310, "lines = 30\n").ends_with("lines = 30\n"));
        assert!(tightened(310, "").ends_with("lines = 31\n"));
    }

    #[test]
    fn loose_ratchets_are_named() {
        let slack = |now| Ratchets::compare(vec![figure(now)], "lines = 100\n").slack();
        assert!(slack(1000).is_empty() && slack(985).is_empty());
        assert_eq!(slack(979), ["xtask/ratchets.toml: lines is 97.9, allowed 100: run cargo xtask tidy --tighten"]);
    }
}
