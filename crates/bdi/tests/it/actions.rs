//! Internal actions that change an agent, beyond the conformance cases: code in variables, faults of Jason, agents
//! created and copied at run time.

use whimbrel_acl::Text;
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig, load};
use whimbrel_platform::{AgentBody, EndReason, Next, Turn};
use whimbrel_testkit::Simulation;

fn body(text: &str) -> Box<dyn AgentBody> {
    let loaded = load(text, &Text::from("test.asl"), &mut NoFiles);
    let (image, _) = loaded.unwrap_or_else(|e| panic!("{:#?}\n{text}", e.diagnostics));
    Box::new(Agent::new(AgentConfig::new(image)))
}

/// Runs a society for two simulated seconds.
fn society(agents: &[(&str, &str)], files: &[(&str, &str)]) -> Simulation {
    let mut simulation = Simulation::new(3);
    for (path, text) in files {
        simulation.add_file(path, text);
    }
    let programs: Vec<(String, String)> = files.iter().map(|(p, t)| ((*p).to_owned(), (*t).to_owned())).collect();
    simulation.set_loader(Box::new(move |_, path, _| {
        let found = programs.iter().find(|(name, _)| name == path);
        found.map(|(_, text)| body(text)).ok_or_else(|| format!("no file {path}"))
    }));
    for (name, text) in agents {
        simulation.spawn(name, body(text));
    }
    simulation.run_for(2_000);
    simulation
}

/// Returns the lines that one agent prints.
fn lines(text: &str) -> Vec<String> {
    let output = society(&[("me", text)], &[]).output();
    output.iter().map(|line| line.strip_prefix("[me] ").unwrap_or(line).to_owned()).collect()
}

#[test]
fn control_structures_take_code_from_variables() {
    let printed = lines(
        r#"
        b(1). b(2). n(0).
        !go.
        +!go <- A = { .print("if ", X); Y = 2 }; X = 7; .if_then_else(b(1), A); .print(Y);
                .if_then_else(b(9), A, { .print("else") });
                C = { .print("for ", Z) }; .foreach(b(Z), C);
                D = { ?n(N); -+n(N + 1) }; .loop(n(M) & M < 3, D); ?n(K); .print(K);
                E = { .wait(10); .print("second") }; F = { .print("first") }; .fork(and, E, F); .print("joined").
        "#,
    );
    assert_eq!(printed, ["if 7", "2", "else", "for 1", "for 2", "3", "first", "second", "joined"]);
}

/// A receiver that is listed twice, by one name or another, gets one message and answers once.
#[test]
fn list_of_receivers_sends_each_once() {
    let asker = r#"
        !go.
        +!go <- .send([amy, "bob", amy, bob, "amy@home"], tell, hello); .send([], tell, hello);
                .send([amy, bob, amy], askOne, likes(_), Answers); .length(Answers, Count); .print("answers ", Count).
    "#;
    let friend = "likes(tea). +hello <- .print(hello).";
    let mut simulation = Simulation::new(3);
    for (name, text) in [("asker", asker), ("amy", friend), ("bob", friend)] {
        simulation.spawn(name, body(text));
    }
    let before = simulation.counters().sent;
    simulation.run_for(2_000);
    let mut said = simulation.output();
    said.sort();
    assert_eq!(said, ["[amy] hello", "[asker] answers 2", "[bob] hello"]);
    assert_eq!(simulation.counters().sent - before, 2 + 2 + 2, "told, asked, answered");
}

/// Agent that ends when somebody writes to it, and handles no message.
struct Deserter;

impl AgentBody for Deserter {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        if turn.mailbox.is_empty() { Next::Wait } else { Next::End(EndReason::Finished) }
    }
}

#[test]
fn ended_receivers_are_not_awaited() {
    let asker = r#"
        !go.
        +!go <- .send([amy, bob, "eve@home"], askOne, likes(_), Answers); .print(Answers);
                .send(["ida@home"], askOne, likes(_), Nothing); .print(Nothing);
                .send(joe, askOne, likes(_), _).
        -!go[error(Why)] <- .print(Why).
    "#;
    let mut simulation = Simulation::new(3);
    for (name, text) in [("asker", asker), ("amy", "likes(tea).")] {
        simulation.spawn(name, body(text));
    }
    for name in ["bob", "eve", "ida", "joe"] {
        simulation.spawn(name, Box::new(Deserter));
    }
    simulation.run_for(2_000);
    let printed = ["[asker] [likes(tea)[source(amy)]]", "[asker] []", "[asker] agent_ended"];
    assert_eq!(simulation.output(), printed, "{:?}", simulation.log());
}

