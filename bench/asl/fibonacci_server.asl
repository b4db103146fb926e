// Each request is an intention of its own: the reasoning cycle takes one step of each in turn, so small requests
// overtake large ones without a line of code for it.
+!fib(N)[source(Client)]
  <- !compute(N, F);
     .send(Client, achieve, answer(F)).

+!compute(N, N) : N < 2.
+!compute(N, F)
  <- !compute(N-1, A);
     !compute(N-2, B);
     F = A+B.
