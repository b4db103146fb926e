!go.
+!go <- .print(go).
+jag_sleeping <- .print(sleeping); .stopMAS.
