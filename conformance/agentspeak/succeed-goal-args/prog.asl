!go.
+!go <- !!a(1); !!a(2); .wait(30); .succeed_goal(b(2,_)); .wait(30); .print(mid); .succeed_goal(b(1,_)); .wait(30); .stopMAS.
+!a(X) <- !b(X,Y); .print(a,X," ",Y).
+!b(X,Y) <- Y = X*10; .wait(1000); .print(no).
