//! Live view of an agent's reasoning cycles.

use std::process::ExitCode;
use std::time::Duration;

use whimbrel_platform::inspection::CycleSeen;

use super::look;
use whimbrel_platform::plain_text::harmless;

use crate::arguments::TargetArguments;
use whimbrel::control::choose;
use whimbrel::figures::counted;
use whimbrel_terminal::screen::{is_closed, print};

/// Interval of looks.
const LOOK: Duration = Duration::from_millis(100);

/// Prints each thing that a cycle does, until the agent or the node ends or nobody reads any more.
pub fn follow(agent: &str, target: &TargetArguments, json: bool) -> anyhow::Result<ExitCode> {
    let mut before: Vec<CycleSeen> = Vec::new();
    let mut stood = false;
    loop {
        let inside = look(&choose(target)?, agent, true)?.inside;
        let new = newer(&before, &inside.recent);
        let mut lines: Vec<String> = Vec::new();
        if let (Some(last), Some(first)) = (before.last(), new.first())
            && first.cycle > last.cycle + 1
            && !json
        {
            lines.push(format!("... not shown: {}", counted(first.cycle - last.cycle - 1, "cycle")));
        }
        for seen in new {
            lines.push(if json { serde_json::to_string(seen)? } else { line(seen) });
        }
        if inside.paused && !stood && !json {
            lines.push(format!("paused by {}", harmless(&inside.paused_by.unwrap_or_default())));
        }
        stood = inside.paused;
        let text = lines.join("\n");
        if !text.is_empty() {
            let written = print(&text);
            if is_closed(&written) {
                return Ok(ExitCode::SUCCESS);
            }
            written?;
        }
        before = inside.recent;
        std::thread::sleep(LOOK);
    }
}

fn line(seen: &CycleSeen) -> String {
    format!("{:>6}  {}", seen.cycle, harmless(&seen.text))
}

/// Returns the cycles of `now` that are not in `before`; both are the last of one sequence.
fn newer<'a>(before: &[CycleSeen], now: &'a [CycleSeen]) -> &'a [CycleSeen] {
    let same = (0..=now.len()).rev().find(|same| before.ends_with(now.get(..*same).unwrap_or_default()));
    now.get(same.unwrap_or_default()..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cycles: &[u64]) -> Vec<CycleSeen> {
        cycles.iter().map(|cycle| CycleSeen { cycle: *cycle, text: "same".to_owned() }).collect()
    }

    #[test]
    fn only_what_is_new_is_shown() {
        assert_eq!(newer(&[], &row(&[1, 1, 2])), row(&[1, 1, 2]));
        assert_eq!(newer(&row(&[1, 1, 2]), &row(&[1, 1, 2])), []);
        assert_eq!(newer(&row(&[1, 1, 2]), &row(&[1, 2, 2, 3])), row(&[2, 3]));
        assert_eq!(newer(&row(&[1, 2]), &row(&[7, 8])), row(&[7, 8]));
        assert_eq!(newer(&row(&[8, 9]), &[]), []);
    }
}
