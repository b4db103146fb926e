!go.
+!go <- !a; .add_plan({ ^!a[state(finished)] <- .print("a over") }); !a; .wait(20); .stopMAS.
+!a <- .print(a).
