!go.
+!go <- .add_plan({ -!risky[error(E)] <- .print("late handler ",E) }); .add_plan({ +seen(X) <- .print("seen ",X) }); .add_plan({ +?ask(Y) <- Y = 4 }); !risky; +seen(1); ?ask(A); .print(A); .stopMAS.
+!risky <- .fail.
