+ping[source(S)] <- .my_name(N); .print(N); .send(S,tell,pong).
