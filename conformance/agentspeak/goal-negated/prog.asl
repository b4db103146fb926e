!go.
+!go <- !~dirty(room); !dirty(room); +~ready; -~ready; ?~open(X); .print(X); .stopMAS.
~open(door).
+!~dirty(R) <- .print("clean ",R).
+!dirty(R) <- .print("dirty ",R).
+~ready <- .print("not ready").
-~ready <- .print("no longer not ready").
