!go.
+!go <- !sum(800,S); .print(S); !build(300,L); .length(L,N); .print(N); .stopMAS.
+!sum(0,0).
+!sum(N,S) <- !sum(N-1,T); S = T+N.
+!build(0,[]).
+!build(N,[N|T]) <- !build(N-1,T).
