//! Messages as people see them: a line each, or the arrows of a sequence diagram.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;
use whimbrel_acl::codec::civil;
use whimbrel_operator::{Happening, MessageInfo, NodeEvent};
use whimbrel_platform::plain_text::harmless;

use whimbrel_terminal::style_of;
use whimbrel_terminal::table::cut;

/// Columns for `sender -> receiver`, and for the performative, that lines are aligned to; longer ones stand out.
const PARTIES_WIDTH: usize = 22;
const PERFORMATIVE_WIDTH: usize = 8;
/// Columns of a conversation's name.
const CONVERSATION_WIDTH: usize = 12;
/// Least distance of two life lines: room for an arrow with the longest of the common performatives.
const LANE_WIDTH: usize = 20;
/// Minimum width beside a diagram.
const CONTENT_WIDTH: usize = 16;
/// The life line of all agents that have none of their own.
const OTHERS: &str = "others";

/// Form of an event's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventClock {
    /// The time of day, UTC.
    Day,
    /// Date and time of day, UTC.
    Date,
    /// Milliseconds since this moment, which is in microseconds since 1970.
    Since(u64),
}

impl EventClock {
    fn show(self, at_us: u64) -> String {
        match self {
            Self::Since(began_us) => format!("{:10.3} ms", at_us.saturating_sub(began_us) as f64 / 1000.0),
            Self::Date => {
                let (year, month, day) = civil(at_us / 86_400_000_000);
                format!("{year:04}-{month:02}-{day:02} {}", Self::Day.show(at_us))
            }
            Self::Day => {
                let (s, ms) = (at_us / 1_000_000, at_us / 1_000 % 1_000);
                format!("{:02}:{:02}:{:02}.{ms:03}Z", s / 3600 % 24, s / 60 % 60, s % 60)
            }
        }
    }

    fn width(self) -> usize {
        self.show(0).len()
    }
}

const DIM: Style = Style::new().dimmed();
const RED: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));
const BOLD: Style = Style::new().bold();

fn styled(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

fn padded(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.width()))
}

/// Writer of events, one a line.
#[derive(Clone, Copy, Debug)]
pub struct EventLines {
    /// Form of times.
    pub clock: EventClock,
    /// True if lines name the node: if there are several.
    pub nodes: bool,
    /// The terminal's columns, if lines are to fit.
    pub width: Option<usize>,
}

impl EventLines {
    /// Returns one line without its end; nothing for events that are not shown.
    pub fn line(&self, event: &NodeEvent) -> Option<String> {
        let mut line = styled(&self.clock.show(event.at_us), DIM);
        let mut used = self.clock.width();
        if self.nodes {
            let _ = write!(line, "  {}", styled(&event.node, DIM));
            used += 2 + event.node.width();
        }
        let room = |used: usize| self.width.map_or(usize::MAX, |width| width.saturating_sub(used + 2));
        match &event.what {
            Happening::Sent(message) => {
                let (text, width) = head(message, Style::new());
                let content = cut(&harmless(&message.content), room(used + 2 + width));
                let _ = write!(line, "  {text}  {content}");
            }
            Happening::Died { message, why } => {
                let (text, width) = head(message, RED);
                let why = format!("undeliverable: {why}");
                let content = cut(&harmless(&message.content), room(used + 4 + width + why.width()));
                let _ = write!(line, "  {text}  {content}  {}", styled(&why, RED));
            }
            what => {
                let (text, style) = aside(what)?;
                let _ = write!(line, "  {}", styled(&cut(&text, room(used)), style));
            }
        }
        Some(line)
    }
}

/// Returns sender, receiver, performative and conversation as text, with its width.
fn head(message: &MessageInfo, style: Style) -> (String, usize) {
    let (from, to) = (harmless(&message.from), harmless(&message.to));
    let performative = harmless(&message.performative);
    let mut text = format!("{} {} {}", styled(&from, style_of(&from)), styled("->", style), styled(&to, style_of(&to)));
    let mut width = from.width() + to.width() + 4;
    let mut align = |text: &mut String, to: usize| {
        text.push_str(&" ".repeat(to.saturating_sub(width)));
        width = width.max(to);
        width
    };
    let parties = align(&mut text, PARTIES_WIDTH);
    let _ = write!(text, "  {}{}", styled(&performative, BOLD), padded(&performative, PERFORMATIVE_WIDTH));
    let mut width = parties + 2 + performative.width().max(PERFORMATIVE_WIDTH);
    if let Some(via) = &message.via {
        let via = format!("by {}", harmless(via));
        width += 2 + via.width();
        let _ = write!(text, "  {}", styled(&via, DIM));
    }
    if let Some(conversation) = &message.conversation {
        let conversation = format!("[{}]", cut(&harmless(conversation), CONVERSATION_WIDTH));
        width += 2 + conversation.width();
        let _ = write!(text, "  {}", styled(&conversation, DIM));
    }
    (text, width)
}

