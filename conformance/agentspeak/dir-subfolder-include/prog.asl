{ include("lib/util.asl") }
!go.
+!go <- !util(3,R); .print(R); .stopMAS.
