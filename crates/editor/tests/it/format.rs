//! Formatting: what changes, and what never does.

use whimbrel_acl::Text;
use whimbrel_bdi::project::parse_project;
use whimbrel_bdi::syntax::ast::Program;
use whimbrel_bdi::syntax::{LoadError, Loader, SourceText, parse_program};
use whimbrel_editor::format::{format, format_project};

use super::corpus;

fn formatted(text: &str) -> String {
    let once = format(text, &Text::from("a.asl")).unwrap();
    let twice = format(&once, &Text::from("a.asl")).unwrap();
    assert_eq!(once, twice, "formatting is idempotent");
    once
}

#[test]
fn plans_are_laid_out() {
    let text = "/* head */\n!start.\n\n\n\n@a[atomic]\n+!start:x&not y(1,2)<-.print( \"a\" ,X+1,[H|T] ) ;\n  if(a){\n+b ;\n-+c( -1 )\n}elif (d|e) { } else {\n!!f[x,y]\n};\n+<g.  // done\n";
    let wanted = "/* head */\n!start.\n\n@a[atomic]\n+!start : x & not y(1, 2) <- .print(\"a\", X + 1, [H|T]);\n      if (a) {\n         +b;\n         -+c(-1)\n      } elif (d | e) {} else {\n         !!f[x, y]\n      };\n      +<g.  // done\n";
    assert_eq!(formatted(text), wanted);
}

#[test]
fn context_and_body_lines_align() {
    let text = "+!g(X)\n: a(X) &\nb\n<- c;\nd.\n+!h <-\nc;\n// why\nd.\nr(X) :-\na(X) &\n  b(X).";
    let wanted = "+!g(X)\n   : a(X) &\n     b\n   <- c;\n      d.\n+!h <-\n   c;\n   // why\n   d.\nr(X) :-\n   a(X) &\n   b(X).\n";
    assert_eq!(formatted(text), wanted);
}

#[test]
fn signs_keep_their_meaning() {
    let text = "+!g : X< -1 & ns::p(A) & ::q & ~r <- ++a; --b; +>c; ?(d & e); X=Y-1; Z = -Y; W = { +!x }; !ns::h; (a; b) |&| c.";
    let wanted = "+!g : X < -1 & ns::p(A) & ::q & ~r <- ++a; --b; +>c; ?(d & e); X = Y - 1; Z = -Y; W = { +!x }; !ns::h; (a; b) |&| c.\n";
    assert_eq!(formatted(text), wanted);
}

#[test]
fn directives_and_subplans_are_indented() {
    let text =
        "{ include(\"a.asl\")  }\n{begin namespace(x)}\n+!g <- a.\n{end}\n+!h <: c <- .wait(c). {\n+!i <- b;\nc.\n}\n";
    let wanted = "{ include(\"a.asl\") }\n{ begin namespace(x) }\n+!g <- a.\n{ end }\n+!h <: c <- .wait(c). {\n   +!i <- b;\n         c.\n}\n";
    assert_eq!(formatted(text), wanted);
}

#[test]
fn comment_columns_stay_aligned() {
    let text = "a(1).      // one\nb(  22  ). // two\n\nc. // three\nlonger.      // four\r";
    let wanted = "a(1).   // one\nb(22).  // two\n\nc.  // three\nlonger.  // four\n";
    assert_eq!(formatted(text), wanted);
}

#[test]
fn programs_with_errors_are_refused() {
    assert!(format("+!g <- a", &Text::from("a.asl")).is_err());
    assert!(format("p(\"x).", &Text::from("a.asl")).is_err());
}

/// Loader that reports no missing file.
struct Empty;

impl Loader for Empty {
    fn load(&mut self, path: &str, _from_file: &str) -> Result<(Text, SourceText), LoadError> {
        Ok((Text::from(path), SourceText::default()))
    }
}

/// Returns a program without its places.
fn meaning(text: &str) -> String {
    let program: Program = parse_program(text, &Text::from("a.asl"), &mut Empty).program;
    without_places(&format!("{program:?}"))
}

#[test]
fn corpus_keeps_its_meaning() {
    let (mut count, mut changed, mut skipped) = (0, 0, Vec::new());
    for file in corpus::files("asl") {
        let text = corpus::text(&file);
        let name = Text::from(file.to_string_lossy());
        let Ok(once) = format(&text, &name) else {
            skipped.push(file);
            continue;
        };
        count += 1;
        changed += usize::from(once != text);
        assert_eq!(meaning(&once), meaning(&text), "{name}: another program");
        assert_eq!(format(&once, &name).as_ref(), Ok(&once), "{name}: not idempotent");
        let is_even = |line: &str| line == line.trim_end();
        assert!(text.contains("/*") || once.lines().all(is_even), "{name}: blanks at an end of a line");
    }
    println!("{count} programs, {changed} changed, {} with errors", skipped.len());
    assert!(count > 500 || std::env::var_os("WHIMBREL_CORPUS").is_some(), "{count} programs");
}

fn formatted_project(text: &str) -> String {
    let once = format_project(text, &Text::from("a.mas2j")).unwrap();
    assert_eq!(format_project(&once, &Text::from("a.mas2j")).as_ref(), Ok(&once), "formatting is idempotent");
    once
}

#[test]
fn projects_are_laid_out() {
    let text = "// head\nMAS shop{\ninfrastructure :Local\n agents:bob bob.asl[beliefs=\"p( 1 )\" ,\n verbose = 2]#3 ;\n// why\namy\n at \"n1\";\n\n\nenvironment: shop.Env( 1 , \"a\" )\naslSourcePath: \"src\"; \"more\";  // both\n}";
    let wanted = "// head\nMAS shop {\n   infrastructure: Local\n   agents: bob bob.asl [beliefs=\"p( 1 )\",\n         verbose=2] #3;\n      // why\n      amy\n         at \"n1\";\n\n   environment: shop.Env(1, \"a\")\n   aslSourcePath: \"src\"; \"more\";  // both\n}\n";
    assert_eq!(formatted_project(text), wanted);
    for faulty in ["MAS shop {", "MAS shop { agents: a\"; }", "MAS shop ]", "MAS shop { agents: %; }"] {
        assert!(format_project(faulty, &Text::from("a.mas2j")).is_err(), "{faulty}");
    }
}

/// Returns a text without places in it.
fn without_places(shown: &str) -> String {
    let mut parts = shown.split("Span {");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once('}').unwrap().1);
    }
    out
}

#[test]
fn corpus_projects_keep_their_meaning() {
    let (mut count, mut skipped) = (0, 0);
    for file in corpus::files("mas2j") {
        let text = corpus::text(&file);
        let name = Text::from(file.to_string_lossy());
        let Ok(once) = format_project(&text, &name) else {
            skipped += 1;
            continue;
        };
        count += 1;
        let meaning = |text: &str| without_places(&format!("{:?}", parse_project(text, &name, &[]).project));
        assert_eq!(meaning(&once), meaning(&text), "{name}: another project");
        assert_eq!(format_project(&once, &name).as_ref(), Ok(&once), "{name}: not idempotent");
    }
    println!("{count} projects, {skipped} with errors");
    assert!(count > 20 || std::env::var_os("WHIMBREL_CORPUS").is_some(), "{count} projects");
}
