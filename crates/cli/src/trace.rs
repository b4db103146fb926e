//! Observer of the platform for `--trace` and `--summary`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use whimbrel_acl::{Performative, Symbol};
use whimbrel_operator::NodeEvent as Happened;
use whimbrel_platform::{Counters, Observer, PlatformEvent, Time};
use whimbrel_runtime::DEVICES;

use crate::arguments::SummaryForm;
use crate::sequence_diagram::{EventClock, EventLines};
use crate::society_end::EndFigures;
use whimbrel::control::happening;
use whimbrel::duration::readable;
use whimbrel_terminal as terminal;

/// A trace looks as what `whimbrel sniff` shows, but for the time, which begins with the platform.
const TRACE: EventLines = EventLines { clock: EventClock::Since(0), nodes: false, width: None };

/// Number of agents that the summary names; the others are counted.
const NAMES_SHOWN: usize = 8;

/// The platform's own agents, which are no part of the society.
const SERVICES: [&str; 3] = ["ams", "df", DEVICES];

/// Messages that no observer saw as sent.
const UNSEEN: &str = "copies to topics and groups, or from before";

/// Watches a platform.
#[derive(Clone)]
pub struct TraceObserver {
    trace: bool,
    tally: Option<Arc<Mutex<SummaryCounts>>>,
}

/// Counts of the summary.
#[derive(Default)]
struct SummaryCounts {
    agents: Vec<Symbol>,
    messages: BTreeMap<String, u64>,
    /// Accepted proposals, by proposer.
    awards: BTreeMap<&'static str, u64>,
}

impl TraceObserver {
    /// Returns a watch, if a trace or a summary is wanted.
    pub fn new(trace: bool, summary: bool) -> Option<Self> {
        (trace || summary).then(|| Self { trace, tally: summary.then(Arc::default) })
    }

    /// Returns the summary at the end of a run; `None` if nothing was to be counted.
    pub fn summary(&self, form: SummaryForm, figures: &EndFigures) -> Option<String> {
        let tally = self.tally.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        Some(match form {
            SummaryForm::Table => tally.table(figures),
            SummaryForm::Json => tally.json(figures).to_string(),
        })
    }
}

impl Observer for TraceObserver {
    fn observe(&self, at: Time, event: PlatformEvent<'_>) {
        if let Some(tally) = &self.tally {
            tally.lock().unwrap_or_else(PoisonError::into_inner).note(&event);
        }
        if self.trace
            && !matches!(event, PlatformEvent::Delivered(_))
            && let Some(what) = happening(&event)
            && let Some(line) = TRACE.line(&Happened { at_us: at.0, node: String::new(), what })
        {
            terminal::say_line(&line);
        }
    }
}

impl SummaryCounts {
    fn note(&mut self, event: &PlatformEvent<'_>) {
        match event {
            PlatformEvent::Sent(envelope) => {
                let performative = envelope.body.performative;
                let name = performative.as_str().replace('_', "-");
                if name == Performative::AcceptProposal.as_str() {
                    *self.awards.entry(envelope.to.name.as_str()).or_default() += 1;
                }
                *self.messages.entry(name).or_default() += 1;
            }
            PlatformEvent::Agent(change) if change.from.is_none() && change.to.is_some() => {
                let name = change.agent.name;
                if !SERVICES.contains(&name.as_str()) {
                    self.agents.push(name);
                }
            }
            _ => {}
        }
    }

    fn json(&self, figures: &EndFigures) -> serde_json::Value {
        let EndFigures { time, counters, .. } = figures;
        serde_json::json!({
            "agents": self.agents.len(),
            "messages": self.messages,
            "awards": self.awards,
            "sent": counters.sent,
            "handled": counters.handled,
            "undeliverable": counters.dead,
            "waiting": counters.queued,
            "came": counters.came,
            "left": counters.left,
            "time_us": u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
        })
    }

