// Beliefs with variables: annotations, .abolish, -+, and whose they are.
b(V)[m(V)]. t(T)[source(bob)]. n(N).
!s.
+!s <- !annot(A); !abolish; !replace; !others; .stopMAS.
+!annot(A) <- +z(1)[p(_)]; -z(1)[p(3)]; .findall(x, z(1), L); .print(L).
+!abolish <- A = 11; +c(_); .abolish(c(5)); .findall(x, c(_), L); .print(L);
             +d(_, 7); .abolish(d(_, 7)); .findall(x, d(_, _), M); .print(M); .print(A).
+!replace <- -+n(3); .findall(K, n(K), L); .print(L).
+!others <- -t(_); .findall(x, t(_), L); .print(L); -b(_)[m(2)]; .findall(x, b(_), M); .print(M).
