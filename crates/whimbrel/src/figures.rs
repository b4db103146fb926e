//! Figures as people read them.

/// Returns a count as people read it: `950`, `12.4k`, `3.05M`.
pub fn count(count: f64) -> String {
    match count {
        c if c < 1e4 => format!("{c:.0}"),
        c if c < 1e6 => format!("{:.1}k", c / 1e3),
        c if c < 1e9 => format!("{:.2}M", c / 1e6),
        c => format!("{:.2}G", c / 1e9),
    }
}

/// Returns a number of things in words: `1 agent`, `2 agents`. The noun's plural ends in `s`.
pub fn counted<T: std::fmt::Display + PartialEq + From<u8>>(count: T, noun: &str) -> String {
    let plural = if count == T::from(1) { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Returns a number of bytes as people read it: `512 B`, `3.1 kB`, `24 MB`.
pub fn bytes(bytes: f64) -> String {
    let of = |value: f64, unit| if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") };
    match bytes {
        b if b < 1e3 => format!("{b:.0} B"),
        b if b < 1e6 => of(b / 1e3, "kB"),
        b if b < 1e9 => of(b / 1e6, "MB"),
        b => of(b / 1e9, "GB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_follow_their_number() {
        let agents = [0_u64, 1, 2].map(|count| counted(count, "agent"));
        assert_eq!(agents, ["0 agents", "1 agent", "2 agents"]);
    }

    #[test]
    fn figures_are_readable() {
        let counts = [0.0, 9_999.0, 12_400.0, 3_050_000.0, 2e9].map(count);
        assert_eq!(counts, ["0", "9999", "12.4k", "3.05M", "2.00G"]);
        let sizes = [12.0, 3_100.0, 24e6, 1.5e9].map(bytes);
        assert_eq!(sizes, ["12 B", "3.1 kB", "24 MB", "1.5 GB"]);
    }
}
