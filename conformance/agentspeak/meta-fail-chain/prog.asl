!go.
+!go <- !!a; .wait(60); .stopMAS.
+!a <- !b.
+!b <- !c.
+!c <- .fail.
-!a <- .print(recovered).
^!a[state(S)] : S \== pending & S \== executing <- .print("a ",S).
^!b[state(S)] : S \== pending & S \== executing <- .print("b ",S).
^!c[state(S)] : S \== pending & S \== executing <- .print("c ",S).
