!a. !b.
+!a <- .print(a1); !s; .print(a2); .print(a3).
@s[atomic] +!s <- .print(s1); .print(s2); .print(s3).
+!b <- .print(b1); .print(b2); .print(b3); .print(b4); .print(b5); .wait(20); .stopMAS.
