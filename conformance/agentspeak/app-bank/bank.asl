balance(alice,100). balance(bob,50).
@t[atomic] +!transfer(F,T,A)[source(F)] : balance(F,X) & X >= A & balance(T,Y) <- -balance(F,X); +balance(F,X-A); -balance(T,Y); +balance(T,Y+A); .print(F," -> ",T,": ",A).
+!transfer(F,T,A)[source(F)] <- .print("refused ",F," ",A); .send(F,tell,refused(A)).
+!transfer(F,T,A)[source(S)] <- .print("fraud by ",S).
+!report <- .findall(b(N,B),balance(N,B),L); .sort(L,S); .print(S); .stopMAS.
