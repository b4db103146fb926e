@p1 +!m(1) <- .print(1).
@p2 +!m(X) : X > 1 <- .print(2).
@p3[k] +!m(a)[b] <- .print(3).
@q1 +m(X) <- .print(4).
!go.
+!go <- .relevant_plans({+!m(5)},P,L); .length(P,N); .findall(F,.member(Z,L) & Z =.. [_,F|_],LL); .print(N," ",LL); .relevant_plans({+!m(1)},_,L1); .findall(F,.member(Z,L1) & Z =.. [_,F|_],LL1); .print(LL1);
  .relevant_plans({+!m(a)[b]},_,L2); .findall(F,.member(Z,L2) & Z =.. [_,F|_],LL2); .print(LL2); .relevant_plans({+m(_)},_,L3); .findall(F,.member(Z,L3) & Z =.. [_,F|_],LL3); .print(LL3); .relevant_plans({+!zz},Z4); .print(Z4); .stopMAS.
