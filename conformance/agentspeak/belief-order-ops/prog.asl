q(1). q(2).
!go.
+!go <- +q(3); +>q(4); +<q(5); .findall(X,q(X),L); .print(L); .asserta(q(6)); .assertz(q(7)); .findall(X,q(X),L2); .print(L2); -q(2); +q(2); .findall(X,q(X),L3); .print(L3); ?q(F); .print(F); .stopMAS.
