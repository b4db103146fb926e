!greet.
+!greet <- .send(bob, tell, hello).
+thanks[source(Who)] <- .print(Who, " thanks").
