//! A mind as text for a terminal.

use anstyle::{AnsiColor, Style};
use whimbrel::figures::counted;
use whimbrel_operator::MindInfo;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::inspection::{FrameSeen, Inspection, IntentionSeen};
use whimbrel_platform::plain_text::harmless;

use crate::arguments::MindArguments;
use whimbrel_terminal::screen::PageRoom;
use whimbrel_terminal::table::{TableCell, TableColumn, cell, cut, left, long, right, table};

/// Number of recent cycles shown with a paused agent.
const RECENT_SHOWN: usize = 4;

/// Selection of the parts of a mind.
#[derive(Clone, Copy)]
pub struct MindParts {
    beliefs: bool,
    goals: bool,
    intentions: bool,
    plans: bool,
    mailbox: bool,
}

impl MindParts {
    /// Returns the requested parts; all parts if none is requested.
    pub fn of(arguments: &MindArguments) -> Self {
        let MindArguments { beliefs, goals, intentions, plans, mailbox, .. } = *arguments;
        let all = !(beliefs || goals || intentions || plans || mailbox);
        Self {
            beliefs: all || beliefs,
            goals: all || goals,
            intentions: all || intentions,
            plans: all || plans,
            mailbox: all || mailbox,
        }
    }
}

/// Part of a mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MindPart {
    Beliefs,
    Goals,
    Intentions,
    Plans,
}

/// Returns one part of a mind.
pub fn part(mind: &MindInfo, part: MindPart, room: PageRoom) -> String {
    let inside = &mind.inside;
    match part {
        MindPart::Beliefs => beliefs(inside, room),
        MindPart::Goals => goals(inside, room),
        MindPart::Intentions => intentions(inside, room),
        MindPart::Plans => plans(inside, room),
    }
}

/// Returns the whole mind.
pub fn whole(mind: &MindInfo, room: PageRoom) -> String {
    let parts = MindParts { beliefs: true, goals: true, intentions: true, plans: true, mailbox: true };
    page(mind, parts, room)
}

/// Returns the whole page, no higher than the room.
pub fn page(mind: &MindInfo, parts: MindParts, room: PageRoom) -> String {
    let inside = &mind.inside;
    let mut sections = vec![title(mind)];
    if !inside.details.is_empty() {
        sections.push(details(inside, room));
    }
    let speaks = mind.kind == AgentKind::AgentSpeak;
    let mut add = |wanted: bool, section: fn(&Inspection, PageRoom) -> String| {
        if wanted {
            sections.push(section(inside, room));
        }
    };
    add(speaks && parts.beliefs, beliefs);
    add(speaks && parts.goals, goals);
    add(speaks && parts.intentions, intentions);
    add(speaks && parts.mailbox && !inside.events.is_empty(), events);
    add(parts.mailbox, mailbox);
    add(speaks && parts.plans, plans);
    add(!inside.recent.is_empty(), recent);
    let page = sections.join("\n\n");
    match room.lines {
        Some(lines) => page.lines().take(lines.saturating_sub(1)).collect::<Vec<_>>().join("\n"),
        None => page,
    }
}

/// Returns the position of a paused agent, and its last steps.
pub fn standing(mind: &MindInfo) -> String {
    let inside = &mind.inside;
    let mut lines = vec![title(mind)];
    let recent = inside.recent.get(inside.recent.len().saturating_sub(RECENT_SHOWN)..).unwrap_or_default();
    lines.extend(recent.iter().map(|seen| format!("{:>6}  {}", seen.cycle, harmless(&seen.text))));
    for intention in &inside.intentions {
        let head = head_of(intention);
        let at = intention.frames.first().map(|frame| format!(": {}", place(frame))).unwrap_or_default();
        lines.push(format!("intention {head}{at}"));
    }
    if let Some(event) = inside.events.first() {
        lines.push(format!("next event: {}", harmless(&event.text)));
    }
    if inside.mailbox_total > 0 {
        let verb = if inside.mailbox_total == 1 { "waits" } else { "wait" };
        lines.push(format!("{} {verb}", counted(inside.mailbox_total, "message")));
    }
    lines.join("\n")
}

