// Operations on N things each, for `crates/bdi/examples/curves.rs`: their time is to grow as N does.

+!annotations_added(N)
  <- for (.range(I, 1, N)) { +b[t(I)]; }.

+!annotations_asked(N)
  <- !annotations_added(N);
     for (.range(I, 1, N)) { ?b[t(I)]; }.

+!annotations_listed(N)
  <- !annotations_added(N);
     .findall(X, b[t(X)], L);
     .length(L, N).

+!annotations_removed(N)
  <- +b[source(bob)];
     !annotations_added(N);
     for (.range(I, 1, N)) { -b[t(I)]; }.

+!sublist(N)
  <- .findall(I, .range(I, 1, N), L);
     .findall(I, .range(I, N div 2, N), Part);
     .sublist(Part, L).

+!sublist_by_head(N)
  <- .findall(I, .range(I, 1, N), L);
     .sublist([N|_], L).

+!priority_queue(N)
  <- .queue.create(Q, priority);
     for (.range(I, 1, N)) { .queue.add(Q, (I * 7919) mod N); }
     for (.range(I, 1, N)) { .queue.remove(Q, _); }.

+!sets(N)
  <- .findall(I, .range(I, 1, N), A);
     .findall(I * 2, .range(I, 1, N), B);
     .union(A, B, _); .intersection(A, B, _); .difference(A, B, _);
     .setof(I mod 7, .member(I, A), _).

+!equal_waits(N)
  <- for (.range(I, 1, N)) { !!wait(50); }.
+!wait(Ms) <- .wait(Ms).

+!event_waits(N)
  <- for (.range(I, 1, N)) { !!wait_for_event(I); }
     .wait(1);
     for (.range(I, 1, N)) { +event(I); }
     .wait(1);
     .findall(I, over(I), L);
     .length(L, N).
+!wait_for_event(I) <- .wait({+event(I)}); +over(I).

+!condition_waits(N)
  <- for (.range(I, 1, N)) { !!wait_for_fact(I); }
     .wait(1);
     for (.range(I, 1, N)) { +other(I); +fact(I); }
     .wait(1);
     .findall(I, over(I), L);
     .length(L, N).
+!wait_for_fact(I) <- .wait(fact(I)); +over(I).

+!second_argument(N)
  <- for (.range(I, 1, N)) { +edge(a, I, I * 2); }
     for (.range(I, 1, N)) { ?edge(_, I, X); ?edge(a, _, X); ?edge(a, I, _); }.

+!second_argument_removed(N)
  <- for (.range(I, 1, N)) { +edge(a, I, I * 2); }
     for (.range(I, 1, N)) { -edge(_, I, _); }.

+!abolished(N)
  <- for (.range(I, 1, N)) { +edge(I, a); }
     for (.range(I, 1, N)) { .abolish(edge(I, _)); }.

+!oldest_removed(N)
  <- for (.range(I, 1, N)) { +edge(a, I); }
     ?edge(a, _);
     for (.range(I, 1, N)) { -edge(a, I); }.

known(0, 0).
known(I, J) :- rule_only(I, J).
+!facts_beside_a_rule(N)
  <- for (.range(I, 1, N)) { +known(I, I); }
     for (.range(I, 1, N)) { ?known(I, _); }.

// `plan(1)` to `plan(N)` are written before the program.
+!plans_by_first_argument(N)
  <- for (.range(I, 1, N)) { !plan(I); }.

// `plan(a, 1)` to `plan(a, N)` as well.
+!plans_by_second_argument(N)
  <- for (.range(I, 1, N)) { !plan(a, I); }.

+!plans_acquired(N)
  <- for (.range(I, 1, N)) { .concat("+!acquired(", I, ") <- true.", Plan); .add_plan(Plan); }
     for (.range(I, 1, N)) { !acquired(I); }
     for (.range(I, 1, N)) { .concat("l", I, Label); .concat("@", Label, " +!labelled(", I, ") <- true.", Plan); .add_plan(Plan); }
     for (.range(I, 1, N)) { .concat("@l", I, Label); .remove_plan(Label); }.

+!intentions_dropped(N)
  <- !resting(N);
     for (.range(I, 1, N)) { .drop_intention(rest(I)); }.
+!resting(N)
  <- for (.range(I, 1, N)) { !!rest(I); }
     .wait(1).
+!rest(_) <- .wait(1000000).

+!intentions_failed(N)
  <- !resting(N);
     for (.range(I, 1, N)) { if (I mod 2 == 0) { .fail_goal(rest(I)) } else { .succeed_goal(rest(I)) } }.
-!rest(_).

+!intentions_suspended(N)
  <- !busy(N);
     .suspend(stay(_));
     .resume(stay(_));
     .succeed_goal(stay(_)).
