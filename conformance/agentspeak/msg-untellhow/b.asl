+!test(1) <- !g; .print(ok).
+!test(2) <- !g; .print(no).
-!test(2)[error(E)] <- .print(E); .stopMAS.
