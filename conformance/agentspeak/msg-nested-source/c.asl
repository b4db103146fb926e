+news(X)[source(S)] <- .print(X," ",S); .stopMAS.
