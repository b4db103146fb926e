a(1). a(2). b(1).
!g.
+a(X) <- .print(a,X).
+b(X) <- .print(b,X); +c(X); .print(after_c).
+c(X) <- .print(c,X).
+!g <- .print(g1); +d; .print(g2); .wait(30); .stopMAS.
+d <- .print(d1); .print(d2).
