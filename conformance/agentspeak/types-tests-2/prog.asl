t(X,atom) :- .atom(X).
t(X,structure) :- .structure(X).
t(X,literal) :- .literal(X).
t(X,list) :- .list(X).
t(X,number) :- .number(X).
t(X,string) :- .string(X).
t(X,ground) :- .ground(X).
t(X,ia) :- .internal_action(X).
!go.
+!go <- for (.member(X,[a,'B c',f(1),~a,a[x],1,2.5,"s",[],[a],{ a; b },{ +!g },{ +!g <- a },ns::a,true,f(Y),[Y],.print(a)])) { .findall(T,t(X,T),L); .print(X," ",L) }; .findall(T,t(Free,T),L2); .print(L2); .stopMAS.
