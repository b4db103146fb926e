//! Random logic programs have the same solutions, in the same order, as in a simple interpreter that copies
//! substitutions.

use std::fmt;

use whimbrel_acl::Text;
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_bdi::{Agent, AgentConfig};
use whimbrel_testkit::{Random, Simulation, with_seeds};

#[derive(Clone, PartialEq)]
enum ModelTerm {
    Num(u64),
    Nil,
    /// `[head|tail]`, and `f(one,other)`.
    Pair(bool, Box<(ModelTerm, ModelTerm)>),
    Var(usize),
}

impl fmt::Display for ModelTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Num(number) => write!(f, "{number}"),
            Self::Nil => write!(f, "[]"),
            Self::Pair(true, parts) => {
                write!(f, "[{}", parts.0)?;
                let mut rest = &parts.1;
                while let Self::Pair(true, parts) = rest {
                    write!(f, ",{}", parts.0)?;
                    rest = &parts.1;
                }
                if *rest == Self::Nil { f.write_str("]") } else { write!(f, "|{rest}]") }
            }
            Self::Pair(false, parts) => write!(f, "f({},{})", parts.0, parts.1),
            Self::Var(number) => write!(f, "V{number}"),
        }
    }
}

#[derive(Clone)]
enum ProofGoal {
    /// A query of the predicate of this number.
    Query(usize, [ModelTerm; 2]),
    /// `left op right`.
    Relation(ModelTerm, &'static str, ModelTerm),
    /// `one | other`.
    Either(Box<(ProofGoal, ProofGoal)>),
    Not(Box<ProofGoal>),
}

impl fmt::Display for ProofGoal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query(number, [one, other]) => write!(f, "p{number}({one},{other})"),
            Self::Relation(left, op, right) => write!(f, "{left} {op} {right}"),
            Self::Either(goals) => write!(f, "({} | {})", goals.0, goals.1),
            Self::Not(goal) => write!(f, "not {goal}"),
        }
    }
}

/// Rule, or a fact if its body is empty. Its variables are numbered from 0.
struct Clause {
    head: [ModelTerm; 2],
    body: Vec<ProofGoal>,
}

impl Clause {
    fn is_fact(&self) -> bool {
        self.body.is_empty() && self.head.iter().all(|term| !term.to_string().contains('V'))
    }
}

/// Predicates with their clauses; each queries only those before it.
type Program = Vec<Vec<Clause>>;

fn written(program: &Program) -> String {
    let mut text = String::new();
    for (number, clauses) in program.iter().enumerate() {
        for Clause { head: [one, other], body } in clauses {
            let body: Vec<String> = body.iter().map(ProofGoal::to_string).collect();
            let body = if body.is_empty() { String::new() } else { format!(" :- {}", body.join(" & ")) };
            text += &format!("p{number}({one},{other}){body}.\n");
        }
    }
    text
}

/// Author of random programs.
struct ProofAuthor(Random);

impl ProofAuthor {
    fn number(&mut self) -> ModelTerm {
        ModelTerm::Num(self.0.between(0..=3))
    }

    fn variable(&mut self) -> ModelTerm {
        ModelTerm::Var(self.0.between(0..=3) as usize)
    }

    fn term(&mut self) -> ModelTerm {
        match self.0.between(0..=9) {
            0..=4 => self.variable(),
            5 | 6 => self.number(),
            7 => ModelTerm::Nil,
            kind => ModelTerm::Pair(kind == 8, Box::new((self.variable(), self.variable()))),
        }
    }

    fn goal(&mut self, before: usize) -> ProofGoal {
        match self.0.between(0..=9) {
            0..=5 => ProofGoal::Query(self.0.between(0..=before as u64 - 1) as usize, [self.term(), self.term()]),
            6 | 7 => {
                let op = *self.0.pick(&["<", "<=", ">", ">=", "==", "\\=="]).expect("there are some");
                ProofGoal::Relation(self.variable(), op, self.number())
            }
            8 => ProofGoal::Relation(self.variable(), "=", self.term()),
            _ if self.0.between(0..=1) == 0 => {
                ProofGoal::Not(Box::new(ProofGoal::Query(0, [self.term(), self.term()])))
            }
            _ => {
                let query = |own: &mut Self| ProofGoal::Query(0, [own.term(), own.term()]);
                ProofGoal::Either(Box::new((query(self), query(self))))
            }
        }
    }

    fn clause(&mut self, predicate: usize) -> Clause {
        if predicate == 0 {
            let known = |own: &mut Self| match own.0.between(0..=4) {
                0 => ModelTerm::Pair(true, Box::new((own.number(), ModelTerm::Nil))),
                1 => ModelTerm::Pair(false, Box::new((own.number(), own.number()))),
                _ => own.number(),
            };
            return Clause { head: [known(self), known(self)], body: Vec::new() };
        }
        let goals = self.0.between(0..=3);
        Clause { head: [self.term(), self.term()], body: (0..goals).map(|_| self.goal(predicate)).collect() }
    }

