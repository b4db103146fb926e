//! Large numbers: an index finds the same as a scan.

use whimbrel_acl::Text;
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_testkit::Simulation;

use crate::snapshots::output_of_saved;

/// Returns the lines that a program prints, also if the agent is saved and restored after each step.
fn printed(text: &str) -> Vec<String> {
    let loaded = whimbrel_bdi::load(text, &Text::from("p.asl"), &mut NoFiles);
    let image = loaded.unwrap_or_else(|e| panic!("{:#?}", e.diagnostics)).0;
    let mut simulation = Simulation::new(1);
    simulation.spawn("prog", Box::new(Agent::new(AgentConfig::new(image.clone()))));
    simulation.run_for(100);
    let output = simulation.output();
    assert_eq!(output_of_saved(&image, 1, 1), output, "{text}");
    output.iter().map(|line| line.trim_start_matches("[prog] ").to_owned()).collect()
}

#[test]
fn many_conditions_wake_in_time() {
    let waits = "!go. d(1). d(2). derived(X) :- base(X) & not off(X). two(X, Y) :- d(X) & d(Y).
        +!go <- for (.range(I, 1, 20)) { !!fact(I); }
                !!negated; !!compared; !!ruled; !!ruled_later; !!counted; !!annotated; !!variable(open(_)); !!both;
                .wait(5);
                +f(7); .wait(1); +f(a); +f(3); .wait(1);
                -d(1); .wait(1); +c(2); .wait(1); +c(5); .wait(1);
                +off(4); +base(4); .wait(1); -off(4); .wait(1);
                +{ later(X) :- basis(X) }; .wait(1); +basis(1); .wait(1);
                +n(1); +n(2); .wait(1); +note[one]; .wait(1); +note[two]; .wait(1); +open(1); .wait(1); +one; +other.
        +!fact(I) <- .wait(f(I)); .print(f(I)).
        +!negated <- .wait(not d(1)); .print(negated).
        +!compared <- .wait(c(X) & X > 3); .print(compared(X)).
        +!ruled <- .wait(derived(4)); .print(ruled).
        +!ruled_later <- .wait(later(1)); .print(later).
        +!counted <- .wait(.count(n(_), 2)); .print(counted).
        +!annotated <- .wait(note[two]); .print(annotated).
        +!variable(G) <- .wait(G); .print(variable).
        +!both <- .wait(one & other); .print(both).";
    let expected =
        ["f(7)", "f(3)", "negated", "compared(5)", "ruled", "later", "counted", "annotated", "variable", "both"];
    assert_eq!(printed(waits), expected);
}

#[test]
fn many_event_waits_wake_in_order() {
    let waits = "!go.
        +!go <- for (.range(I, 1, 12)) { !!event(I); }
                !!any; !!goal; !!late(Z);
                .wait(5);
                +e(3)[source(bob)]; .wait(1); !!g(a); .wait(1); +e(X); .wait(1); -e(3)[source(bob)].
        +!event(I) <- .wait({+e(I)}); .print(e(I)).
        +!any <- .wait({+e(X)}); .print(any(X)).
        +!goal <- .wait({+!g(_)}); .print(goal).
        +!late(Z) <- .wait({-e(Z)}); .print(gone(Z)).
        +!g(_).";
    let first = ["e(3)", "any(3)", "goal"];
    let printed = printed(waits);
    assert_eq!(printed[..3], first);
    let woken: Vec<String> = (1..=12).filter(|number| *number != 3).map(|number| format!("e({number})")).collect();
    assert_eq!(printed[3..printed.len() - 1], woken, "an open event is everybody's");
    assert_eq!(printed.last().map(String::as_str), Some("gone(3)"));
}

