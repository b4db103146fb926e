{ begin namespace(x) }
v(1).
{ begin namespace(y) }
v(2).
+!show <- ?v(V); .print("y ",V).
{ end }
+!show <- ?v(V); .print("x ",V); !y::show.
{ end }
v(3).
!go.
+!go <- ?v(V); .print(V); !x::show; .stopMAS.
