!a. !b.
+!a <- .print(a1); !s; .print(a2).
@s[atomic] +!s <- .print(s1); .fail.
-!s <- .print(h1); .print(h2).
+!b <- .print(b1); .print(b2); .print(b3); .print(b4); .print(b5); .wait(20); .stopMAS.
