// The random numbers that follow a seed are always the same ones.

!start.

+!start
   <- .set_random_seed(20);
      .random(A);
      .print(math.floor(A * 1000000));
      .print(math.floor(math.random(1000000)));
      .set_random_seed(7);
      .random(B);
      .print(math.floor(B * 1000000));
      .stopMAS.
