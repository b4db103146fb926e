v(src). !g(src).
+v(X) <- .print(v,X).
+w[k] <- .print(w).
+!g(X) <- .print(g,X); .wait(20); !fin(X).
+!fin(src) <- .findall(X,v(X),L); .print(L); .stopMAS.
+!fin(_).
