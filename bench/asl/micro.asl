// Each part prints what one of its operations cost, in ns.
!run.

+!run
  <- !goal_calls;
     !fib_by_goals;
     !fib_by_rules;
     !reverse_by_rules;
     !beliefs;
     !updates;
     .stopMAS.

+!report(Name, Start, Operations)
  <- .nano_time(End);
     .print("RESULT bench=micro ", Name, "_ns=", (End-Start)/Operations).

// A goal call in tail position.
+!goal_calls : goals(N)
  <- !down(N div 4);        // lets a just-in-time compiler see the plan first
     .nano_time(Start);
     !down(N);
     !report(goal_call, Start, N).

+!down(0).
+!down(N) <- !down(N-1).

// Naive recursion with the result in a variable of the caller.
+!fib_by_goals : fib(N)
  <- .nano_time(Start);
     !fib(N, _);
     ?fib_calls(N, Calls);
     !report(fib_goal, Start, Calls).

+!fib(N, N) : N < 2.
+!fib(N, F)
  <- !fib(N-1, A);
     !fib(N-2, B);
     F = A+B.

+!fib_by_rules : fib(N)
  <- .nano_time(Start);
     ?fib(N, _);
     ?fib_calls(N, Calls);
     !report(fib_rule, Start, Calls).

fib(N, N) :- N < 2.
fib(N, F) :- N >= 2 & fib(N-1, A) & fib(N-2, B) & F = A+B.

// fib(n) takes 2*fib(n+1)-1 calls; counted in linear time here.
fib_calls(N, Calls) :- pair(N+1, F, _) & Calls = 2*F-1.
pair(1, 1, 0).
pair(N, F, G) :- N > 1 & pair(N-1, G, H) & F = G+H.

// Naive reverse of 30 elements: 496 inferences each.
+!reverse_by_rules : reversals(N)
  <- .findall(I, .range(I, 1, 30), L);
     .nano_time(Start);
     for (.range(_, 1, N)) { ?reversed(L, _) };
     !report(inference, Start, N*496).

reversed([], []).
reversed([H|T], R) :- reversed(T, S) & append(S, [H], R).
append([], L, L).
append([H|T], L, [H|R]) :- append(T, L, R).

// Beliefs added in a loop, then looked up by their key, among few and among many.
+!beliefs : few(Few) & few_lookups(FewLookups) & many(Many) & many_lookups(ManyLookups)
  <- .nano_time(StartFew);
     for (.range(I, 1, Few)) { +few(I, I) };
     !report(add_few, StartFew, Few);
     .nano_time(StartFewLookups);
     for (.range(I, 1, FewLookups)) { ?few((I*7919) mod Few + 1, _) };
     !report(lookup_few, StartFewLookups, FewLookups);
     .nano_time(StartMany);
     for (.range(I, 1, Many)) { +many(I, I) };
     !report(add_many, StartMany, Many);
     .nano_time(StartManyLookups);
     for (.range(I, 1, ManyLookups)) { ?many((I*7919) mod Many + 1, _) };
     !report(lookup_many, StartManyLookups, ManyLookups).

// One belief replaced over and over.
+!updates : updates(N)
  <- .nano_time(Start);
     !count_to(0, N);
     !report(update, Start, N).

+!count_to(N, N).
+!count_to(I, N)
  <- -+b(I);
     !count_to(I+1, N).
