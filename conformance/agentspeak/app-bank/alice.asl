!s.
+!s <- .send(bank,achieve,transfer(alice,bob,70)); .wait(60); .send(bank,achieve,transfer(alice,bob,70)); .wait(60); .send(bob,tell,go).
+refused(A) <- .print("refused ",A).
