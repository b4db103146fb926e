!go.
+!go <- !t; .print(end); .stopMAS.
+!t <- for (.member(X,[1,2,3])) { .print(X); X < 2 }; .print(no).
-!t[error(E)] <- .print("failed ",E).
