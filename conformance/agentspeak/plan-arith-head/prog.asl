!go.
+!go <- !f(2); !f(5); !g(3,X); .print(X); !h("str"); !h([1,[2]]); !h(1.5); ?v(1+1,Y); .print(Y); N = 1; ?v(N,Z); .print(Z); .stopMAS.
v(1,one). v(2,two).
+!f(1+1) <- .print(two).
+!f(X) <- .print(other,X).
+!g(A,A*2).
+!h("str") <- .print(string).
+!h([1,[X]]) <- .print(list,X).
+!h(1.5) <- .print(number).
