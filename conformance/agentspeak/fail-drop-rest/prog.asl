!go.
+!go <- !p; .wait(20); .print(end); .stopMAS.
+!p <- !!q; !r; .print(no).
+!q <- .print(q1); .print(q2); .print(q3); .print(q4).
+!r <- .print(r1); .fail.
-!p <- .print(handler).
