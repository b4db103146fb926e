!go.
+!go <- .print(f(1 < 2, a & b, not c, X == Y)); T = (1 < 2); .print(T); !run(3 > 2); !run(3 < 2); L = [(a | b), (not c)]; .print(L); .stopMAS.
+!run(C) : C <- .print("true ",C).
+!run(C) <- .print("false ",C).
