!go.
+!go <- !f(15,R); .print(R); !h(5,L); .print(L); .stopMAS.
+!f(0,1).
+!f(N,R) <- !f(N-1,Q); R = Q*N.
+!h(0,[]).
+!h(N,[N|T]) <- !h(N-1,T).
