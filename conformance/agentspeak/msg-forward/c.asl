+fwd(O,note(T,L))[source(S)] <- .print(O," via ",S,": ",T,L); .stopMAS.
