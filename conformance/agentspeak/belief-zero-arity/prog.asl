raining. ~cold[x].
!go.
+!go <- if (raining) { .print(1) }; -raining; if (not raining) { .print(2) }; +raining; ?raining[source(S)]; .print(S); ?~cold[x]; .print(3); -+raining; .count(raining,N); .print(N); .stopMAS.
+raining <- .print("+raining").
-raining <- .print("-raining").
