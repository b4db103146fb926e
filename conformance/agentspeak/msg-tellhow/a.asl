!s.
+!s <- .send(b,tellHow,"@pl1 +!g(X) : X > 0 <- .print(\"told \",X)."); .send(b,tellHow,{ @pl2 +!h <- .print(h) }); .send(b,tellHow,["+!i(1) <- .print(i1).","+!i(2) <- .print(i2)."]); .wait(50); .send(b,achieve,test).
