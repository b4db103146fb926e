busy.
!go.
+!go <- !!free; .wait(not busy); .print(free); .stopMAS.
+!free <- .wait(30); .print(releasing); -busy.
