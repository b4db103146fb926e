//! Parsing of programs.

use std::collections::HashMap;

use whimbrel_acl::{Symbol, Text, Var};
use whimbrel_bdi::syntax::ast::{CodeTerm, Namespace, Op, Program, StepKind, Term, TriggerKind, TriggerOp};
use whimbrel_bdi::syntax::quote::quote_body;
use whimbrel_bdi::syntax::{
    LoadError, Loader, NoFiles, Parsed, SourceText, parse_body, parse_formula, parse_plan, parse_program, parse_term,
    parse_trigger,
};

/// Files in memory.
struct FilesInMemory(HashMap<&'static str, &'static str>);

impl Loader for FilesInMemory {
    fn load(&mut self, path: &str, _from_file: &str) -> Result<(Text, SourceText), LoadError> {
        let text = self.0.get(path).ok_or_else(|| LoadError::Missing("no such file".to_owned()))?;
        Ok((Text::from(path), (*text).to_owned().into()))
    }
}

fn parse_with(text: &str, files: &[(&'static str, &'static str)]) -> Parsed {
    parse_program(text, &Text::from("main.asl"), &mut FilesInMemory(files.iter().copied().collect()))
}

#[track_caller]
fn program(text: &str) -> Program {
    let parsed = parse_program(text, &Text::from("main.asl"), &mut NoFiles);
    assert!(parsed.diagnostics.is_empty(), "{:#?}", parsed.diagnostics);
    parsed.program
}

fn errors(text: &str) -> Vec<String> {
    let parsed = parse_program(text, &Text::from("main.asl"), &mut NoFiles);
    parsed.diagnostics.iter().map(ToString::to_string).collect()
}

fn kinds(text: &str) -> Vec<StepKind> {
    parse_body(text).unwrap().steps.iter().map(|step| step.kind).collect()
}

#[test]
fn kinds_of_clauses_are_distinguished() {
    let program = program("b(1)[a]. ~c. h(X) :- b(X) & not c. !g(1). @l[atomic] +!g(X) : b(X) <- a; !b. +b(_) <- a.");
    assert_eq!(program.beliefs.len(), 3);
    assert!(program.beliefs[2].body.is_some());
    assert_eq!(program.goals.len(), 1);
    assert_eq!(program.plans.len(), 2);
    let plan = &program.plans[0];
    assert_eq!(plan.label.as_ref().unwrap().functor, Symbol::new("l"));
    assert_eq!((plan.trigger.op, plan.trigger.kind), (TriggerOp::Add, TriggerKind::Achieve));
    assert_eq!(plan.body.steps.len(), 2);
    assert_eq!(plan.span.line, 1);
}

#[test]
fn every_step_operator_is_parsed() {
    let text = "!g; !!g; ?q; +b; ++b; +<b; +>b; -b; --b; -+b; act; .ia; X = 1; X; lib.ia(1)";
    use StepKind::*;
    let expected = [
        Achieve,
        AchieveNewFocus,
        Test,
        Add,
        AddNewFocus,
        AddFront,
        AddEnd,
        Delete,
        DeleteNewFocus,
        Replace,
        Action,
        InternalAction,
        Constraint,
        Variable,
        InternalAction,
    ];
    assert_eq!(kinds(text), expected);
}