    fn table(&self, figures: &EndFigures) -> String {
        let EndFigures { time, counters, .. } = *figures;
        let shown: Vec<&str> = self.agents.iter().take(NAMES_SHOWN).map(|name| name.as_str()).collect();
        let more = self.agents.len().saturating_sub(NAMES_SHOWN);
        let names = shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() };
        let mut rows = vec![row("agents", self.agents.len(), &names)];
        let mut messages: Vec<(&String, &u64)> = self.messages.iter().collect();
        messages.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
        let mut kinds: Vec<(&str, u64)> = messages.into_iter().map(|(name, count)| (name.as_str(), *count)).collect();
        // An observer sees a message to many once, and none that a journal brought back.
        let unseen = counters.sent.saturating_sub(self.messages.values().sum());
        kinds.extend((unseen > 0).then_some((UNSEEN, unseen)));
        for (index, (name, count)) in kinds.into_iter().enumerate() {
            let (what, total) = if index == 0 { ("messages", counters.sent.to_string()) } else { Default::default() };
            rows.push(row(what, total, &format!("{count:>6}  {name}")));
        }
        let mut awards: Vec<(&&str, &u64)> = self.awards.iter().collect();
        awards.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), **name));
        for (index, (name, count)) in awards.into_iter().enumerate() {
            rows.push(row(if index == 0 { "won" } else { "" }, "", &format!("{count:>6}  {name}")));
        }
        let Counters { sent, handled, dead, queued, came, left } = counters;
        let lost = (sent + came).saturating_sub(handled + dead + queued + left);
        let elsewhere = |count, what| if came + left > 0 { format!(" + {count} {what}") } else { String::new() };
        let (came, left) = (elsewhere(came, "from other nodes"), elsewhere(left, "to other nodes"));
        let all =
            format!("{sent} sent{came} = {handled} handled + {dead} undeliverable{left} + {queued} waiting at the end");
        rows.push(row("lost", lost, &all));
        rows.push(row("time", readable(time), ""));
        let width = rows.iter().map(|row| row.chars().count()).max().unwrap_or_default();
        let line = "─".repeat(width);
        let mut table = format!("{line}\n");
        for row in rows {
            table.push_str(row.trim_end());
            table.push('\n');
        }
        table + &line
    }
}

fn row(what: &str, count: impl ToString, more: &str) -> String {
    format!(" {what:<9} {:>8}  {more}", count.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn summary_is_json_on_request() {
        let mut tally = SummaryCounts { agents: vec![Symbol::new("ada")], ..SummaryCounts::default() };
        tally.messages.insert("cfp".to_owned(), 6);
        let counters = Counters { sent: 6, handled: 6, ..Counters::default() };
        let time = Duration::from_millis(2);
        let json = tally.json(&EndFigures { time, agents: 1, counters, warnings: 0 });
        assert_eq!((&json["messages"]["cfp"], &json["time_us"], &json["agents"]), (&6.into(), &2000.into(), &1.into()));
    }

    #[test]
    fn the_table_adds_up() {
        let agents = ["ada", "bruno"].map(Symbol::new).to_vec();
        let mut tally = SummaryCounts { agents, ..SummaryCounts::default() };
        tally.messages.extend([("cfp".to_owned(), 6), ("inform".to_owned(), 1), ("propose".to_owned(), 6)]);
        tally.awards.insert("ada", 1);
        let counters = Counters { sent: 13, handled: 12, queued: 1, ..Counters::default() };
        let expected = "\
─────────────────────────────────────────────────────────────────────────────────
 agents           2  ada, bruno
 messages        13       6  cfp
                          6  propose
                          1  inform
 won                      1  ada
 lost             0  13 sent = 12 handled + 0 undeliverable + 1 waiting at the end
 time        1.25 s
─────────────────────────────────────────────────────────────────────────────────";
        let figures = EndFigures { time: Duration::from_millis(1250), agents: 2, counters, warnings: 0 };
        let table = tally.table(&figures);
        let trimmed = |text: &str| text.trim_matches('─').to_owned();
        assert_eq!(trimmed(&table), trimmed(expected));
    }

    #[test]
    fn table_counts_as_last_words_do() {
        let mut tally = SummaryCounts { agents: vec![Symbol::new("ada")], ..SummaryCounts::default() };
        tally.messages.insert("inform".to_owned(), 2);
        let counters = Counters { sent: 5, handled: 5, ..Counters::default() };
        let table = tally.table(&EndFigures { counters, ..EndFigures::default() });
        assert!(
            table.contains("\n messages         5       2  inform\n                          3  copies to"),
            "{table}"
        );
    }
}
