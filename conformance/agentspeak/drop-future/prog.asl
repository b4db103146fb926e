!go.
+!go <- !!a; !!b; .wait(20); .drop_future_intention(later); .wait(60); .stopMAS.
+!a <- .wait(40); !later; .print(no).
+!b <- .wait(40); .print(b).
+!later <- .print(no).
