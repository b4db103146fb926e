t(1,2,3,4,5,6,7,8,9,10).
!go.
+!go <- ?t(A,B,C,D,E,F,G,H,I,J); .print(A+B+C+D+E+F+G+H+I+J); !m(a,b,c,d,e,f,g,h,i,X); .print(X); .stopMAS.
+!m(_,_,_,_,_,_,_,_,L,M) <- M = [L,end].