    fn program(&mut self) -> Program {
        let mut program = Program::new();
        for predicate in 0..4 {
            let mut clauses: Vec<Clause> = Vec::new();
            for _ in 0..self.0.between(1..=3) {
                let clause = self.clause(predicate);
                // A fact is believed only once.
                if !clauses.iter().any(|other| other.is_fact() && clause.is_fact() && other.head == clause.head) {
                    clauses.push(clause);
                }
            }
            program.push(clauses);
        }
        program
    }
}

/// Values of variables.
type Bound = Vec<Option<ModelTerm>>;

struct Interpreter<'p> {
    program: &'p Program,
    /// Number of goals that may still be tried.
    left: usize,
}

fn follow(bound: &Bound, term: &ModelTerm) -> ModelTerm {
    let mut term = term.clone();
    while let ModelTerm::Var(number) = term {
        let Some(known) = &bound[number] else { return term };
        term = known.clone();
    }
    term
}

fn whole(bound: &Bound, term: &ModelTerm) -> ModelTerm {
    match follow(bound, term) {
        ModelTerm::Pair(kind, parts) => {
            ModelTerm::Pair(kind, Box::new((whole(bound, &parts.0), whole(bound, &parts.1))))
        }
        other => other,
    }
}

fn contains(bound: &Bound, term: &ModelTerm, variable: usize) -> bool {
    match follow(bound, term) {
        ModelTerm::Var(number) => number == variable,
        ModelTerm::Pair(_, parts) => contains(bound, &parts.0, variable) || contains(bound, &parts.1, variable),
        _ => false,
    }
}

fn unify(bound: &mut Bound, one: &ModelTerm, other: &ModelTerm) -> bool {
    match (follow(bound, one), follow(bound, other)) {
        (ModelTerm::Var(a), ModelTerm::Var(b)) if a == b => true,
        (ModelTerm::Var(variable), term) | (term, ModelTerm::Var(variable)) => {
            let fits = !contains(bound, &term, variable);
            if fits {
                bound[variable] = Some(term);
            }
            fits
        }
        (ModelTerm::Pair(a, one), ModelTerm::Pair(b, other)) => {
            a == b && unify(bound, &one.0, &other.0) && unify(bound, &one.1, &other.1)
        }
        (one, other) => one == other,
    }
}

/// Tests a relation. Numbers come before all other values.
fn relates(bound: &Bound, left: &ModelTerm, op: &str, right: &ModelTerm) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match (follow(bound, left), follow(bound, right)) {
        (ModelTerm::Num(left), ModelTerm::Num(right)) => left.cmp(&right),
        _ => Greater,
    };
    match op {
        "<" => order == Less,
        "<=" => order != Greater,
        ">" => order == Greater,
        ">=" => order != Less,
        "==" => order == Equal,
        _ => order != Equal,
    }
}

fn moved(term: &ModelTerm, by: usize) -> ModelTerm {
    match term {
        ModelTerm::Var(number) => ModelTerm::Var(number + by),
        ModelTerm::Pair(kind, parts) => ModelTerm::Pair(*kind, Box::new((moved(&parts.0, by), moved(&parts.1, by)))),
        other => other.clone(),
    }
}

fn goal_moved(goal: &ProofGoal, by: usize) -> ProofGoal {
    match goal {
        ProofGoal::Query(number, [one, other]) => ProofGoal::Query(*number, [moved(one, by), moved(other, by)]),
        ProofGoal::Relation(left, op, right) => ProofGoal::Relation(moved(left, by), op, moved(right, by)),
        ProofGoal::Either(goals) => ProofGoal::Either(Box::new((goal_moved(&goals.0, by), goal_moved(&goals.1, by)))),
        ProofGoal::Not(goal) => ProofGoal::Not(Box::new(goal_moved(goal, by))),
    }
}

impl Interpreter<'_> {
    /// Calls `found` with each solution, until it has enough.
    fn solve(&mut self, goals: &[ProofGoal], bound: &Bound, found: &mut dyn FnMut(&Bound) -> bool) -> bool {
        let [goal, rest @ ..] = goals else { return found(bound) };
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return true;
        }
        match goal {
            ProofGoal::Relation(left, "=", right) => {
                let mut bound = bound.clone();
                unify(&mut bound, left, right) && self.solve(rest, &bound, found)
            }
            ProofGoal::Relation(left, op, right) => relates(bound, left, op, right) && self.solve(rest, bound, found),
            ProofGoal::Either(either) => [&either.0, &either.1].into_iter().any(|goal| {
                let goals: Vec<ProofGoal> = [goal].into_iter().chain(rest).cloned().collect();
                self.solve(&goals, bound, found)
            }),
            ProofGoal::Not(goal) => {
                !self.solve(std::slice::from_ref(&**goal), bound, &mut |_| true) && self.solve(rest, bound, found)
            }
            ProofGoal::Query(number, args) => (0..self.program[*number].len()).any(|place| {
                let Clause { head, body } = &self.program[*number][place];
                let (by, mut bound) = (bound.len(), bound.clone());
                bound.resize(by + 4, None);
                let fits = head.iter().zip(args).all(|(head, arg)| unify(&mut bound, &moved(head, by), arg));
                let goals: Vec<ProofGoal> =
                    body.iter().map(|goal| goal_moved(goal, by)).chain(rest.iter().cloned()).collect();
                fits && self.solve(&goals, &bound, found)
            }),
        }
    }
}

