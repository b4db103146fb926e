!go.
+!go <- !l([]); !l([a]); !l([a,b]); !l([a,b,c]); !m([[1,2],[3]]); !n([x,y,z]); .stopMAS.
+!l([]) <- .print(empty).
+!l([X]) <- .print("one ",X).
+!l([X,Y]) <- .print("two ",X,Y).
+!l([X|T]) <- .print("more ",X," ",T).
+!m([[A,B]|_]) <- .print(A,B).
+!n([A|[B|C]]) <- .print(A,B,C).
