!s.
+!s : .my_name(w1) <- .print(start); !sum(100,0,S); .print(S); .wait(100); .stopMAS.
+!s <- !sum(100,0,S); .print(S).
+!sum(0,A,A).
+!sum(N,A,S) <- !sum(N-1,A+N,S).
