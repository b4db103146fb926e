{ include("a.asl",x) }
!go.
+!go <- !x::run; .stopMAS.
