!go.
+!go <- !count(0,3000); !sum(1,2000,0,S); .print(S); .stopMAS.
+!count(N,N) <- .print("counted ",N).
+!count(N,M) <- !count(N+1,M).
+!sum(I,N,A,A) : I > N.
+!sum(I,N,A,S) <- !sum(I+1,N,A+I,S).
