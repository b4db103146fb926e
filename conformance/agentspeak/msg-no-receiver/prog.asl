!s.
+!s <- !t(1); !t(2); .stopMAS.
+!t(1) <- .send(nobody,tell,x); .print(no).
+!t(2) <- .send([prog,nobody],tell,x(2)); .print(no).
-!t(N)[error(E),agent_not_found(A)] <- .print(N," ",E," ",A).
