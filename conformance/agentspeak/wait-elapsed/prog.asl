!a.
+!a <- .wait({+x},40,E); if (E >= 40) { .print(timeout) }; !!b; .wait({+y(Z)},2000,E2); .print(Z); if (E2 < 1000) { .print(quick) }; .stopMAS.
+!b <- .wait(20); +y(1).
