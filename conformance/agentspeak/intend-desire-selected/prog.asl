!b. !c(3).
+!b : .desire(b) <- .print(desired); !d.
+!b <- .print(undesired); !d.
+!c(X) : .desire(c(Y)) <- .print(c_desired(Y)).
+!c(X) <- .print(c_undesired).
+!d : .intend(b) & .desire(d) <- .print(both); .wait(30); .stopMAS.
+!d : .desire(b) <- .print(only_desire_b); .wait(30); .stopMAS.
+!d : .intend(b) <- .print(only_intend_b); .wait(30); .stopMAS.
+!d <- .print(none); .wait(30); .stopMAS.