fn bold(text: &str) -> String {
    let style = Style::new().bold();
    format!("{style}{text}{style:#}")
}

/// `bob@home: agentspeak, active on n1, bob.asl, cycle 12, paused by an operator`
fn title(mind: &MindInfo) -> String {
    let inside = &mind.inside;
    let kind = match mind.kind {
        AgentKind::AgentSpeak => "AgentSpeak",
        AgentKind::Native => "Rust",
        AgentKind::Wasm => "WebAssembly",
        AgentKind::Session => "session",
        _ => "the platform's own",
    };
    let mut parts = vec![kind.to_owned(), format!("{} on {}", mind.state, mind.node)];
    parts.extend(inside.source_file.clone());
    parts.extend(inside.cycle.map(|cycle| format!("cycle {cycle}")));
    let paused = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
    let by = inside.paused_by.as_deref().map(|by| format!(", {paused}paused{paused:#} by {}", harmless(by)));
    format!("{}: {}{}", bold(&harmless(&mind.agent)), harmless(&parts.join(", ")), by.unwrap_or_default())
}

/// Returns a section's title: how many there are, and how many are not shown.
fn headed(what: &str, shown: usize, not_shown: u64, text: &str) -> String {
    let count = match (shown, not_shown) {
        (0, 0) => return format!("{} none", bold(&format!("{what}:"))),
        (shown, 0) => format!("({shown})"),
        (shown, not_shown) => format!("({shown}, and {not_shown} more)"),
    };
    format!("{} {count}\n{text}", bold(what))
}

fn lines(what: &str, columns: &[TableColumn], rows: Vec<Vec<TableCell>>, not_shown: u64, room: PageRoom) -> String {
    let text = table(columns, &rows, room.columns);
    // A title says what it is already.
    let text = text.split_once('\n').map_or("", |(_, rows)| rows).to_owned();
    headed(what, rows.len(), not_shown, &text)
}

fn beliefs(inside: &Inspection, room: PageRoom) -> String {
    let row = |belief: &whimbrel_platform::inspection::BeliefSeen| {
        let from = if belief.rule { "rule".to_owned() } else { belief.sources.join(", ") };
        vec![cell(""), cell(&belief.text), dimmed(&from), dimmed(&belief.annotations.join(", "))]
    };
    let columns = [left(""), long(""), left(""), left("").if_room()];
    lines("beliefs", &columns, inside.beliefs.iter().map(row).collect(), inside.cut.beliefs, room)
}

fn goals(inside: &Inspection, room: PageRoom) -> String {
    let row = |goal: &whimbrel_platform::inspection::GoalSeen| {
        let by = goal.intention.map(|number| format!("intention {number}")).unwrap_or_default();
        let why = goal.reason.as_deref().map(|reason| format!("for {reason}")).unwrap_or_default();
        vec![cell(""), cell(&goal.text), cell(&goal.state), dimmed(&by), dimmed(&why)]
    };
    let columns = [left(""), long(""), left(""), left(""), left("")];
    lines("goals", &columns, inside.goals.iter().map(row).collect(), inside.cut.goals, room)
}

fn intentions(inside: &Inspection, room: PageRoom) -> String {
    let each = |intention: &IntentionSeen| {
        let frames = intention.frames.iter().map(|frame| {
            let unifier: Vec<String> = frame.unifier.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            vec![
                cell("   "),
                cell(&frame.trigger),
                cell(place(frame)),
                dimmed(&frame.plan),
                dimmed(&unifier.join(", ")),
            ]
        });
        let columns = [left(""), long(""), long(""), left(""), long("")];
        let frames = table(&columns, &frames.collect::<Vec<_>>(), room.columns);
        format!("  {}\n{}", head_of(intention), frames.split_once('\n').map_or("", |(_, rows)| rows))
    };
    let text: Vec<String> = inside.intentions.iter().map(each).collect();
    headed("intentions", inside.intentions.len(), inside.cut.intentions, &text.join("\n"))
}

