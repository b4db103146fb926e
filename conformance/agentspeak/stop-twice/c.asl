!s.
+!s <- .print(works).
