// Plans of all players. player.py writes a program for each protocol, which includes this file, then the protocol's file
// from Whimbrel's library, and has a plan +!script(Script, Player) for each player of a script. An agent's beliefs:
//
//     plays(Player, Script), conversation(C)     its part, and the identifier of the script's conversation
//     agent(Other, Agent)                        agents of the script's other players
//     patience(Ms)                               time to wait for its first message
//     misbehaves                                 it has no machine: it sends what the script says, and judges nothing
//
// Printed lines are the report: heard OTHER PERFORMATIVE VERDICT, ends OTHER STATE, then done.

number(0).

!ready.
+!ready <- .print("ready").

+!play
   : plays(Player, Script)
   <- !script(Script, Player);
      !report.
-!play[error_msg(Why)]
   <- .print("error ", Why);
      !report.

+!report
   : conversation(C)
   <- for (agent(Other, Agent) & conversation::state(C, Agent, State)) {
         .print("ends ", Other, " ", State)
      };
      .print("done");
      !finish.
+!finish
   : conductor(Conductor)
   <- .send(Conductor, achieve, next).
+!finish.

// The script says what follows: this plan stands before the library's reactions.
+!conversation::react(_, _, _, _, _, _, _).

// ---- Messages wait in the order in which they came, until the script comes to them: came(Number, From, message(..)).

@came[atomic]
+!kqml_received(From, Performative, Content, Id)[conversation(C)|Parameters]
   : not .member(taken, Parameters) & number(N)
   <- -+number(N + 1);
      +came(N, From, message(Performative, Content, Id, C, Parameters)).

first_of(From, N) :- came(N, From, _) & not (came(Earlier, From, _) & Earlier < N).

+!take(Other)
   : agent(Other, From) & patience(Ms)
   <- .wait(came(_, From, _), Ms);
      -+patience(10000);
      ?first_of(From, N);
      ?came(N, From, Message);
      .abolish(came(N, _, _));
      !note(Other, Message);
      !judge(From, Message, Verdict);
      Message = message(Performative, _, _, _, _);
      .print("heard ", Other, " ", Performative, " ", Verdict).
-!take(Other)[error(Error), error_msg(Why)]
   <- .concat("message of ", Other, ": ", Why, Text);
      .fail_with(Error, Text).

// The library's plans judge it now.
+!judge(_, _, null) : misbehaves.
+!judge(From, message(Performative, Content, Id, C, Parameters), Verdict)
   <- !kqml_received(From, Performative, Content, Id)[conversation(C), taken|Parameters];
      .wait(verdict(From, _), 10000);
      ?verdict(From, Verdict);
      .abolish(verdict(From, _)).
+conversation::judged(_, From, _, Verdict) <- +verdict(From, Verdict).

+!note(Other, message(_, _, _, C, Parameters))
   <- if (.member(reply_with(Id), Parameters)) {
         .abolish(asked(Other, C, _));
         +asked(Other, C, Id)
      };
      if (.member(reply_by(By), Parameters)) {
         .abolish(due(Other, _));
         +due(Other, By)
      }.

// ---- Own steps

+!say(Others, Performative, Content, Parameters)
   <- for (.member(Other, Others)) {
         !say_to(Other, Performative, Content, Parameters)
      }.

+!say_to(Other, Performative, Content, Parameters)
   : not misbehaves & agent(Other, To) & conversation(C)
   <- !begin(C, To);
      !conversation::say(C, To, Performative, Content, Parameters).
+!say_to(Other, Performative, Content, Parameters)
   : conversation(C)
   <- !say_in(C, Other, Performative, Content, Parameters).

+!begin(C, To) : conversation::state(C, To, _).
+!begin(C, To) : protocol(Protocol) <- !conversation::begin(C, To, Protocol).

// In a conversation that nobody opened.
+!stray(Suffix, Others, Performative, Content, Parameters)
   : conversation(C)
   <- .concat(C, ".", Suffix, Stray);
      for (.member(Other, Others)) {
         !say_in(Stray, Other, Performative, Content, Parameters)
      }.

+!say_in(C, Other, Performative, Content, Parameters)
   : agent(Other, To) & protocol(Protocol)
   <- !quoting(C, Other, Parameters, Quoting);
      .send(To, Performative, Content, [protocol(Protocol), conversation(C)|Quoting]).

+!quoting(_, _, Parameters, Parameters) : .member(in_reply_to(_), Parameters).
+!quoting(_, _, [quotes_nothing|Parameters], Parameters).
+!quoting(C, Other, Parameters, [in_reply_to(Id)|Parameters]) : asked(Other, C, Id).
+!quoting(_, _, Parameters, Parameters).

// The reply-by of the other player's last message passes.
+!wait_late(Other)
   : due(Other, By)
   <- .wait(math.max(1, By + 20 - system.time)).

// The deadline of the own machine passes, and that of a state in which it leaves the machine.
+!pass_deadline(Other)
   : agent(Other, Agent) & conversation(C)
   <- .wait(not (conversation::machine(C, Agent, _, _, _, Due, _, _, _) & Due \== none), 10000).
