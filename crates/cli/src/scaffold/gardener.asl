// Waters whoever asks, until the can is empty.

can(4).  // a belief: what the agent holds true

// A plan: what to do when a flower says that it is thirsty, if the can is not empty. Atomic: it runs to its end before
// the next thirsty flower is heard, so that no drop is given away twice.
@water[atomic]
+thirsty(Days)[source(Flower)] : can(N) & N > 0
   <- .print(Flower, " is thirsty, day ", Days);
      -+can(N - 1);
      .send(Flower, achieve, drink);
      !look.

// The next plan for the same event, taken when the first does not apply.
+thirsty(_)[source(Flower)]
   <- .print("sorry, ", Flower, ", the can is empty");
      .stopMAS(100).  // end the society in 100 ms

// A goal the agent sets itself in the plan above, and the plans for it.
+!look : can(0) <- .print("that was the last drop").
+!look.
