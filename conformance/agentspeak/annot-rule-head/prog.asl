b(1). b(2)[hot].
r(X)[src(rule)] :- b(X).
h(X) :- b(X)[hot].
a(X)[A] :- b(X)[A].
!go.
+!go <- .findall(X,r(X)[src(rule)],L); .print(L); .findall(X,r(X),L2); .print(L2); .findall(X,h(X),L3); .print(L3); if (r(1)[other]) { .print(bad) } else { .print(no) }; .findall(X,a(X)[hot],L4); .print(L4); .stopMAS.
