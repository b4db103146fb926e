+!work(N) <- .print("start ",N); .wait(90); .print("never").
+!report <- if (.desire(work(_))) { .print(bad) } else { .print(stopped) }; .stopMAS.
