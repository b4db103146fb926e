+!job(N)[source(S)] <- .print("job ",N," from ",S).
+!fin[source(a)] <- .print(fin); .stopMAS.
