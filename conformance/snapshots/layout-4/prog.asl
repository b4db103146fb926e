// An agent with something of each kind in its mind when it is written out, 200 ms after it began.

at(home).
same(X, X).
~raining.
colour(box, red)[confidence(0.5), source(bob)].
stock::apples(3).
even(N) :- N mod 2 == 0.

!count(1).
!dig(6).
!watch.
!both.
!first.
!learn.
!deadline.
!keep(alive)[source(self)].
!suspend_me.
!fails.

// A tail call with a wait in it.
+!count(N) : N <= 12 <- +n(N); .wait(45); .print("count ", N); !count(N + 1).
+!count(_) <- .count(n(_), C); .print("counted ", C).

// A stack of plans that each give something back.
+!dig(0) <- .wait(400); .print("at the bottom").
+!dig(N) <- !dig(N - 1); !half(N, H); .print("up from ", N, ", half of it is ", H).
+!half(N, H) : even(N) <- H = N / 2.
+!half(N, H) <- .wait(15); H = (N - 1) / 2.

// Waits for an event, and for a condition.
+!watch <- .wait({+n(9)}); .print("saw nine"); .wait(n(X) & X > 10, 3000, T); .print("saw more than ten").

// Branches.
+!both <- (.wait(300); .print("left"); A = 1 |&| .wait(150); !half(8, B); .print("right ", B)); .print("both ", A, " ", B).
+!first <- (.wait(900); .print("late") ||| .wait(250); .print("early")); .print("first").

// Acquired plans and rules, one of them at work.
+!learn <- .add_plan({ @taught +!taught(X) : even(X) <- .wait(350); .print("taught ", X); !!again(X) });
    .add_plan({ +!again(X) <- .print("again ", X, " ", stock::apples(_)) }); +{ odd(N) :- not even(N) };
    .remove_plan(gone); !taught(4); ?odd(3); .print("odd").
@gone +!taught(_) <- .print("never").

// A timer, a deadline, a loop.
+!deadline <- .at("now +500 ms", {+!alarm}); for (.member(X, [a, b, c])) { .wait(100); .print("item ", X) }.
+!alarm : colour(box, C)[confidence(K)] <- .print("alarm ", C, " ", K, " ", same(1, 1)).
+!keep(G) <- .wait(600); ?colour(box, _)[source(S)]; -colour(box, red)[source(bob)]; .print("kept ", G, " ", S).
+!suspend_me <- .suspend; .print("resumed"); .random(R); ?(R >= 0).
+n(11) <- .resume(suspend_me); -+at(work).
+at(P) <- .print("at ", P).

// A failure whose plan is pending.
+!fails <- !breaks; .print("after").
+!breaks <- .wait(420); ?nothing; .print("never").
-!breaks[error(E)] <- .wait(60); .print("handled ", E).
