{ include("cnt.asl",c1) }
{ include("cnt.asl",c2) }
!go.
+!go <- !c1::inc; !c1::inc; !c2::inc; ?c1::count(A); ?c2::count(B); .print(A," ",B); .stopMAS.
