s(a,5). s(b,9). s(c,2).
!go.
+!go <- .max([3,9,2],A); .min([3,9,2],B); .print(A,B); .max([b,a,c],C); .print(C); .max([1,"z",a],D); .print(D); .min(V,s(_,V),E); .print(E); .max(p(V,K),s(K,V),p(F,G)); .print(F,G); if (.max([],_)) { .print(bad) } else { .print(empty) }; if (.min(V,s(zz,V),_)) { .print(bad) } else { .print(none) }; .max([[1,2],[3]],H); .print(H); .stopMAS.
