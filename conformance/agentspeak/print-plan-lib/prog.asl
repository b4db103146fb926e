@l1 +!g(X) : b(X) & not c | X > 1 <- .print(X); !h(X,Y); ?k(Y); +m(Y)[a]; -n; -+o(1); !!p; q(1); Y = 3; Y < 4.
@l2[atomic,cost(1)] -!g(X)[error(E)] <- .print(E).
@l3 +bel(X)[source(S)] : S \== self.
@l4 +?t(X) <- X = 1.
@l5 ^!g(X)[state(S)] : S == failed <- .print(S).
!go.
+!go <- for (.member(L,[l1,l2,l3,l4,l5])) { .plan_label(P,L); .remove_source_annot(P,P2); .print(P2) }; .stopMAS.