/// The labels of unnamed plans are counted from 1 in each agent.
#[test]
fn taken_label_is_replaced() {
    let ann = r#"
        !go.
        +!go <- .send(bob, askHow, {+!greet(_)}); .wait(.relevant_plans({+!greet(_)}, [_])); !greet(1);
                .send(bob, askHow, {+!part(_)}, Plans); .add_plan(Plans); !part(2);
                .send(bob, achieve, teach); .wait(.relevant_plans({+!dance}, [_])); !dance;
                for (.member(G, [greet(_), part(_), dance])) {
                    .relevant_plans({+!G}, _, [Label]); Label =.. [Name, _, _]; .print(Name)
                };
                .send(bob, achieve, unteach); .wait(.relevant_plans({+!dance}, [])); .relevant_plans({+!go}, [_]);
                !greet(3).
    "#;
    let bob = r#"
        +!greet(X) <- .print("hello ", X).
        +!part(X) <- .print("bye ", X).
        +!teach[source(S)] <- .send(S, tellHow, { @p__2 +!dance <- .print("hop") }).
        +!unteach[source(S)] <- .send(S, untellHow, p__2).
    "#;
    let mut simulation = Simulation::new(3);
    for (name, text) in [("ann", ann), ("bob", bob)] {
        simulation.spawn(name, body(text));
    }
    simulation.run_for(2_000);
    let (said, noted) = (simulation.output(), simulation.log());
    let labels = ["[ann] p__2", "[ann] p__3", "[ann] p__4"];
    assert_eq!(said[..3], ["[ann] hello 1", "[ann] bye 2", "[ann] hop"], "{noted:?}");
    assert_eq!(said[3..], [&labels[..], &["[ann] hello 3"]].concat(), "{noted:?}");
}

#[test]
fn duplicate_plan_name_fails() {
    let text = r#"
        !go.
        @one +!go <- .add_plan({ @one +!a <- true }); .print(never).
        -!go[error_msg(M)] <- .print(M).
    "#;
    let mut simulation = Simulation::new(3);
    simulation.spawn("me", body(text));
    simulation.run_for(200);
    let said = simulation.output();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said.iter().all(|line| line.starts_with("[me] There already is a plan with label one")), "{said:?}");
}

/// An answer that an intention waits for is a value, as if it had been told otherwise; only unrequested plans are
/// teaching.
#[test]
fn requested_plans_need_no_permission() {
    let pupil = r#"
        !go.
        +!go <- .send(teacher, askHow, {+!sing}, Plans); .length(Plans, Count); .print("got ", Count);
                .remove_source_annot(Plans, Mine); .add_plan(Mine); !sing;
                .send(teacher, achieve, teach(dance)); .wait(100); !dance.
        -!dance <- .print("cannot dance").
    "#;
    let teacher = r#"
        @song +!sing <- .print("la").
        +!teach(dance) <- .send(pupil, tellHow, {+!dance <- .print("hop")}).
    "#;
    let mut simulation = Simulation::new(3);
    let policy = r#"{"deny": [{"who": "agent:teacher", "teach": "pupil"}]}"#;
    simulation.set_policy(serde_json::from_str(policy).expect("a policy"));
    for (name, text) in [("teacher", teacher), ("pupil", pupil)] {
        simulation.spawn(name, body(text));
    }
    simulation.run_for(2_000);
    let (mut said, noted) = (simulation.output(), simulation.log());
    said.retain(|line| line.starts_with("[pupil]"));
    assert_eq!(said, ["[pupil] got 1", "[pupil] la", "[pupil] cannot dance"], "{noted:?}");
    assert!(noted.iter().any(|line| line.contains("the policy forbids to give it plans")), "{noted:?}");
}

