// Plans of two namespaces may have the same label; those of one may not.

!start.

+!start
   <- .include("part.asl", left);
      .include("part.asl", right);
      !left::go(1);
      !right::go(2);
      .add_plan({ @twice +!other(X) <- .print("first ", X) });
      !more;
      !other(3);
      .stopMAS.

+!more <- .add_plan({ @twice +!other2(X) <- .print("second ", X) }); .print("not reached").
-!more[error(E)] <- .print("a label is taken").
