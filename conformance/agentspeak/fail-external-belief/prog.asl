!go.
+!go <- ++alarm(1); .wait(30); .print("still running"); .stopMAS.
+alarm(X) <- .print("alarm ",X); !react(X); .print("recovered").
+!react(X) <- .fail.
-!react(X) <- .print("handling ",X).
