// Waits until the ring is closed, puts in all tokens equally spaced, and takes the time until the last one is spent.
ready(0).
spent(0).

@ready[atomic]
+!ready : ready(K) & workers(W)
  <- -+ready(K+1);
     if (K+1 == W) { !!inject }.

+!inject : workers(W) & tokens(T) & passes(N)
  <- .nano_time(Start);
     +started(Start);
     for (.range(I, 0, T-1)) {
         .concat("w", math.floor(I*W/T) mod W + 1, Name);
         .send(Name, achieve, token(N))
     }.

@spent[atomic]
+!spent : spent(K) & tokens(T)
  <- -+spent(K+1);
     if (K+1 == T) { !report }.

+!report : started(Start) & tokens(T) & passes(N)
  <- .nano_time(End);
     Seconds = (End-Start) / 1000000000;
     .print("RESULT bench=ring seconds=", Seconds, " messages_per_s=", T*N/Seconds);
     .stopMAS.
