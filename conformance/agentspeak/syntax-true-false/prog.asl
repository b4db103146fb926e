t :- true.
f :- false.
!go.
+!go : true & not false <- if (t) { .print(t) }; if (f) { .print(f) } else { .print(not_f) }; if (true | false) { .print(or) }; if (true & false) { .print(and) } else { .print(not_and) }; .print(true," ",false," ",[true]); .stopMAS.
