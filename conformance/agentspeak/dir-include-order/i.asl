a(10). a(20).
+!k <- .print("included k").
+!m <- .print("included m").
