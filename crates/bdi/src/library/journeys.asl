// Plans for journeys: tours, and minions sent to other nodes. `.tour` and `.dispatch` pursue goals of these plans
// (docs/guide/mobility.md). New plans come last: saved minds know plans by their places.

// .tour(Stops, Options) and .tour(Stops, Options, Missed): Number distinguishes tours.
@whimbrel_tour
+!whimbrel::tour(Number, Stops, Options) <- !whimbrel::tour(Number, Stops, Options, _).
@whimbrel_tour_missed
+!whimbrel::tour(Number, Stops, Options, Missed)
   : .node(Start)
   <- !whimbrel::go_round(Number, Stops, Options, Missed, Outcome);
      !whimbrel::go_back(Start, Options);
      !whimbrel::settle(Outcome).
@whimbrel_tour_nowhere
+!whimbrel::tour(_, _, _, _) <- .fail_with(no_such_node, "this platform is one node: there is nowhere to go").

@whimbrel_go_round_in_time
+!whimbrel::go_round(Number, Stops, Options, Missed, Outcome)
   : .member(deadline(Ms), Options)
   <- !whimbrel::visit(Number, Stops, Missed)[hard_deadline(Ms)];
      Outcome = done.
@whimbrel_go_round
+!whimbrel::go_round(Number, Stops, _, Missed, Outcome)
   <- !whimbrel::visit(Number, Stops, Missed);
      Outcome = done.
@whimbrel_go_round_failed
-!whimbrel::go_round(_, _, _, _, failed(Error, Message))[error(Error), error_msg(Message)].

@whimbrel_settle_done
+!whimbrel::settle(done).
@whimbrel_settle_failed
+!whimbrel::settle(failed(Error, Message)) <- .fail_with(Error, Message).

@whimbrel_visit_end
+!whimbrel::visit(_, [], []).
@whimbrel_visit
+!whimbrel::visit(Number, [Stop|Stops], Missed)
   <- !whimbrel::stop_at(Stop, Here);
      !whimbrel::visit(Number, Stops, Later);
      .concat(Here, Later, Missed).

@whimbrel_stop
+!whimbrel::stop_at(stop(Where), Missed) <- !whimbrel::reach(Where, Missed, _).
@whimbrel_stop_task
+!whimbrel::stop_at(stop(Where, NS::Goal), Missed)
   <- !whimbrel::reach(Where, Missed, Reached);
      !whimbrel::work(Reached, NS::Goal).

@whimbrel_work
+!whimbrel::work(true, NS::Goal) <- !NS::Goal.
@whimbrel_no_work
+!whimbrel::work(false, _).

// Reached tells whether one of the nodes was reached; Missed are the nodes that were not reached before.
@whimbrel_reach_none
+!whimbrel::reach([], [], false).
@whimbrel_reach
+!whimbrel::reach([Node|_], Missed, Reached)
   <- .move_to(Node);
      Missed = [];
      Reached = true.
@whimbrel_reach_one
+!whimbrel::reach(Node, Missed, Reached)
   : not .list(Node)
   <- !whimbrel::reach([Node], Missed, Reached).
@whimbrel_reach_there
-!whimbrel::reach([_|_], [], true)[error(already_there)].
@whimbrel_reach_other
-!whimbrel::reach([Node|Others], [missed(Node, Error)|Missed], Reached)[error(Error)]
   <- !whimbrel::reach(Others, Missed, Reached).

@whimbrel_go_back
+!whimbrel::go_back(Start, Options)
   : .member(return, Options)
   <- !whimbrel::back_to([Start]).
@whimbrel_go_back_to_some
+!whimbrel::go_back(_, Options)
   : .member(return(Where), Options) & .list(Where)
   <- !whimbrel::back_to(Where).
@whimbrel_go_back_to
+!whimbrel::go_back(_, Options)
   : .member(return(Where), Options)
   <- !whimbrel::back_to([Where]).
@whimbrel_stay
+!whimbrel::go_back(_, _).

