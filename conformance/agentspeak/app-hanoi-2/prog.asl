on(a,[3,2,1]). on(b,[]). on(c,[]).
!go.
+!go <- -+on2(x); !h(3,p1,p3,p2); .count(move(_,_,_),N); .print(N); .stopMAS.
+!h(0,_,_,_).
+!h(N,A,C,B) <- !h(N-1,A,B,C); .print("disc ",N," ",A," to ",C); +move(N,A,C); !h(N-1,B,C,A).
