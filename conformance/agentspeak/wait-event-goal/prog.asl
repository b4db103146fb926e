!a.
+!a <- !!b; .wait({+!c(X)}); .print("goal ",X); .wait({-q(Y)}); .print("del ",Y); .stopMAS.
+!b <- .wait(30); !c(7); +q(3); .wait(30); -q(3); .wait(10).
+!c(X) <- .print(c,X).