/// `3 waiting for 500 ms more`
fn head_of(intention: &IntentionSeen) -> String {
    let IntentionSeen { id, state, waits_for, .. } = intention;
    let what = waits_for.as_deref().map(|what| format!(" for {}", harmless(what))).unwrap_or_default();
    format!("{id} {state}{what}")
}

/// `bob.asl:13 !bring(X)`
fn place(frame: &FrameSeen) -> String {
    let step = frame.step.as_deref().unwrap_or("(done)");
    let line = frame.step_line.unwrap_or(frame.line);
    harmless(&if line > 0 { format!("{}:{line} {step}", frame.file) } else { step.to_owned() })
}

fn events(inside: &Inspection, room: PageRoom) -> String {
    let row = |event: &whimbrel_platform::inspection::EventSeen| {
        let by = event.intention.map(|number| format!("intention {number}")).unwrap_or_default();
        vec![cell(""), cell(&event.text), dimmed(&by)]
    };
    lines("events", &[left(""), long(""), left("")], inside.events.iter().map(row).collect(), inside.cut.events, room)
}

fn mailbox(inside: &Inspection, room: PageRoom) -> String {
    let row = |message: &whimbrel_platform::inspection::MessageSeen| {
        vec![cell(""), cell(&message.from), cell(&message.performative), cell(&message.content)]
    };
    let columns = [left(""), left(""), left(""), long("")];
    lines("mailbox", &columns, inside.mailbox.iter().map(row).collect(), inside.cut.mailbox, room)
}

fn plans(inside: &Inspection, room: PageRoom) -> String {
    let row = |plan: &whimbrel_platform::inspection::PlanSeen| {
        let context = if plan.context.is_empty() { String::new() } else { format!(" : {}", plan.context) };
        let body = if plan.body.is_empty() { String::new() } else { format!(" <- {}", plan.body) };
        let from = plan.source.as_deref().map(|source| format!(" from {source}")).unwrap_or_default();
        let place = if plan.line > 0 { format!("{}:{}{from}", plan.file, plan.line) } else { from };
        let mark = if plan.breakpoint { "*" } else { "" };
        vec![right_mark(mark), cell(&plan.label), dimmed(&place), cell(format!("{}{context}{body}", plan.trigger))]
    };
    let columns = [right(""), left(""), left(""), long("")];
    let rows: Vec<Vec<TableCell>> = inside.plans.iter().map(row).collect();
    let title = if inside.plans.iter().any(|plan| plan.breakpoint) { "plans, * with a breakpoint" } else { "plans" };
    lines(title, &columns, rows, inside.cut.plans, room)
}

fn recent(inside: &Inspection, room: PageRoom) -> String {
    let row = |seen: &whimbrel_platform::inspection::CycleSeen| {
        format!(
            "{:>6}  {}",
            seen.cycle,
            cut(&harmless(&seen.text), room.columns.unwrap_or(usize::MAX).saturating_sub(8))
        )
    };
    let text: Vec<String> = inside.recent.iter().map(row).collect();
    format!("{}\n{}", bold("last cycles"), text.join("\n"))
}

fn details(inside: &Inspection, room: PageRoom) -> String {
    let row =
        |detail: &whimbrel_platform::inspection::Detail| vec![cell(""), dimmed(&detail.name), cell(&detail.value)];
    let rows: Vec<Vec<TableCell>> = inside.details.iter().map(row).collect();
    let text = table(&[left(""), left(""), long("")], &rows, room.columns);
    text.split_once('\n').map_or("", |(_, rows)| rows).to_owned()
}

fn dimmed(text: &str) -> TableCell {
    TableCell::styled(text, Style::new().dimmed())
}

fn right_mark(mark: &str) -> TableCell {
    TableCell::styled(mark, Style::new().bold().fg_color(Some(AnsiColor::Red.into())))
}