/// Returns the text of an event other than a message.
fn aside(what: &Happening) -> Option<(String, Style)> {
    match what {
        Happening::Agent { text, .. } | Happening::Service { text, .. } => Some((harmless(text), DIM)),
        Happening::Skipped { count } => {
            Some(gap(format!("{count} more, not shown: they came faster than they could be")))
        }
        Happening::CutShort => {
            Some(gap("the node was cut short here: the last that was said may be missing".to_owned()))
        }
        Happening::Dropped { count } => Some(gap(format!("not kept any more: the {count} before this"))),
        _ => None,
    }
}

/// Returns a line about missing messages.
fn gap(text: String) -> (String, Style) {
    (text, Style::new().fg_color(Some(AnsiColor::Yellow.into())))
}

/// A sequence diagram that grows downwards: a life line for each agent, an arrow for each message.
pub struct Diagram {
    agents: Vec<String>,
    /// True once agents without a life line have a common one, from their first message on.
    others: bool,
    clock: EventClock,
    lane: usize,
    width: Option<usize>,
}

/// A row of a diagram: characters that are one column wide, each in its style.
struct DiagramRow(Vec<(char, Style)>);

impl DiagramRow {
    fn put(&mut self, at: usize, c: char, style: Style) {
        if let Some(place) = self.0.get_mut(at) {
            *place = (c, style);
        }
    }

    fn write(&mut self, at: usize, text: &str, style: Style) {
        text.chars().enumerate().for_each(|(index, c)| self.put(at + index, c, style));
    }

    fn into_text(self) -> String {
        let mut text = String::new();
        let mut present = Style::new();
        for (c, style) in self.0 {
            if style != present {
                let _ = write!(text, "{present:#}{style}");
                present = style;
            }
            text.push(c);
        }
        let _ = write!(text, "{present:#}");
        text
    }
}

impl Diagram {
    /// Creates a diagram with a life line for each of these agents, and one for all others. Returns `None` if the
    /// terminal is too narrow.
    pub fn new(agents: Vec<String>, clock: EventClock, width: Option<usize>) -> Option<Self> {
        let names = agents.iter().map(|name| name.width() + 2).max().unwrap_or(0);
        let lane = LANE_WIDTH.max(names);
        let diagram = Self { agents, others: true, clock, lane, width };
        let fits = width.is_none_or(|width| diagram.left() + CONTENT_WIDTH <= width);
        fits.then_some(Self { others: false, ..diagram })
    }

    /// Makes a life line for the others if this event needs it: then the names are to be written again.
    pub fn widen(&mut self, event: &NodeEvent) -> bool {
        let strange = match &event.what {
            Happening::Sent(message) | Happening::Died { message, .. } => {
                [&message.from, &message.to].into_iter().any(|agent| self.lane_of(agent) == self.agents.len())
            }
            _ => false,
        };
        let is_new = strange && !self.others;
        self.others |= strange;
        is_new
    }

    /// Returns the number of life lines.
    fn lanes(&self) -> usize {
        self.agents.len() + usize::from(self.others)
    }

    /// Returns the column of the texts beside the diagram.
    fn left(&self) -> usize {
        self.place(self.lanes().saturating_sub(1)) + OTHERS.len() / 2 + 1
    }

    /// Returns the column of an agent's life line.
    fn place(&self, agent: usize) -> usize {
        let first = self.agents.first().map_or(0, |name| harmless(name).width() / 2);
        self.clock.width() + 2 + first + agent * self.lane
    }

    fn lane_of(&self, agent: &str) -> usize {
        self.agents.iter().position(|known| known == agent).unwrap_or(self.agents.len())
    }

    /// Returns the names above the life lines.
    pub fn title(&self) -> String {
        let mut line = String::new();
        let mut used = 0;
        let names = self.agents.iter().map(|name| (name.as_str(), style_of(name).bold())).chain([(OTHERS, DIM)]);
        for (index, (name, style)) in names.take(self.lanes()).enumerate() {
            let name = harmless(name);
            let start = (self.place(index) + 1).saturating_sub(name.width().div_ceil(2)).max(used);
            line.push_str(&" ".repeat(start - used));
            line.push_str(&styled(&name, style));
            used = start + name.width();
        }
        line
    }

