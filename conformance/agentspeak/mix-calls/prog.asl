// Several intentions at once: goals with and without results, failing ones, beliefs nobody has plans for.
known(1). known(2). known(3).
!start.

+!start <- !!walk(a, 3); !!count(b, 2); !!miss(c); !!notes(d, 3); !!ask(e).

+!walk(Who, 0) <- .print(Who, " is there").
+!walk(Who, N) <- .print(Who, " walks ", N); !step(Who, N, M); .print(Who, " walked to ", M); !walk(Who, M).
+!step(_, N, M) : known(N) <- M = N-1.

+!count(Who, N) : N > 0 & .print("context of ", Who, " ", N) <- !half(N, H); .print(Who, " half ", H); !count(Who, N-1).
+!count(Who, 0) <- .print(Who, " counted").
+!half(N, H) <- !double(N, D); H = D/4.
+!double(N, D) : known(N) <- D = 2*N.

+!miss(Who) <- .print(Who, " begins"); !missing(Who); .print(Who, " never").
-!miss(Who) <- .print(Who, " missed"); !tried(Who, 7).
+!tried(Who, N) : known(N) & .print("never printed") <- .print(Who, " never").
+!tried(Who, N) : .print("looked at ", N) & known(N) <- .print(Who, " never").
-!tried(Who, N) <- .print(Who, " gave up ", N).

+!notes(Who, 0) <- .count(note(Who, _), C); .print(Who, " has ", C, " notes").
+!notes(Who, N) <- +note(Who, N); .print(Who, " noted ", N); -+last(Who, N); ?last(Who, L); .print(Who, " last ", L); !notes(Who, N-1).

+!ask(Who) <- ?found(X); .print(Who, " found ", X); -found(X); ?found(Y); .print(Who, " found ", Y); .wait(100); .stopMAS.
+?found(X) <- .print("looking"); !seek(X).
+!seek(X) : known(X) <- .print("seen ", X).
