!s.
+!s <- .send(b,askAll,p(_)); .wait(60); .findall(X,p(X)[source(b)],L); .print(L); .send(b,askOne,q(_)); .wait(60); ?q(Y)[source(b)]; .print(Y); .stopMAS.
