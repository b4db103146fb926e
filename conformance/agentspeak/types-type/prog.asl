!go.
+!go <- for (.member(X,[a,f(1),~a,1,"s",[a],{ a; b },{ +!g },f(Y)])) { .findall(T,.type(X,T),L); .print(L) }; .findall(T,.type(Free,T),L2); .print(L2); if (.type(3,number)) { .print(yes) }; if (.type(a,list)) { .print(bad) } else { .print(no) }; .set.create(S); .type(S,T1); .print(T1); .map.create(M); .type(M,T2); .print(T2); .stopMAS.
