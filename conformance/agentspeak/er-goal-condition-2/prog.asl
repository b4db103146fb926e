n(0).
!go.
+!go <- !reach(3); .print(reached); .stopMAS.
+!reach(T) <: n(X) & X >= T <- !step. {
  +!step : n(X) <- -+n(X+1); .print(step,X); .wait(20); !step.
}
