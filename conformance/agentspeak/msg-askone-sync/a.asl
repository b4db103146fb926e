!s.
+!s <- .send(b,askOne,price(apple,P),R); .print(R); .send(b,askOne,price(_,_),R2); .print(R2); .send(b,askOne,nothing(_),R3); .print(R3); .send(b,askOne,price(pear,_),price(pear,V)); .print(V);
  .send(b,askOne,computed(4,_),computed(_,C)); .print(C); .stopMAS.
