{ begin namespace(n1) }
p(1)[a]. ~q(x).
+!go <- ?p(X); .print(X); .print(p(2)," ",f(p)," ",[p]); .print(n1::p(3)," ",::p(4)," ",default::p(5)," ",n2::~r); .findall(n1::p(Y),p(Y),L); .print(L); Z = ::k(1); .print(Z); .print({ +!g : p(1) <- q; ?p(X); +p(3) }); !done.
+!done <- .print(done); .stopMAS.
{ end }
!n1::go.
