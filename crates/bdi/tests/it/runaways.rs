//! Rules and goals without end, or with a bad one: reports to failure plans and to people.

use whimbrel_acl::Text;
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_testkit::Simulation;

use crate::depth::on_a_worker;
use crate::snapshots::output_of_saved;

fn run(text: &str) -> (Vec<String>, String) {
    let loaded = whimbrel_bdi::load(text, &Text::from("p.asl"), &mut NoFiles);
    let image = loaded.unwrap_or_else(|e| panic!("{:#?}", e.diagnostics)).0;
    let mut simulation = Simulation::new(1);
    simulation.spawn("me", Box::new(Agent::new(AgentConfig::new(image))));
    simulation.spawn("other", whimbrel_testkit::turning(|_| whimbrel_platform::Next::Wait));
    simulation.run_for(20);
    (simulation.output(), simulation.log().join("\n"))
}

#[test]
fn endless_rule_fails_naming_itself() {
    on_a_worker(|| {
        let asks = "!g. +!g <- ?p(_); .print(never). -!g[error(E), error_msg(M)] <- .print(E, \" \", M).";
        for (rules, named) in [
            ("p(X) :- p(X).", "p/1"),
            ("p(X) :- q(X).\nq(X) :- p(X).", "/1"),
            ("p(X) :- p(Y) & X = Y + 1. p(1).", "p/1"),
            ("p(X) :- p(Z) & p(Z) & X = Z.", "p/1"),
            ("p(X) :- not p(X).", "nest more than"),
            ("p(X) :- .findall(Y, p(Y), X).", "nest more than"),
        ] {
            let (output, log) = run(&format!("{rules}\n{asks}"));
            let [said] = output.as_slice() else { panic!("{rules}: {output:?} {log}") };
            assert!(said.starts_with("[me] rule_too_deep ") && said.contains(named), "{rules}: {said}");
            assert!(said.contains("p.asl:"), "{rules}: {said}");
        }
    });
}

