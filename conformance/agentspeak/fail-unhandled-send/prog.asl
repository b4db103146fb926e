!go. !a.
+!a <- .send(nobody,tell,hello); .print(no).
+!go <- .wait(200); .print(alive); .stopMAS.
