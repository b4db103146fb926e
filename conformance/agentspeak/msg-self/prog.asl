!s.
+!s <- .my_name(Me); .print(Me); .send(Me,tell,note(1)); .send(self,achieve,todo); .wait(40); ?note(X)[source(S)]; .print(X,S); .send(Me,askOne,note(_),R); .print(R); .stopMAS.
+note(X)[source(S)] <- .print("note ",X," ",S).
+!todo[source(S)] <- .print("todo ",S).