#[test]
fn many_annotations_are_found() {
    let asks = "!go. b[c1, c2, c3, c4, t(a[x]), t(b, c), u[y], w(1), source(bob), source(ann)].
        +!go <- if (b[t(a)]) { .print(annotated_argument) }
                if (b[u]) { .print(annotated) }
                if (b[c3]) { .print(constant) }
                if (b[source(bob)]) { .print(source) }
                if (b[w(2)] | b[t(b)] | b[u(1)] | b[c5] | b[source(eve)]) { .print(wrong) }
                .findall(X, b[w(X)], W); .findall(X, b[source(X)], S);
                .count(b[_, _], N); .print(W, S, N);
                -b[c1, w(1), source(bob)]; +b[c1, d]; .findall(X, b[X], All); .length(All, L); .print(L).";
    let expected = ["annotated_argument", "annotated", "constant", "source", "[1][ann,bob]45", "10"];
    assert_eq!(printed(asks), expected);
}

#[test]
fn many_plans_are_found_by_argument() {
    let plans: String = (1..=20).map(|number| format!("+!g({number}) <- .print(plan({number})).\n")).collect();
    let text = format!(
        "!go.\n+!g(\"text\") <- .print(text).\n{plans}+!g(a) <- .print(a).\n+!g(X) : X = 99 <- .print(open(X)).
         +!go <- !g(7); !g(a); !g(\"text\"); !g(19); !g(99);
                 .add_plan({{ @first +!g(7) <- .print(new) }}, self, begin); !g(7);
                 .add_plan({{ +!g(8) <- .print(never) }}); !g(8); !g(_);
                 .remove_plan(first); !g(7);
                 .add_plan({{ +!g(7) <- .print(plan(7)) }}, bob); .relevant_plans({{+!g(7)}}, L); .length(L, N); .print(N);
                 !g(b).
         -!g(X)[error(E)] <- .print(E)."
    );
    let expected =
        ["plan(7)", "a", "text", "plan(19)", "open(99)", "new", "plan(8)", "new", "plan(7)", "2", "no_applicable"];
    assert_eq!(printed(&text), expected);
}

#[test]
fn second_argument_finds_plans() {
    let plans: String = (1..=20).map(|number| format!("+!g(a, {number}) <- .print(plan({number})).\n")).collect();
    let text = format!(
        "!go.\n{plans}+!g(b, X) <- .print(other(X)).\n+!g(_, 99) <- .print(open).
         +!go <- !g(a, 7); !g(b, 7); !g(a, 99); !g(c, 99); !g(a, X);
                 .add_plan({{ @first +!g(a, 8) <- .print(new) }}, self, begin); !g(a, 8); .remove_plan(first); !g(a, 8);
                 !g(a, 21).
         -!g(_, _)[error(E)] <- .print(E)."
    );
    let expected = ["plan(7)", "other(7)", "open", "open", "plan(1)", "new", "plan(8)", "no_applicable"];
    assert_eq!(printed(&text), expected);
}

#[test]
fn many_intentions_are_found_by_goal() {
    let text = "!go.
        +!go <- for (.range(I, 1, 60)) { !!rest(I, x); }
                !!later(_); !!deep(a); !!plain;
                .wait(5);
                if (.intend(rest(7, Y))) { .print(seven(Y)) }
                if (.intend(rest(61, _)) | .desire(rest(0, _))) { .print(wrong) }
                .drop_intention(rest(7, x)); .fail_goal(rest(9, _)); .succeed_goal(rest(10, _));
                .suspend(rest(8, _)); .resume(rest(8, _));
                .drop_intention(later(3)); .drop_desire(inner(b, f(c))); .drop_intention(plain);
                .wait(5);
                if (.intend(rest(7, _)) | .intend(rest(10, _)) | .intend(later(_)) | .intend(deep(_)) | .intend(plain)) {
                    .print(wrong)
                }
                .findall(X, .desire(rest(X, _)), L); .length(L, N); .print(N);
                .fail_goal(rest(_, x)); .wait(5);
                .findall(X, .intend(rest(X, _)), M); .length(M, K); .print(K).
        +!rest(_, _) <- .wait(1000000).
        -!rest(9, _) <- .print(failed).
        -!rest(_, _).
        +!later(Y) <- .wait(1); Y = 3; .wait(1000000).
        +!deep(X) <- !inner(b, f(Z)).
        +!inner(_, f(Z)) <- Z = c; .wait(1000000).
        +!plain <- .wait(1000000).";
    assert_eq!(printed(text), ["seven(x)", "failed", "57", "0"]);
}