    /// Returns an event, on one line without its end; nothing for what is not to be shown.
    pub fn line(&self, event: &NodeEvent) -> Option<String> {
        let mut row = self.life_lines(event.at_us);
        let (text, style) = match &event.what {
            Happening::Sent(message) => {
                self.arrow(&mut row, message, false);
                (self.beside(message), Style::new())
            }
            Happening::Died { message, why } => {
                self.arrow(&mut row, message, true);
                (format!("{} (undeliverable: {why})", self.beside(message)), RED)
            }
            what => aside(what)?,
        };
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(self.left() + 1));
        Some(format!("{} {}", row.into_text(), styled(&cut(&text, room), style)))
    }

    fn life_lines(&self, at_us: u64) -> DiagramRow {
        let mut row = DiagramRow(vec![(' ', Style::new()); self.left()]);
        row.write(0, &self.clock.show(at_us), DIM);
        (0..self.lanes()).for_each(|agent| row.put(self.place(agent), '│', DIM));
        row
    }

    /// Returns the text beside a message's arrow: the agents without a life line, and the content.
    fn beside(&self, message: &MessageInfo) -> String {
        let others = self.agents.len();
        let (from, to) = (self.lane_of(&message.from), self.lane_of(&message.to));
        let mut text = match (from == others, to == others) {
            (true, true) => {
                let (from, to) = (harmless(&message.from), harmless(&message.to));
                format!("{from} -> {to}: {} ", harmless(&message.performative))
            }
            (true, false) => format!("from {}: ", harmless(&message.from)),
            (false, true) => format!("to {}: ", harmless(&message.to)),
            (false, false) => String::new(),
        };
        if let Some(via) = &message.via {
            let _ = write!(text, "by {}: ", harmless(via));
        }
        text.push_str(&harmless(&message.content));
        text
    }

    fn arrow(&self, row: &mut DiagramRow, message: &MessageInfo, died: bool) {
        let style = if died { RED } else { style_of(&message.from) };
        let (from, to) = (self.place(self.lane_of(&message.from)), self.place(self.lane_of(&message.to)));
        let performative = cut(&harmless(&message.performative), self.lane.saturating_sub(5));
        if from == to {
            let mark = if died { '✗' } else { '↺' };
            row.put(from + 1, mark, style);
            if self.lane_of(&message.from) < self.agents.len() {
                row.write(from + 3, &performative, style.bold());
            }
            return;
        }
        let (left, right) = (from.min(to) + 1, from.max(to) - 1);
        (left..=right).for_each(|at| row.put(at, '─', style));
        let head = match (died, to > from) {
            (true, _) => '✗',
            (false, true) => '▶',
            (false, false) => '◀',
        };
        row.put(if to > from { right } else { left }, head, style);
        // The word stands at the arrow's beginning, where no life line crosses it.
        let lane_from = if to > from { left } else { right + 1 - (self.lane - 1).min(right + 1 - left) };
        let start = lane_from + (self.lane - 1).saturating_sub(performative.width() + 2) / 2;
        row.write(start, &format!(" {performative} "), style.bold());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(from: &str, to: &str, performative: &str, content: &str) -> MessageInfo {
        MessageInfo {
            from: from.to_owned(),
            to: to.to_owned(),
            via: None,
            performative: performative.to_owned(),
            conversation: None,
            protocol: None,
            reply_with: None,
            in_reply_to: None,
            content: content.to_owned(),
            more: None,
        }
    }

    fn events() -> Vec<NodeEvent> {
        let sent = |from, to, performative, content| Happening::Sent(message(from, to, performative, content));
        let dealt =
            MessageInfo { conversation: Some("deal-7".to_owned()), ..message("seller", "buyer", "propose", "5") };
        let all = [
            Happening::Agent { agent: "seller".to_owned(), text: "agent seller created, active".to_owned() },
            sent("buyer", "seller", "request", "price(tea)"),
            Happening::Sent(dealt),
            sent("buyer", "bank", "query-ref", "a content that is rather long, with a bell \u{7} in it"),
            sent("bank", "buyer", "reject-proposal", ""),
            sent("seller", "seller", "tell", "note(1)"),
            sent("ams", "df", "inform", "x"),
            Happening::Sent(MessageInfo {
                via: Some("topic:news".to_owned()),
                ..message("bank", "buyer", "inform", "rate(3)")
            }),
            Happening::Died { message: message("buyer", "sela", "cfp", "tea"), why: "no such agent".to_owned() },
            Happening::Skipped { count: 12 },
            Happening::Tick,
        ];
        let at = |index: u64| 1_700_000_000_000_000 + index * 1_500;
        let event = |(index, what)| NodeEvent { at_us: at(index), node: "n1".to_owned(), what };
        (0..).zip(all).map(event).collect()
    }

    fn plain(lines: impl Iterator<Item = String>) -> String {
        let text = lines.collect::<Vec<_>>().join("\n");
        let stripped = anstream::adapter::strip_str(&text).to_string();
        stripped.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn events_are_lines() {
        let lines = EventLines { clock: EventClock::Day, nodes: true, width: Some(90) };
        insta::assert_snapshot!(plain(events().iter().filter_map(|event| lines.line(event))));
        let since = EventLines { clock: EventClock::Since(1_700_000_000_000_000), nodes: false, width: None };
        insta::assert_snapshot!(plain(events().iter().filter_map(|event| since.line(event))));
    }

    #[test]
    fn events_are_arrows() {
        let agents = ["buyer", "seller"].map(str::to_owned).to_vec();
        let mut diagram = Diagram::new(agents.clone(), EventClock::Day, Some(120)).expect("it fits");
        let mut lines = vec![diagram.title()];
        for event in events() {
            if diagram.widen(&event) {
                lines.push(diagram.title());
            }
            lines.extend(diagram.line(&event));
        }
        insta::assert_snapshot!(plain(lines.into_iter()));
        assert!(Diagram::new(agents, EventClock::Day, Some(70)).is_none());
    }
}
