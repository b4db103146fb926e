!s.
+!s <- .wait(40); !sell(item1); !sell(item2); .stopMAS.
+!sell(I) <- .print("auction ",I); .send([buyer1,buyer2,buyer3],askOne,bid(I,_),L); .findall(o(V,A),.member(bid(I,V)[source(A)],L) & V > 0,O); .max(O,o(W,Who)); .print(Who," wins with ",W); .send(Who,tell,won(I,W)); .wait(30).
