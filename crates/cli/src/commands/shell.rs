//! `whimbrel completions`, `whimbrel man` and `whimbrel explain`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use whimbrel::control::survey;
use whimbrel_operator::{AgentOrder, AgentsWanted, Answer, Request};
use whimbrel_platform::limits::SEARCH_RESULTS_MAX;

use crate::arguments::{
    CommandLine, CompletedShell, CompletionsArguments, ExplainArguments, ManArguments, RunningNames, with_help,
};
use whimbrel_terminal::explanations;
use whimbrel_terminal::screen::{is_closed, print};

/// Name of the program in a shell.
const PROGRAM: &str = "whimbrel";
/// Column, after that of names, in which summaries of explanations begin at the latest.
const EXPLAINED_NAME: usize = 44;
/// Commands whose arguments are agents.
const OF_AGENTS: &[&str] =
    &["debug", "kill", "mind", "move", "recall", "resume", "send", "sniff", "suspend", "tell", "ask", "load", "clone"];
/// Commands whose arguments are nodes.
const OF_NODES: &[&str] = &["advise", "drain"];

/// Performs `whimbrel completions`.
pub fn completions(arguments: &CompletionsArguments) -> anyhow::Result<ExitCode> {
    let text = match (arguments.names, arguments.shell) {
        (Some(of), _) => running(of).join("\n"),
        (None, Some(shell)) => script(shell)?,
        (None, None) => String::new(),
    };
    print(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Performs `whimbrel man`.
pub fn man(arguments: &ManArguments) -> anyhow::Result<ExitCode> {
    let folder = &arguments.folder;
    if folder.exists() && !folder.is_dir() {
        anyhow::bail!("{} is no folder: name one for the manual pages", folder.display());
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    clap_mangen::generate_to(whole(), folder)
        .with_context(|| format!("cannot write manual pages into {}", folder.display()))?;
    let pages = std::fs::read_dir(folder)?.flatten().filter(|entry| is_page(&entry.file_name().to_string_lossy()));
    print(&format!("{} manual pages in {}", pages.count(), folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Performs `whimbrel explain`.
pub fn explain(arguments: &ExplainArguments) -> anyhow::Result<ExitCode> {
    let words = arguments.message.join(" ");
    if words.trim().is_empty() {
        let printed = print(&explained());
        // Whoever looks for one name, as with `head`, may have found it.
        if !is_closed(&printed) {
            printed?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let found = explanations::find(&words);
    let found = found.with_context(|| format!("no explanation of {words:?}: whimbrel explain lists what there is"))?;
    print(&format!("{}\n\n{}", found.title, found.plain()))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the list of explanations: parts of the documents, and under them each name with its summary on one line.
fn explained() -> String {
    let width = explanations::all().iter().map(|one| one.name.len()).max().unwrap_or_default().min(EXPLAINED_NAME);
    let mut lines = Vec::new();
    let mut part = "";
    for one in explanations::all() {
        if one.part != part {
            part = one.part;
            lines.extend([String::new(), part.to_owned()]);
        }
        lines.push(format!("  {:width$}  {}", one.name, one.summary()));
    }
    lines.join("\n").trim_start().to_owned()
}

fn is_page(file: &str) -> bool {
    file.starts_with(PROGRAM) && file.ends_with(".1")
}

/// Returns the command line with all options.
fn whole() -> Command {
    with_help(CommandLine::command(), true).disable_help_subcommand(true)
}

/// Returns the completions for a shell.
fn script(shell: CompletedShell) -> anyhow::Result<String> {
    let (generated, agents, nodes) = match shell {
        CompletedShell::Bash => (Shell::Bash, OF_AGENTS.join("|"), OF_NODES.join("|")),
        CompletedShell::Fish => (Shell::Fish, OF_AGENTS.join(" "), OF_NODES.join(" ")),
        CompletedShell::Zsh => (Shell::Zsh, String::new(), String::new()),
    };
    let mut bytes = Vec::new();
    clap_complete::generate(generated, &mut whole(), PROGRAM, &mut bytes);
    let text = String::from_utf8(bytes)?;
    Ok(match shell {
        CompletedShell::Bash => text + &BASH_NAMES.replace("AGENT_COMMANDS", &agents).replace("NODE_COMMANDS", &nodes),
        CompletedShell::Fish => text + &FISH_NAMES.replace("AGENT_COMMANDS", &agents).replace("NODE_COMMANDS", &nodes),
        CompletedShell::Zsh => with_zsh_names(&text),
    })
}

/// Completes names of running agents and nodes in bash, after the generated completions.
const BASH_NAMES: &str = r#"
_whimbrel_names() {
    _whimbrel "$@"
    local word="${COMP_WORDS[COMP_CWORD]}" of
    [[ "$word" == -* || $COMP_CWORD -lt 2 ]] && return 0
    case "${COMP_WORDS[1]}" in
        AGENT_COMMANDS) of=agents ;;
        NODE_COMMANDS) of=nodes ;;
        *) return 0 ;;
    esac
    COMPREPLY+=($(compgen -W "$("${COMP_WORDS[0]}" completions --names $of 2>/dev/null)" -- "$word"))
}
complete -F _whimbrel_names -o bashdefault -o default whimbrel
"#;

/// Completes names of running agents and nodes in fish.
const FISH_NAMES: &str = r#"
complete -c whimbrel -n "__fish_seen_subcommand_from AGENT_COMMANDS" -f -a "(whimbrel completions --names agents 2>/dev/null)"
complete -c whimbrel -n "__fish_seen_subcommand_from NODE_COMMANDS" -f -a "(whimbrel completions --names nodes 2>/dev/null)"
"#;

/// Completes names of running agents in zsh.
const ZSH_NAMES: &str = r#"
_whimbrel_agents() {
    local -a names
    names=(${(f)"$(whimbrel completions --names agents 2>/dev/null)"})
    compadd -a names
}
"#;

/// Returns completions for zsh in which arguments that are agents are completed by their names.
fn with_zsh_names(text: &str) -> String {
    let is_agent = |line: &str| ["'*::whom", "'::agent", "':agent", "'*::agents"].iter().any(|of| line.contains(of));
    let lines = text
        .lines()
        .map(|line| if is_agent(line) { line.replace(":_default'", ":_whimbrel_agents'") } else { line.to_owned() });
    let text = lines.collect::<Vec<_>>().join("\n");
    // The first line tells zsh which command the file completes.
    match text.split_once('\n') {
        Some((first, rest)) => format!("{first}\n{ZSH_NAMES}\n{rest}"),
        None => text,
    }
}

/// Returns the names of what runs here; none if nothing does.
fn running(of: RunningNames) -> Vec<String> {
    let nodes = survey().nodes;
    let mut names: Vec<String> = match of {
        RunningNames::Nodes => nodes.iter().map(|node| node.info.node.clone()).collect(),
        RunningNames::Agents => {
            let wanted = AgentsWanted {
                name: "*".to_owned(),
                state: None,
                services: false,
                sort: AgentOrder::Name,
                limit: SEARCH_RESULTS_MAX,
                elsewhere_but: None,
            };
            let agents_of = |answer| match answer {
                Ok(Answer::Agents(found)) => found.agents.into_iter().map(|agent| agent.name).collect(),
                _ => Vec::new(),
            };
            let request = Request::Agents(wanted);
            nodes.iter().flat_map(|node| agents_of(node.ask(&request, Duration::ZERO))).collect()
        }
    };
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zsh_completes_agent_names() {
        let script = script(CompletedShell::Zsh).expect("text");
        assert!(script.starts_with("#compdef whimbrel\n"), "{}", script.lines().next().unwrap_or_default());
        assert!(script.matches(":_whimbrel_agents'").count() >= 5, "{}", script.matches(":_default'").count());
    }
}
