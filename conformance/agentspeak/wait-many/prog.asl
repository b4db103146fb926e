!s. 
+!s <- for (.range(I,1,4)) { !!w(I) }; .wait(50); +go(2); .wait(30); +go(4); .wait(30); +go(1); +go(3); .wait(40); .stopMAS.
+!w(I) <- .wait({+go(I)}); .print(w,I).
