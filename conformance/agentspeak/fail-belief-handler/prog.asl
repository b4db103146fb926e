!go.
+!go <- +alarm(1); .print("after alarm"); .stopMAS.
-!go[error(E),code(C)] <- .print("go failed ",E," ",C); .stopMAS.
+alarm(X) <- .print("alarm ",X); !react(X); .print(no).
+!react(X) <- .fail.
