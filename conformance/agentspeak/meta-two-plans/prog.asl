!go.
+!go <- !a; !b; .wait(30); .stopMAS.
+!a <- .print(a).
+!b <- .print(b).
^!a[state(finished)] <- .print("a finished").
^!b[state(S)] : S == achieved <- .print("b achieved").
^!b[state(S)] : S == finished <- .print("b finished").