#[test]
fn minion_obeys_only_its_sender() {
    // It has a plan that ignores all requests: the minion's goal must pass by that.
    let amy = r#"
        whimbrel::minion_of(nosy)[source(nosy)].
        +!kqml_received(S, achieve, _, _) <- .print("not for ", S).
        +!open <- .print("open").
        "#;
    let nosy = r#"
        !go.
        +!go <- .send(amy, achieve, open); .wait(10);
                .send(amy, tell, whimbrel::minion_of(nosy)[source(self)]); .wait(10);
                .send(amy, askOne, whimbrel_task(open, _), A, 500); .print(A).
        +!kqml_received(Amy, refuse, Why, _) <- .print(Amy, ": ", Why).
        "#;
    let output = society(&[("amy", amy), ("nosy", nosy)], &[]).output();
    assert_eq!(
        output,
        [
            "[amy] not for nosy",
            "[nosy] amy: these plans are the platform's own",
            r#"[nosy] whimbrel_task(open,failed(forbidden,"it is no minion of whoever asks"))[source(amy)]"#
        ]
    );
}

#[test]
fn library_plans_refuse_messages() {
    let amy = r#"
        +!open[source(S)] <- .print("open for ", S).
        "#;
    let nosy = r#"
        !go.
        +!go <- .send(amy, achieve, whimbrel::end_minion(nosy)); .wait(10);
                .send(amy, achieve, kqml_received(boss, achieve, open, id)); .wait(10);
                .send(amy, achieve, [open, kqml_pursue([open], boss)]); .wait(10);
                .send(amy, askOne, whimbrel::tour(1, [], []), A, 500); .print(A);
                .send(amy, achieve, open).
        +!kqml_received(Amy, refuse, Why, _) <- .print(Amy, ": ", Why).
        "#;
    let output = society(&[("amy", amy), ("nosy", nosy)], &[]).output();
    let refused = "these plans are the platform's own";
    let said: Vec<&String> =
        output.iter().filter(|line| line.contains(refused) && !line.contains("refused:")).collect();
    assert_eq!(said.len(), 4, "{output:?}");
    let opened: Vec<&String> = output.iter().filter(|line| line.contains("open for")).collect();
    assert_eq!(opened, ["[amy] open for nosy"]);
}

#[test]
fn bad_journey_arguments_are_explained() {
    let printed = lines(
        r#"
        !go.
        +!go <- !try({ .move_to(X) }); !try({ .move_to(42) }); !try({ .move_to([n2]) }); !try({ .clone_to("") });
                !try({ .dispatch([], go, 1000) }); !try({ .dispatch([n2, Y], go) }); !try({ .tour([stop(n2)], [return([])]) });
                !try({ .tour([stop(Z)]) }); !try({ .recall(nobody) }); !try({ .advise(Node, [], C) }).
        +!try(B) <- B; .print("done").
        -!try(_)[error(E), error_msg(M)] <- .print(E, ": ", M).
        "#,
    );
    let (wrong, nobody) = printed.split_at(8);
    assert!(
        wrong.iter().all(|line| line.starts_with("wrong_arguments: Wrong argument for internal action")),
        "{wrong:?}"
    );
    assert_eq!(nobody.first().map(String::as_str), Some("no_such_agent: there is no agent named nobody"));
    assert!(nobody.get(1).is_some_and(|line| line.starts_with("wrong_arguments: ")), "{nobody:?}");
}

#[test]
fn loop_in_variable_is_separate() {
    // Both loops are the first operation of their code.
    let printed = lines(
        r#"
        !go({ for (.member(X, [1, 2])) { .print(X) } }).
        +!go(B) <- for (.member(Y, [a, b])) { B; .print(Y) }; .print("end").
        "#,
    );
    assert_eq!(printed, ["1", "2", "a", "1", "2", "b", "end"]);
}

#[test]
fn argument_counts_are_checked() {
    let printed = lines(
        r#"
        !go.
        +!go <- .abolish(a, b).
        -!go[error(E), error_msg(M)] <- .print(E, ": ", M); !two.
        +!two <- .send(a, tell).
        -!two[error_msg(M)] <- .print(M).
        "#,
    );
    let expected = [
        "wrong_arguments: The internal action 'abolish' has not received the required number of argument(s). One argument is expected.",
        "The internal action 'send' has not received the required number of argument(s). From 3 to 5 arguments are expected.",
    ];
    assert_eq!(printed, expected);
}

#[test]
fn unknown_action_fails() {
    let printed = lines("!go. +!go <- .no_such_thing(1). -!go[error(E), code(C)] <- .print(E, \" \", C).");
    assert_eq!(printed, ["action_failed .no_such_thing(1)"]);
}

