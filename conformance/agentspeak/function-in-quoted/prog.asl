// Functions in beliefs whose namespace is a variable are computed when the belief is added, also those without
// arguments; those in code that is a term only when it is run.

!start.

+!start
   <- N = shop;
      +N::price(tea, math.floor(math.pi) + 10);
      +N::price(ale, math.abs(-2));
      ?shop::price(tea, P);
      ?shop::price(ale, Q);
      .print(P, " ", Q);
      +N::half(math.floor(math.e / 2));
      ?shop::half(H);
      .print(H);
      +N::sum(H + 1);
      ?shop::sum(S);
      .print(S);
      Code = { .print(math.abs(Z)) };
      Z = -3;
      Code;
      .stopMAS.
