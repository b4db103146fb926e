//! Figures of the repository, one module each. Each has a largest allowed value in `xtask/ratchets.toml`.

use std::fmt;

use super::Finding;
use crate::repo::Repo;

mod boxed_traits;
mod import_cycle;
mod inherent_impls;
mod line_lengths;
pub mod modules;
mod openings;
mod test_names;
mod type_names;
mod unexplained_modules;
mod unused_arrows;

/// Figure of the repository: a number, and the places that it counts.
pub struct Figure {
    /// Key in `xtask/ratchets.toml`.
    pub name: &'static str,
    /// Description, with the unit.
    pub title: &'static str,
    /// Instruction for somebody who has raised the figure.
    pub advice: &'static str,
    /// Value that the project aims at.
    pub target: Tenths,
    /// Value now.
    pub now: Tenths,
    /// Places that the value counts, the worst ones first.
    pub places: Vec<Finding>,
}

/// Number with one decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tenths(pub u64);

impl Tenths {
    /// Returns a whole number.
    pub const fn whole(number: usize) -> Self {
        Self(number as u64 * 10)
    }

    /// Returns `part / of`, rounded up; zero of nothing.
    pub const fn ratio(part: usize, of: usize) -> Self {
        if of == 0 { Self(0) } else { Self((part as u64 * 10).div_ceil(of as u64)) }
    }

    /// Returns `part / of` in per cent, rounded up; zero of nothing.
    pub const fn per_cent(part: usize, of: usize) -> Self {
        Self::ratio(part * 100, of)
    }

    /// Reads `28` or `28.6`.
    pub fn read(text: &str) -> Option<Self> {
        let (whole, tenth) = text.split_once('.').unwrap_or((text, "0"));
        let tenth: u64 = tenth.parse().ok().filter(|tenth| *tenth < 10)?;
        Some(Self(whole.parse::<u64>().ok()?.checked_mul(10)?.checked_add(tenth)?))
    }
}

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 % 10 {
            0 => (self.0 / 10).to_string(),
            tenth => format!("{}.{tenth}", self.0 / 10),
        };
        f.pad(&text)
    }
}

/// Returns all figures of the repository.
pub fn all(repo: &Repo) -> Vec<Figure> {
    let figures = [
        openings::figure,
        type_names::figure,
        test_names::figure,
        line_lengths::figure,
        import_cycle::figure,
        unexplained_modules::figure,
        inherent_impls::figure,
        boxed_traits::figure,
        unused_arrows::figure,
    ];
    figures.iter().map(|figure| figure(repo)).collect()
}

#[cfg(test)]
mod testing {
    use super::*;

    /// Measures a figure and compares its value and its places, each as one line.
    #[track_caller]
    pub fn expect(figure: fn(&Repo) -> Figure, files: &[(&str, &str)], now: &str, places: &[&str]) {
        let figure = figure(&Repo::of(files.iter().copied()));
        let found: Vec<String> = figure.places.iter().map(Finding::to_string).collect();
        assert_eq!((figure.now.to_string().as_str(), found), (now, places.iter().map(|&place| place.into()).collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenths_round_up() {
        assert_eq!(Tenths::per_cent(1, 3).to_string(), "33.4");
        assert_eq!(Tenths::ratio(11, 2).to_string(), "5.5");
        assert_eq!(Tenths::ratio(0, 0).to_string(), "0");
        assert_eq!(["28.6", "365", "x", "1.25"].map(Tenths::read), [Some(Tenths(286)), Some(Tenths(3650)), None, None]);
    }
}
