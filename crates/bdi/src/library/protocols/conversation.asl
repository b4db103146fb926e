// Conversations: the machine of FIPA's interaction protocols. Programs include the file of a protocol, which includes
// this one: { include("$whimbrel/contract_net.asl") }.
//
// Each conversation with another agent has a state, which says who may say what next: tables/*.asl, and
// conformance/protocols/README.md of Whimbrel's repository. A message that a protocol does not allow is answered
// `not_understood`, and no plan of the program sees it. All names of this file are in the namespace `conversation`.

conversation::number(1).

// Time to remember a conversation that is over, in milliseconds.
conversation::memory_ms(60000).

// Own messages that an answer may quote, of one conversation. The oldest is forgotten.
conversation::questions_max(64).

// ---- Protocols: tables/*.asl has protocol(Name, Moves, Deadlines, Ends) of each

conversation::next(Protocol, State, By, Performative, To)
   :- conversation::protocol(Protocol, Moves, _, _) & .member(move(State, By, Performative, To), Moves).
conversation::next(Protocol, State, By, Performative, To)
   :- conversation::shared(State, By, Performative, To) & (State == cancelling | conversation::is_open(Protocol, State)).

conversation::shared(_, initiator, not_understood, not_understood).
conversation::shared(_, participant, not_understood, not_understood).
conversation::shared(_, platform, failure, unreachable).
conversation::shared(State, initiator, cancel, cancelling) :- State \== cancelling.
conversation::shared(cancelling, participant, inform, cancelled).
conversation::shared(cancelling, participant, failure, cancel_failed).

conversation::is_open(Protocol, State)
   :- State \== start & conversation::protocol(Protocol, Moves, _, _) & .member(move(State, _, _, _), Moves).

conversation::is_end(Protocol, State)
   :- State \== start & State \== cancelling & not conversation::is_open(Protocol, State).

conversation::deadline(Protocol, State, To, Late)
   :- conversation::protocol(Protocol, _, Deadlines, _) & .member(deadline(State, To, Late), Deadlines).
conversation::deadline(_, cancelling, silent, []).

conversation::other_role(initiator, participant).
conversation::other_role(participant, initiator).

// ---- Machines: machine(C, Other, Protocol, Role, State, Deadline, Trail, Questions, Quote). Deadline is a time or
// none. Trail has left(State, by_deadline | by_message), newest first: states left since the last message that fitted,
// each once. Questions has question(Id, State), newest first: own messages that an answer may quote. Quote is what an
// own message quotes.

conversation::state(C, Other, State) :- conversation::machine(C, Other, _, _, State, _, _, _, _)[source(self)].
conversation::over(C, Other, End)
   :- conversation::machine(C, Other, Protocol, _, End, _, _, _, _)[source(self)] & conversation::is_end(Protocol, End).

@conversation_put[atomic]
+!conversation::put(C, Other, Protocol, Role, State, Deadline, Trail, Questions, Quote)
   <- .abolish(conversation::machine(C, Other, _, _, _, _, _, _, _));
      +conversation::machine(C, Other, Protocol, Role, State, Deadline, Trail, Questions, Quote);
      if (Deadline \== none) {
         !!conversation::keep_deadline(C, Other, Deadline)
      };
      if (conversation::is_end(Protocol, State)) {
         !!conversation::forget(C, Other)
      }.

// Clocks count milliseconds: the wait may end a moment early.
+!conversation::keep_deadline(C, Other, Deadline)
   : conversation::machine(C, Other, _, _, _, Deadline, _, _, _)[source(self)]
   <- .wait(math.max(1, Deadline - system.time));
      !conversation::tick(C, Other);
      !conversation::keep_deadline(C, Other, Deadline).
+!conversation::keep_deadline(_, _, _).

+!conversation::forget(C, Other)
   : conversation::memory_ms(Ms)
   <- .wait(Ms);
      .abolish(conversation::machine(C, Other, _, _, _, _, _, _, _));
      .abolish(conversation::last(C, Other, _, _));
      .abolish(conversation::offered(C, Other, _, _)).

// Moves on if the deadline has passed.
@conversation_tick[atomic]
+!conversation::tick(C, Other)
   : conversation::machine(C, Other, Protocol, Role, State, Deadline, Trail, Questions, Quote)[source(self)]
   & Deadline \== none & system.time >= Deadline & conversation::deadline(Protocol, State, To, _)
   <- .delete(left(State, by_deadline), Trail, Earlier);
      !conversation::put(C, Other, Protocol, Role, To, none, [left(State, by_deadline)|Earlier], Questions, Quote).
