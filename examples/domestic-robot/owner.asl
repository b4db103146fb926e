// Likes lemonade, and has other things to think about than where it comes from.

+glass(empty)
   <- .print("I would like some lemonade.");
      .send(robot, achieve, has(owner, lemonade)).

+glass(lemonade)
   <- !drink.

+!drink : glass(lemonade)
   <- .print("sip");
      sip;
      !drink.
+!drink.

+message(Text)[source(robot)]
   <- .print("The robot says: ", Text);
      .print("Very well.");
      .stopMAS.
