//! Help of commands: `--help` fits on a screen, `--help-all` has everything.

use clap::builder::styling::AnsiColor;
use clap::builder::{Resettable, StyledStr, Styles};
use clap::{Arg, ArgAction, Command};

/// Options that `--help` of a command with many options shows.
const SHOWN: &[(&str, &[&str])] = &[
    (
        "run",
        &[
            "agents", "for", "durable", "store", "open", "keep", "log", "trace", "summary", "nodes", "policy", "http",
            "quiet",
        ],
    ),
    ("join", &["token", "name", "listen", "security", "credentials", "policy", "http", "log", "trace", "quiet"]),
    (
        "up",
        &["store", "name", "listen", "standby", "takeover", "token", "credentials", "policy", "http", "log", "quiet"],
    ),
    ("sniff", &["agent", "conversation", "performative", "only-messages", "limit", "for", "lines", "json", "platform"]),
    ("send", &["performative", "language", "ontology", "conversation", "wait", "json", "platform"]),
    ("bench mobility", &["part", "module", "messages", "agents", "mover", "trips", "clients", "pass", "json", "plot"]),
    ("advise", &["agent", "documents", "bytes", "pass", "mbit", "rtt", "explain", "json", "platform"]),
];

/// Examples that `--help` shows, and that of a command with so many commands of its own.
const EXAMPLES_SHOWN: usize = 3;
const EXAMPLES_OF_MANY: (usize, usize) = (1, 10);

/// Colours of the help.
fn styles() -> Styles {
    Styles::styled()
        .header(AnsiColor::Green.on_default().bold())
        .usage(AnsiColor::Green.on_default().bold())
        .literal(AnsiColor::Cyan.on_default().bold())
        .placeholder(AnsiColor::Cyan.on_default())
}

/// Returns true if these words of a command line ask for the whole help.
pub fn asks_for_all(words: &[String]) -> bool {
    words.iter().take_while(|word| *word != "--").any(|word| word == "--help-all")
}

/// Returns the command with its help: the `whole` of it, or as much as fits on a screen.
pub fn with_help(command: Command, whole: bool) -> Command {
    let all = Arg::new("help-all").long("help-all").action(ArgAction::HelpLong).global(true).display_order(902);
    let command = command.styles(styles()).arg(all.help("Print help with all options"));
    if whole { command } else { fitted(command, "") }
}

/// Shortens the help of a command and of its subcommands.
fn fitted(command: Command, path: &str) -> Command {
    let shown = SHOWN.iter().find(|(name, _)| *name == path).map(|(_, options)| *options);
    let (few, many) = EXAMPLES_OF_MANY;
    let count = if command.get_subcommands().count() > many { few } else { EXAMPLES_SHOWN };
    let examples = command.get_after_help().map(|text| examples(&text.to_string(), count));
    let about = command.get_about().map(|about| first_sentence(&about.to_string()));
    let about = about.map(|about| about.split(": ").next().unwrap_or_default().to_owned());
    let command = command
        .long_about(Resettable::<StyledStr>::Reset)
        .after_long_help(Resettable::<StyledStr>::Reset)
        .mut_args(|argument| fitted_argument(argument, shown))
        .mut_subcommands(|subcommand| {
            let path = format!("{path} {}", subcommand.get_name());
            fitted(subcommand, path.trim())
        });
    let command = if let Some(about) = about { command.about(about) } else { command };
    if let Some(examples) = examples { command.after_help(examples) } else { command }
}

/// Shortens the help of an option to its first sentence, or hides the option.
fn fitted_argument(argument: Arg, shown: Option<&[&str]>) -> Arg {
    let name = argument.get_long().unwrap_or_default();
    let is_hidden = argument.is_hide_set()
        || name == "color"
        || shown.is_some_and(|shown| !argument.is_positional() && !shown.contains(&name) && name != "help-all");
    let mut help = argument.get_help().map(|help| brief(&first_sentence(&help.to_string()))).unwrap_or_default();
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let values = if takes_value { argument.get_possible_values() } else { Vec::new() };
    let values: Vec<String> = values.iter().map(|value| value.get_name().to_owned()).collect();
    if !values.is_empty() {
        help = format!("{help} [{}]", values.join(", "));
    }
    argument
        .help(help)
        .long_help(Resettable::<StyledStr>::Reset)
        .help_heading(None::<&str>)
        .hide_possible_values(takes_value)
        .hide_env(takes_value)
        .hide(is_hidden)
}

/// Returns a text up to the end of its first sentence.
fn first_sentence(text: &str) -> String {
    let text = text.split_once("\n\n").map_or(text, |(first, _)| first);
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.').to_owned()
}

/// Length of an option's description that usually fits on a line.
const LINE_MAX: usize = 62;
/// Places where a longer description is cut, the best first.
const CUTS: [&str; 7] = [", for example", ": ", ", with ", ", or of ", ", in ", ", each ", ", and "];

/// Cuts what is too long for a line, if there is a place for it.
fn brief(text: &str) -> String {
    let mut text = text;
    for place in CUTS {
        if text.len() > LINE_MAX {
            text = text.split(place).next().unwrap_or(text);
        }
    }
    text.to_owned()
}

/// Returns the first examples, this many.
fn examples(text: &str, count: usize) -> String {
    text.split("\n\n").next().unwrap_or_default().lines().take(1 + count).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::{CommandLine, with_summary};
    use super::*;

    /// Lines of a screen that the help of a command fills at most, and columns of a line.
    const SCREEN: (usize, usize) = (30, 100);

    fn each(command: &mut Command, path: &str, check: &mut impl FnMut(&str, &str)) {
        check(path, &command.render_help().to_string());
        // The list of `whimbrel help` is that of `whimbrel --help-all`.
        for subcommand in command.get_subcommands_mut().filter(|subcommand| subcommand.get_name() != "help") {
            let path = format!("{path} {}", subcommand.get_name());
            each(subcommand, &path, check);
        }
    }

    #[test]
    fn help_fits_on_a_screen() {
        let mut command = with_summary(with_help(CommandLine::command(), false), false).term_width(SCREEN.1);
        command.build();
        let mut long = Vec::new();
        each(&mut command, "whimbrel", &mut |path, help| {
            let (lines, columns) = SCREEN;
            let wide = help.lines().filter(|line| line.chars().count() > columns).count();
            if help.lines().count() > lines || wide > 0 {
                long.push(format!("{path}: {} lines, {wide} too wide", help.lines().count()));
            }
        });
        assert!(long.is_empty(), "{long:#?}");
    }

    #[test]
    fn shown_options_exist() {
        let command = CommandLine::command();
        for (name, shown) in SHOWN {
            let mut words = name.split(' ');
            let Some(found) = words.try_fold(&command, |found, word| found.find_subcommand(word)) else { continue };
            for option in *shown {
                let exists = found.get_arguments().any(|argument| argument.get_long() == Some(option));
                assert!(exists, "{name} --{option}");
            }
        }
    }

    #[test]
    fn whole_help_has_every_option() {
        let words = ["whimbrel", "run", "--help-all"].map(str::to_owned);
        assert!(asks_for_all(&words) && !asks_for_all(&["run", "--", "--help-all"].map(str::to_owned)));
        let mut command = with_help(CommandLine::command(), true);
        command.build();
        let run = command.find_subcommand_mut("run").expect("a command");
        let help = run.render_long_help().to_string();
        for option in run.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let long = option.get_long().unwrap_or_default();
            assert!(help.contains(long), "--{long}");
        }
    }
}
