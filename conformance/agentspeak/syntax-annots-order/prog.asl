x(1)[z,b,a(2),a(1),10,2,"str",[l],source(me),f(x,y),~n].
!go.
+!go <- ?x(1)[|L]; .print(L); .print(k[c,b,a,b,c]); .print(k[b(2),b(1),b]); .print(k[1,1.0,2]); .print(m(2)[X,a,Y]); .print(k[[b],[a]]); .stopMAS.
