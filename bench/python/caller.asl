// Calls a Python function, as a step or in a formula, and tells the collector the time of each call.
!begin.

+!begin : calls(N) & kind(Kind)
   <- py.successor(0, _);  // Python starts
      .wait(500);
      .nano_time(Start);
      !call(Kind, N, []);
      .nano_time(End);
      .send(collector, tell, called(Start, End, N)).

+!call(_, 0, Times) <- .send(collector, tell, times(Times)).
+!call(step, N, Times)
   <- .nano_time(Start);
      py.successor(N, _);
      .nano_time(End);
      !call(step, N - 1, [End - Start|Times]).
+!call(formula, N, Times)
   <- .nano_time(Start);
      ?(py.successor(N, M) & M > N);
      .nano_time(End);
      !call(formula, N - 1, [End - Start|Times]).
