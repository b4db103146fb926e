!a. !b.
@m[atomic] +x(V) <- .print(x1); .print(x2); .print(x3).
+!a <- .print(a1); +x(1); .print(a2).
+!b <- .print(b1); .print(b2); .print(b3); .print(b4); .print(b5); .print(b6); .wait(20); .stopMAS.
