//! Agents that go round, send minions, are called home, and live no longer than they may, in processes.

use super::{CommandFolder, CommandOutput, Scratch};

const SCOUT: &str = "
!go.
+!go <-
    .tour([stop(n2, buy(tea, P2)), stop([nowhere, n3], buy(coffee, P3)), stop(gone)], [return, deadline(60000)], Missed);
    .node(N); .print(P2, \" \", P3, \" back at \", N, \" missed \", Missed);
    .dispatch(n3, where(W)); .print(\"the minion was at \", W);
    .dispatch([nowhere, n2], where(W2), 60000); .print(\"the minion was at \", W2);
    !bad; !late; !lost; !nowhere; !too_late; !broken; !stranded;
    !alone.
+!alone : .all_names(All) & .length(All, 3) <- .print(\"nobody is left behind\"); .stopMAS.
+!alone <- .wait(20); !alone.
+!buy(X, p(X, N)) <- .node(N); .print(\"buying \", X, \" at \", N).
+!where(W) <- .node(W); ?whimbrel::minion_of(scout)[source(self)]; .wait(20).
+!where_from(W) <- .node(W); .fail.
+!bad <- .dispatch(n2, nonsense(_)).
-!bad[error(E)] <- .print(\"bad: \", E).
+!late <- .dispatch(n2, slow, 100).
-!late[error(E), error_msg(M)] <- .print(\"late: \", E, \", \", M).
+!lost <- .dispatch(n2, die, 60000).
-!lost[error(E), error_msg(M)] <- .print(\"lost: \", E, \", \", M).
+!die <- .my_name(Me); .kill_agent(Me); .wait(60000).
+!nowhere <- .dispatch([gone, lost], slow, 60000).
-!nowhere[error(E)] <- .print(\"nowhere: \", E).
+!slow <- .wait(100000).
+!too_late <- .tour([stop(n2, slow), stop(n3)], [deadline(100), return]).
-!too_late[error(E)] <- .node(N); .print(\"too late: \", E, \" at \", N).
+!broken <- .tour([stop(n2, where_from(_)), stop(n3)], [return(n3)]).
-!broken[error(E)] <- .node(N); .print(\"broken: \", E, \" at \", N).
+!stranded <- .tour([stop(n3)], [return([gone, lost])]).
-!stranded[error(E)] <- .node(N); .print(\"stranded: \", E, \" at \", N); .move_to(n1).
";

#[test]
fn agentspeak_scouts_tour_and_send_minions() {
    let project = "MAS x { agents: scout at \"n1\"; shop at \"n2\"; bank shop.asl at \"n3\"; }";
    let scratch = Scratch::with(&[("x.mas2j", project), ("scout.asl", SCOUT), ("shop.asl", "open.\n")]);
    let CommandOutput { out, err, code, .. } = scratch.run(&["run", "x.mas2j", "--nodes", "3", "--for", "60s"]);
    let expected = "[scout] buying tea at n2
[scout] buying coffee at n3
[scout] p(tea,n2) p(coffee,n3) back at n1 missed [missed(nowhere,no_such_node),missed(gone,no_such_node)]
[scout] the minion was at n3
[scout] the minion was at n2
[scout] bad: no_relevant
[scout] late: timeout, the minion did not answer in time
[scout] lost: lost, the minion is lost: killed
[scout] nowhere: no_such_node
[scout] too late: deadline_reached at n1
[scout] broken: ia_failed at n3
[scout] stranded: no_such_node at n3
[scout] nobody is left behind
";
    assert_eq!((out.as_str(), err.as_str(), code), (expected, "", Some(0)));
}

#[test]
fn agent_recalls_scout_and_limits_child() {
    let scout = "
!go.
+!go <- .tour([stop(n2), stop(n3, work), stop(n2)], [return]).
-!go[error(E), error_msg(M)] <- .node(N); .print(\"at \", N, \" for \", E, \": \", M); .send(boss, tell, back).
+!work <- .send(boss, tell, working); .wait(100000).
+recalled <- .print(\"was called\").
";
    let boss = "
+working <- .recall(scout).
+recalled(A)[source(ams)] : back <- !rest(A).
+recalled(A)[source(ams)] <- .wait(back); !rest(A).
+!rest(A) <- .print(A, \" is home\"); .create_agent(child, \"bird.asl\", [lifetime(\"300ms\")]); !nobody.
+!nobody <- .recall(nobody).
-!nobody <- .print(\"nobody is nobody\").
+ended(A, Why)[source(ams)] <- .print(A, \" ended: \", Why); .all_names(L); .sort(L, S); .print(S); .stopMAS.
";
    let project = "MAS x { agents: scout at \"n1\"; boss at \"n2\"; moth [lifetime=\"100ms\"] at \"n2\"; \
                   guard moth.asl at \"n3\"; }";
    let bird = "!fly. +!fly <- .wait(10); .move_to(n1).\n";
    let files =
        [("x.mas2j", project), ("scout.asl", scout), ("boss.asl", boss), ("moth.asl", "b.\n"), ("bird.asl", bird)];
    let CommandOutput { out, err, code, .. } =
        Scratch::with(&files).run(&["run", "x.mas2j", "--nodes", "3", "--for", "60s"]);
    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_unstable();
    let expected = [
        "[boss] [boss,guard,scout]",
        "[boss] child ended: expired",
        "[boss] nobody is nobody",
        "[boss] scout is home",
        "[scout] at n1 for recalled: the agent was called home",
        "[scout] was called",
    ];
    assert_eq!((lines.as_slice(), err.as_str(), code), (&expected[..], "", Some(0)));
}

#[test]
fn impossible_lifetime_is_reported() {
    let files = [("x.mas2j", "MAS x { agents: moth [lifetime=\"soon\"]; }"), ("moth.asl", "b.\n")];
    let CommandOutput { err, code, .. } = Scratch::with(&files).run(&["run", "x.mas2j", "--for", "9s"]);
    assert!(err.contains("lifetime: `soon` is no unit of time") && code != Some(0), "{err}");
    let files = [("x.mas2j", "MAS x { agents: moth [lifetime=\"1m\"]; }"), ("moth.asl", "b.\n")];
    let CommandOutput { err, code, .. } = Scratch::with(&files).run(&["run", "x.mas2j", "--durable", "--for", "9s"]);
    assert!(err.contains("moth has a `lifetime`, which agents of durable societies cannot have: remove it"), "{err}");
    assert_ne!(code, Some(0));
    let tour = "!go. +!go <- .tour([stop(n2)], [return], Missed); .node(Here); .print(Missed, \" at \", Here); !wrong. \
                +!wrong <- .tour(n2). -!wrong[error(E)] <- .print(E); .stopMAS.\n";
    let CommandOutput { out, .. } = Scratch::with(&[("t.asl", tour)]).run(&["run", "t.asl", "--for", "60s"]);
    let expected = "[missed(n2,no_such_node)] at n1\nwrong_arguments\n";
    assert_eq!(out.replace("[t] ", ""), expected);
}
