// Owner: wants lemonade, and leaves it to the robot to get it.

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
