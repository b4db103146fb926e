//! Output of a node's agents, for its operators.

use whimbrel_operator::{OutputEntry, OutputFound, OutputWanted};
use whimbrel_platform::ams::name_fits;
use whimbrel_platform::limits::OUTPUT_ANSWER_LINES_MAX;
use whimbrel_platform::output_log::OutputLine;
use whimbrel_runtime::Platform;

use super::sniffer::began_us;

/// Returns the newest matching lines of output.
pub(super) fn look(platform: &Platform, wanted: &OutputWanted, limit: usize) -> OutputFound {
    let fits = |line: &OutputLine| {
        let name = line.agent.as_str();
        (!wanted.faults || line.kind.is_fault())
            && (wanted.agents.is_empty() || wanted.agents.iter().any(|pattern| name_fits(pattern, name)))
    };
    let page = platform.output_page(wanted.since, limit.min(OUTPUT_ANSWER_LINES_MAX), fits);
    let (printed, faults) = platform.output_counts();
    let began_us = began_us(platform);
    let entry = |line: OutputLine| OutputEntry {
        number: line.number,
        at_us: began_us + line.at.0,
        agent: line.agent.to_string(),
        kind: line.kind,
        text: line.text.into(),
    };
    OutputFound {
        lines: page.lines.into_iter().map(entry).collect(),
        next: page.next,
        left_out: page.left_out,
        printed,
        faults,
    }
}
