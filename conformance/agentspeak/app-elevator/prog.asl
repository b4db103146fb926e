at(0). 
!serve([3,1,5,0]).
+!serve([]) <- .print("all served"); .stopMAS.
+!serve([F|R]) <- !goto(F); .print("open at ",F); !serve(R).
+!goto(F) : at(F).
+!goto(F) : at(X) & X < F <- .print(up,X+1); -+at(X+1); !goto(F).
+!goto(F) : at(X) <- .print(down,X-1); -+at(X-1); !goto(F).
