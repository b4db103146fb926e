!s.
+!s : id(X) & .my_name(N) <- .print(N," ",X).
