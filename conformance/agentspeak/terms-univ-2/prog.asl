!go.
+!go <- f(1,b) =.. [F,A,An]; .print(F,A,An); X =.. [g,[1,2],[k]]; .print(X); Y =.. [h,[],[]]; .print(Y); Z =.. [~n,[1],[]]; .print(Z); ~q(2)[z] =.. [G,B,C]; .print(G," ",B," ",C); a =.. L; .print(L); W =.. ["strf",[1],[]]; .print(W); p(1) =.. [p,[V],_]; .print(V); if (p(1) =.. [q,_,_]) { .print(bad) } else { .print(no) }; .stopMAS.
