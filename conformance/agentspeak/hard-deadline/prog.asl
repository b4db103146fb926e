!go.
+!go <- !slow[hard_deadline(50)]; .print(next); !fast[hard_deadline(500)]; .print(end); .stopMAS.
+!slow <- .print(start); .wait(1000); .print(no).
+!fast <- .print(fast).
-!slow[error(E)] <- .print(E).
