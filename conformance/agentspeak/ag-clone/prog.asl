v(1).
!s.
+!s <- +v(2); .clone("twin"); .wait(60); .send(twin,achieve,who); .wait(60); .print(end); .stopMAS.
+!who <- .my_name(N); .findall(X,v(X),L); .print(N," ",L).
