!go.
+!go <- X = p(1,2)[a,b]; X =.. [F,T,A]; .print(F," ",T," ",A); Y =.. [q,[1],[c]]; .print(Y); .add_annot(Y,d,Z); .print(Z); X =.. [N,F2,T2,A2]; .print(N," ",F2); K =.. [~s,[1],[]]; .print(K); .stopMAS.
