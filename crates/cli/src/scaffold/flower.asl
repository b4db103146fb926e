// Gets thirsty, asks for water, drinks, and gets thirsty again.

thirst(1).

!grow.  // the goal it starts with

+!grow : thirst(Days)
   <- .wait(100 * Days);  // in milliseconds
      .send(gardener, tell, thirsty(Days)).

+!drink[source(gardener)] : thirst(Days)
   <- .print("ah, water");
      -+thirst(Days + 1);
      !!grow.
