!s.
+!s <- .send([b,c,d],askOne,v(_),L); .length(L,N); .print(N); .sort(L,S); .print(S); .stopMAS.
