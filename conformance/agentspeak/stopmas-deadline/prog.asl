!go.
+!go <- .print(stopping); .stopMAS(100).
+jag_shutting_down(T) <- .print("shutting down in ",T).
