+!sum(X,Y,Z)[source(A)] <- Z = X+Y; .print(Z); .wait(60); .send(A,tell,result(Z)).
