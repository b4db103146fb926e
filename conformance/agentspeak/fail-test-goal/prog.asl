!go.
+!go <- ?v(X); .print(X); ?w(Y); .print(Y); ?z(K); .print(K); .stopMAS.
v(1).
+?w(Y) <- Y = computed.
+?z(K) <- .fail.
-?z(K)[error(E)] <- .print("z handler ",E); K = fallback.
