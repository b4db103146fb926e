!go.
+!go <- !g(1); .print(end); .stopMAS.
{ begin ebdg(g(X)) }
+!g(X) : X > 5 <- .print(a).
+!g(X) <- .print(b); .fail.
+!g(X) <- .print(c); +g(X).
{ end }
