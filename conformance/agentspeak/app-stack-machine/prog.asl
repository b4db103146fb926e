!go.
+!go <- !run([push(3),push(4),add,push(2),mul,push(7),sub],[]); !run([push(1),add],[]); .stopMAS.
+!run([],[X]) <- .print("result ",X).
+!run([push(N)|T],S) <- !run(T,[N|S]).
+!run([add|T],[A,B|S]) <- !run(T,[A+B|S]).
+!run([mul|T],[A,B|S]) <- !run(T,[A*B|S]).
+!run([sub|T],[A,B|S]) <- !run(T,[B-A|S]).
-!run(P,S)[error(no_applicable)] <- .print("stuck at ",P," ",S).
