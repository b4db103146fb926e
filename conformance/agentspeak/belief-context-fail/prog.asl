!go.
+!go <- +x(1); .print(after1); +x(5); .print(after2); .stopMAS.
+x(N) : N > 3 <- .print("big ",N).