/// Returns the answers of a program's last predicate to a query with two variables. Solutions with variables are left
/// out, because these have other names.
fn expected(program: &Program) -> Option<Vec<String>> {
    let mut interpreter = Interpreter { program, left: 20_000 };
    let mut solutions = Vec::new();
    let goal = ProofGoal::Query(program.len() - 1, [ModelTerm::Var(0), ModelTerm::Var(1)]);
    interpreter.solve(&[goal], &vec![None; 2], &mut |bound| {
        let solution = [ModelTerm::Var(0), ModelTerm::Var(1)].map(|term| whole(bound, &term));
        solutions.push(format!("s({},{})", solution[0], solution[1]));
        false
    });
    (interpreter.left > 0).then_some(solutions)
}

fn run(text: &str) -> Vec<String> {
    let image = whimbrel_bdi::load(text, &Text::from("p.asl"), &mut NoFiles).expect("it compiles").0;
    let mut simulation = Simulation::new(1);
    simulation.spawn("p", Box::new(Agent::new(AgentConfig::new(image))));
    simulation.run_for(50);
    simulation.output()
}

/// Removes the numbers that distinguish variables.
fn alike(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        plain.push(letter);
        if letter.is_ascii_uppercase() || letter == '_' {
            while rest.next_if(|next| next.is_ascii_alphanumeric() || *next == '_').is_some() {}
            plain.pop();
            plain.push('V');
        }
    }
    plain
}

#[test]
fn solutions_agree_with_plain_interpreter() {
    with_seeds(400, |seed| {
        let program = ProofAuthor(Random::new(seed)).program();
        let Some(expected) = expected(&program) else { return };
        let text = written(&program);
        let last = program.len() - 1;
        let asked = format!("!run. +!run <- for (p{last}(A,B)) {{ .print(s(A,B)) }}; .print(done).\n{text}");
        let printed: Vec<String> = run(&asked).iter().map(|line| alike(line.trim_start_matches("[p] "))).collect();
        let expected: Vec<String> = expected.iter().map(|line| alike(line)).chain(["done".to_owned()]).collect();
        assert_eq!(printed, expected, "\n{asked}");
    });
}

#[test]
fn rules_recurse_over_lists_and_numbers() {
    let rules = "app([],L,L). app([H|T],L,[H|R]) :- app(T,L,R).
                 rev([],[]). rev([H|T],R) :- rev(T,S) & app(S,[H],R).
                 len([],0). len([_|T],N+1) :- len(T,N).
                 fib(N,N) :- N < 2. fib(N,F) :- N >= 2 & fib(N-1,A) & fib(N-2,B) & F = A+B.
                 from(N,M,N) :- N <= M. from(N,M,X) :- N < M & from(N+1,M,X).
                 named(\"a\",1). named(\"b\",2). named(X,0) :- X == \"c\".
                 twice(X,X). same(f(X),X). odd(X) :- math.abs(X) mod 2 == 1.
                 {register_function(\"my.one\",1,\"one\")} one(X,Y) :- X = 1 & Y = 2. listed(X,[my.one(X)]) :- true.
                 deep(0). deep(N) :- N > 0 & deep(N-1).";
    let cases = [
        ("app(A,B,[1,2])", "s([],[1,2]) s([1],[2]) s([1,2],[])"),
        ("T = [2] & app([1|T],[3],A) & B = 0", "s([1,2,3],0)"),
        ("rev([1,2,3],A) & app(A,[0],B)", "s([3,2,1],[3,2,1,0])"),
        ("len([a,b,c],A) & len([],B)", "s(3,0)"),
        ("fib(15,A) & fib(1,B)", "s(610,1)"),
        ("from(1,3,A) & from(A,2,B)", "s(1,1) s(1,2) s(2,2)"),
        ("named(A,B)", "s(\"a\",1) s(\"b\",2)"),
        ("named(\"c\",A) & named(\"b\",B)", "s(0,2)"),
        ("twice(A,B) & A = 1", "s(1,1)"),
        ("same(A,g) & B = 1", "s(f(g),1)"),
        ("same(f(x[y]),B) & A = 1", "s(1,x[y])"),
        ("odd(math.abs(-3)) & not odd(1+1) & A = 1 & B = 2", "s(1,2)"),
        ("twice(A+1,B) & A = 2", "s(2,3)"),
        ("deep(50000) & A = 1 & B = 1", "s(1,1)"),
        ("listed(A,A) & B = 1", ""),
        ("listed(A,B)", "s(1,[2])"),
        ("not named(x,_) & fib(0,A) & not fib(2,0) & B = 0", "s(0,0)"),
    ];
    for (goal, expected) in cases {
        let asked = format!("!run. +!run <- for ({goal}) {{ .print(s(A,B)) }}. {rules}");
        let printed: Vec<String> = run(&asked).iter().map(|line| line.trim_start_matches("[p] ").to_owned()).collect();
        assert_eq!(printed.join(" "), expected, "{goal}");
    }
}
