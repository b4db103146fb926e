!go.
+!go <- .add_plan("+!s(X) : X > 2 <- .print(\"str \",X); !t."); .add_plan("+!t <- .print(t)."); !s(3); X = 7; .concat("+!u <- .print(",X,").",S); .add_plan(S); !u; .stopMAS.
