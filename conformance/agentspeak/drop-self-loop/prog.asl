n(0).
!go.
+!go <- !!loop; .wait(60); .drop_intention(loop); ?n(X); .wait(40); ?n(Y); if (X == Y) { .print(stopped) }; .stopMAS.
+!loop : n(X) <- .wait(10); -+n(X+1); !loop.
