+!relay(To,Msg)[source(S)] <- .print("relay for ",S); .send(To,tell,fwd(S,Msg)).
