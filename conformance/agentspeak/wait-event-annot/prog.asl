!a.
+!a <- !!b; .wait({+m(X)[source(bob)]}); .print(X); .stopMAS.
+!b <- .wait(20); +m(1); +m(2)[source(bob)].