@whimbrel_back
+!whimbrel::back_to([Node|_]) <- .move_to(Node).
@whimbrel_back_there
-!whimbrel::back_to(_)[error(already_there)].
@whimbrel_back_other
-!whimbrel::back_to([_, Node|Others]) <- !whimbrel::back_to([Node|Others]).
@whimbrel_no_way_back
-!whimbrel::back_to([_])[error(Error), error_msg(Message)] <- .fail_with(Error, Message).

// .dispatch(Nodes, Goal, Ms): a minion of this name pursues the goal, on the first of the nodes that can be reached.
@whimbrel_dispatch
+!whimbrel::dispatch(Minion, Nodes, NS::Goal, Ms)
   <- !whimbrel::send_minion(Minion, Nodes, Ms);
      .send(Minion, askOne, whimbrel_task(NS::Goal, _), Answer, Ms);
      !whimbrel::end_minion(Minion);
      !whimbrel::hear_minion(NS::Goal, Answer).

@whimbrel_send_minion
+!whimbrel::send_minion(Minion, [Node|_], Ms) <- .minion(Node, Minion, Ms).
@whimbrel_send_minion_elsewhere
-!whimbrel::send_minion(Minion, [_, Node|Others], Ms) <- !whimbrel::send_minion(Minion, [Node|Others], Ms).
@whimbrel_send_no_minion
-!whimbrel::send_minion(_, [_], _)[error(Error), error_msg(Message)] <- .fail_with(Error, Message).

// The minion may have ended.
@whimbrel_end_minion
+!whimbrel::end_minion(Minion) <- .kill_agent(Minion).
@whimbrel_minion_ended
-!whimbrel::end_minion(_).

@whimbrel_minion_done
+!whimbrel::hear_minion(NS::Goal, whimbrel_task(NS::Goal, done)).
@whimbrel_minion_failed
+!whimbrel::hear_minion(_, whimbrel_task(_, failed(Error, Message))) <- .fail_with(Error, Message).
@whimbrel_minion_late
+!whimbrel::hear_minion(_, timeout) <- .fail_with(timeout, "the minion did not answer in time").

// The minion's part: it obeys its sender, and no other agent. A minion believes from its start that it is one, and
// whose (reason/hops.rs).
@whimbrel_task
+?whimbrel_task(NS::Goal, Outcome)[source(Sender)]
   : whimbrel::minion_of(Sender)[source(self)]
   <- !whimbrel::try(NS::Goal, Outcome).
@whimbrel_try
+!whimbrel::try(NS::Goal, Outcome)
   <- !NS::Goal;
      Outcome = done.
@whimbrel_try_failed
-!whimbrel::try(_, failed(Error, Message))[error(Error), error_msg(Message)].

// .advise(Node, Job, Choice) and .advise(Node, Job, Choice, Advice): the AMS of this node answers.
@whimbrel_advise
+!whimbrel::advise(Node, Job, Choice) <- !whimbrel::advise(Node, Job, Choice, _).
@whimbrel_advise_why
+!whimbrel::advise(Node, Job, Choice, Advice)
   <- .send(ams, askOne, advise(Node, Job), Answer);
      !whimbrel::take_advice(Answer, Choice, Advice).
@whimbrel_advice
+!whimbrel::take_advice(advice(Choice, Go, Ask, Why), Choice, advice(Choice, Go, Ask, Why)).
@whimbrel_no_advice
+!whimbrel::take_advice(no_advice(Error, Message), _, _) <- .fail_with(Error, Message).

// A question to another agent's minion, or to no minion.
@whimbrel_task_of_others
+?whimbrel_task(_, failed(forbidden, "it is no minion of whoever asks")).

// The AMS reports that a minion ended before it answered.
@whimbrel_minion_expired
+!whimbrel::hear_minion(_, ended(_, expired)) <- .fail_with(timeout, "the minion did not answer in time").
@whimbrel_minion_lost
+!whimbrel::hear_minion(_, ended(_, failed(Why))) <- !whimbrel::lose_minion(Why).
@whimbrel_minion_killed
+!whimbrel::hear_minion(_, ended(_, Why)) <- !whimbrel::lose_minion(Why).
@whimbrel_lose_minion
+!whimbrel::lose_minion(Why) <- .concat("the minion is lost: ", Why, Message); .fail_with(lost, Message).