#[test]
fn waits_end_by_event_or_condition() {
    let printed = lines(
        r#"
        !go.
        +!go <- .at("now +30", "+tick(5)"); .wait("+tick(X)"); .print("tick ", X);
                .wait({+never}, 40, T); .print("waited ", T);
                !!slow; .wait(1); .wait(not .intend(slow)); .print("slow is over").
        +!slow <- .wait(25); .print("slow").
        "#,
    );
    assert_eq!(printed, ["tick 5", "waited 40", "slow", "slow is over"]);
}

#[test]
fn arithmetic_follows_precedence() {
    let printed = lines("!go. +!go <- .print(1 + 6 / 4 * 2 - 1, \" \", 7 div 2, \" \", -7 mod 4, \" \", 2 ** 3 ** 2).");
    assert_eq!(printed, ["3 3 -3 512"]);
}

#[test]
fn delays_have_units() {
    for (delay, ms) in [("200", 200), ("1 s", 1_000), ("1 second", 1_000)] {
        let program = format!("!go. +!go <- .at(\"now +{delay}\", {{ +e }}); .wait({{ +e }}, 1500, T); .print(T).");
        assert_eq!(lines(&program), [ms.to_string()], "{delay}");
    }
    for delay in ["1 m", "1 minutes", "1 h", "1 hour", "1 d", "1 days"] {
        let program = format!("!go. +!go <- .at(\"now +{delay}\", {{ +e }}); .wait({{ +e }}, 1500, T); .print(T).");
        assert_eq!(lines(&program), ["1500"], "{delay} are not over");
    }
}

#[test]
fn tail_call_passes_known_results() {
    let printed = lines(
        r#"
        !go.
        +!go <- !count(50, R); .print(R).
        +!count(0, _) <- .current_intention(intention(_, Stack)); .print(.length(Stack)).
        +!count(N, R) <- R = N; !count(N - 1, _).
        "#,
    );
    assert_eq!(printed, ["2", "50"], "the last plan replaces each before it");
}

#[test]
fn condition_tests_use_fresh_variables() {
    let printed = lines(
        r#"
        q(1).
        !go.
        +!go <- !!more; .wait(.count(p(_), B) & q(Q) & B + Q == 3); .print("three").
        +!more <- .wait(10); +p(1); .wait(10); +p(2).
        "#,
    );
    assert_eq!(printed, ["three"]);
}

/// Each source is a solution of its own; a query that cannot be counted at a glance is proved.
#[test]
fn beliefs_are_counted_by_source() {
    let printed = lines(
        r#"
        p(1)[source(ann)]. p(1)[source(bob)]. p(2). p(3)[source(ann), mark].
        q(1)[source(f(x))]. q(2)[mark(1)]. r(X) :- p(X).
        !go.
        +!go <- .count(p(_), A); .count(p(_)[source(_)], B); .count(p(_)[source(ann)], C); .print(A, " ", B, " ", C);
                S = bob; .count(p(_)[source(S)], D); .count(p(X)[source(X)], E); .count(p(3)[source(_)], F); .print(D, E, F);
                .count(q(_)[source(_)], G); .count(r(_)[source(_)], H); .count(none(_)[source(_)], I); .print(G, H, I);
                .count(p(_)[mark], J); .count(p(_)[source(_), mark], K); .count(p(_)[source(_)|_], L); .print(J, K, L);
                .wait(.count(p(_)[source(_)], M) & M == 4); .print("four").
        "#,
    );
    assert_eq!(printed, ["3 4 2", "101", "230", "113", "four"]);
}

/// Most arguments are matched in place, the rest by unification: both agree.
#[test]
fn facts_with_variables_match() {
    let printed = lines(
        r#"
        alike(X, X).
        !go.
        +!go <- if (alike(1, 1) & alike(a, a)) { .print("both") }; for (.member(p(A, B), [p(1, 2), p(a, b), p(1, a), p(a, "a")])) {
                    if (alike(A, B)) { .print(A, " is ", B) } };
                C = 3; ?alike(C, D); E = f(C); ?alike(F, E); ?alike(G, H); H = 5; .print(D, F, G);
                if (not (alike(I, I + 1) & I > 0)) { .print("no number") }; ?alike("t", J); ?alike([K | L], [1, 2]); .print(J, K, L).
        "#,
    );
    assert_eq!(printed, ["both", "3f(3)5", "no number", "t1[2]"]);
}

