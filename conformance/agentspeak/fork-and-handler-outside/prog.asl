!go.
+!go <- !p; .print(end); .wait(60); .stopMAS.
+!p <- !x |&| !y; .print(no).
+!x <- .wait(10); .print(x1); .fail.
+!y <- .wait(40); .print(never).
-!p[error(E)] <- .print("p failed ",E).
