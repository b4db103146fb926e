temp(20)[at(5),conf(0.9)]. temp(25)[at(9),conf(0.5)].
good(T) :- temp(T)[conf(C)] & C > 0.7.
latest(T) :- temp(T)[at(A)] & not (temp(_)[at(B)] & B > A).
!go.
+!go <- ?good(T); .print(T); ?latest(U); .print(U); +temp(30)[at(11),conf(0.1)]; ?latest(V); .print(V); X = p(1); +X[w(2)]; ?p(1)[w(W)]; .print(W); Y = q(3)[k]; +Y[m]; ?q(3)[|AA]; .print(AA); .stopMAS.