/// A plain variable does not match a literal of another namespace.
#[test]
fn foreign_namespace_beliefs_are_counted() {
    let printed = lines(
        r#"
        p(a). p(other::b). s(other::a).
        !go.
        +!go <- .count(p(_), A); .count(p(_)[source(_)], B); .count(p(other::_), C); .print(A, B, C);
                +q(1); +q(other::c); .count(q(_), D); -q(other::c); .count(q(_)[source(_)], E); .print(D, E);
                .count(s(_), F); -+s(b); .count(s(_), G); -+s(other::c); .count(s(_), H); .print(F, G, H).
        "#,
    );
    assert_eq!(printed, ["111", "11", "010"]);
}

#[test]
fn outermost_goal_can_be_failed() {
    let printed = lines(
        r#"
        !go.
        +!go <- !!a; .wait(10); .fail_goal(a); .print("goes on"); !f; .print("back").
        +!a <- .wait(100).
        +!f <- .fail_goal(f); .print("not reached").
        -!f <- .print("f handled").
        "#,
    );
    assert_eq!(printed, ["goes on", "f handled", "back"]);
}

#[test]
fn pending_goal_ends_by_command() {
    // The events of `p` come before that of `b`, so that `b` has no plan when the command comes.
    let program = |command: &str, more: &str| {
        format!(
            r#"
            !go.
            @g[atomic] +!go <- !!a; !!command; !!p; !!p; !!p; !!p; !!p; !!p.
            +!p.
            +!command <- .print("command"); {command}(b).
            +!a <- !b; .print("a goes on").
            -!a <- .print("a failed").
            +!b <- .print("not reached").
            {more}
            "#
        )
    };
    assert_eq!(lines(&program(".succeed_goal", "")), ["command", "a goes on"]);
    assert_eq!(lines(&program(".fail_goal", "")), ["command", "a failed"]);
    let handled = "-!b <- .print(\"b failed\").";
    assert_eq!(lines(&program(".fail_goal", handled)), ["command", "b failed", "a goes on"]);
}

#[test]
fn services_register_with_their_types() {
    let printed = lines(
        r#"
        !go.
        +!go <- .df_register(cook); .df_register("clean", houses); !show;
                .df_deregister("clean", rooms); !show;
                .df_deregister(cook); .df_deregister("clean", houses); !show.
        +!show <- .df_search(cook, A); .df_search(cook, "jason-type", B); .df_search("clean", houses, C);
                  .df_search("clean", rooms, D); .length(A, AN); .length(B, BN); .length(C, CN); .length(D, DN);
                  .print(AN, BN, CN, DN).
        "#,
    );
    assert_eq!(printed, ["1110", "1110", "0000"]);
}

#[test]
fn registered_service_may_have_properties() {
    let printed = lines(
        r#"
        !go.
        +!go <- .df_register(cook, meals, [price(5), fast, input([item(string)])]); .df_register(cook, meals, [price(6)]);
                .df_search(cook, meals, L); .length(L, N); .print(N);
                !wrong.
        +!wrong <- .df_register(cook, meals, [price(5, 6)]).
        -!wrong[error(Error)] <- .print(Error).
        "#,
    );
    assert_eq!(printed, ["1", "wrong_arguments"]);
}

#[test]
fn subscriber_learns_of_providers() {
    let printed = lines(
        r#"
        !go.
        +!go <- .df_subscribe(cook); .df_register(clean); .df_register(cook, meals).
        +provider(_, Service) <- .print(Service).
        "#,
    );
    assert_eq!(printed, ["cook"]);
}

#[test]
fn branch_drops_the_others() {
    let printed = lines(
        r#"
        !go.
        +!go <- { !long } |&| { .wait(10); .drop_all_intentions; .print("alone") }; .print("after").
        +!long <- .wait(500); .print("not reached").
        "#,
    );
    assert_eq!(printed, ["alone", "after"]);
}

#[test]
fn suspended_wait_needs_resume() {
    let printed = lines(
        r#"
        !go.
        +!go <- !!t; !!u; .wait(10); .suspend(t); .suspend(u); .wait(100); .print("resume"); .resume(t); .resume(u).
        +!t <- !t2; .print("t goes on").
        +!t2 <- .wait({+never}, 50); .print("not reached").
        -!t2[error(E)] <- .print(E).
        +!u <- .wait(50); .print("u goes on").
        "#,
    );
    assert_eq!(printed[0], "resume");
    let mut after = printed[1..].to_vec();
    after.sort();
    assert_eq!(after, ["t goes on", "u goes on", "wait_timeout"]);
}