#[test]
fn endless_solutions_end_too() {
    let (output, log) = run("n(1). n(X) :- n(Y) & X = Y + 1. p(X) :- .findall(Y, n(Y), X).
                             !g. +!g <- ?p(_); .print(never). -!g[error(E)] <- .print(E).");
    assert_eq!(output, ["[me] proof_too_long"], "{log}");
}

#[test]
fn endless_rule_in_context_is_reported() {
    let (output, log) = run("p :- p.\n!g. @one +!g : p <- .print(never). +!g <- .print(second).");
    assert_eq!(output, ["[me] second"]);
    assert!(log.contains("plan @one is not applicable: calls of rules nest"), "{log}");
    assert!(log.contains("rule p/0 (p.asl:1) does not end"), "{log}");
}

#[test]
fn further_contexts_have_fewer_steps() {
    let facts: String = (1..=100).map(|n| format!("n({n}). ")).collect();
    let (output, log) = run(&format!(
        "{facts} e(1). e(X) :- e(Y) & X = Y + 1. !g.
         @one +!g : .findall(Y, e(Y), _) <- .print(never).
         @two +!g : n(A) & n(B) & n(C) & A + B + C > 1000 <- .print(never).
         +!g : n(100) <- .print(third)."
    ));
    assert_eq!(output, ["[me] third"], "{log}");
    let named = "plan @two is not applicable: a proof takes more than 300000 steps: n/1 was asked last in its context";
    assert!(log.contains(named), "{log}");
}

#[test]
fn too_many_effects_have_none() {
    let step = |most: u32| {
        run(&format!(
            "!g. +!g <- .findall(X, .range(X, 1, {most}) & .asserta(seen(X)), L); .length(L, N); !said(N).
             -!g[error(E)] <- !said(E). +!said(What) <- .count(seen(_), N); .print(What, \" \", N)."
        ))
    };
    let (output, log) = step(10_000);
    assert_eq!(output, ["[me] 10000 10000"], "{log}");
    let (output, log) = step(10_001);
    assert_eq!(output, ["[me] too_many_effects 0"], "{log}");
    let (output, log) = run("!g. @one +!g : .findall(X, .range(X, 1, 10001) & .asserta(seen(X)), _) <- .print(never).
                             +!g <- .count(seen(_), N); .print(second, \" \", N).");
    assert_eq!(output, ["[me] second 0"], "{log}");
    assert!(log.contains("plan @one is not applicable: a formula asks for more than 10000 actions"), "{log}");
}

#[test]
fn endless_rule_ends_a_wait() {
    let (output, _) = run("p :- q & p.\n!g. !h. +!g <- .wait(p). -!g[error(E)] <- .print(E). +!h <- .wait(1); +q.");
    assert_eq!(output, ["[me] rule_too_deep"]);
}

#[test]
fn deep_rules_have_answers() {
    let (output, log) = run("n(0). n(N) :- N > 0 & n(N - 1). s(0, 0). s(N, S) :- N > 0 & s(N - 1, R) & S = R + N.
                             !g. +!g <- ?n(100000); ?s(50000, S); .print(S).");
    assert_eq!(output, ["[me] 1250025000"], "{log}");
}

#[test]
fn unbound_arithmetic_is_no_formula() {
    for action in
        [".wait(N * 100)", ".wait(math.round(N))", ".suspend(N + 1)", ".drop_desire(N - 1)", ".succeed_goal(N / 2)"]
    {
        let (output, log) =
            run(&format!("!g(_). +!g(N) <- {action}; .print(never). -!g(_)[error(E)] <- .print(failed)."));
        assert_eq!(output, ["[me] failed"], "{action}: {log}");
    }
    let (output, _) = run("!g(_). +!g(N) <- .wait(N * 100). -!g(_)[error(E), error_msg(M)] <- .print(E, \": \", M).");
    assert_eq!(output, ["[me] internal_action: Error evaluating (N*100). It is not ground"]);
}

#[test]
fn failed_goal_reports_its_place() {
    let told = "-!G[error(E), code(C), code_src(S), code_line(L)] <- .print(E, \" \", C, \" \", S, \":\", L).";
    for (program, said) in [
        ("!no(1).", "no_relevant no(1)[source(self)] file:p.asl:1"),
        ("!g.\n+!g <-\n !!no(2).", "no_relevant no(2)[source(self)] file:p.asl:3"),
        ("!g.\n+!g <- X = 1;\n !!b(X).\n+!b(X) : false.", "no_applicable b(1)[source(self)] file:p.asl:3"),
        ("!g.\n+!g <- .send(me, achieve, no(3)).", "no_relevant no(3)[source(self)] no_code:no_code"),
        ("!g.\n+!g <- .add_plan({ +!h <- .fail }); !!h.", "ia_failed .fail file:"),
        ("!g.\n+!g <- .at(\"now +1 ms\", { +!no(4) }).", "no_relevant no(4) no_code:no_code"),
    ] {
        let (output, log) = run(&format!("{program}\n{told}"));
        let [line] = output.as_slice() else { panic!("{program}: {output:?} {log}") };
        assert!(line.starts_with(&format!("[me] {said}")), "{program}: {line}");
    }
}

#[test]
fn goals_and_labels_survive_saving() {
    let told = "-!G[error(E), code(C), code_src(S), code_line(L)] <- .print(E, C, S, L).";
    for program in [
        "!no(1).\n!g.\n+!g <- X = 2;\n !!no(X); !!no(3); .wait(1); !!no(4).",
        "!g. +!g <- .add_plan({ @p__1[b] +!a <- .print(a) }, bob); .relevant_plans({+!a}, _, L); .print(L); !a;
                    .remove_plan(p__1, bob); .relevant_plans({+!a}, P); .print(P).",
    ] {
        let text = format!("{program}\n{told}");
        let image = whimbrel_bdi::load(&text, &Text::from("p.asl"), &mut NoFiles).expect("it compiles").0;
        let (output, log) = run(&text);
        assert!(output.len() > 2, "{output:?} {log}");
        let named: Vec<String> = output.iter().map(|line| line.replacen("[me]", "[prog]", 1)).collect();
        assert_eq!(output_of_saved(&image, 1, 1), named, "{program}");
    }
}
