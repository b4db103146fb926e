//! List of all commands in `whimbrel --help`, grouped by purpose.

use std::fmt::Write as _;

use clap::builder::StyledStr;

use crate::absent_parts::absent_parts;

/// Groups of commands by purpose. Some commands are not in every build.
const GROUPS: &[(&str, &[&str])] = &[
    ("Write and run a society", &["new", "check", "run"]),
    ("Run on several machines", &["up", "join", "nodes", "drain", "engine", "chaos"]),
    ("Inspect a running society", &["ps", "agents", "sniff", "log", "mind", "df", "topics", "links", "dead-letters"]),
    ("Talk to agents in AgentSpeak", &["repl", "ask", "tell", "untell", "achieve", "create", "clone", "load"]),
    ("Act on a running society", &["send", "suspend", "resume", "debug", "kill", "stop"]),
    ("Move agents, and admit external ones", &["move", "recall", "advise", "agent", "session", "mcp"]),
    ("Certificates and evidence", &["ca", "enrol", "prove", "verify"]),
    (
        "Stores, encodings, benchmarks, shells, help, editors",
        &["store", "codec", "bench", "completions", "man", "explain", "fmt", "lsp", "dap"],
    ),
];
/// Commands that the short list describes. It names the others.
const DESCRIBED: &[&str] = &["new", "check", "run", "ps", "agents", "sniff", "send", "stop"];
/// Columns of the list, and of the short one.
const WIDTH: usize = 80;
const SHORT_WIDTH: usize = 100;
/// Column at which descriptions begin.
const INDENT: usize = 16;

/// Returns the command with the list as its help: each command with its description if the list is to be `whole`. A
/// test finds commands without a group.
pub fn with_summary(command: clap::Command, whole: bool) -> clap::Command {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut template = StyledStr::new();
    let mut write = |text: std::fmt::Arguments<'_>| {
        // Text takes whatever is written to it.
        let _ = template.write_fmt(text);
    };
    write(format_args!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n"));
    if !whole {
        write(format_args!("\n"));
    }
    for (want, names) in GROUPS {
        let gap = if whole { "\n" } else { "" };
        write(format_args!("{gap}{header}{want}:{header:#}\n"));
        let is_described = |name: &&&str| whole || DESCRIBED.contains(*name);
        for known in names.iter().filter(is_described).filter_map(|name| command.find_subcommand(name)) {
            let name = known.get_name();
            write(format_args!("  {literal}{name}{literal:#}{:1$}", "", (INDENT - 2).saturating_sub(name.len())));
            let about = known.get_about().map(ToString::to_string).unwrap_or_default();
            write(format_args!("{}\n", wrapped(&about, if whole { WIDTH } else { SHORT_WIDTH })));
        }
        let named: Vec<&str> = names.iter().filter(|name| !is_described(name)).copied().collect();
        let named = named.into_iter().filter(|name| command.find_subcommand(name).is_some());
        let named: Vec<String> = named.map(|name| format!("{literal}{name}{literal:#}")).collect();
        if !named.is_empty() {
            write(format_args!("  {}\n", named.join(", ")));
        }
    }
    let absent = absent_parts();
    if !absent.is_empty() {
        write(format_args!("\nThis build leaves out {}: `make build` makes all of it.\n", absent.join(", ")));
    }
    if whole {
        write(format_args!("\n{header}Options:{header:#}\n{{options}}{{after-help}}"));
    } else {
        let (help, all) = ("whimbrel COMMAND --help", "whimbrel --help-all");
        write(format_args!(
            "\n{literal}{help}{literal:#} explains a command, {literal}{all}{literal:#} lists all with their purpose."
        ));
    }
    command.help_template(template)
}

/// Wraps a text, and indents its further lines to the column of descriptions.
fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len() + INDENT);
    let mut column = INDENT;
    for word in text.split_whitespace() {
        if column + 1 + word.len() > width {
            let _ = write!(out, "\n{:INDENT$}", "");
            column = INDENT;
        } else if column > INDENT {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.len();
    }
    out
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::CommandLine;
    use super::*;

    #[test]
    fn help_lists_each_command_once() {
        let help = with_summary(CommandLine::command(), true).render_help().to_string();
        for command in CommandLine::command().get_subcommands() {
            let line = format!("\n  {} ", command.get_name());
            assert_eq!(help.matches(&line).count(), 1, "{line} in {help}");
        }
        let list = help.split("Options:").next().unwrap_or_default().split_once("Usage:").unwrap_or_default().1;
        assert!(list.lines().all(|line| line.len() <= WIDTH), "{list}");
        assert!(help.contains("Examples:") && help.contains("--color"), "{help}");
        let short = with_summary(CommandLine::command(), false).render_help().to_string();
        let listed = short.split(|c: char| !(c.is_alphanumeric() || c == '-')).collect::<Vec<_>>();
        assert!(
            CommandLine::command().get_subcommands().all(|command| listed.contains(&command.get_name())),
            "{short}"
        );
    }
}
