// Plans for operators: a plan body that a person types is performed, and its outcome is reported (reason/edits.rs). New
// plans come last: saved minds know plans by their places.

@whimbrel_perform
+!whimbrel::perform(Body, Answer, Operator, Ticket)
   <- Body;
      .send(Operator, inform, performed(Answer), Ticket).
@whimbrel_perform_failed
-!whimbrel::perform(_, _, Operator, Ticket)[error(Error), error_msg(Message), code_src(File), code_line(Line)]
   <- .send(Operator, failure, failed(Error, Message, File, Line), Ticket).
@whimbrel_perform_failed_somewhere
-!whimbrel::perform(_, _, Operator, Ticket)[error(Error), error_msg(Message)]
   <- .send(Operator, failure, failed(Error, Message, "", 0), Ticket).
