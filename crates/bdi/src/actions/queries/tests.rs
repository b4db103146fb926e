//! Tests of query actions as programs use them: goals and their solutions.

use std::sync::Mutex;

use whimbrel_acl::{Aid, Symbol, Text, Value, Var};
use whimbrel_platform::services::{CreateAgent, CreateError, LogLevel};
use whimbrel_platform::{AgentBody, Mailbox, Outbox, Services, Time, Turn};

use crate::agent::{Agent, AgentConfig};
use crate::load::load;
use crate::logic::Bindings;
use crate::prover::{Knowledge, SearchDecision, Solver};
use crate::syntax::NoFiles;

/// Platform that records printed lines and log entries.
#[derive(Default)]
struct RecordingServices {
    printed: Mutex<Vec<String>>,
    noted: Mutex<Vec<String>>,
}

impl Services for RecordingServices {
    fn platform(&self) -> Symbol {
        Symbol::new("here")
    }
    fn print(&self, _: Aid, text: &str) {
        self.printed.lock().unwrap().push(text.to_owned());
    }
    fn log(&self, _: Aid, level: LogLevel, text: &str) {
        if level >= LogLevel::Warning {
            self.noted.lock().unwrap().push(text.to_owned());
        }
    }
    fn wall_clock_ms(&self) -> u64 {
        1_709_210_096_789
    }
    fn now(&self) -> Time {
        Time(5)
    }
    fn random(&self) -> u64 {
        7
    }
    fn agents(&self) -> Vec<Aid> {
        vec![Aid::local("prog"), Aid::local("bob")]
    }
    fn exists(&self, _: Aid) -> bool {
        true
    }
    fn create(&self, _: CreateAgent) -> Result<Aid, CreateError> {
        Err(CreateError::Stopping)
    }
    fn kill(&self, _: Aid) -> bool {
        false
    }
    fn stop(&self, _: u64, _: i32) {}
    fn df_register(&self, _: Aid, _: &str, _: &str) -> Result<(), whimbrel_platform::services::OfferError> {
        Ok(())
    }
    fn df_deregister(&self, _: Aid, _: &str, _: &str) -> bool {
        false
    }
    fn df_search(&self, service: &str, kind: &str) -> Vec<Aid> {
        if service == "cook" && kind != "sushi" { vec![Aid::local("bob")] } else { Vec::new() }
    }
    fn df_subscribe(&self, _: Aid, _: &str, _: &str) {}
    fn read_source(&self, _: &str) -> Result<String, String> {
        Err("no files".to_owned())
    }
    fn write_file(&self, _: &str, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// Result of a goal.
pub struct GoalOutcome {
    /// Template in each solution, joined by spaces.
    pub answers: String,
    /// Printed lines.
    pub printed: Vec<String>,
    /// Logged errors.
    pub noted: Vec<String>,
}

/// Runs a program until it is idle, then finds all solutions of a goal.
pub fn ask_in(program: &str, template: &str, goal: &str) -> GoalOutcome {
    let platform = RecordingServices::default();
    let text = format!("{program}\nanswer__({template}) :- {goal}.");
    let (image, _) = match load(&text, &Text::from("prog.asl"), &mut NoFiles) {
        Ok(loaded) => loaded,
        Err(error) => panic!("{goal}: {:?}", error.diagnostics),
    };
    let mut agent = Agent::new(AgentConfig::new(image.clone()));
    let aid = Aid::local("prog");
    let (mut mailbox, mut outbox) = (Mailbox::default(), Outbox::default());
    let (mailbox, outbox) = (&mut mailbox, &mut outbox);
    agent.turn(&mut Turn { aid, now: Time(5), mailbox, outbox, budget: 1000, services: &platform });

    let known = Knowledge {
        image: &image,
        mind: agent.mind(),
        aid,
        now: Time(5),
        services: &platform,
        queries: &super::super::ACTIONS.queries,
    };
    let solver = Solver::new(known);
    let mut bindings = Bindings::default();
    let answer = Value::Var(Var { slot: bindings.extend(1), name: Symbol::new("Answer") });
    let formula = crate::code::compile::formula_of_value(&Value::term("answer__", [answer.clone()]), &image);
    let mut answers = Vec::new();
    solver.each(&formula, &mut bindings, 0, &[], &mut |bindings| {
        answers.push(bindings.resolve(&answer).to_string());
        SearchDecision::More
    });
    let answers = answers.join(" ");
    GoalOutcome {
        answers,
        printed: platform.printed.into_inner().unwrap(),
        noted: platform.noted.into_inner().unwrap(),
    }
}

/// Returns all solutions of a goal, as values of the template.
pub fn ask(template: &str, goal: &str) -> String {
    ask_in("", template, goal).answers
}

/// Returns true if a goal holds.
pub fn holds(goal: &str) -> bool {
    !ask("yes", goal).is_empty()
}

/// Returns the value of a goal's variable `R`. For an action that fails, returns its message, or `no` without one.
fn result(goal: &str) -> String {
    let outcome = ask_in("", "R", goal);
    match outcome.noted.first() {
        Some(note) => note.split_once(": ").map_or(note.as_str(), |(_, message)| message).to_owned(),
        None if outcome.answers.is_empty() => "no".to_owned(),
        None => outcome.answers,
    }
}

/// Checks goals against the expected values of `R`.
fn check(cases: &[(&str, &str)]) {
    for (goal, expected) in cases {
        let expected = expected.replace("WRONG", "Wrong argument for internal action");
        assert_eq!(result(goal), expected, "{goal}");
    }
}

#[test]
fn concat_joins_lists_and_texts() {
    check(&[
        (".concat([1],[2,3],[],[4],R)", "[1,2,3,4]"),
        (".concat([],R)", "[]"),
        (".concat([a],[b|T],R)", "[a,b|T]"),
        (".concat([a|T],[b],R)", "[a|T]"),
        (".concat([a],[b|T],[c],R)", "[a,b|T]"),
        (".concat([a],b,R)", "WRONG 'concat': arg[1] is not a list"),
        (".concat([a],[b],x) & R = 1", "Last argument of concat 'x'is not a list nor a variable."),
        (".concat(a,'B b',\"c\",[d,'E'],R)", "\"aB bc[d,'E']\""),
        (".concat(\"a\",f(\"b\"),R)", "\"af(\"b\")\""),
        (".concat(1,2,12) & R = yes", "yes"),
        (".concat([a],X,[a,b]) & R = X", "WRONG 'concat': arg[1] is not a list"),
        (".concat(\"a\",X,R)", "\"aX\""),
    ]);
}

#[test]
fn delete_takes_places_patterns_and_elements() {
    check(&[
        (".delete(1,\"abc\",R)", "\"ac\""),
        (".delete(7,\"abc\",R)", "\"abc\""),
        (".delete(-1,[a,b],R)", "[a,b]"),
        (".delete(1,9,[a,b,c],R)", "[a]"),
        (".delete(2,1,[a,b,c],R)", "[a,b,c]"),
        (".delete(1,9,\"abc\",R)", "\"abc\""),
        (".delete(2,1,\"abc\",R)", "\"abbc\""),
        (".delete(-1,1,\"abc\",R)", "\"abc\""),
        (".delete(a,b,R)", "Incorrect use of the internal action '.delete' (see documentation)."),
        (".delete(1,b,R)", "Incorrect use of the internal action '.delete' (see documentation)."),
        (".delete(Q,[1,2,1],L) & Q = x & R = f(Q,L)", "f(x,[2])"),
        (".delete(\"b\",3,R)", "\"3\""),
        (".delete(\"a\",[\"a\",\"b\"],R)", "\"[\"\",\"b\"]\""),
        (".delete(f(_),[f(1),f(2),f(1)],R)", "[f(2)]"),
        (".delete(1.9,[a,b,c],R)", "[a,c]"),
        (".delete(a[x],[a,a[x],a[x,y]],R)", "[a]"),
        (".delete(a,[a[x],b|T],R)", "[b]"),
        (".delete(\"[aeiou]\",\"education\",R)", "\"dctn\""),
    ]);
}

#[test]
fn list_elements_are_found() {
    check(&[
        (".length([a|T],R)", "1"),
        (".length(\"hé\",R)", "2"),
        (".length(a,R)", "no"),
        ("R = .length(\"abc\") + .length([1,2])", "5"),
        (".empty([]) & .empty(\"\") & not .empty([[]]) & not .empty(a) & R = 1", "1"),
        (".reverse([a,b|T],R)", "[b,a|T]"),
        (".reverse(\"abc\",R)", "\"cba\""),
        (".reverse(a,R)", "WRONG 'reverse': first argument of .reverse 'a' must be a string or a list"),
        (".reverse([a],x) & R = 1", "WRONG 'reverse': last argument 'x' must be a list or a variable."),
        (".nth(1.7,[a,b],R)", "b"),
        (".nth(5,\"abc\",R)", "nth: index 5 is out of bounds (3)"),
        (".nth(-1,[a],R)", "nth: index -1 is out of bounds (1)"),
        (".nth(1,\"héé\",R)", "\"é\""),
        (".nth(I,[a,b],X) & R = p(I,X)", "p(0,a) p(1,b)"),
        (".nth(I,\"ab\",\"b\") & R = I", "1"),
        (".nth(a,[b],R)", "WRONG 'nth': the first argument should be numeric or a variable -- not 'a'."),
        (".nth(0,b,R)", "WRONG 'nth': the second argument should be a list or string and not 'b'."),
        (".nth(I,[X,Y],Z) & Y = 5 & R = f(I,X,Z)", "f(0,X,X) f(1,X,5)"),
    ]);
}

#[test]
fn members_keep_the_callers_variables() {
    check(&[
        (".member(R,[a,b,c])", "a b c"),
        (".member(a,[a,b,a]) & R = 1", "1 1"),
        (".member(X,[A,2]) & X = 2 & R = f(X,A)", "f(2,2) f(2,A)"),
        (".member(f(X),[f(Y),g]) & Y = 3 & R = X", "3"),
        (".member(R,a)", "WRONG 'member': second argument must be a list or a set"),
        (".member(p[x],[p,p[x,y]]) & R = 1", "1"),
    ]);
}

#[test]
fn lists_sort_in_standard_order() {
    check(&[
        (".sort([b,a,b,\"z\",3,[2],[1,1],[]],R)", "[3,\"z\",[],[1,1],[2],a,b,b]"),
        (".sort(a,R)", "WRONG 'sort': first argument must be a list"),
        (".shuffle([1,2,3,4],L) & .sort(L,R)", "[1,2,3,4]"),
        (".max([3,9,2],R)", "9"),
        (".min([1,\"z\",a],R)", "1"),
        (".max([a,b[x],b],R)", "b[x]"),
        (".max([],R)", "no"),
        (".max(a,R)", "WRONG 'max': first argument must be a list when two arguments are used"),
        (".max(p(V,K),.member(K-V,[1-5,2-9]),R)", "no"),
        (".max(p(V,K),.member([K,V],[[1,5],[2,9]]),R)", "p(9,2)"),
    ]);
}

#[test]
fn lists_are_sets() {
    check(&[
        (".union([b,a,a],[c],R)", "[a,b,c]"),
        (".intersection([c,a,a],[a,c],R)", "[a,c]"),
        (".difference([a,b,c,b],[b],R)", "[a,c]"),
        (".union(a,[],R)", "WRONG 'union': first argument 'a'is not a list."),
        (".difference([],[],x) & R = 1", "WRONG 'difference': last argument 'x'is not a list nor a variable."),
    ]);
}

#[test]
fn parts_of_lists_come_longest_first() {
    check(&[
        (".sublist(R,[a,b,c])", "[a,b,c] [a,b] [a] [b,c] [b] [c] []"),
        (".sublist([a,b],[a,b,c,a,b|T]) & R = 1", "1 1"),
        (".sublist([],[a,b]) & R = 1", "1"),
        (".sublist([X,Y],[a,b,c]) & R = f(X,Y)", "f(a,b) f(b,c)"),
        (".sublist([a|R],[a,b])", "[b] []"),
        (".prefix(R,[a,b])", "[a,b] [a] []"),
        (".prefix([X],[a,b]) & R = X", "a"),
        (".prefix([a,b,c],[a,b]) & R = 1", "no"),
        (".prefix(R,[a|T])", "[a] []"),
        (".prefix(R,\"ab\")", "\"ab\" \"a\" \"\""),
        (".suffix(R,[a,b])", "[a,b] [b] []"),
        (".suffix([X],[a,b]) & R = X", "b"),
        (".suffix(R,\"hé\")", "\"hé\" \"é\" \"\""),
        (".prefix(a,[a]) & R = 1", "WRONG 'prefix': first argument must be a list, string, or a variable"),
        (".suffix(R,1)", "WRONG 'suffix': second argument must be either a list or a string"),
    ]);
}

#[test]
fn substrings_are_found_and_cut() {
    check(&[
        (".substring(\"l\",\"hello\",R)", "2 3"),
        (".substring(\"ab\",\"abcab\",S,E) & R = f(S,E)", "f(0,1) f(3,4)"),
        (".substring(R,\"hello\",3)", "\"lo\""),
        (".substring(\"hello\",R,1,3)", "\"el\""),
        (".substring(R,foo(bar,1),4,7)", "\"bar\""),
        (".substring(R,\"abc\",3)", "\"\""),
        (".substring(R,\"abc\",2,1)", "\"abc\" has no such part: places count from 0"),
        (".substring(\"b\",\"abcb\",3,R)", "3"),
        (".substring(\"\",\"abc\",S,E) & R = f(S,E)", "f(0,-1) f(1,0) f(2,1)"),
        (".substring(bar,foo(bar)) & R = 1", "1"),
        (".substring(12,3124,R)", "1"),
        (".substring(\"é\",\"ééa\",R)", "0 1"),
        (".substring(\"b\",\"abc\",S,7) & R = S", "no"),
    ]);
}

#[test]
fn texts_are_changed() {
    check(&[
        (".upper_case('aB',R)", "\"'AB'\""),
        (".upper_case(\"straße\",R)", "\"STRASSE\""),
        (".lower_case(\"ÀÉ\",R)", "\"àé\""),
        (".replace(\"a1b22c\",\"[0-9]+\",\"#\",R)", "\"a#b#c\""),
        (".replace(foo(a,b),\",\",\";\",R)", "\"foo(a;b)\""),
        (
            ".replace(\"abc\",\"(b\",\"\",R)",
            "\"(b\" is no regular expression, or its replacement asks for a group that it has not",
        ),
        (".replace(\"abc\",b,\"\",R)", "the pattern and its replacement must be texts in quotes"),
    ]);
}

#[test]
fn terms_are_written_and_read() {
    check(&[
        (".term2string(f(X,[1,\"s\"],~b[c]),R)", "\"f(X,[1,\"s\"],~b[c])\""),
        (".term2string(R,\"g(1,[a,b],\\\"q\\\")\")", "g(1,[a,b],\"q\")"),
        (".term2string(R,\"f(Y,Y,1+2)[a]\")", "f(Y,Y,3)[a]"),
        (".term2string(f(A,B,C),\"f(Y,Y,Z)\") & R = 1", "no"),
        (".term2string(T,\"f(Y,Y,Z)\") & T = f(1,B,C) & R = g(B,C)", "g(1,C)"),
        (".term2string(R,\"1.50\")", "1.5"),
        (".term2string(R,\"not valid )(\")", "not valid )("),
        (".term2string(R,\"+!g\")", "+!g"),
        (".term2string(R,\"{ +!g(1) <- a; b }\")", "{ +!g(1) <- a; b }"),
        (".term2string(R,\"p & not q\")", "(p & not (q))"),
        (".term2string(R,\"X > 2\")", "(X > 2)"),
        (".term2string(R,3)", "3"),
        (".term2string(abc,\"abc\") & R = 1", "1"),
        (".term2string(R,\"X\")", "Answer"),
        (".term2string(a,b) & R = 1", "invalid case of term2string"),
    ]);
}

#[test]
fn ranges_are_lazy() {
    check(&[
        (".range(R,1,3)", "1 2 3"),
        (".range(R,3,1)", "no"),
        (".range(R,5,1,-2)", "5 3 1"),
        (".range(R,1,2,0.5)", "no"),
        (".range(R,1.7,2.2)", "1 2"),
        (".range(2.5,1,2) & R = 1", "1"),
        (".range(R,a,3)", "WRONG 'range': second parameter ('a') must be a number!"),
        (".range(R,1,3,c)", "WRONG 'range': fourth parameter ('c') must be a number!"),
        (".eval(R,.range(X,1,1000000000000) & X > 5)", "true"),
    ]);
}

#[test]
fn random_numbers_follow_from_the_seed() {
    check(&[
        (".random(X) & X >= 0 & X < 1 & R = 1", "1"),
        (".findall(x,.random(_,3),R)", "[x,x,x]"),
        (".findall(X,.random([q],X,2),R)", "[q,q]"),
        (".random([],R)", "no"),
        (".random(a,R)", "WRONG 'random': first argument must be a variable."),
        (".random([a],a) & R = 1", "WRONG 'random': second argument must be a variable."),
        (".random(R,a)", "WRONG 'random': second argument must be a number."),
        (".random([a],R,a)", "WRONG 'random': third argument must be a number."),
        (".set_random_seed(3) & .random(A) & .set_random_seed(3) & .random(B) & A == B & R = 1", "1"),
        (".random(R,2) & R > 2", "no"),
    ]);
    assert!(holds(".random(A) & .random(B) & A \\== B"));
}

fn ask_beliefs(goal: &str) -> String {
    let program =
        "b(1). b(2)[x,source(bob)]. c(_). h(X) :- b(X). e(1,1). e(1,2). k(1)[level(2)]. k(2)[level(3)]. k(3).";
    ask_in(program, "R", goal).answers
}

#[test]
fn solutions_are_collected() {
    for (goal, expected) in [
        (".findall(X,b(X),R)", "[1,2]"),
        (".findall(p(X,Z),b(X),R)", "[p(1,Z),p(2,Z)]"),
        (".findall(p(X,Z),b(X),L) & Z = 5 & R = L", "[p(1,5),p(2,5)]"),
        (".findall(X,zz(X),R)", "[]"),
        (".findall(X,[b(1)],R)", "[]"),
        ("L = [b(1)] & not L & N = 3 & not N & R = 1", "1"),
        (".findall(X+1,b(X),R)", "[2,3]"),
        (".setof(X,(b(X) | h(X)),R)", "[1,2]"),
        (".count(b(_),R)", "2"),
        (".count(zz(_),R)", "0"),
        (".count(h(_),R)", "2"),
        (".count(c(1),R)", "1"),
        (".count(e(X,X),R)", "1"),
        (".count(e(_,_),R)", "2"),
        (".count(b(_)[x],R)", "1"),
        (".count(k(_)[level(_)],R)", "2"),
        (".count(e(_,_)[level(_)],R)", "0"),
        (".count(k(_)[source(_)],R)", "3"),
        ("X = 1 & .count(b(X),R)", "1"),
        (".count((b(X) & b(Y)),R)", "4"),
        ("R = .count(b(_)) * 10", "20"),
        (".eval(R,b(1) & not b(3))", "true"),
        (".eval(R,b(9))", "false"),
        (".eval(T,b(X)) & R = f(T,X)", "f(true,X)"),
        (".max(X,b(X),R)", "2"),
        (".min(f(Y,X),e(X,Y),R)", "f(1,1)"),
        ("Q = b(X) & .findall(X,Q,R)", "[1,2]"),
        (".findall(X,.findall(Y,(b(Y) & Y > X),[_|_]) & b(X),R)", "[]"),
    ] {
        assert_eq!(ask_beliefs(goal), expected, "{goal}");
    }
    check(&[
        (".findall(X,3,R)", "WRONG 'findall': second argument must be a formula"),
        (".count(3,R)", "WRONG 'count': first argument must be a formula"),
        (".eval(R,3)", "WRONG 'eval': second argument must be a logical formula"),
    ]);
}

#[test]
fn solutions_with_open_variables_are_apart() {
    assert_eq!(ask_beliefs(".findall(X,c(X),L) & L = [Y] & Y = 3 & R = L"), "[3]");
    assert_eq!(ask_beliefs(".findall(f(X,X),.member(_,[1,2]),[f(A,B),f(C,D)]) & A = 1 & R = [B,C]"), "[1,1]");
    let open = "k(f(_,_)). k(g(_)).";
    assert_eq!(ask_in(open, "R", ".findall(X,k(X),[f(A,B),g(C)]) & A = 1 & C = 2 & .eval(R,B == A)").answers, "false");
}

#[test]
fn types_are_as_in_jason() {
    for (term, expected) in [
        ("a", "[atom,literal,ground]"),
        ("true", "[atom,literal,ground]"),
        ("f(1)", "[literal,structure,ground]"),
        ("~a", "[literal,structure,ground]"),
        ("1", "[number,ground]"),
        ("\"s\"", "[string,ground]"),
        ("[a]", "[list,structure,ground]"),
        ("{ a; b }", "[literal,structure,plan,ground]"),
        ("{ +!g }", "[literal,structure,ground]"),
        ("{ +!g <- a }", "[literal,structure,ground]"),
        ("{ h(X) :- b(X) }", "[literal,structure,rule]"),
        ("f(Y)", "[literal,structure]"),
        ("Free", "[free]"),
        ("1+Y", "[number]"),
        ("(a & b)", "[literal,structure,ground]"),
    ] {
        assert_eq!(ask("R", &format!(".findall(T,.type({term},T),R)")), expected, "{term}");
    }
    assert!(holds(".type(3,number) & not .type(a,list) & .atom('B c') & not .atom(a[x]) & .structure([])"));
    assert!(holds(".internal_action(.print(a)) & not .internal_action(a) & .literal(a) & not .ground(_)"));
    assert_eq!(ask("R", ".set.create(S) & .findall(T,.type(S,T),R)"), "[set,ground]");
    assert_eq!(ask("R", ".map.create(S) & .findall(T,.type(S,T),R)"), "[map,ground]");
}

#[test]
fn terms_are_made_of_terms() {
    check(&[
        (".copy_term(f(X,Y,X),f(A,B,C)) & A = 1 & R = f(C,X)", "f(1,X)"),
        (".copy_term(p(1)[a],R)", "p(1)[a]"),
        (".rename_apart(g(Z,k),g(5,K)) & R = f(Z,K)", "f(Z,k)"),
        (".add_annot(p,a(1),R)", "p[a(1)]"),
        (".add_annot([[p],1,q[b]],c,R)", "[[p[c]],1,q[b,c]]"),
        (".add_annot(3,a,R)", "3"),
        (".remove_source_annot([p[source(a),k],3,[q[source(b)]]],R)", "[p[k],3,[q[source(b)]]]"),
        (".add_nested_source(p[source(al),source(jo)],bob,R)", "p[source(bob)[source(al),source(jo)]]"),
        (".remove_source_annot({ @l[source(self),x] +!g <- a },R)", "{ @l[x] +!g <- a }"),
        (".add_nested_source(p,bob,R)", "p[source(bob)]"),
        (".add_nested_source([p[source(jo),z],1],bob,R)", "[p[source(bob)[source(jo)],z],1]"),
    ]);
}

#[test]
fn functions_compute() {
    check(&[
        ("R = math.max([-3,-1]) + math.min(4,5)", "3"),
        ("R = [math.round(2.5),math.round(-2.5),math.ceil(1.2),math.floor(-1.2)]", "[3,-2,2,-2]"),
        ("R = [math.average([1,b,4]),math.mean([1,b,4]),math.sum([1,b]),math.sum([])]", "[2.5,2.5,1,0]"),
        ("R = [math.median([4,1,3]),math.median([4,1])]", "[3,2.5]"),
        ("R = math.std_dev([1,2,4])", "1.5275252316519465"),
        ("R = math.log(-1)", "NaN"),
        ("R = math.sqrt(math.abs(-16)) + math.pi - math.pi", "4"),
        ("R = math.abs(Y)", "math.abs(Y)"),
        ("math.random(5) < 5 & math.random < 1 & R = 1", "1"),
        ("system.time > 1000000000000 & R = 1", "1"),
    ]);
    let outcome = ask_in("", "R", "R = math.abs(a)");
    assert_eq!(outcome.answers, "math.abs(a)");
    assert!(outcome.noted[0].starts_with("Error in 'math.abs(a)' -- The argument 'a' is not numeric!"));
    assert_eq!(ask("R", "R = math.mean([])"), "math.mean([])");
}

#[test]
fn maps_hold_pairs() {
    let fill = ".map.create(M) & .map.put(M,b,2) & .map.put(M,a,f(1)) & .map.put(M,\"k\",[1,2]) & .map.put(M,3,x)";
    for (goal, expected) in [
        (".map.get(M,a,R)", "f(1)"),
        (".map.get(M,zz,R)", ""),
        (".map.get(M,zz,R,none)", "none"),
        (".findall(K,.map.key(M,K),R)", "[3,\"k\",a,b]"),
        (".findall(V,.map.value(M,V),R)", "[x,[1,2],f(1),2]"),
        (".map.remove(M,b,V) & .length(M,N) & R = f(V,N)", "f(2,3)"),
        (".map.copy(M,C) & .map.clear(M) & .empty(M) & .length(C,R)", "4"),
        ("L = M & .map.put(L,new,1) & .length(M,R)", "5"),
        (".map.key(M,a) & not .map.key(M,zz) & R = 1", "1"),
        (".map.put(M,open,g(X,Y,X)) & X = 1 & .map.get(M,open,g(A,B,C)) & A = 2 & R = f(C,X)", "f(2,1)"),
        (".map.put(M,m,M) & R = 1", ""),
        (".map.create(N) & .map.put(N,m,[f(M)]) & .map.put(M,n,N) & R = 1", ""),
        (".map.put(New,a,1) & .map.get(New,a,R)", "1"),
    ] {
        assert_eq!(ask("R", &format!("{fill} & {goal}")), expected, "{goal}");
    }
}

#[test]
fn frozen_maps_are_read_only() {
    let fill = ".map.put(M,a,f(1)) & .map.put(M,\"k\",[1,2]) & .map.freeze(M,F)";
    for (goal, expected) in [
        (".map.get(F,a,R)", "f(1)"),
        (".map.get(F,zz,R,none)", "none"),
        (".map.key(F,a) & not .map.key(F,zz) & .findall(K,.map.key(F,K),R)", "[\"k\",a]"),
        (".findall(V,.map.value(F,V),R)", "[[1,2],f(1)]"),
        (".map.clear(M) & .length(F,R)", "2"),
        (".map.freeze(F,G) & G = F & R = 1", "1"),
        (".map.copy(F,C) & .map.put(C,a,2) & .map.get(C,a,X) & .map.get(F,a,Y) & R = g(X,Y)", "g(2,f(1))"),
        (".map.put(F,a,2) & R = 1", ""),
        (".map.put(M,b,X) & .map.freeze(M,G) & R = 1", ""),
    ] {
        assert_eq!(ask("R", &format!("{fill} & {goal}")), expected, "{goal}");
    }
    let noted = ask_in("", "R", &format!("{fill} & .map.clear(F) & R = 1")).noted;
    assert!(noted[0].contains("the map is a value, which does not change"), "{noted:?}");
}

#[test]
fn sets_hold_each_value_once() {
    let fill = ".set.create(S) & .set.add(S,c) & .set.add(S,a) & .set.add(S,c)";
    for (goal, expected) in [
        (".set.to_list(S,R)", "[a,c]"),
        (
            ".set.add_all(S,[z,1,\"s\",f(2)]) & .set.remove(S,z) & .set.remove(S,not_there) & .set.to_list(S,R)",
            "[1,\"s\",a,c,f(2)]",
        ),
        (".member(R,S)", "a c"),
        (".member(a,S) & not .member(b,S) & R = 1", "1"),
        (".set.union(S,[d]) & .set.intersection(S,[a,d,e]) & .set.to_list(S,R)", "[a,d]"),
        (".set.copy(S,T) & .set.difference(T,[a]) & .set.to_list(T,L) & .length(S,N) & R = f(L,N)", "f([c],2)"),
        (".set.create(T) & .set.add_all(T,S) & S = T & R = 1", "1"),
        (".set.union(S,S) & .set.difference(S,S) & .empty(S) & R = 1", "1"),
        (".set.create(T,[x,y,x]) & .length(T,R)", "2"),
        (".set.add(New,1) & .set.to_list(New,R)", "[1]"),
    ] {
        assert_eq!(ask("R", &format!("{fill} & {goal}")), expected, "{goal}");
    }
}

#[test]
fn code_as_data_may_hold_containers() {
    let fill = ".set.create(S) & .set.add_all(S,[a,b])";
    assert_eq!(ask("R", &format!("{fill} & G = .member(R,S) & G")), "a b");
    assert_eq!(ask("R", &format!("{fill} & .findall(X,.member(X,S),R)")), "[a,b]");
    assert_eq!(ask("R", &format!("{fill} & G = (.member(X,S) & X \\== a) & .findall(X,G,R)")), "[b]");
    let printed = ask_in("!go. +!go <- .map.create(M); G = .map.put(M,k,1); G; .print(M).", "1", "true").printed;
    assert_eq!(printed, ["{k->1}"]);
}

#[test]
fn queues_keep_their_order() {
    for (goal, expected) in [
        (
            ".queue.create(Q) & .queue.add(Q,a) & .queue.add_all(Q,[b,c]) & .queue.head(Q,H) & .queue.remove(Q,X) & \
          .queue.to_list(Q,L) & .length(Q,N) & R = f(H,X,L,N)",
            "f(a,a,[b,c],2)",
        ),
        (
            ".queue.create(Q,priority) & .queue.add_all(Q,[5,1,3]) & .queue.remove(Q,X) & .queue.to_list(Q,L) & R = f(X,L)",
            "f(1,[3,5])",
        ),
        (".queue.create(Q) & not .queue.remove(Q,_) & not .queue.head(Q,_) & .empty(Q) & R = 1", "1"),
        (".queue.add(Q,a) & R = 1", ""),
        (
            ".queue.create(Q) & .queue.add_all(Q,[a,b]) & .queue.copy(Q,C) & .queue.clear(Q) & .queue.to_list(C,R)",
            "[a,b]",
        ),
    ] {
        assert_eq!(ask("R", goal), expected, "{goal}");
    }
}

#[test]
fn output_is_printed() {
    let printed = |goal: &str| ask_in("", "1", goal).printed.join("|");
    assert_eq!(printed(".print(\"a\",X,f(X),[\"b\"],1.0) & .print & .println(c)"), "aX<no-value>f(X)[\"b\"]1||c");
    assert_eq!(printed("N = 5 & S = \"s\" & .puts(\"#{N} #{S} #{X} #{1+1} #{\")"), "5 s X #{1+1} #{");
    assert_eq!(printed("N = 5 & .puts(\"n#{N}\",R) & .print(R)"), "n5");
    assert_eq!(printed(".printf(\"%s-%5.2f\",a,2) & .log(info,\"l \",x) & .log(fine,y)"), "a- 2.00|l x");
    assert_eq!(printed("X = 5 & Y = Z & .print_unifier"), "X=5|done");
}

#[test]
fn time_and_platform_are_known() {
    check(&[
        (".date(Y,M,D) & .time(H,Mi,S,Ms) & R = f(Y,M,D,H,Mi,S,Ms)", "f(2024,2,29,12,34,56,789)"),
        (".nano_time(R)", "5000"),
        (".version(R)", "\"3.3.0\""),
        (".my_name(R)", "prog"),
        (".all_names(R)", "[prog,bob]"),
        (".df_search(\"cook\",R)", "[bob]"),
        (".df_search(cook,sushi,R)", "[]"),
    ]);
}

#[test]
fn number_of_arguments_is_checked() {
    let words = "has not received the required number of argument(s).";
    let cases = [
        (".length([a])", format!("The internal action 'length' {words} 2 arguments are expected.")),
        (".substring(a)", format!("The internal action 'substring' {words} From 2 to 4 arguments are expected.")),
        (".atom(a,b)", format!("The internal action 'atom' {words} One argument is expected.")),
    ];
    for (goal, expected) in cases {
        let noted = ask_in("", "1", goal).noted;
        assert!(noted.iter().any(|note| note.ends_with(&expected)), "{noted:?}");
    }
}

const PLANS: &str = "b(1). b(2)[x,source(bob)]. c(_). h(X) :- b(X) & not c(X). ns1::p(3).
    @lab2[x] +!pl(3).
    +!pl(4) : b(Z) <- .print(Z);
        !q(Z).
    !go.
    +!go <- Y = 5; !deep(Y); done.
    +!deep(X) <- !!w; .wait(100); foo.
    +!w <- .wait({+never(_)}).";

/// Checks goals of an agent with beliefs, plans and intentions against the expected values of `R`.
fn check_mind(cases: &[(&str, &str)]) {
    for (goal, expected) in cases {
        assert_eq!(ask_in(PLANS, "R", goal).answers, *expected, "{goal}");
    }
}

#[test]
fn beliefs_and_rules_are_terms() {
    check_mind(&[
        (".belief(c(5)) & R = 1", "1"),
        (".belief(b(X)) & R = X", "1 2"),
        (".belief(b(X)[source(bob)]) & R = X", "2"),
        (".belief(h(1)) & R = 1", ""),
        (".belief(ns1::p(R))", "3"),
        (".findall(x,.belief(_),R)", "[x,x,x]"),
        (".relevant_rules(h(_),R)", "[{ h(X) :- (b(X) & not (c(X))) }]"),
        (".relevant_rules(b(_),R)", "[]"),
        (".setof(N,.namespace(N),R)", "[default,kqml,ns1]"),
        (".namespace(zzz) & R = 1", ""),
        (".namespace_get_prop(ns1,k,R,none)", "none"),
        (".namespace_get_prop(ns1,k,V) & R = 1", "1"),
    ]);
    let printed = ask_in(PLANS, "1", ".list_rules").printed;
    assert!(printed.contains(&"h(X)[source(self)] :- (b(X) & not (c(X)))".to_owned()), "{printed:?}");
}

#[test]
fn plans_are_terms() {
    check_mind(&[
        (".plan_label(R,lab2)", "{ @lab2[source(self),url(\"file:prog.asl\"),x] +!pl(3) }"),
        (".plan_label(R,none)", ""),
        (".plan_label({ @l[k] +!g <- a },R)", "l[k]"),
        (".plan_label({ +!pl(3) },L) & .plan_label(P,L) & R = 1", ""),
        (".count(.plan_label(_,_),N) & N > 5 & R = many", "many"),
        (
            ".relevant_plans({+!pl(3)},P,L) & .length(P,N) & R = f(N,L)",
            "f(1,[lab2[source(self),url(\"file:prog.asl\"),x]])",
        ),
        (".relevant_plans(\"+!pl(_)\",P) & .length(P,R)", "2"),
        (".relevant_plans({+!none},R)", "[]"),
        (".relevant_plan({+!pl(4)},P) & P =.. [_,T,C,B] & R = [T,C,B]", "[{ +!pl(4) },b(Z),{ .print(Z); !q(Z) }]"),
        (".relevant_plan({+!pl(X)},P) & R = X", "3 4"),
        (".relevant_plan(T,{ @l +!g(1) <- a }) & R = T", "{ +!g(1) }"),
        (".get_src_info(foo,R)", "foo[code_line(7),code_src(\"file:prog.asl\")]"),
        (".get_src_info(none(1)[k],R)", "none(1)[k]"),
    ]);
    let noted = ask_in(PLANS, "1", ".relevant_plans(foo,R)").noted;
    assert!(noted[0].ends_with("first argument 'foo' must follow the syntax of a trigger."), "{noted:?}");
    let printed = ask_in(PLANS, "1", ".list_plans({+!pl(_)})").printed.join("|");
    let labels = ["@lab2[source(self),url(\"file:prog.asl\"),x]", "[source(self),url(\"file:prog.asl\")]"];
    assert!(printed.starts_with(&format!("{} +!pl(3).|", labels[0])), "{printed}");
    assert!(printed.ends_with(&format!("{} +!pl(4) : b(Z) <- .print(Z); !q(Z).", labels[1])), "{printed}");
    assert!(ask_in(PLANS, "1", ".list_plans").printed[0].starts_with("\n\n// plans from file:prog.asl\n\n@lab2["));
}

#[test]
fn intentions_are_terms() {
    check_mind(&[
        (".intend(deep(5)) & .intend(go) & not .intend(q(_)) & R = 1", "1"),
        (".findall(G,.intend(G),R)", "[deep(5)[source(self)],go[source(self)],w[source(self)]]"),
        (".findall([G,I],.desire(G,I),R)", "[[deep(5)[source(self)],1],[go[source(self)],1],[w[source(self)],2]]"),
        (".suspended(w,R)", "wait(2)[never(_1)]"),
        (".suspended(deep(_),R)", "wait(1)[time(100)]"),
        (
            ".findall(f(I,S),.intention(I,S),R)",
            "[f(1,waiting[reason(wait(1)[time(100)])]),f(2,waiting[reason(wait(2)[never(_1)])])]",
        ),
        (
            ".intention(1,_,[im(L,T,B,U)|_]) & R = [T,B,U]",
            "[{ +!deep(5)[source(self)] },{ .wait(100); foo },[map(X,5)]]",
        ),
        (".intention(1,_,[_,im(L,T,{ !deep(V); done },U)]) & V = 1 & R = [T,U]", "[{ +!go[source(self)] },[map(Y,5)]]"),
        (".intention(1,_,S) & .length(S,R)", "2"),
        (".intention(7,S) & R = 1", ""),
        (".intention(I,S,K,current) & R = 1", ""),
        (".suspended(none,R)", ""),
    ]);
}
