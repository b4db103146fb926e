w(1,5). w(2,8). w(3,12).
!go.
+!go <- !f(6); !f(10); !f(20); .stopMAS.
+!f(Min) : w(Id,V) & V >= Min <- .print(Id," ",V).
+!f(Min) <- .print("none ",Min).
