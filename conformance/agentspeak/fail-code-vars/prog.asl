// What a handler binds in code(..) is none of the variables of whoever failed.
!s.
+!s <- A = 1; B = 2; !test; C = 3; .print("C is ", C); !wait(D); .print(D); !goal; !own(E, F); .print(E, " ", F); !thrown; !sum; .print(A, B); .stopMAS.
+!test <- ?nothing(_, _).
-!test[code(nothing(P, R))] <- P = 77; R = 78; .print(P, " ", R).
+!wait(Y) <- .wait(nothing(Y, U, _), 10).
-!wait(Y)[code(T)] <- T =.. [N, [L | _], _]; .print(N); Y = late.
+!goal <- !nogoal(_, foo(_)).
-!goal[error(E), code(nogoal(K, foo(L)))] <- K = 5; L = 6; .print(E, " ", K, L).
+!own(X, Y) <- X = 1; ?nothing(X, Y, _).
-!own(X, Y)[code(nothing(K, L, M))] <- .print(K); L = 8; M = 9; X = x; Y = y.
+!thrown <- X = f(_, _); .fail(my(X, _)).
-!thrown[my(f(A, B), C)] <- A = 1; B = 2; C = 3; .print(A, B, C).
+!sum <- V = g(_); V = h(_).
-!sum[error(E)] <- .print(E).
