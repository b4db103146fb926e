// Starts the clients together and reports the latencies that they measured.
ready(0).
finished(0).

@ready[atomic]
+!ready : ready(K) & clients(C)
  <- -+ready(K+1);
     if (K+1 == C) { !!start }.

+!start : clients(C)
  <- .nano_time(Start);
     +started(Start);
     for (.range(I, 1, C)) {
         .concat("client", I, Name);
         .send(Name, achieve, ask)
     }.

@samples[atomic]
+!samples(L)[source(Client)] : finished(K) & clients(C)
  <- +batch(Client, L);
     -+finished(K+1);
     if (K+1 == C) { !report }.

+!report : started(Start) & large_from(LargeFrom)
  <- .nano_time(End);
     .findall(Us, batch(_, L) & .member(sample(N, Us), L) & N <= 10, Small);
     .findall(Us, batch(_, L) & .member(sample(N, Us), L) & N >= LargeFrom, Large);
     !percentile(50, Small, Small50);
     !percentile(99, Small, Small99);
     !percentile(100, Small, SmallMax);
     !percentile(50, Large, Large50);
     .print("RESULT bench=fibonacci small_p50_us=", Small50, " small_p99_us=", Small99, " small_max_us=", SmallMax,
            " large_p50_us=", Large50, " seconds=", (End-Start)/1000000000);
     !show_samples;
     .stopMAS.

// Each single one, for a picture.
+!show_samples : samples(1)
  <- for (batch(_, L) & .member(sample(N, Us), L)) { .print("SAMPLE n=", N, " us=", Us) }.
+!show_samples.

// Nearest rank; none where there is no sample at all.
+!percentile(_, [], none).
+!percentile(P, L, Value)
  <- .sort(L, Sorted);
     .length(L, Count);
     .nth(math.ceil(P/100*Count)-1, Sorted, Value).
