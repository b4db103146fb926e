!g(1). !g(2). b(1). !g(b). b(2). !stop.
+!g(X) : b(X) <- .print(g,X," known").
+!g(X) <- .print(g,X," unknown").
+b(X) <- .print(b,X).
+!stop <- .wait(30); .stopMAS.
