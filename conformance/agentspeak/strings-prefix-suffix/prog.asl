!go.
+!go <- if (.prefix("he","hello")) { .print(p) }; if (.suffix("lo","hello")) { .print(s) }; if (not .prefix("el","hello")) { .print(np) }; .findall(X,.prefix(X,"abc"),L); .print(L); .findall(X,.suffix(X,"abc"),M); .print(M); .stopMAS.
