!go. !other.
@x[atomic] +!go <- .print(g1); !a; .print(g3); .wait(20); .print(g4); !!end.
+!a <- .print(a1); .fail.
-!a <- .print(h1); .print(h2).
+!other <- .print(o1); .print(o2); .print(o3).
+!end <- .wait(20); .stopMAS.
