+alarm(X)[source(S)] <- .print("alarm ",X," ",S).
+!fin <- if (alarm(_)) { .print(bad) } else { .print(no_belief) }; .stopMAS.
