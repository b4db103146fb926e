// Traveller: a plan that may outlive its process. It continues at the step at which it was interrupted.

!travel.

+!travel
   <- !stage(pack);
      !stage(leave);
      !stage(train);
      !stage(change);
      .wait(400);
      !stage(ferry);
      !cross(mountain);
      !stage(descend);
      !stage(village);
      .wait(400);
      !stage(inn);
      !stage(sleep);
      !stage(breakfast);
      !stage(arrive);
      .send(clerk, achieve, close).

+!stage(S) <- .print(S); .send(clerk, tell, passed(S)); .wait(400).

// The pass is closed: the goal fails, and its failure plan takes the tunnel.
+!cross(mountain) <- .wait(400); .fail(snow).
-!cross(mountain) <- !stage(tunnel).
