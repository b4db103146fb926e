stock(apple,3).
!go.
+!go <- ?stock(apple,N); .print(N); ?stock(pear,M); .print(M); ?price(apple,P); .print(P); .stopMAS.
+?stock(F,0) <- .print("no ",F).
+?price(F,P) : stock(F,N) <- P = N*2.
