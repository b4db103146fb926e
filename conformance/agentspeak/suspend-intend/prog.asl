!go.
+!go <- !!w; .wait(20); if (.intend(w)) { .print(i1) }; .suspend(w); if (.intend(w)) { .print(i2) } else { .print(not_intend) }; if (.desire(w)) { .print(desire) }; .resume(w); if (.intend(w)) { .print(i3) }; .stopMAS.
+!w <- .wait(800).
