!go.
+!go <- B = { .print(one); .print(two) }; B; .print(three); C = { !sub(7) }; C; D = .print(iavar); D; E = sub(9); !E; F = q(1); +F; ?q(X); .print(X); -F; if (q(1)) { .print(bad) } else { .print(gone) }; .stopMAS.
+!sub(X) <- .print(sub,X).
