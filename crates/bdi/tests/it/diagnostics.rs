//! Diagnostics of faulty programs and projects. One snapshot per mistake: read them as a user would.

use whimbrel_acl::Text;
use whimbrel_bdi::project::parse_project;
use whimbrel_bdi::syntax::{LoadError, Loader, SourceText, parse_program, render};

/// Loader that reads files as `whimbrel check` does.
struct DiskFiles;

impl Loader for DiskFiles {
    fn load(&mut self, path: &str, _from_file: &str) -> Result<(Text, SourceText), LoadError> {
        match path {
            "loop.asl" => Ok((Text::from(path), "{ include(\"loop.asl\") }".to_owned().into())),
            _ => Err("no such file".to_owned().into()),
        }
    }

    fn is_strict(&self) -> bool {
        true
    }
}

fn program(text: &str) -> String {
    let parsed = parse_program(text, &Text::from("prog.asl"), &mut DiskFiles);
    let found: Vec<String> = parsed.diagnostics.iter().map(|found| render(found, text, false)).collect();
    found.join("\n\n")
}

fn project(text: &str) -> String {
    let parsed = parse_project(text, &Text::from("app.mas2j"), &["mars"]);
    let found: Vec<String> = parsed.diagnostics.iter().map(|found| render(found, text, false)).collect();
    found.join("\n\n")
}

