!go.
+!go <- for (.member(X,[1,2,3])) { !sq(X,Y); .print(X," ",Y) }; .findall(s(A,B),sq(A,B),L); .print(L); .stopMAS.
+!sq(A,B) <- B = A*A; +sq(A,B).
