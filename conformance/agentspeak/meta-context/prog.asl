watch(g1).
!go.
+!go <- !g1; !g2; .wait(50); .stopMAS.
+!g1 <- .print(g1).
+!g2 <- .print(g2).
^!G[state(finished)] : watch(G[|_]) <- .print("finished ",G).
^!g1[state(pending)] : watch(g1) <- .print("pending g1").
^!g2[state(pending)] : watch(g2) <- .print("no").
