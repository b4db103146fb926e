!a. !b.
@p[atomic] +!a <- .print(a1); !s; .print(a2); +z; .print(a3).
+!s <- .print(s1); .print(s2).
+z <- .print(z1); .print(z2).
+!b <- .print(b1); .print(b2); .print(b3); .wait(20); .stopMAS.
