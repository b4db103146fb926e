!go.
+!go <- -+c(0); !loop(2000); ?c(X); .print(X); .stopMAS.
+!loop(0).
+!loop(N) : c(X) <- -+c(X+N); !loop(N-1).
