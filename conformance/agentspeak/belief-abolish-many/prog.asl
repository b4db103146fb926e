// Most of many beliefs go at once.
!s.
+!s <- for (.range(I,1,60)) { if (I==1 | I==60) { +r(I,b) } else { +r(I,a) } };
       .abolish(r(_,a));
       .findall(X,r(X,_),L);
       .print(L);
       .stopMAS.
