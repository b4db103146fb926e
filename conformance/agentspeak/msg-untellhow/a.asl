!s.
+!s <- .send(b,tellHow,{ @pl1 +!g <- .print(g) }); .wait(40); .send(b,achieve,test(1)); .wait(40); .send(b,untellHow,pl1); .wait(40); .send(b,achieve,test(2)).
