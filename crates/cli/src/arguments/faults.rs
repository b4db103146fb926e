//! Errors of the command line that need a better explanation than clap's, or contain secrets.

use super::meanings::{command_like, option_like};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};

use crate::absent_parts::absent_command;

/// Options that take a folder behind `=`.
const FOLDERS: [&str; 1] = ["--log"];

/// Returns an error for a word that looks like the value of an option that takes it behind `=` only.
pub fn misplaced_value(command: &mut Command, words: &[String]) -> Option<Error> {
    let chosen = words.iter().skip(1).find_map(|word| command.find_subcommand(word))?;
    let before_content = || words.iter().take_while(|word| *word != "--");
    let (option, value) = before_content().zip(before_content().skip(1)).find(|(option, value)| {
        let is_time = value.ends_with(|c: char| c.is_ascii_alphabetic()) && whimbrel::duration::parse(value).is_ok();
        is_time && takes_value_behind_equals(chosen, option)
    })?;
    Some(command.error(ErrorKind::ValueValidation, how(option, value)))
}

/// Returns true for an option whose value may be left out, and stands behind `=` otherwise.
fn takes_value_behind_equals(command: &Command, option: &str) -> bool {
    let is_it = |argument: &&Arg| {
        let long = argument.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long));
        let short =
            argument.get_short().is_some_and(|short| option.strip_prefix('-') == Some(short.to_string().as_str()));
        long || short
    };
    command.get_arguments().find(is_it).is_some_and(Arg::is_require_equals_set)
}

/// Adds a hint to an error, if there is one, and removes secrets.
pub fn explained(mut error: Error, words: &[String]) -> Error {
    let text = |error: &Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let absent = text(&error, ContextKind::InvalidSubcommand).and_then(|name| Some((absent_command(&name)?, name)));
    if let Some((why, name)) = absent {
        return Error::raw(ErrorKind::InvalidSubcommand, format!("cannot run `{name}`: {why}\n"));
    }
    let argument = text(&error, ContextKind::InvalidArg).unwrap_or_default();
    // A mistyped token is still a secret, or nearly one.
    if argument.to_ascii_lowercase().contains("token") && error.get(ContextKind::InvalidValue).is_some() {
        error.insert(ContextKind::InvalidValue, ContextValue::String("(not shown)".to_owned()));
    }
    let before = words.iter().zip(words.iter().skip(1)).find(|(_, word)| **word == argument);
    if error.kind() == ErrorKind::UnknownArgument
        && let Some((option, value)) = before.filter(|(option, _)| FOLDERS.contains(&option.as_str()))
    {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![how(option, value).into()]));
    }
    hint_at_meaning(&mut error, words, &argument);
    error
}

/// Adds what does here what a command or an option of another program does.
fn hint_at_meaning(error: &mut Error, words: &[String], argument: &str) {
    let hint = match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(name))) => {
            // Commands of commands have few names.
            let is_first = words.iter().skip(1).find(|word| !word.starts_with('-')) == Some(name);
            command_like(name).filter(|_| is_first)
        }
        (ErrorKind::UnknownArgument, _) if words.iter().any(|word| word == "run") => {
            option_like(argument).map(|option| format!("`{option}` does that here"))
        }
        _ => None,
    };
    if let Some(hint) = hint {
        // A command that is near in spelling only would mislead: `start` is not `stop`.
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
}

/// Returns the hint for an option whose value may be left out.
fn how(option: &str, value: &str) -> String {
    format!("{option} takes its value behind `=`: write {option}={value}")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::CommandLine;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    fn told(line: &str) -> String {
        let (mut command, words) = (CommandLine::command(), words(line));
        let error = misplaced_value(&mut command, &words)
            .or_else(|| command.try_get_matches_from_mut(&words).err().map(|error| explained(error, &words)));
        error.expect("it is wrong").to_string()
    }

    #[test]
    fn value_behind_a_blank_is_explained() {
        assert!(told("whimbrel send bob x --wait 2s").contains("write --wait=2s"));
        assert!(told("whimbrel send --wait 2s").contains("write --wait=2s"));
        assert!(told("whimbrel ps --watch 500ms").contains("write --watch=500ms"));
        assert!(
            told("whimbrel run x.asl --log logs").contains("write --log=logs"),
            "{}",
            told("whimbrel run x.asl --log logs")
        );
        for fine in ["whimbrel send bob --wait 5", "whimbrel drain n2 --wait 30s", "whimbrel send bob -- --wait 2s"] {
            assert!(misplaced_value(&mut CommandLine::command(), &words(fine)).is_none(), "{fine}");
        }
    }

    #[test]
    fn other_verbs_get_hints() {
        for (line, hint) in [
            ("whimbrel start garden", "tip: `whimbrel run FILE` runs a project"),
            ("whimbrel list", "tip: `whimbrel ps` lists"),
            ("whimbrel version", "tip: `whimbrel --version`"),
            ("whimbrel status", "tip: `whimbrel ps`"),
            ("whimbrel init garden", "tip: `whimbrel new NAME`"),
            ("whimbrel logs", "tip: `whimbrel log`"),
            ("whimbrel stop-all", "tip: `whimbrel stop`"),
            ("whimbrel exec x.asl", "tip: `whimbrel run FILE`"),
            ("whimbrel run x.asl --port 80", "tip: `--http ADDRESS` does that here"),
            ("whimbrel run x.asl --verbose", "tip: `--trace` does that here"),
        ] {
            let told = told(line);
            assert!(told.contains(hint) && told.matches("tip:").count() == 1, "{line}: {told}");
        }
        assert!(told("whimbrel stpo").contains("'stop'"), "spelling counts, too: {}", told("whimbrel stpo"));
        assert!(told("whimbrel engine start").contains("unrecognized"), "{}", told("whimbrel engine start"));
    }

    #[test]
    fn tokens_are_not_repeated() {
        for option in ["--http-token", "--http-viewer-token"] {
            for line in [format!("whimbrel run x.asl {option} s3cret"), format!("whimbrel run x.asl {option}=s3cret")] {
                let told = told(&line);
                assert!(told.contains(option) && !told.contains("s3cret"), "{told}");
            }
        }
    }
}
