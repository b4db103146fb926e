// Walks, a step a second, wherever it is, and keeps a diary. It knows nothing of tabs, sessions or sockets: it goes where it is called, and what it knows goes along.

diary([]).

!walk.

+!walk
   <- !look_around;
      !step;
      .wait(1000);
      !walk.

// Where am I? Whoever goes on at a node because its tab was closed is not told so: it sees it.
@look[atomic]
+!look_around : .node(Here) & diary([visit(Here, _, _, _) | _]).
@arrive[atomic]
+!look_around : .node(Here) & diary(Before)
   <- Now = system.time;
      -+diary([visit(Here, Now, 0, "") | Before]);
      .print("at ", Here);
      !!collect(Here).

@step[atomic]
+!step : diary([visit(Here, Arrived, Steps, Found) | Before])
   <- More = Steps + 1;
      -+diary([visit(Here, Arrived, More, Found) | Before]);
      !report.

+!report : diary(Diary) <- .send(logbook, achieve, note(Diary)).

// Each place has somebody who says what it is: that is what it collects.
+!collect(Here)
   <- .concat("desk_", Here, Desk);
      .send(Desk, askOne, postcard(_), postcard(Text), 5000);
      !keep(Here, Text).
-!collect(Here) <- .print("nobody at ", Here, " says what it is").

@keep[atomic]
+!keep(Here, Text) : diary([visit(Here, Arrived, Steps, _) | Before])
   <- -+diary([visit(Here, Arrived, Steps, Text) | Before]);
      !report.
// It left meanwhile: what it heard it notes where it belongs.
@keep_late[atomic]
+!keep(Here, Text) : diary([Now, visit(Here, Arrived, Steps, _) | Before])
   <- -+diary([Now, visit(Here, Arrived, Steps, Text) | Before]).
+!keep(_, _).

// Somebody calls it. The step behind .move_to is done there, in this very plan.
+!go(Place)
   <- .move_to(Place);
      !look_around;
      !report.
-!go(Place)[error(Error), error_msg(Why)] <- .send(logbook, achieve, stayed(Place, Error, Why)).