#[test]
fn succeeded_goal_keeps_its_turn() {
    let plan = |name: &str| format!("+!{name} <- !work({name}); .print({name}, 4); .print({name}, 5).\n");
    let plans = ["a", "b", "c", "d"].map(plan).concat();
    let printed = lines(&format!(
        "!start. @s[atomic] +!start <- !!a; !!b; !!c; !!d; !!judge.
         {plans}
         +!work(N) <- .print(N, 1); .print(N, 2); .print(N, 3).
         +!judge <- X = 1; Y = 2; Z = 3; V = 4; .succeed_goal(work(c))."
    ));
    assert_eq!(printed.join(" "), "a1 b1 a2 c1 d1 b2 a3 c2 d2 b3 a4 c4 d3 b4 a5 c5 d4 b5 d5", "no turn more for c");
}

#[test]
fn plan_sources_come_and_go() {
    let printed = lines(
        r#"
        @orig +!p <- .print("orig").
        !go.
        +!go <- .add_plan({ @n +!p <- .print("new") }, bob, begin); !p;
                .add_plan({ @n +!p <- .print("new") }); .remove_plan("@n"); !p; .remove_plan(n, bob); !p;
                .add_plan([{ +!q(1) <- .print("q1") }, "+!q(2) <- .print(\"q2\")"]); !q(1); !q(2);
                .remove_plan([orig, unknown]); !p.
        -!p[error(E)] <- .print(E).
        "#,
    );
    assert_eq!(printed, ["new", "new", "orig", "q1", "q2", "no_relevant"]);
}

#[test]
fn labels_are_unique() {
    let printed = lines(
        r#"
        !go.
        +!go <- .add_plan({ @l +!a <- b }); .add_plan({ @l +!c <- d }).
        -!go[error(E), error_msg(M)] <- .print(E, ": ", M).
        "#,
    );
    assert_eq!(printed, ["internal_action: There already is a plan with label l[source(self)]"]);
}

#[test]
fn formulas_request_actions() {
    for (program, expected) in [
        ("k(1). !a. +!a : .abolish(k(_)) <- if (k(_)) { .print(there) } else { .print(gone) }.", &["gone"][..]),
        (
            "!b. reset(N) :- .add_plan({ +!x(N) <- .print(x, N) }). \
             +!b <- if (reset(3)) { !x(3) }; ?(.asserta(m(2)) & true); ?m(M); .print(m, M).",
            &["x3", "m2"],
        ),
        // Effects of a formula are executed whether it holds or not.
        ("!d. +!d : .assertz(n(1)) & false <- .print(never). +!d <- ?n(N); .print(N).", &["1"]),
        (
            "!c. !e. +!c : .drop_all_intentions & .perceive & .verbose(1) <- .wait(5); .print(on). +!e <- .wait(50); .print(e).",
            &["on", "e"],
        ),
        (
            "!f. +!f : .drop_all_intentions <- .print(f); if (.drop_all_intentions) { .print(g) }; .print(h).",
            &["f", "g", "h"],
        ),
        ("!f. +!f : not .create_agent(X, \"none.asl\") <- .print(f).", &["f"]),
        ("!s. +!s <- .print(s); if (.drop_desire(s)) { .print(never) }; .print(never).", &["s"]),
    ] {
        assert_eq!(lines(program), expected, "{program}");
    }
}

#[test]
fn contexts_of_requests_request_actions() {
    let asker = "!go. +!go <- .send(me, achieve, x(1)); .send(me, achieve, x(2)).";
    let asked = "k(1). +!x(N) : .abolish(k(_)) & .asserta(k(N)) <- ?k(M); .print(M).";
    assert_eq!(society(&[("me", asked), ("asker", asker)], &[]).output(), ["[me] 1", "[me] 2"]);
}

