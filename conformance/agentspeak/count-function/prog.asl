p(1). p(2). p(3). q(a).
!go.
+!go <- .count(p(_),N); .print(N); X = .count(p(Y) & Y > 1); .print(X); if (.count(q(_)) == 1) { .print(one) }; .print(.count(zz)+1); .count(p(A) & q(B),M); .print(M); if (.count(p(_),3)) { .print(three) }; +p(.count(p(_))+1); .findall(Z,p(Z),L); .print(L); .stopMAS.
+!c : .count(p(_)) > 2 <- .print(ctx).
