+!work(P)[source(S)] <- .print("work ",P); .send(S,tell,ready(P)).