#[test]
fn long_chains_are_evaluated() {
    let conjuncts = format!("k. !g. +!g : {}k <- .print(yes).", "k & ".repeat(3_000));
    assert_eq!(lines(&conjuncts), ["yes"]);
    let many = format!("k(1). k(2). !g. +!g : {}k(2) <- .print(yes).", "k(X) & ".repeat(2_000));
    assert_eq!(lines(&many), ["yes"]);
    let alternatives = format!("k. !g. +!g : {}k <- .print(yes).", "x | ".repeat(3_000));
    assert_eq!(lines(&alternatives), ["yes"]);
    let sum = format!("y(2). !g. +!g : y(Y) <- X = {}Y; .print(X).", "1 + Y - ".repeat(1_500));
    assert_eq!(lines(&sum), ["1500"]);
    let branches = format!(
        "!g(700). +!g(N) <- if (N = 0) {{ .print(no) }} {} else {{ .print(none) }}; .print(end).",
        (1..=1_000).map(|n| format!("elif (N = {n}) {{ .print(n{n}) }} ")).collect::<String>()
    );
    assert_eq!(lines(&branches), ["n700", "end"]);
    let none = branches.replace("!g(700)", "!g(5000)");
    assert_eq!(lines(&none), ["none", "end"]);
    let steps = format!("!g. +!g <- {} .print(end).", (0..6_000).map(|n| format!("X{n} = {n}; ")).collect::<String>());
    assert_eq!(lines(&steps), ["end"]);
    let list = format!("!g(1). +!g(X) <- L = [{} X]; .length(L, N); .print(N).", "1, X, ".repeat(5_000));
    assert_eq!(lines(&list), ["10001"]);
}

#[test]
fn formula_as_step_fails_when_reached() {
    let program = r#"
        !start. !other.
        +!other <- .print("other").
        +!start <- .print("begins"); .nth(0,[a],E) & E == a; .print("not reached").
        -!start[error(E),error_msg(M)] <- .print(E, ": ", M).
    "#;
    let mut printed = lines(program);
    printed.sort();
    assert_eq!(printed[1..], ["begins", "other"]);
    assert!(
        printed[0].starts_with("action_failed: ") && printed[0].contains("is a formula, not a step"),
        "{printed:?}"
    );
}

#[test]
fn misspelt_action_is_reported() {
    let printed = lines("!a. +!a <- .pritn(3). -!a[error(E),error_msg(M)] <- .print(E, \": \", M).");
    assert_eq!(printed, ["action_failed: there is no internal action .pritn: did you mean .print?"]);
}

#[test]
fn every_error_has_a_reason() {
    let calls = [
        ".at(\"now +1.5 s\",{ +e })",
        ".at(3,{ +e })",
        ".at(\"now +1 s\",e)",
        ".signal(3)",
        ".printf(\"%d apples\",3)",
        ".printf(3)",
        ".printf(\"%s\")",
        ".log(3,x)",
        ".verbose(x)",
        ".remove_plan(\"l\")",
        ".remove_plan(3)",
        ".namespace_set_prop(a,3,b)",
        ".namespace_get_prop(3,a,_)",
        ".wait(\"+b\",x)",
        ".max(X,3,Y)",
        ".plan_label(3,L)",
        ".replace(a,b,c,_)",
        ".replace(a,\"(\",\"b\",_)",
        ".map.get(3,a,_)",
        ".set.add(3,a)",
        ".queue.head(3,_)",
        ".copy_term(3,_)",
        ".nosuch(3)",
        ".set.add_all(S,3)",
        ".queue.add(Q,3)",
        ".remove_plan(X)",
    ];
    for call in calls {
        let program = format!("!a. +!a <- {call}. -!a[error(E),error_msg(M)] <- .print(E, \": \", M).");
        let printed = lines(&program);
        let reason = printed.first().and_then(|line| line.split_once(": ")).map_or("", |(_, reason)| reason);
        assert!(reason.len() > 8 && reason != "no reason is known", "{call}: {printed:?}");
        let simulation = society(&[("me", &format!("!a. +!a <- {call}."))], &[]);
        let logged = simulation.log();
        let told = logged.iter().filter(|line| line.contains(" failed: ")).collect::<Vec<_>>();
        assert!(told.len() == 1 && !told[0].ends_with(": "), "{call}: {logged:?}");
    }
}