+!busy(N)
  <- for (.range(I, 1, N)) { !!stay(I); }
     .wait(1).
+!stay(_) <- .wait(1); !!nothing; .wait(1000000).
+!nothing.

+!intentions_suspended_each(N)
  <- !resting(N);
     for (.range(I, 1, N)) { .suspend(rest(I)); }
     for (.range(I, 1, N)) { .resume(rest(I)); }.

+!intentions_asked(N)
  <- !resting(N);
     for (.range(I, 1, N)) { .intend(rest(I)); .desire(rest(I)); }.

+!goals_dropped(N)
  <- for (.range(I, 1, N)) { !!stay(I); }
     .drop_desire(stay(_)).

+!goals_dropped_each(N)
  <- for (.range(I, 1, N)) { !!stay(I); }
     for (.range(I, 1, N)) { .drop_desire(stay(I)); }.


// A list of N different variables.
free(f(_)).
+!variables(N, L) <- .findall(V, .range(_, 1, N) & free(V), L).
same(L, L).

+!variables_copied(N)
  <- !variables(N, L);
     .copy_term(L, K);
     ?same(L, K);
     .findall(M, same(L, M), [_]);
     .member(f(1), L).

+!variables_of_goal(N)
  <- !variables(N, L);
     !pass_on(L, M);
     !pass_back(M).
+!pass_on(L, M) <- !take_on(L, M).
+!take_on(L, L).
+!pass_back(L) <- .member(f(1), L).

+!variables_of_belief(N)
  <- !variables(N, L);
     +kept(L);
     ?kept(M);
     -kept(M).

+!variables_listed(N)
  <- !variables(N, L);
     .findall(X, .member(X, L), K);
     .length(K, N).

// `clause(1, V1, .., VN)` and a plan for it with as many variables are written before the program.
+!clauses_of_variables(_)
  <- ?clause(_, _);
     !clause(_).

+!annotation_pairs(N)
  <- for (.range(I, 1, N)) { +b[t(I), u(I)]; }
     for (.range(I, 1, N)) { ?b[t(I), u(J)]; }
     for (.range(I, 1, N)) { ?b[u(I), t(J)]; }
     .findall(X, b[t(X), u(X)], L);
     .length(L, N).

+!missing_annotation_pairs(N)
  <- for (.range(I, 1, N)) { +b[t(I)]; }
     if (b[t(X), u(Y)]) { .fail }
     if (b[t(X), t(X)]) { .fail }.

+!events_dropped(N)
  <- !many_events(N).
@e1[atomic] +!many_events(N)
  <- for (.range(I, 1, N)) { !!nothing(I); }
     for (.range(I, 1, N)) { .drop_event(nothing(N + 1 - I)); }.
+!nothing(_).

+!desires_dropped(N)
  <- !many_desires(N).
@e2[atomic] +!many_desires(N)
  <- for (.range(I, 1, N)) { !!nothing(I); }
     for (.range(I, 1, N)) { .drop_desire(nothing((I * 7919) mod N + 1)); }.

+!events_ended(N)
  <- !many_ends(N).
@e3[atomic] +!many_ends(N)
  <- for (.range(I, 1, N)) { !!nothing(I); }
     for (.range(I, 1, N)) { if (I mod 2 == 0) { .fail_goal(nothing(I)) } else { .succeed_goal(nothing(I)) } }.

+!events_suspended(N)
  <- !many_suspended(N).
@e4[atomic] +!many_suspended(N)
  <- for (.range(I, 1, N)) { !!nothing(I); }
     for (.range(I, 1, N)) { .suspend(nothing(N + 1 - I)); }
     for (.range(I, 1, N)) { .resume(nothing(N + 1 - I)); }.

+!youngest_dropped(N)
  <- !resting(N);
     for (.range(I, 1, N)) { .drop_intention(rest(N + 1 - I)); }.

+!youngest_ready_dropped(N)
  <- for (.range(I, 1, N)) { !!until_go(I); }
     .wait(1);
     !many_ready(N).
@r1[atomic] +!many_ready(N)
  <- +go;
     for (.range(I, 1, N)) { .drop_intention(until_go(N + 1 - I)); }.
+!until_go(_) <- .wait({+go}); .wait(1000000).

+!youngest_ready_ended(N)
  <- for (.range(I, 1, N)) { !!until_go(I); }
     .wait(1);
     !many_ready_ended(N).
@r2[atomic] +!many_ready_ended(N)
  <- +go;
     for (.range(I, 1, N)) { .succeed_goal(until_go(N + 1 - I)); }.

// Goals without arguments.
+!propositions_asked(N)
  <- for (.range(I, 1, N)) { !!rest; }
     .wait(1);
     for (.range(I, 1, N)) { .intend(propositions_asked(_)); .desire(propositions_asked(_)); }.
+!rest <- .wait(1000000).
