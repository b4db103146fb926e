// Scout: walks, a step a second, moves where it is called, and keeps a diary. Tabs and sessions do not occur here.

diary([]).

!walk.

+!walk
   <- !look_around;
      !step;
      .wait(1000);
      !walk.

// Looks around: an agent that continues at a node because its tab was closed is not told so.
@look[atomic]
+!look_around : .node(Here) & diary([visit(Here, _, _, _)|_]).
@arrive[atomic]
+!look_around : .node(Here) & diary(Before)
   <- Now = system.time;
      -+diary([visit(Here, Now, 0, "")|Before]);
      .print("at ", Here);
      !!collect(Here).

@step[atomic]
+!step : diary([visit(Here, Arrived, Steps, Found)|Before])
   <- More = Steps + 1;
      -+diary([visit(Here, Arrived, More, Found)|Before]);
      !report.

+!report : diary(Diary) <- .send(logbook, achieve, note(Diary)).

// Each place has an agent with facts about it, which the scout collects.
+!collect(Here)
   <- .concat("desk_", Here, Desk);
      .send(Desk, askOne, postcard(_), postcard(Text), 5000);
      !keep(Here, Text).
-!collect(Here) <- .print("nobody at ", Here, " says what it is").

@keep[atomic]
+!keep(Here, Text) : diary([visit(Here, Arrived, Steps, _)|Before])
   <- -+diary([visit(Here, Arrived, Steps, Text)|Before]);
      !report.
// It moved meanwhile: the fact is noted for its place.
@keep_late[atomic]
+!keep(Here, Text) : diary([Now, visit(Here, Arrived, Steps, _)|Before])
   <- -+diary([Now, visit(Here, Arrived, Steps, Text)|Before]).
+!keep(_, _).

// The scout is called. The step after .move_to is done at the new place, in the same plan.
+!go(Place)
   <- .move_to(Place);
      !look_around;
      !report.
-!go(Place)[error(Error), error_msg(Why)] <- .send(logbook, achieve, stayed(Place, Error, Why)).
