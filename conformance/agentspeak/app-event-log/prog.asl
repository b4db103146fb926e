!go.
+!go <- +e(start); !work(3); +e(stop); .findall(X,log(_,X),L); .reverse(L,R); .print(R); .stopMAS.
n(0).
+!work(0).
+!work(K) <- +e(work(K)); !work(K-1).
@l[atomic] +e(X) : n(N) <- -+n(N+1); +log(N,X); .print(N," ",X).
