!go.
+!go <- !even(10,R); .print(R); !even(7,Q); .print(Q); .stopMAS.
+!even(0,true).
+!even(N,R) <- !odd(N-1,R).
+!odd(0,false).
+!odd(N,R) <- !even(N-1,R).
