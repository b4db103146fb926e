r(X) :- q(X). q(1). s(A, B) :- q(A) & q(B). m(1). m(X) :- q(X).
!s.
+!s <- -r(_); .findall(U1, r(U1), L1); .print(L1); -r(_); .print(again); !more.
+!more <- -s(1, _); .findall(U2, s(U2, _), L2); .print(L2); !own.
+!own <- +{ t(C) :- q(C) }; .findall(U3, t(U3), L3); .print(L3);
         -{ t(C) :- q(C) }; .findall(U4, t(U4), L4); .print(L4); !first.
+!first <- -m(_); .findall(U5, m(U5), L5); .print(L5); .stopMAS.
-r(_) <- .print("del r").
-s(Z, _) <- .print("del s ", Z).
-t(_) <- .print("del t").
-m(_) <- .print("del m").
