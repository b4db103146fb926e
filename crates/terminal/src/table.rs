//! Tables that fit the terminal.

use std::borrow::Cow;

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use whimbrel_platform::plain_text::{harmless, is_harmful};

/// Blanks between two columns.
const GAP: usize = 2;
/// Minimum width of a column that can shrink.
const SHRUNK: usize = 8;

/// One column of a table.
#[derive(Clone, Copy)]
pub struct TableColumn {
    title: &'static str,
    right: bool,
    shrinks: bool,
    optional: bool,
}

impl TableColumn {
    /// Makes a column optional. It is left out if nothing in it is known, or if the terminal is too narrow: the last
    /// one first.
    pub const fn if_room(mut self) -> Self {
        self.optional = true;
        self
    }
}

/// Returns a column of text.
pub const fn left(title: &'static str) -> TableColumn {
    TableColumn { title, right: false, shrinks: false, optional: false }
}

/// Returns a column of text that is cut if there is no room.
pub const fn long(title: &'static str) -> TableColumn {
    TableColumn { title, right: false, shrinks: true, optional: false }
}

/// Makes a column of figures.
pub const fn right(title: &'static str) -> TableColumn {
    TableColumn { title, right: true, shrinks: false, optional: false }
}

/// Cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableCell {
    text: String,
    style: Style,
}

impl TableCell {
    /// Makes a cell with text in a style.
    pub fn styled(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: harmless(text.as_ref()), style }
    }
}

/// Makes a cell with plain text.
pub fn cell(text: impl AsRef<str>) -> TableCell {
    TableCell::styled(text, Style::new())
}

/// Returns a cell with the text, or with a dash if it is unknown.
pub fn known(text: Option<impl AsRef<str>>) -> TableCell {
    text.map_or_else(unknown, cell)
}

fn unknown() -> TableCell {
    TableCell::styled("-", Style::new().dimmed())
}

/// Escapes whole output as in JSON, except colours, line ends and tabs. Fields from others should be [`harmless`]
/// before; this is the last resort.
pub fn screened(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| !is_harmful(c) || matches!(c, '\n' | '\t');
    if text.chars().all(is_plain) {
        return text.into();
    }
    let (mut screened, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(c) = rest.chars().next() {
        let colour = colour_bytes(rest);
        let taken = if colour > 0 { colour } else { c.len_utf8() };
        let (this, after) = rest.split_at(taken);
        match colour > 0 || is_plain(c) {
            true => screened.push_str(this),
            false => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| screened.push_str(&format!("\\u{unit:04x}"))),
        }
        rest = after;
    }
    screened.into()
}

/// Bytes of the colour or style (ECMA-48 8.3.117) that a text begins with; 0 if it begins with none.
fn colour_bytes(text: &str) -> usize {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else { return 0 };
    match parameters.find(|c: char| !matches!(c, '0'..='9' | ';' | ':')) {
        Some(end) if parameters.get(end..).is_some_and(|rest| rest.starts_with('m')) => 2 + end + 1,
        _ => 0,
    }
}

/// Cuts a text to this number of columns.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let (mut short, mut width) = (String::new(), 0);
    for c in text.chars() {
        width += c.width().unwrap_or(0);
        if width >= columns {
            break;
        }
        short.push(c);
    }
    if columns > 0 {
        short.push('…');
    }
    short
}

/// Returns the table, no wider than the terminal if one is known; a line each, without the last line's end.
pub fn table(columns: &[TableColumn], rows: &[Vec<TableCell>], width: Option<usize>) -> String {
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let is_known = |index: usize| {
        rows.iter().filter_map(|row| row.get(index)).any(|cell| !cell.text.is_empty() && *cell != unknown())
    };
    let is_optional = |index: usize| columns.get(index).is_some_and(|column| column.optional);
    kept.retain(|index| is_known(*index) || !is_optional(*index));
    loop {
        let some: Vec<TableColumn> = kept.iter().filter_map(|index| columns.get(*index).copied()).collect();
        let pick = |row: &Vec<TableCell>| kept.iter().filter_map(|index| row.get(*index).cloned()).collect();
        let picked: Vec<Vec<TableCell>> = rows.iter().map(pick).collect();
        let widths = widths(&some, &picked, width);
        let is_wide = width.is_some_and(|width| total(&widths) > width);
        match kept.iter().rposition(|index| is_optional(*index)).filter(|_| is_wide) {
            Some(last) => drop(kept.remove(last)),
            None => return draw(&some, &picked, &widths),
        }
    }
}

