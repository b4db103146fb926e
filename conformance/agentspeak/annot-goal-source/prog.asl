!go.
+!go[source(S)] <- .print(S); !g[source(zed)]; !h; .stopMAS.
+!g[source(S)] <- .print(S).
+!h[source(S)|R] <- .print(S,R).
