at(robot1,pos(3,4)). at(robot2,pos(5,4)). at(box,pos(3,9)).
same_row(A,B) :- at(A,pos(_,Y)) & at(B,pos(_,Y)) & A \== B.
!go.
+!go <- ?at(robot1,P); .print(P); ?at(Who,pos(5,_)); .print(Who); .findall(X,at(_,pos(X,_)),L); .print(L); .findall(f(A,B),same_row(A,B),L2); .print(L2); -at(robot1,_); +at(robot1,pos(3,9)); .findall(f(A,B),same_row(A,B),L3); .print(L3); .stopMAS.
