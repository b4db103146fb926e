!go.
+!go <- .shuffle([1,2,3,4,5],L); .sort(L,S); .print(S); .random([a],X); .print(X); .random(R); if (R >= 0 & R < 1) { .print(in01) }; .findall(Y,.random([q],Y,4),M); .print(M); Z = math.random(5); if (Z >= 0 & Z < 5) { .print(in05) }; .set_random_seed(3); .random(A); .set_random_seed(3); .random(B); if (A == B) { .print(seeded) }; .stopMAS.
