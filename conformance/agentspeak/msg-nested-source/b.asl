+news(X)[source(S)] <- .print(S); ?news(X)[source(Q)]; .send(c,tell,news(X)[source(S)]).