+!conversation::tick(_, _).

conversation::deadline_of(Protocol, State, Parameters, By)
   :- .member(reply_by(By), Parameters) & conversation::deadline(Protocol, State, _, _).

// ---- Names of agents

// A name may be a text: the atom for Ada cannot be written, as it would be a variable.
conversation::agent(Text, Agent) :- .string(Text) & Agent =.. [Text, [], []].
conversation::agent(Agent, Agent) :- not .string(Agent).

conversation::agents(Names, Agents)
   :- .findall(Agent, .member(Name, Names) & conversation::agent(Name, Agent), Agents).

// ---- Own messages

// Number: a new one, for identifiers.
@conversation_number[atomic]
+!conversation::next_number(Number)
   : conversation::number(Number)
   <- -+conversation::number(Number + 1).

// C: identifier of a new conversation.
+!conversation::open(C)
   : .my_name(Me)
   <- !conversation::next_number(N);
      .concat(Me, "-", system.time, "-", N, C).

// Begins a conversation with an agent.
+!conversation::begin(C, Other, Protocol)
   <- !conversation::put(C, Other, Protocol, initiator, start, none, [], [], none).

// Says something that may be answered until Ms have passed.
+!conversation::ask(C, Other, Performative, Content, Ms)
   <- !conversation::next_number(N);
      .concat(C, "/", N, Id);
      By = system.time + Ms;
      !conversation::say(C, Other, Performative, Content, [reply_with(Id), reply_by(By)]).

// Says something in a conversation. Parameters are those of the message, except protocol, conversation and in_reply_to.
+!conversation::say(C, Other, Performative, Content, Parameters)
   <- !conversation::tick(C, Other);
      !conversation::move(C, Other, Performative, Parameters, Quoting);
      .send(Other, Performative, Content, Quoting).
// An agent that does not exist cannot be reached.
-!conversation::say(C, Other, _, _, _)[error(receiver_not_found), error_msg(Why)]
   <- !conversation::take(C, Other, platform, failure, Why, []).

@conversation_move[atomic]
+!conversation::move(C, Other, Performative, Parameters, [protocol(Protocol), conversation(C)|Quoting])
   : conversation::machine(C, Other, Protocol, Role, State, _, Trail, Questions, Quote)[source(self)]
   & conversation::next(Protocol, State, Role, Performative, To)
   <- !conversation::questions(Parameters, To, Questions, Asked);
      !conversation::reply_by(Protocol, To, Parameters, Deadline);
      !conversation::quoting(Quote, Parameters, Quoting);
      .delete(left(State, by_message), Trail, Earlier);
      !conversation::put(C, Other, Protocol, Role, To, Deadline, [left(State, by_message)|Earlier], Asked, Quote).
+!conversation::move(C, Other, Performative, _, _)
   : conversation::machine(C, Other, Protocol, Role, State, _, _, _, _)[source(self)]
   <- !conversation::explain(Protocol, State, Role, Performative, Why);
      .fail_with(protocol, Why).

+!conversation::questions(Parameters, To, Questions, [question(Id, To)|Newer])
   : .member(reply_with(Id), Parameters)
   <- !conversation::forget_oldest(Questions, Newer).
+!conversation::questions(_, _, Questions, Questions).

+!conversation::forget_oldest(Questions, Newer)
   : conversation::questions_max(Max) & .length(Questions) >= Max
   <- .delete(Max - 1, Questions, Newer).
+!conversation::forget_oldest(Questions, Questions).

+!conversation::reply_by(Protocol, State, Parameters, By)
   : conversation::deadline_of(Protocol, State, Parameters, By).
+!conversation::reply_by(_, _, _, none).

+!conversation::quoting(_, Parameters, Parameters) : .member(in_reply_to(_), Parameters).
+!conversation::quoting(none, Parameters, Parameters).
+!conversation::quoting(Quote, Parameters, [in_reply_to(Quote)|Parameters]).

// ---- Messages of others

