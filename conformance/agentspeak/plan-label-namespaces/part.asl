@same
+!go(X) <- .print("go ", X, " in ", this_ns).
