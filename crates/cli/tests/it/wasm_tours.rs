//! Tours of WebAssembly agents in each language on real nodes: rounds, recalls, minions, and lifetimes.

use super::CommandFolder;
use super::wasm_agents::{LANGUAGES, scratch};

/// Returns the output of a clerk that queries the scout of each language; `None` if the modules are not built.
fn asked(clerk: &str) -> Option<Vec<(&'static str, Vec<String>)>> {
    let said = LANGUAGES.map(|language| {
        let module = format!("scout-{language}");
        let project =
            format!("MAS survey {{ agents: scout \"{module}.wasm\" at \"n1\"; clerk at \"n1\"; guard at \"n2\"; }}");
        let files = [("survey.mas2j", project.as_str()), ("clerk.asl", clerk), ("guard.asl", "on(guard).\n")];
        let seen = scratch(&files, &[&module])?.run(&["run", ".", "--nodes", "3", "--for", "60s"]);
        assert_eq!((seen.err.as_str(), seen.code), ("", Some(0)), "{language}: {}", seen.out);
        Some((language, seen.out.lines().map(str::to_owned).collect()))
    });
    said.into_iter().collect()
}

const TELL: &str =
    "+toured(Seen, Missed, End, Home) <- .print(Seen, \" but \", Missed, \", \", End, \" on \", Home); .stopMAS.\n";

fn toured(clerk: &str, expected: &str) {
    for (language, lines) in asked(&format!("{clerk}\n{TELL}")).into_iter().flatten() {
        assert_eq!(lines, [format!("[clerk] {expected}")], "{language}");
    }
}

#[test]
fn scout_avoids_dead_node() {
    toured(
        "!go. +!go <- .send(scout, request, tour([[n1], [nowhere, n2], [gone], [n3]], 60000, 1)).",
        "[\"0 on n1\",\"1 on n2\",\"3 on n3\"] but [\"nowhere\",\"gone\"], done on n1",
    );
}

/// The third stop would begin after two seconds at the earliest. How many of the first two are in time depends on how
/// long the hops take.
#[test]
fn expired_scout_stops_touring() {
    let clerk = "!go. +!go <- .send(scout, request, tour([[n2], [n3], [n2], [n3]], 1500, 1000)).";
    let stops = ["\"0 on n2\"", "\"1 on n3\""];
    let outcomes = [0, 1, 2].map(|count| format!("[clerk] [{}] but [], late on n1", stops[..count].join(",")));
    for (language, lines) in asked(&format!("{clerk}\n{TELL}")).into_iter().flatten() {
        assert!(lines.len() == 1 && outcomes.contains(&lines[0]), "{language}: {lines:?}");
    }
}

/// The scout is called while it stays at its second stop, or when it has gone on from there.
#[test]
fn scout_is_recalled_during_tour() {
    let stops = ["[n2]", "[n3]"].repeat(50).join(",");
    let clerk = format!(
        "!go. +!go <- .send(scout, request, tour([{stops}], 600000, 300)).
         +visits(\"n3\") : not called <- +called; .recall(scout).
         +toured([First, Second | More], Missed, End, Home) : .length(More, N) & N < 98 <-
             .print(First, \", \", Second, \", but \", Missed, \", \", End, \" on \", Home); .stopMAS.
         +toured(Seen, _, End, _) <- .print(End, \" after \", Seen); .stopMAS."
    );
    for (language, lines) in asked(&clerk).into_iter().flatten() {
        assert_eq!(lines, ["[clerk] 0 on n2, 1 on n3, but [], recalled on n1"], "{language}");
    }
}

/// Each stop takes no time: a recall has to find the agent between two hops.
#[test]
fn restless_scout_is_recalled() {
    let stops = ["[n2]", "[n3]"].repeat(50).join(",");
    let clerk = format!(
        "!go. +!go <- .send(scout, request, tour([{stops}], 60000, 0)).
         +visits(\"n2\") : not called <- +called; .recall(scout).
         +toured(Seen, _, End, Home) : .length(Seen, N) & N < 100 <- .print(End, \" on \", Home); .stopMAS.
         +toured(Seen, _, End, Home) <- .print(Seen); .stopMAS."
    );
    for (language, lines) in asked(&clerk).into_iter().flatten() {
        assert_eq!(lines, ["[clerk] recalled on n1"], "{language}");
    }
}

#[test]
fn minion_returns_findings_and_vanishes() {
    let clerk = "!go.
        +!go <- .send(scout, request, send([nowhere, n2], 60000, 1)).
        +heard(2, Home) <- .print(\"two letters, on \", Home); .send(scout, request, send([nowhere], 60000, 1)).
        +heard(Why, _) : .substring(\"no node named nowhere\", Why) <-
            .print(\"nobody went\"); .send(scout, request, send([n2], 300, 100000)).
        +heard(Why, _) : .substring(\"did not answer\", Why) <-
            .print(\"nobody came\"); !alone.
        +!alone : .all_names(L) & .length(L, 3) <- .print(\"nobody is left\"); .stopMAS.
        +!alone <- .wait(50); !alone.";
    for (language, lines) in asked(clerk).into_iter().flatten() {
        let expected = ["two letters, on n1", "nobody went", "nobody came", "nobody is left"];
        assert_eq!(lines, expected.map(|line| format!("[clerk] {line}")), "{language}");
    }
}

#[test]
fn orphaned_minion_ends() {
    let clerk = "!go.
        +!go <- .send(scout, request, send([n2], 5000, 100000)); !sent.
        +!sent : .all_names(L) & .length(L, 4) <-
            .kill_agent(scout); .wait(200); .all_names(All); .length(All, N); .print(N, \" with the minion\"); !alone.
        +!sent <- .wait(20); !sent.
        +!alone : .all_names(L) & .sort(L, [clerk, guard]) <- .print(\"nobody is left\"); .stopMAS.
        +!alone <- .wait(50); !alone.";
    for (language, lines) in asked(clerk).into_iter().flatten() {
        assert_eq!(lines, ["[clerk] 3 with the minion", "[clerk] nobody is left"], "{language}");
    }
}
