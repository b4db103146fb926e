!go.
+!go <- !!other; !a; .print(no).
+!a <- .print(a1); .drop_intention(go); .print(no2).
+!other <- .wait(40); .print(other); .stopMAS.
