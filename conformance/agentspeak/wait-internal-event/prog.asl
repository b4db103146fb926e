!go.
+!go <- !!b; .wait({+!sub(X)}); .print("saw sub ",X); .wait({+k(Y)[source(S)]}); .print(Y,S); .wait(20); .stopMAS.
+!b <- .wait(20); !sub(1); .wait(20); +k(2).
+!sub(X) <- .print("sub ",X).
