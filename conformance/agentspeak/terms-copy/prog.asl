!go.
+!go <- .copy_term(f(X,Y,X),C); C = f(A,B,D); A = 1; .print(D); .print(X); .copy_term(p(1)[a],E); .print(E); .rename_apart(g(Z,k),R); R = g(5,K2); .print(Z," ",K2); .add_annot(p,a(1),P1); .print(P1); .add_annot([p,q[b]],c,P2); .print(P2); .remove_source_annot(p[source(x),k],P3); .print(P3); .add_nested_source(p[source(a)],b,P4); .print(P4); .stopMAS.
