!s.
+!s <- .wait(20); .my_name(N); !c(3); .send(m,tell,done(N)).
+!c(0) <- .print(zero).
+!c(N) <- .print(N); !c(N-1).
