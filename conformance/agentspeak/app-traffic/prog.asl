light(red).
next(red,green). next(green,yellow). next(yellow,red).
!run(7).
+!run(0) <- .print(end); .stopMAS.
+!run(N) : light(L) & next(L,M) <- -+light(M); !run(N-1).
+light(X) <- .print(X).
