//! Times of tests and of their programs, read from what the programs print.

/// Tests and programs in a summary.
const SHOWN_MAX: usize = 10;

/// Times that the output of test programs tells, in seconds.
#[derive(Debug, Default)]
pub struct Times {
    programs: Vec<(f64, String)>,
    tests: Vec<(f64, String)>,
}

impl Times {
    /// Takes a line of a program's output, and returns false if nobody needs to see it.
    pub fn read(&mut self, program: &str, line: &str) -> bool {
        let finished = line.strip_prefix("test result: ").and_then(|result| result.split_once("finished in "));
        if let Some(seconds) = finished.and_then(|(_, time)| seconds(time)) {
            self.programs.push((seconds, program.to_owned()));
        }
        let test = line.strip_prefix("test ").and_then(|test| test.split_once(" ... "));
        let Some((name, (result, time))) = test.and_then(|(name, rest)| Some((name, rest.split_once(" <")?))) else {
            // A test that is left out has no time.
            return !test.is_some_and(|(_, result)| result.starts_with("ignored"));
        };
        if let Some(seconds) = time.strip_suffix('>').and_then(seconds) {
            self.tests.push((seconds, format!("{name} ({program})")));
        }
        result != "ok"
    }

    /// Returns a table of the slowest tests and programs; empty if no test was timed.
    pub fn summary(&self) -> String {
        let tests = slowest("slowest tests", &self.tests);
        format!("{tests}{}", slowest("slowest test programs", &self.programs))
    }
}

fn slowest(title: &str, times: &[(f64, String)]) -> String {
    if times.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<&(f64, String)> = times.iter().collect();
    sorted.sort_by(|one, other| other.0.total_cmp(&one.0));
    let sum: f64 = times.iter().map(|(seconds, _)| seconds).sum();
    let mut text = format!("\n{title} (of {}, {sum:.0} s in all)\n", times.len());
    for (seconds, name) in sorted.into_iter().take(SHOWN_MAX) {
        text += &format!("{seconds:>9.1} s  {name}\n");
    }
    text
}

/// Reads `1.25s`.
fn seconds(text: &str) -> Option<f64> {
    text.strip_suffix('s')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 4 tests
test a::quick ... ok <0.004s>
test a::slow has been running for over 60 seconds
test a::slow ... FAILED <61.250s>
test a::left_out ... ignored, takes minutes
test a::panics - should panic ... ok <0.100s>

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 61.30s";

    #[test]
    fn passed_and_ignored_tests_are_hidden() {
        let mut times = Times::default();
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| times.read("whimbrel-net it", line)).collect();
        assert_eq!(shown.len(), OUTPUT.lines().count() - 3, "{shown:?}");
        assert!(shown.contains(&"test a::slow ... FAILED <61.250s>"));
    }

    #[test]
    fn slowest_tests_come_first() {
        let mut times = Times::default();
        for line in OUTPUT.lines() {
            times.read("whimbrel-net it", line);
        }
        let expected = "
slowest tests (of 3, 61 s in all)
     61.2 s  a::slow (whimbrel-net it)
      0.1 s  a::panics - should panic (whimbrel-net it)
      0.0 s  a::quick (whimbrel-net it)

slowest test programs (of 1, 61 s in all)
     61.3 s  whimbrel-net it
";
        assert_eq!(times.summary(), expected);
        assert_eq!(Times::default().summary(), "");
    }
}
