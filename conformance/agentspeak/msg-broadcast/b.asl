+hello(X)[source(S)] <- .print(X,S).
+!greet[source(S)] <- .print(greet,S).