fn draw(columns: &[TableColumn], rows: &[Vec<TableCell>], widths: &[usize]) -> String {
    let title = Style::new().bold();
    let titles: Vec<TableCell> = columns.iter().map(|column| TableCell::styled(column.title, title)).collect();
    let lines = std::iter::once(&titles).chain(rows).map(|row| line(columns, row, widths));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the width of a line.
fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

fn line(columns: &[TableColumn], row: &[TableCell], widths: &[usize]) -> String {
    let mut line = String::new();
    let mut blank = 0;
    for ((column, cell), width) in columns.iter().zip(row).zip(widths) {
        let text = cut(&cell.text, *width);
        let pad = width.saturating_sub(text.width());
        let (before, after) = if column.right { (pad, 0) } else { (0, pad) };
        line.push_str(&" ".repeat(blank + before));
        line.push_str(&format!("{}{text}{:#}", cell.style, cell.style));
        blank = after + GAP;
    }
    line
}

fn widths(columns: &[TableColumn], rows: &[Vec<TableCell>], at_most: Option<usize>) -> Vec<usize> {
    let cells = |index: usize| rows.iter().filter_map(move |row| row.get(index)).map(|cell| cell.text.width());
    let wanted = columns.iter().enumerate();
    let mut widths: Vec<usize> =
        wanted.map(|(index, column)| cells(index).chain([column.title.width()]).max().unwrap_or(0)).collect();
    let Some(at_most) = at_most else { return widths };
    // The widest that can, gives way, column by column.
    while total(&widths) > at_most {
        let shrinking = widths.iter_mut().zip(columns).filter(|(_, column)| column.shrinks).map(|(width, _)| width);
        match shrinking.max() {
            Some(widest) if *widest > SHRUNK => *widest -= 1,
            _ => break,
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [TableColumn; 3] = [left("AGENT"), right("MAILBOX"), long("CONTENT")];

    fn rows() -> Vec<Vec<TableCell>> {
        let row = |name: &str, count: u64, text: &str| vec![cell(name), cell(count.to_string()), cell(text)];
        vec![row("ada", 3, "price(tea)"), row("bärbel", 12_000, "a long story about 茶 and its price"), row("c", 0, "")]
    }

    #[test]
    fn tables_have_straight_columns() {
        insta::assert_snapshot!(table(&COLUMNS, &rows(), None).replace("\u{1b}[1m", "").replace("\u{1b}[0m", ""), @r"
        AGENT   MAILBOX  CONTENT
        ada           3  price(tea)
        bärbel    12000  a long story about 茶 and its price
        c             0
        ");
    }

    #[test]
    fn tables_fit_the_terminal() {
        let narrow = table(&COLUMNS, &rows(), Some(38)).replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
        insta::assert_snapshot!(narrow, @r"
        AGENT   MAILBOX  CONTENT
        ada           3  price(tea)
        bärbel    12000  a long story about …
        c             0
        ");
        assert!(narrow.lines().all(|line| line.width() <= 38), "{narrow}");
        assert!(table(&COLUMNS, &rows(), Some(1)).contains("a long …"), "what cannot shrink does not");
    }

    #[test]
    fn useless_columns_are_left_out() {
        let columns = [
            left("NODE"),
            right("PID").if_room(),
            left("ADDRESS").if_room(),
            left("OWNER").if_room(),
            left("").if_room(),
        ];
        let rows = [vec![cell("n1"), cell("4711"), cell("127.0.0.1:7001"), known(None::<&str>), cell("")]];
        let titles = |width| {
            let text = anstream::adapter::strip_str(&table(&columns, &rows, width)).to_string();
            text.lines().next().unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(titles(None), ["NODE", "PID", "ADDRESS"]);
        assert!(!table(&columns, &rows, None).contains(" \n"), "nor are spaces at the end");
        assert_eq!(titles(Some(26)), ["NODE", "PID", "ADDRESS"]);
        assert_eq!(titles(Some(25)), ["NODE", "PID"]);
        assert_eq!(titles(Some(3)), ["NODE"]);
    }

    #[test]
    fn control_characters_are_made_visible() {
        assert_eq!(harmless("red \u{1b}[31m"), "red \\u{1b}[31m");
        assert_eq!(harmless("tea\n"), "tea\\n");
        assert_eq!(harmless("grün 茶"), "grün 茶");
        assert_eq!(harmless("\u{202e}evil"), "\\u{202e}evil");
    }

    #[test]
    fn output_keeps_colours_only() {
        assert_eq!(screened("\u{1b}[1;31mred\u{1b}[0m\ttext\n"), "\u{1b}[1;31mred\u{1b}[0m\ttext\n");
        assert_eq!(
            screened("\u{1b}[2J\u{9b}31m\u{1b}]0;title\u{7}\r"),
            "\\u001b[2J\\u009b31m\\u001b]0;title\\u0007\\u000d"
        );
        let json = serde_json::json!({ "agent": "a\u{9b}2J\u{202e}\u{e0041}\u{2028}" });
        let written = json.to_string();
        let shown = screened(&written);
        assert!(!shown.contains(is_harmful), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("it is still JSON"), json);
    }
}