// The platform could not deliver a message.
@conversation_undelivered[atomic]
+!kqml_received(ams, failure, Content, _)[conversation(C)]
   : .list(Content) & .member(undelivered(Other, Why), Content)
   & conversation::machine(C, Other, _, _, _, _, _, _, _)[source(self)]
   <- !conversation::take(C, Other, platform, failure, Why, []).
@conversation_heard[atomic]
+!kqml_received(From, Performative, Content, _)[conversation(C)|Parameters]
   : conversation::machine(C, From, _, Role, _, _, _, _, _)[source(self)] & conversation::other_role(Role, By)
   <- !conversation::take(C, From, By, Performative, Content, Parameters).
// Answers to a question that another agent passed on.
@conversation_expected[atomic]
+!kqml_received(From, Performative, Content, _)[conversation(C)|Parameters]
   : conversation::expects(C, Protocol, Asked, Id)[source(self)]
   & conversation::next(Protocol, start, initiator, Asked, State)
   <- !conversation::put(C, From, Protocol, initiator, State, none, [], [question(Id, State)], none);
      !conversation::take(C, From, participant, Performative, Content, Parameters).
// A recruiter passes on a question of another agent, who gets the answers.
@conversation_begun_by_other[atomic]
+!kqml_received(_, Performative, Content, _)[conversation(C), protocol(Protocol), reply_to(Asker)|Parameters]
   : conversation::next(Protocol, start, initiator, Performative, _)
   <- !conversation::put(C, Asker, Protocol, participant, start, none, [], [], none);
      !conversation::take(C, Asker, initiator, Performative, Content, Parameters).
@conversation_begun[atomic]
+!kqml_received(From, Performative, Content, _)[conversation(C), protocol(Protocol)|Parameters]
   : conversation::next(Protocol, start, initiator, Performative, _)
   <- !conversation::put(C, From, Protocol, participant, start, none, [], [], none);
      !conversation::take(C, From, initiator, Performative, Content, Parameters).
@conversation_unknown[atomic]
+!kqml_received(From, Performative, Content, _)[conversation(C), protocol(Protocol)|Parameters]
   : conversation::protocol(Protocol, _, _, _)
   <- .signal({+conversation::judged(C, From, Performative, unknown)});
      if (Performative \== not_understood) {
         !conversation::explain(Protocol, start, initiator, Performative, Why);
         !conversation::answer(C, From, Protocol, not_understood, Why, Parameters)
      }.

@conversation_take[atomic]
+!conversation::take(C, From, By, Performative, Content, Parameters)
   <- !conversation::tick(C, From);
      !conversation::note_quote(C, From, Parameters);
      !conversation::quoted(Parameters, Quoted);
      !conversation::judge(C, From, By, Performative, Quoted, Verdict);
      !conversation::follow(Verdict, C, From, By, Performative, Content, Parameters);
      ?conversation::verdict_name(Verdict, Name);
      .signal({+conversation::judged(C, From, Performative, Name)}).

conversation::verdict_name(ok(_), ok).
conversation::verdict_name(late(_), late).
conversation::verdict_name(wrong(_), wrong).

+!conversation::note_quote(C, From, Parameters)
   : .member(reply_with(Id), Parameters)
   & conversation::machine(C, From, Protocol, Role, State, Deadline, Trail, Questions, _)[source(self)]
   <- .abolish(conversation::machine(C, From, _, _, _, _, _, _, _));
      +conversation::machine(C, From, Protocol, Role, State, Deadline, Trail, Questions, Id).
+!conversation::note_quote(_, _, _).

+!conversation::quoted(Parameters, Id) : .member(in_reply_to(Id), Parameters).
+!conversation::quoted(_, none).

// Asked: the state of a question that is not the newest.
conversation::quotes_older(C, Other, Quoted, Asked)
   :- conversation::machine(C, Other, _, _, _, _, _, [question(Newest, _)|Older], _)[source(self)]
   & Quoted \== Newest & .member(question(Quoted, Asked), Older).

conversation::was_allowed(C, Other, By, Performative)
   :- conversation::machine(C, Other, Protocol, _, _, _, Trail, _, _)[source(self)]
   & .member(left(State, _), Trail) & conversation::next(Protocol, State, By, Performative, _).

conversation::allowed_at(C, Other, By, Performative, State)
   :- conversation::machine(C, Other, Protocol, _, _, _, _, _, _)[source(self)]
   & conversation::next(Protocol, State, By, Performative, _).

