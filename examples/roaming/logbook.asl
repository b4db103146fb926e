// Logbook: stores the scout's last report for the pages, because pages and the scout come and go.

diary([]).

!open.

+!open <- .print("nobody has come by yet: open the page").

// The scout reports every change.
+!note([visit(Place, Arrived, Steps, Found)|Before])
   <- !remember(Place);
      -+diary([visit(Place, Arrived, Steps, Found)|Before]);
      !tell.

+!remember(Place) : at(Place).
+!remember(Place) <- -+at(Place); .print("the scout is at ", Place).

+!stayed(Place, Error, Why)
   <- .print("the scout does not get to ", Place, ": ", Why);
      .publish(roaming, tell, stayed(Place, Error, Why)).

// A new page gets the whole diary.
+!tell : diary(Diary) & .nodes(Nodes) <- .publish(roaming, tell, news(Nodes, Diary)).
