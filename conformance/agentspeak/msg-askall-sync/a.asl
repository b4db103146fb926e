!s.
+!s <- .send(b,askAll,p(_),L); .print(L); .send(b,askAll,q(_),L2); .print(L2); .send(b,askAll,p(X) ,[F|_]); .print(F); .stopMAS.
