// A plan whose last step deletes what is not believed ends with that step: there is no event to wait for.
!ends.
!others.

+!ends <- !deletes(1); .print("deleted nothing"); !there(1); .print("deleted a belief").
+!deletes(X) <- -absent(X).
+!there(X) <- +present(X); -present(X).
+!others <- .print(1); .print(2); .print(3); .print(4); .print(5); .print(6); .print(7); .print(8).
!end. +!end <- .wait(200); .stopMAS.