#[test]
fn control_structures_become_internal_actions() {
    let body =
        parse_body("if (a) { b } elif (c) { d } else { e } while (f) { } for (g(X)) { h; i } j |&| k ||| l").unwrap();
    let names: Vec<String> = body
        .steps
        .iter()
        .map(|step| match &step.term {
            Term::Literal(literal) => format!("{}/{}", literal.functor, literal.args.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["$elif/5", ".loop/2", ".foreach/2", ".fork/3"]);
    let as_data = quote_body(&body, &mut |name| Var { slot: 0, name }).to_string();
    assert!(as_data.contains(".if_then_else(a,b,.if_then_else(c,d,e))") && !as_data.contains('$'), "{as_data}");
}

#[test]
fn parenthesised_groups_are_distinguished() {
    assert_eq!(
        kinds("(a; b); (X + 1) > 3; (!c)"),
        [StepKind::Action, StepKind::Action, StepKind::Constraint, StepKind::Achieve]
    );
    assert_eq!(
        kinds("(++a); (+<b); (+>c); (-+d); (--e)"),
        [StepKind::AddNewFocus, StepKind::AddFront, StepKind::AddEnd, StepKind::Replace, StepKind::DeleteNewFocus]
    );
}

#[test]
fn operators_bind_as_in_jason() {
    let Term::Op(Op::Or, either) = parse_formula("a & not b | c").unwrap() else { panic!() };
    assert!(matches!(&either[0], Term::Op(Op::And, _)));
    let Term::Chain(first, rest) = parse_term("1 - 2 * X ** 2 ** 3 - 4").unwrap() else { panic!() };
    assert_eq!(*first, Term::Num(1.0));
    assert!(matches!(rest.as_slice(), [(Op::Sub, Term::Op(Op::Mul, _)), (Op::Sub, Term::Num(_))]), "{rest:?}");
    assert_eq!(parse_term("(1 - 7) - 4 + 2").unwrap(), parse_term("1 - 7 - 4 + 2").unwrap());
    assert_ne!(parse_term("1 - (7 - 4) + 2").unwrap(), parse_term("1 - 7 - 4 + 2").unwrap());
    assert_eq!(parse_term("-3").unwrap(), Term::Num(-3.0));
    assert_eq!(parse_term(".5").unwrap(), Term::Num(0.5));
    assert_eq!(parse_term("1.5e-3").unwrap(), Term::Num(0.0015));
}

#[test]
fn only_two_escapes_are_translated() {
    assert_eq!(parse_term(r#""a\tb\"c\nd\\n""#).unwrap(), Term::Str(Text::from("a\\tb\"c\nd\\\n")));
}

#[test]
fn quotes_belong_to_names() {
    let Term::Literal(literal) = parse_term("'Big one'(1)").unwrap() else { panic!() };
    assert_eq!(literal.functor.as_str(), "'Big one'");
    assert_ne!(parse_term("'abc'").unwrap(), parse_term("abc").unwrap());
}

#[test]
fn anonymous_variables_are_distinct() {
    let Term::Literal(literal) = parse_term("p(_, _, _W, _12, _12)").unwrap() else { panic!() };
    let names: Vec<&str> = literal
        .args
        .iter()
        .map(|arg| match arg {
            Term::Var(variable) => variable.name.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["_13", "_14", "_15_W", "_12", "_12"]);
}

#[test]
fn kinds_of_code_are_distinguished() {
    let code = |text: &str| match parse_term(text).unwrap() {
        Term::Code(code) => code,
        other => panic!("{other:?}"),
    };
    assert!(matches!(code("{ +!g(X) }"), CodeTerm::Trigger(_)));
    assert!(matches!(code("{ +b }"), CodeTerm::Body(body) if body.steps.len() == 1));
    assert!(matches!(code("{ +b; -c; !g }"), CodeTerm::Body(body) if body.steps.len() == 3));
    assert!(matches!(code("{ }"), CodeTerm::Body(body) if body.steps.is_empty()));
    assert!(matches!(code("{ h(X) :- b(X) & X > 1 }"), CodeTerm::Rule(_)));
    assert!(matches!(code("{ @l[a] +b }"), CodeTerm::Plan(_)));
    assert!(matches!(code("{ +b : c }"), CodeTerm::Plan(_)));
    let CodeTerm::Plan(plan) = code("{ @L +!G : C <- B }") else { panic!() };
    assert_eq!(plan.label_variable.unwrap().name.as_str(), "L");
    assert!(matches!(plan.trigger.term, Term::Var(_)));
    assert_eq!(plan.body.steps[0].kind, StepKind::Variable);
}

#[test]
fn namespace_block_prefixes_names() {
    let program = program(
        "{ begin namespace(ns) }
         b(c)[d]. !g. +!g : b(X) & X = e & not default::f <- +h(i); ::j; k::l; .print(m); p(this_ns, ::q); N::r; X.
         { end }
         outer.",
    );
    let text = |namespace: &Option<Namespace>| match namespace {
        None => "-".to_owned(),
        Some(Namespace::Name(name)) => name.to_string(),
        Some(Namespace::Var(name)) => format!("?{name}"),
    };
    let spaces: Vec<String> = program.plans[0]
        .body
        .steps
        .iter()
        .map(|step| match &step.term {
            Term::Literal(literal) => text(&literal.namespace),
            Term::Var(variable) => text(&variable.namespace),
            _ => "?".to_owned(),
        })
        .collect();
    assert_eq!(spaces, ["ns", "ns", "k", "-", "ns", "?N", "ns"]);
    let belief = &program.beliefs[0].head;
    assert_eq!(text(&belief.namespace), "ns");
    let Term::Literal(argument) = &belief.args[0] else { panic!() };
    assert_eq!(text(&argument.namespace), "-");
    assert_eq!(text(&program.beliefs[1].head.namespace), "-");
    let Term::Literal(call) = &program.plans[0].body.steps[4].term else { panic!() };
    let (Term::Literal(this), Term::Literal(abstract_one)) = (&call.args[0], &call.args[1]) else { panic!() };
    assert_eq!(this.functor.as_str(), "ns");
    assert_eq!(text(&abstract_one.namespace), "ns");
}

#[test]
fn local_namespace_gets_unique_name() {
    let program = program("{ namespace(loc, local) } loc::b. { begin namespace(loc) } c. { end } other::d.");
    let local = program.local_namespaces[0];
    assert_eq!(local.as_str(), "#1loc");
    assert_eq!(program.beliefs[0].head.namespace, Some(Namespace::Name(local)));
    assert_eq!(program.beliefs[1].head.namespace, Some(Namespace::Name(local)));
    assert_ne!(program.beliefs[2].head.namespace, Some(Namespace::Name(local)));
}

#[test]
fn keywords_are_in_no_namespace() {
    let program = program("{ begin namespace(ns) } source(a). source(a,b). self. { end }");
    let spaces: Vec<bool> = program.beliefs.iter().map(|belief| belief.head.namespace.is_some()).collect();
    assert_eq!(spaces, [false, true, false]);
}

#[test]
fn includes_take_a_namespace() {
    let parsed = parse_with("a. { include(\"x.asl\", m) } b. { include(\"x.asl\") }", &[("x.asl", "x.")]);
    assert!(parsed.is_ok(), "{:?}", parsed.diagnostics);
    let names: Vec<String> = parsed
        .program
        .beliefs
        .iter()
        .map(|belief| format!("{:?}{}", belief.head.namespace, belief.head.functor))
        .collect();
    assert_eq!(names, ["Nonea", "Some(Name(\"m\"))x", "Noneb", "Nonex"]);
    assert_eq!(parsed.program.beliefs[1].file.as_str(), "x.asl");
}

#[test]
fn missing_include_is_warning() {
    let text = "a.\n{ include(\"none.asl\") }\n{ include(\"$moiseJar/asl/org-rules.asl\") }\nb.";
    let parsed = parse_with(text, &[]);
    assert!(parsed.is_ok(), "{:?}", parsed.diagnostics);
    assert_eq!(parsed.program.beliefs.len(), 2);
    let said: Vec<String> = parsed.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "main.asl:2: warning: cannot include `none.asl`: no such file: the program continues without it",
            "main.asl:3: warning: cannot include `$moiseJar/asl/org-rules.asl`: it is part of Moise, which does not run \
             here: the program continues without it",
        ]
    );
}

#[test]
fn broken_include_is_left_out() {
    let text = "a.\n{ include(\"x.asl\") }\nb. p :- my.f(1) > 0.";
    let broken = "{ register_function(\"my.f\", 1, \"r\") } x(1). !x. +!x <- a b. +x.";
    let files = [("x.asl", "x. { include(\"y.asl\") } y(2)."), ("y.asl", broken)];
    let parsed = parse_with(text, &files);
    assert!(parsed.is_ok(), "{:?}", parsed.diagnostics);
    let names: Vec<&str> = parsed.program.beliefs.iter().map(|belief| belief.head.functor.as_str()).collect();
    assert_eq!(names, ["a", "x", "y", "b", "p"]);
    assert!(parsed.program.goals.is_empty() && parsed.program.plans.is_empty() && parsed.program.functions.is_empty());
    let said: Vec<String> = parsed.diagnostics.iter().map(ToString::to_string).collect();
    assert!(said[0].starts_with("y.asl:1: warning: "), "{said:?}");
    assert_eq!(said[1], "x.asl:1: warning: `y.asl` has errors: the program continues without it");
}

#[test]
fn circular_include_happens_once() {
    let parsed = parse_with(
        "{ include(\"x.asl\") }",
        &[("x.asl", "{ include(\"y.asl\") }"), ("y.asl", "{ include(\"x.asl\") }")],
    );
    assert_eq!(parsed.diagnostics.len(), 1);
    assert!(parsed.is_ok());
    assert_eq!(parsed.diagnostics[0].message, "`x.asl` includes itself: it is included once");
    assert_eq!(parsed.diagnostics[0].help.as_deref(), Some("`x.asl` includes `y.asl` includes `x.asl`"));
}

#[test]
fn all_errors_are_reported() {
    let parsed = parse_with("a(. b. !G. c :- 3. +!g <- ; x. d. +!h : .wait(3) <- y.", &[]);
    let lines: Vec<&str> = parsed.diagnostics.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(
        lines,
        [
            "expected a term, found `.`",
            "a variable cannot be a goal",
            "a number is not a formula that could hold",
            "expected a step of the plan's body, found `;`",
            "the internal action `.wait` cannot be used in a context",
        ]
    );
    assert_eq!(parsed.program.beliefs.len(), 2);
}

#[test]
fn atoms_are_not_arithmetic() {
    assert_eq!(errors("b(a+1)."), ["main.asl:1: error: `a` is not a number"]);
    assert!(errors("b(X+math.abs(Y)).").is_empty());
    assert!(errors("{ register_function(\"my.f\", 2, \"r\") } b(1+my.f(X,2)).").is_empty());
}

#[test]
fn sub_plans_belong_to_plan() {
    let program = program("+!g : c <: done(X) <- a; b. { +e <- x. @l +!h <- y. } +!i.");
    assert_eq!(program.plans.len(), 2);
    assert_eq!(program.plans[0].sub_plans.len(), 2);
    assert!(program.plans[0].goal_condition.is_some());
}

#[test]
fn pattern_adds_its_plans() {
    let count =
        |pattern: &str| program(&format!("{{ begin {pattern} }} +!g(X) : c <- a. +!other <- b. {{ end }}")).plans.len();
    assert_eq!(count("dg(g(X))"), 5);
    assert_eq!(count("bdg(g(X))"), 5);
    assert_eq!(count("ebdg(g(X))"), 6);
    assert_eq!(count("bc(g(X))"), 6);
    assert_eq!(count("bc(g(X), ebdg(g(X)))"), 7);
    assert_eq!(count("smc(g(X), f)"), 7);
    assert_eq!(count("rc(g(X), m)"), 7);
    assert_eq!(count("omc(g(X), f, m)"), 9);
    assert_eq!(count("mg(g(X))"), 7);
    assert_eq!(count("sga(\"+!go(X)\", \"b(X) & c\", g(X))"), 5);
    let plans = program("{ begin dg(g(X)) } +!g(Y) : c <- a. +!other <- b. { end }").plans;
    assert_eq!(plans[2].body.steps.len(), 2);
    assert_eq!(plans[3].body.steps.len(), 1);
}

#[test]
fn depth_is_bounded() {
    let deep = |open: &str, close: &str, n: usize| format!("b({}1{}).", open.repeat(n), close.repeat(n));
    assert_eq!(errors(&deep("f(", ")", 10_000)).len(), 1);
    assert_eq!(errors(&deep("[", "]", 10_000)).len(), 1);
    assert_eq!(errors(&deep("(", ")", 10_000)).len(), 1);
    assert_eq!(errors(&format!("b :- {}a.", "a & ".repeat(100_000))).len(), 1);
    assert_eq!(errors(&format!("b :- {}a.", "not ".repeat(100_000))).len(), 1);
    assert_eq!(errors(&format!("b({}1).", "1 + ".repeat(100_000))).len(), 1);
    assert_eq!(errors(&format!("b({}1).", "2 ** ".repeat(100_000))).len(), 1);
    assert_eq!(errors(&format!("+!g <- if (a) {{}} {}.", "elif (b) {} ".repeat(100_000))).len(), 1);
    assert!(!errors(&"{ begin namespace(x) } ".repeat(100_000)).is_empty());
    assert!(!errors(&"+!g. { ".repeat(100_000)).is_empty());
    assert!(!errors(&"+!g <- (".repeat(100_000)).is_empty());
    assert!(errors(&format!("b({}1).", "1,".repeat(100_000))).is_empty());
    assert!(errors(&deep("[", "]", 390)).is_empty());
    assert!(errors(&deep("f(", ")", 90)).is_empty());
}

#[test]
fn chains_add_no_depth() {
    for program in [
        format!("b :- {}a.", "a & ".repeat(4_000)),
        format!("b :- {}a.", "a | not b & ".repeat(2_000)),
        format!("+!g <- X = {}Y * 2.", "1 + Y - ".repeat(2_000)),
        format!("+!g <- if (a) {{ b }} {} else {{ d }}.", "elif (c(1)) { x; y } ".repeat(1_500)),
        format!("+!g <- {} a.", "X = 1; ".repeat(9_000)),
        format!("+!g <- if (a) {{ {} a }}.", "b; ".repeat(4_000)),
        format!("b([{} X]).", "1, Y, ".repeat(50_000)),
        format!("b[{} c].", "a(1), ".repeat(50_000)),
    ] {
        assert!(errors(&program).is_empty(), "{:?} {:.60}", errors(&program), program);
    }
}

#[test]
fn phrases_must_be_whole() {
    assert!(parse_plan("+!g <- a.").is_ok());
    assert!(parse_plan("+!g <- a").is_err());
    assert!(parse_plan("+!g <- a. b.").is_err());
    assert!(parse_term("a b").is_err());
    assert!(parse_trigger("+!g(X)[source(Y)]").is_ok());
}