#[test]
fn files_are_included_at_run_time() {
    let main = r#"
        !go.
        +!go <- .include("more.asl"); .wait(10); ?known(X); .print(X); !more;
                .include("more.asl", NS); .wait(10); ?NS::known(Y); .print(Y);
                .include("missing.asl"); .print("end").
    "#;
    let more = "known(5). !begin. +!begin <- .print(\"begun\"). +!more <- .print(\"more\").";
    let simulation = society(&[("me", main)], &[("more.asl", more)]);
    assert_eq!(simulation.output(), ["[me] begun", "[me] 5", "[me] more", "[me] begun", "[me] 5", "[me] end"]);
}

#[test]
fn saved_agent_is_a_program() {
    let main = r#"
        b(1)[source(x)]. b("two").
        r(X) :- b(X) & X \== 1.
        !go.
        +!go <- .add_plan({ +!show : r(X) <- .print("saved ", X) }); .save_agent("saved.asl", [show]).
    "#;
    let simulation = society(&[("me", main)], &[]);
    let saved = simulation.services().read_source("saved.asl").expect("the agent was saved");
    assert!(
        saved.contains("b(1)[source(x)].") && saved.contains("b(\"two\")."),
        "only another source is told: {saved}"
    );
    let again = society(&[("other", saved.as_str())], &[]);
    assert_eq!(again.output(), ["[other] saved two"], "{saved}");
}

#[test]
fn copy_continues_from_original_state() {
    let main = r#"
        !go.
        +!go <- .map.create(M); .map.put(M, k, 1); +shared(M); !!busy; .wait(10); .clone("twin");
                .send(twin, achieve, change).
        +!busy <- .wait(30); .my_name(N); .print(N, " busy").
        +!change <- ?shared(M); .map.put(M, k, 2); .send(me, achieve, show).
        +!show <- ?shared(M); .map.get(M, k, V); .print("mine is ", V).
    "#;
    let mut output = society(&[("me", main)], &[]).output();
    output.sort();
    assert_eq!(output, ["[me] me busy", "[me] mine is 1", "[twin] twin busy"]);
}

#[test]
fn agent_is_warned_of_end() {
    let main = r#"
        !go.
        +!go <- .create_agent(Bob, "w.asl"); .print(Bob); .create_agent(w, "w.asl"); .wait(10);
                .kill_agent(w, 50); .wait(20); .all_names(L); .sort(L, S); .print(S);
                .wait(50); .all_names(L2); .sort(L2, S2); .print(S2); .kill_agent(nobody).
        -!go[error(E)] <- .print(E).
    "#;
    let worker = "+jag_shutting_down(T) <- .print(\"down in \", T).";
    let output = society(&[("me", main)], &[("w.asl", worker)]).output();
    assert_eq!(output, ["[me] bob", "[w] down in 50", "[me] [bob,me,w]", "[me] [bob,me]", "[me] ia_failed"]);
}

#[test]
fn question_to_several_answers_list() {
    let main = r#"
        !go.
        +!go <- .send([], askOne, v(_), L); .print(L); .send([a, mute], askOne, v(_), L2, 100); .print(L2);
                .send(a, askOne, n::v(_), n::R); .print(n::R); .send(a, askAll, v(_), L3); .print(L3).
    "#;
    let agents = [("me", main), ("a", "v(1). n::v(2)[source(zed)]."), ("mute", "+!kqml_received(_, askOne, _, _).")];
    let output = society(&agents, &[]).output();
    let expected =
        ["[me] []", "[me] [v(1)[source(a)]]", "[me] n::v(2)[source(a)[source(zed)]]", "[me] [v(1)[source(a)]]"];
    assert_eq!(output, expected);
}

#[test]
fn fipa_performatives_map_to_kqml() {
    let receiver = r#"
        +!kqml_received(S, inform, text(T), _) <- .print("informed of ", T).
        +known(X)[source(S)] <- .print("known ", X, " ", S).
        +!todo[source(S)] <- .print("todo ", S).
    "#;
    let sender = "!go. +!go <- .send(b, inform, text(1)); .send(b, inform, known(2)); .send(b, request, todo).";
    let output = society(&[("a", sender), ("b", receiver)], &[]).output();
    assert_eq!(output, ["[b] informed of 1", "[b] known 2 a", "[b] todo a"]);
}

#[test]
fn namespaces_have_properties() {
    let printed = lines(
        "!go. +!go <- .namespace_set_prop(n, k, 1); .namespace_set_prop(n, k, 2); .namespace_get_prop(n, k, V); .print(V).",
    );
    assert_eq!(printed, ["2"]);
}
