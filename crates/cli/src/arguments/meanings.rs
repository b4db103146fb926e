//! Commands and options of other programs, with what does the same here.

/// A command here that other programs call by these names, and what it does.
struct Meaning {
    names: &'static [&'static str],
    /// Command line to type.
    typed: &'static str,
    does: &'static str,
}

const fn meaning(names: &'static [&'static str], typed: &'static str, does: &'static str) -> Meaning {
    Meaning { names, typed, does }
}

/// Commands that people type who know Jason, JADE, SPADE, containers, services or other shells.
const COMMANDS: &[Meaning] = &[
    meaning(
        &["start", "launch", "serve", "exec", "execute", "mas", "jason", "app", "boot"],
        "whimbrel run FILE",
        "runs a project or a program",
    ),
    meaning(&["daemon", "detach", "cluster", "deploy"], "whimbrel up FILE --store URL", "runs a node of a cluster"),
    meaning(&["restart", "reload"], "whimbrel stop && whimbrel run FILE", "ends a society and runs it again"),
    meaning(
        &["init", "init-project", "generate", "scaffold", "setup", "template"],
        "whimbrel new NAME",
        "makes a small society",
    ),
    meaning(&["list", "ls", "status", "info", "platforms", "societies"], "whimbrel ps", "lists running societies"),
    meaning(&["top", "list-agents", "who", "stats", "metrics"], "whimbrel agents", "lists agents and their messages"),
    meaning(&["logs", "history", "messages", "conversations"], "whimbrel log", "shows logged messages"),
    meaning(
        &["trace", "spy", "monitor", "tail", "events", "sniffer"],
        "whimbrel sniff",
        "shows messages as they are sent",
    ),
    meaning(
        &["stop-all", "shutdown", "halt", "quit", "exit", "end", "down", "terminate"],
        "whimbrel stop",
        "ends a society",
    ),
    meaning(&["rm", "remove", "delete", "destroy", "kill-agent"], "whimbrel kill AGENT", "ends an agent"),
    meaning(&["pause", "freeze"], "whimbrel suspend AGENT", "suspends an agent"),
    meaning(&["continue", "unpause", "wake"], "whimbrel resume AGENT", "resumes an agent"),
    meaning(&["migrate", "mv", "hop"], "whimbrel move AGENT NODE", "moves an agent"),
    meaning(
        &["inspect", "introspect", "introspector", "inspector", "beliefs", "mind-inspector", "intentions"],
        "whimbrel mind AGENT",
        "shows beliefs, goals and intentions",
    ),
    meaning(&["step", "breakpoint", "break"], "whimbrel debug AGENT", "runs an agent step by step"),
    meaning(&["msg", "message", "mail", "post", "dummy"], "whimbrel send AGENT CONTENT", "sends a message"),
    meaning(&["services", "directory", "yellow-pages", "search"], "whimbrel df", "lists services"),
    meaning(
        &["console", "gui", "ui", "rma", "web", "dashboard", "open", "browser"],
        "whimbrel run FILE --open",
        "runs a society and opens its console",
    ),
    meaning(&["build", "compile", "build-agent"], "whimbrel agent build FILE", "compiles a program to WebAssembly"),
    meaning(&["lint", "validate", "parse", "syntax"], "whimbrel check FILE", "looks for errors"),
    meaning(&["node", "members"], "whimbrel nodes", "lists nodes"),
    meaning(&["connect", "attach", "container"], "whimbrel join ADDRESS", "joins a running platform"),
    meaning(&["cert", "certs", "certificate", "keys"], "whimbrel ca", "makes certificates"),
    meaning(&["nats", "jetstream", "server"], "whimbrel engine up", "starts NATS servers for trials"),
    meaning(&["version", "ver"], "whimbrel --version", "prints the version"),
    meaning(&["usage", "commands", "manual", "docs", "doc"], "whimbrel --help", "lists all commands"),
    meaning(&["completion", "complete"], "whimbrel completions SHELL", "prints completions for a shell"),
    meaning(&["benchmark", "perf"], "whimbrel bench", "measures this machine"),
];

/// Options that other programs have, without dashes, with what does the same here.
const OPTIONS: &[(&[&str], &str)] = &[
    (&["port", "host", "bind", "address"], "--http ADDRESS"),
    (&["gui", "browser", "web", "console"], "--open"),
    (&["verbose", "debug", "messages"], "--trace"),
    (&["stay", "wait", "hold"], "--keep"),
    (&["timeout", "duration", "time"], "--for TIME"),
    (&["persist", "persistent", "durability"], "--durable"),
    (&["silent"], "--quiet"),
    (&["instances", "population", "count"], "--agents N"),
    (&["threads", "pool"], "--workers N"),
    (&["processes", "replicas"], "--nodes N"),
];

/// Returns the hint for a command of another program, if one is known: `whimbrel run FILE` runs a society.
pub fn command_like(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let found = COMMANDS.iter().find(|meaning| meaning.names.contains(&name.as_str()))?;
    Some(format!("`{}` {}", found.typed, found.does))
}

/// Returns the option here that does what this option of another program does, if one is known.
pub fn option_like(name: &str) -> Option<&'static str> {
    let name = name.trim_start_matches('-').to_ascii_lowercase();
    OPTIONS.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, here)| *here)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::CommandLine;

    #[test]
    fn suggested_commands_exist() {
        let command = CommandLine::command();
        for meaning in COMMANDS {
            let verb = meaning.typed.split(' ').nth(1).expect("a verb");
            let is_absent = cfg!(not(all(feature = "nats", feature = "wasm", feature = "bench")));
            assert!(verb.starts_with("--") || command.find_subcommand(verb).is_some() || is_absent, "{verb}");
            for name in meaning.names {
                assert!(command.find_subcommand(name).is_none(), "{name} is a command itself");
                let found = COMMANDS.iter().filter(|meaning| meaning.names.contains(name)).count();
                assert_eq!(found, 1, "{name}");
            }
        }
    }

    #[test]
    fn suggested_options_exist() {
        let command = CommandLine::command();
        let run = command.find_subcommand("run").expect("a command");
        let has = |name: &str| run.get_arguments().any(|argument| argument.get_long() == Some(name));
        for (names, here) in OPTIONS {
            let option = here.split(' ').next().expect("an option").trim_start_matches('-');
            assert!(has(option), "--{option}");
            assert!(names.iter().all(|name| !has(name)), "{names:?}");
        }
    }
}
