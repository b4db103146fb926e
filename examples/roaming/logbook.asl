// Knows what the scout said last, and tells it to whoever looks: pages come and go, and so does the scout.

diary([]).

!open.

+!open <- .print("nobody has come by yet: open the page").

// The scout says how far it is, whenever something changes.
+!note([visit(Place, Arrived, Steps, Found) | Before])
   <- !remember(Place);
      -+diary([visit(Place, Arrived, Steps, Found) | Before]);
      !tell.

+!remember(Place) : at(Place).
+!remember(Place) <- -+at(Place); .print("the scout is at ", Place).

+!stayed(Place, Error, Why)
   <- .print("the scout does not get to ", Place, ": ", Why);
      .publish(roaming, tell, stayed(Place, Error, Why)).

// A page has come: it wants to know all.
+!tell : diary(Diary) & .nodes(Nodes) <- .publish(roaming, tell, news(Nodes, Diary)).
