!go.
+!go <- for (.member(X,[1,2,3])) { !try(X) }; .print(end); .stopMAS.
+!try(X) <- X \== 2; .print(ok,X).
-!try(X) <- .print(failed,X).
