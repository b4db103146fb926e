// Kitten: watches the blocks, and sometimes strikes while the hand is on its way.

+moved(6)[source(Builder)]
   <- .wait(40);
      .print("pounce!");
      .send(Builder, achieve, topple).

+moved(10)[source(Builder)]
   <- .wait(40);
      .print("purr");
      .send(Builder, achieve, gift(mouse)).
