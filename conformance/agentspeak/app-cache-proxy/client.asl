!s.
+!s <- .send(proxy,askOne,data(1,_),data(_,A)); .print(A); .send(proxy,askOne,data(1,_),data(_,B)); .print(B); .send(proxy,askOne,data(2,_),data(_,C)); .print(C); .stopMAS.
