!go.
+!go <- +m(1); +m(2)[source(bob)]; +m(3)[source(self)]; +m(4)[source(bob),source(ann)]; .stopMAS.
+m(X)[source(self)] <- .print(self,X).
+m(X)[source(S)] <- .print(S,X).