// The rules of conformance/protocols/README.md, in their order.
+!conversation::judge(C, Other, _, _, _, late(none))
   : conversation::state(C, Other, broken).
+!conversation::judge(C, Other, By, Performative, Quoted, late(Answer))
   : conversation::quotes_older(C, Other, Quoted, _) & conversation::was_allowed(C, Other, By, Performative)
   <- !conversation::late(C, Other, By, Performative, Answer).
+!conversation::judge(C, Other, By, Performative, Quoted, wrong(none))
   : conversation::quotes_older(C, Other, Quoted, Asked) & conversation::allowed_at(C, Other, By, Performative, Asked).
+!conversation::judge(C, Other, By, Performative, _, ok(To))
   : conversation::machine(C, Other, Protocol, _, State, _, _, _, _)[source(self)]
   & conversation::next(Protocol, State, By, Performative, To).
+!conversation::judge(C, Other, By, Performative, _, late(Answer))
   : conversation::was_allowed(C, Other, By, Performative)
   <- !conversation::late(C, Other, By, Performative, Answer).
+!conversation::judge(_, _, _, not_understood, _, late(none)).
+!conversation::judge(_, _, _, _, _, wrong(none)).

// Answer to a message that comes too late: the newest state that allowed it decides.
+!conversation::late(C, Other, By, Performative, Answer)
   : conversation::machine(C, Other, Protocol, _, _, _, Trail, _, _)[source(self)]
   & .member(left(State, How), Trail) & conversation::next(Protocol, State, By, Performative, _)
   <- !conversation::late_answer(How, Protocol, State, Performative, Answer).
+!conversation::late(_, _, _, _, none).

+!conversation::late_answer(by_deadline, Protocol, State, Performative, Answer)
   : conversation::deadline(Protocol, State, _, Late) & .member(late(Performative, Answer), Late).
+!conversation::late_answer(by_message, _, _, cancel, failure).
+!conversation::late_answer(_, _, _, _, none).

+!conversation::follow(ok(To), C, From, _, Performative, Content, Parameters)
   : conversation::machine(C, From, Protocol, Role, _, _, _, Questions, Quote)[source(self)]
   <- !conversation::given(Content, Given);
      .abolish(conversation::last(C, From, _, _));
      +conversation::last(C, From, Performative, Given);
      !conversation::reply_by(Protocol, To, Parameters, Deadline);
      !conversation::put(C, From, Protocol, Role, To, Deadline, [], Questions, Quote);
      if (conversation::reacts(Protocol, Role, To)) {
         !!conversation::react(Protocol, Role, To, C, From, Given, Performative)
      }.
// A message without content fits no plan by chance: its content is null.
+!conversation::given(Content, null) : .type(Content, free).
+!conversation::given(Content, Content).

+!conversation::follow(late(none), _, _, _, _, _, _).
+!conversation::follow(late(Answer), C, From, _, _, _, Parameters)
   : conversation::machine(C, From, Protocol, _, _, _, _, _, _)[source(self)]
   <- !conversation::answer(C, From, Protocol, Answer, "too late", Parameters).
+!conversation::follow(wrong(_), C, From, By, Performative, _, Parameters)
   : conversation::machine(C, From, Protocol, Role, State, _, _, Questions, Quote)[source(self)]
   <- !conversation::explain(Protocol, State, By, Performative, Why);
      if (not conversation::is_end(Protocol, State)) {
         !conversation::put(C, From, Protocol, Role, broken, none, [], Questions, Quote)
      };
      !conversation::answer(C, From, Protocol, not_understood, Why, Parameters).

// An automatic answer.
+!conversation::answer(C, To, Protocol, Performative, Content, Parameters)
   : .member(reply_with(Id), Parameters)
   <- .send(To, Performative, Content, [protocol(Protocol), conversation(C), in_reply_to(Id)]).
+!conversation::answer(C, To, Protocol, Performative, Content, _)
   <- .send(To, Performative, Content, [protocol(Protocol), conversation(C)]).
-!conversation::answer(_, _, _, _, _, _)[error(receiver_not_found)].

+!conversation::explain(Protocol, State, By, Performative, Why)
   <- .findall(Allowed, conversation::next(Protocol, State, By, Allowed, _), All);
      .concat(Protocol, ", ", State, ": ", Performative, " is not allowed; ", By, " may say ", All, Why).
