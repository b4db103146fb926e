!go.
+!go <- +obs(a)[t(1)]; +obs(b)[t(2)]; +obs(a)[t(3)]; .findall(o(X,T),obs(X)[t(T)],L); .sort(L,S); .print(S); ?obs(a)[t(T1)]; .print(T1); ?obs(Y)[t(2)]; .print(Y); N = 5; +obs(c)[t(N*2)]; ?obs(c)[t(Z)]; .print(Z); .stopMAS.
