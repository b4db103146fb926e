// Plans for messages. They come after the program's own, so that a program overrides any of them
// with a plan for the same performative. Contents may be of any namespace: NS is the content's.

// tell: the content is believed, with the sender as its source. A list is a list of beliefs.
@kqml_tell[atomic]
+!kqml_received(Sender, tell, NS::Content, _)
   : .literal(Content) & not .list(Content) & .ground(Content) & .add_nested_source(Content, Sender, Belief)
   <- ++NS::Belief.
@kqml_tell_list
+!kqml_received(Sender, tell, Contents, _)
   : .list(Contents)
   <- !kqml_believe(Contents, Sender).

@kqml_believe_end
+!kqml_believe([], _).
@kqml_believe_one
+!kqml_believe([NS::Content|Rest], Sender)
   : .literal(Content) & .ground(Content)
   <- .add_nested_source(Content, Sender, Belief);
      ++NS::Belief;
      !kqml_believe(Rest, Sender).
@kqml_believe_not
+!kqml_believe([_|Rest], Sender)
   <- !kqml_believe(Rest, Sender).

// untell: the sender is no longer a source of the content.
@kqml_untell[atomic]
+!kqml_received(Sender, untell, NS::Content, _)
   : .add_nested_source(Content, Sender, Belief)
   <- --NS::Belief.

// achieve: the content is a new goal. A list is a list of goals.
@kqml_achieve
+!kqml_received(Sender, achieve, NS::Content, _)
   : not .list(Content) & .add_nested_source(Content, Sender, Goal)
   <- !!NS::Goal.
@kqml_achieve_list
+!kqml_received(Sender, achieve, Contents, _)
   : .list(Contents)
   <- !kqml_pursue(Contents, Sender).

@kqml_pursue_end
+!kqml_pursue([], _).
@kqml_pursue_one
+!kqml_pursue([NS::Content|Rest], Sender)
   <- .add_nested_source(Content, Sender, Goal);
      !!NS::Goal;
      !kqml_pursue(Rest, Sender).

// unachieve: the goal is given up.
@kqml_unachieve[atomic]
+!kqml_received(_, unachieve, NS::Content, _)
   <- .drop_desire(NS::Content).

// askOne: the answer is the first belief that matches, otherwise the result of a plan for the question; untell if
// there is none. Beliefs are told with their sources, except the agent itself.
@kqml_ask_one
+!kqml_received(Sender, askOne, NS::Content, Id)
   : NS::Content[|Annots] & .delete(source(self), Annots, Told)
   <- .send(Sender, tell, NS::Content[|Told], Id).
@kqml_ask_one_plan
+!kqml_received(Sender, askOne, NS::Content, Id)
   <- .add_nested_source(Content, Sender, Question);
      ?NS::Question;
      .remove_source_annot(Question, Answer);
      .send(Sender, tell, NS::Answer, Id).
@kqml_ask_one_failed
-!kqml_received(Sender, askOne, NS::Content, Id)[error(test_goal_failed)]
   <- .send(Sender, untell, NS::Content, Id).

// askAll: the answer is the list of all beliefs that match.
@kqml_ask_all
+!kqml_received(Sender, askAll, NS::Content, Id)
   <- .findall(NS::Content[|Told], NS::Content[|Annots] & .delete(source(self), Annots, Told), Answers);
      .send(Sender, tell, Answers, Id).

// tellHow, untellHow, askHow: plans, as terms or as text; for untellHow their labels, for askHow a trigger.
@kqml_tell_how
+!kqml_received(Sender, tellHow, Content, _)
   <- .remove_source_annot(Content, Plans);
      .add_plan(Plans, Sender).
@kqml_untell_how
+!kqml_received(Sender, untellHow, Content, _)
   <- .remove_plan(Content, Sender).
@kqml_ask_how
+!kqml_received(Sender, askHow, Content, Id)
   <- .relevant_plans(Content, Known);
      .remove_source_annot(Known, Plans);
      .send(Sender, tellHow, Plans, Id).

// signal: the content is raised as an event, without being believed.
@kqml_signal
+!kqml_received(Sender, signal, NS::Content, _)
   : not .list(Content) & .add_nested_source(Content, Sender, Event)
   <- .signal({ +NS::Event }, type_signal).

// All other failures, and performatives without a plan. The sender of a request in a conversation is told, as FIPA00037
// wants it.
@kqml_error
-!kqml_received(Sender, Performative, _, _)[error(Error), error_msg(Message)|Parameters]
   <- .print("Communication error -- ", Error, ": ", Message);
      if (Performative == request & .member(conversation(C), Parameters) & .member(reply_with(Id), Parameters)) {
         if (Error == no_applicable | Error == no_relevant) {
            .send(Sender, not_understood, "there is no plan for it", [conversation(C), in_reply_to(Id)])
         } else {
            .send(Sender, failure, Message, [conversation(C), in_reply_to(Id)])
         }
      }.

// FIPA's names for performatives that have other names in KQML.
@fipa_inform
+!kqml_received(Sender, inform, Content, Id) <- !kqml_received(Sender, tell, Content, Id).
@fipa_request
+!kqml_received(Sender, request, Content, Id)
   : .literal(Content) | .list(Content)
   <- !kqml_received(Sender, achieve, Content, Id).
@fipa_cancel
+!kqml_received(Sender, cancel, Content, Id) <- !kqml_received(Sender, unachieve, Content, Id).
@fipa_query_ref
+!kqml_received(Sender, query_ref, Content, Id) <- !kqml_received(Sender, askOne, Content, Id).
@fipa_query_if
+!kqml_received(Sender, query_if, Content, Id) <- !kqml_received(Sender, askOne, Content, Id).
