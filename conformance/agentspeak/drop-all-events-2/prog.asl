!go.
@g[atomic] +!go <- ++b(1); !!w; .drop_all_events; .print(dropped); !!end.
+b(X) <- .print(b,X).
+!w <- .print(w).
+!end <- .wait(20); if (b(1)) { .print(belief_stays) }; .stopMAS.
