count(0).
+!inc : count(N) <- -+count(N+1); .print("inc ",N).
