!go.
+!go <- !!w(1); .wait(30); .drop_intention(w(1)); .wait(50); !!w(2); .wait(30); .succeed_goal(w(2)); .wait(60); .stopMAS.
+!w(X) <- .wait(1000).
^!w(X)[state(S)] : S == dropped | S == finished | S == achieved <- .print(X," ",S).