macro_rules! wrong_programs {
    ($($name:ident: $text:expr;)*) => {
        $(#[test] fn $name() { insta::assert_snapshot!(stringify!($name), program($text)); })*
    };
}

macro_rules! wrong_projects {
    ($($name:ident: $text:expr;)*) => {
        $(#[test] fn $name() { insta::assert_snapshot!(stringify!($name), project($text)); })*
    };
}

wrong_programs! {
    missing_dot: "b(1)\nc(2).\n!go.\n";
    missing_dot_of_plan: "+!g <- a; b\n+!h <- c.\n";
    missing_dot_at_end: "b(1).\n+!g <- .print(x)";
    missing_semicolon: "+!g <-\n    a;\n    .print(b)\n    !c.\n";
    unclosed_parenthesis: "b(1, f(2).\nc.\n";
    unclosed_list: "+!g <- L = [1, 2; .print(L).\n";
    unclosed_brace: "+!g <- if (a) { b; c.\n+!h <- d.\n";
    stray_bracket: "b(1)).\n";
    bad_trigger: "+!3 <- a.\n+ <- b.\n++c <- d.\n";
    plan_without_event: "g(X) <- a.\n";
    plan_for_a_bare_goal: "!g : b <- a.\n";
    two_initial_bangs: "!!go.\n";
    unknown_directive: "{ inclde(\"x.asl\") }\n{ begin namspace(x) }\nb.\n{ end }\n";
    block_not_closed: "{ begin namespace(x) }\nb.\n";
    end_without_begin: "b.\n{ end }\nc.\n";
    pattern_without_goal: "{ begin smc(g) }\n+!g <- a.\n{ end }\n";
    pattern_without_block: "{ dg(g) }\n";
    missing_include: "{ include(\"none.asl\") }\n";
    template_include: "{ include(\"$jacamoJar/templates/common-cartago.asl\") }\n";
    include_cycle: "{ include(\"loop.asl\") }\n";
    java_function: "{ register_function(\"my.java.Sin\") }\n";
    function_without_dot: "{ register_function(\"sin\", 1, \"rule\") }\n";
    wrong_arity: "+!g <- .length([a]); .send(bob, tell); .my_name.\n";
    unknown_action: "+!g <- .pritn(a); .frobnicate(b).\n";
    java_class: "+!g <- .print(hi); rooms.lib.go(3).\n";
    unknown_function: "+!g <- X = math.sine(1) + 1; Y = my.f(2) * 2; Z = math.abs(1, 2) - 1.\n";
    acting_in_a_context: "+!g : b & not .send(bob, tell, x) <- a.\n";
    acting_in_a_rule: "r(X) :- b(X) & .wait(10).\n";
    arithmetic_on_atoms: "+!g <- X = a + 1; .print(\"x\" + X).\n";
    variable_as_belief: "Foo.\nPerson(bob).\n";
    variable_as_goal: "!Go.\n";
    negated_action: "+!g : ~.my_name(x) <- a.\n";
    annotated_action: "+!g <- .print(x)[a].\n";
    operator_before_action: "+!g <- !.print(x); ?.length(L, N).\n";
    operator_before_grouped_action: "+!g <- ?(.member(X, [1])).\n+!h <- ?(py.f(X)).\n";
    number_as_formula: "+!g : 3 <- a.\n+!h : b & \"text\" <- a.\n";
    chained_relation: "+!g : 1 < X < 3 <- a.\n";
    operators_of_other_languages: "+!g : a && b <- c.\n+!h : X != 1 <- c.\n+!i : a || b <- c.\n+!j <- X := 2.\n+!k -> a.\n";
    else_if: "+!g <- if (a) { b } else if (c) { d }.\n";
    condition_without_parentheses: "+!g <- if a { b }.\n";
    keyword_as_name: "not(x).\nb(mod).\n";
    negated_namespace: "+!g <- ~ns::p.\n";
    empty_arguments: "b().\n";
    trailing_comma: "b(1, ).\nc([1, ]).\n";
    list_tail: "b([a|c]).\n";
    formula_as_step: "+!g <- a & b; 3; \"x\".\n";
    no_space_after_dot: "b(1).c(2).\n";
    unclosed_string: "+!g <- .print(\"hello); a.\n+!h <- b.\n";
    bad_escape: "+!g <- .print(\"a\\d\").\n";
    unclosed_comment: "b.\n/* no end\nc.\n";
    unclosed_quote: "b('x).\n";
    foreign_characters: "# comment\nb.\n% another\nnée(x).\n";
    label_mistakes: "@L +!g <- a.\n@l(1) +!h <- b.\n";
    semicolon_in_plan_term: "+!g <- .add_plan({ +!h; a }).\n";
    no_effect_namespace: "{ namespace(x) }\nb.\n";
    several_errors: "b(1.\n+!g : X > <- a.\n!h.\n+!i <- .print(\"ok\".\n";
    nothing_after_arrow: "+!g <- .\n";
}

wrong_projects! {
    project_missing_semicolon: "MAS m {\n    agents:\n        a\n        b;\n}\n";
    project_java_classes: "MAS m {\n    environment: my.Env(1)\n    agents:\n        a agentClass my.Ag agentArchClass my.Arch beliefBaseClass my.BB;\n    directives: ld = my.Logger;\n}\n";
    project_jade: "MAS m { infrastructure: Jade(main_container_host(\"x\")) agents: a; }\n";
    project_unknown_section: "MAS m { enviroment: mars agents: a; }\n";
    project_order: "MAS m { agents: a; infrastructure: Local }\n";
    project_bad_options: "MAS m { agents: a [events=drop, verbose=high, verbos=2]; }\n";
    project_bad_beliefs: "MAS m {\n    agents:\n        a [beliefs=\"b(1), c(, 3\", goals=\"go, X\"];\n}\n";
    project_escaped_beliefs: "MAS m { agents: a [beliefs=\"b(\\\"x\\\"), C\"]; }\n";
    project_bad_count: "MAS m { agents: a #0; b #x; }\n";
    project_agent_twice: "MAS m { agents: a; a other.asl; }\n";
    project_bad_name: "MAS m { agents: Bob; }\n";
    project_not_closed: "MAS m { agents: a;\n";
    project_no_agents: "MAS m { }\n";
    project_no_mas: "agents: a;\n";
    project_java_environment: "MAS m { environment: houseEnv agents: a; }\n";
    project_environment_file: "MAS m { environment: asl agents: a; }\n";
    project_left_out: "MAS m { executionControl: jason.control.ExecutionControl agents: a beliefBaseClass jason.bb.ChainBB(jason.bb.TextPersistentBB); }\n";
}

#[test]
fn places_outside_text_are_harmless() {
    let parsed = parse_program("b(", &Text::from("prog.asl"), &mut DiskFiles);
    for found in &parsed.diagnostics {
        assert!(!render(found, "", false).is_empty());
        assert!(!render(found, "é", true).is_empty());
    }
}

#[test]
fn known_packages_are_no_classes() {
    for step in ["py.f(1)", "math.abs(1)"] {
        let found = program(&format!("+!g <- {step}.\n"));
        assert!(!found.contains("Java class"), "{step}: {found}");
    }
}
