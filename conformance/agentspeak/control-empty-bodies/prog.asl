a.
!go.
+!go <- if (a) { } else { .print(no) }; for (a) { }; while (not a) { }; if (b) { .print(no) }; if (not a) { .print(no) } else { }; .print(done); .stopMAS.
