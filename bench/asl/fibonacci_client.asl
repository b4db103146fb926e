// Asks for fib(n), waits for the answer, notes how long that took, and asks again.
asked(0).

!join.

+!join
  <- .my_name(Me);
     .delete("client", Me, Digits);
     .term2string(I, Digits);
     // The same small generator in every peer, so that all compute the same requests.
     +x(((I*48271) mod 2147483647 * 16807) mod 2147483647);
     .send(collector, achieve, ready).

+!ask : asked(K) & requests(K)
  <- .findall(sample(N, Us), sample(_, N, Us), Samples);
     .send(collector, achieve, samples(Samples)).
+!ask : asked(K) & x(X) & max_n(Max)
  <- -+asked(K+1);
     -+x((X*16807) mod 2147483647);
     N = X mod Max + 1;
     .nano_time(Now);
     -+pending(N, Now);
     .send(server, achieve, fib(N)).

+!answer(_) : pending(N, Then) & asked(K)
  <- .nano_time(Now);
     +sample(K, N, (Now-Then)/1000);
     !ask.
