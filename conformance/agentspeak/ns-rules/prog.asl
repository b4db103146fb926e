{ begin namespace(geo) }
area(sq(S),A) :- A = S*S.
area(rect(W,H),A) :- A = W*H.
big(X) :- area(X,A) & A > ::limit(_) | area(X,B) & limit(L) & B > L.
limit(10).
{ end }
!go.
+!go <- ?geo::area(sq(3),A); .print(A); if (geo::big(rect(3,4))) { .print(big) }; if (geo::big(sq(2))) { .print(big2) } else { .print(small) }; .stopMAS.
