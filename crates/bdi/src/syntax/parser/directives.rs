//! Directives. They take effect while parsing, so that a program's tree contains none.

use whimbrel_acl::{Symbol, Text};
use whimbrel_platform::limits;

use super::{Failed, LoadError, Parse, Parser};
use crate::shared_library;
use crate::syntax::ast::{FunctionRule, Literal, Span, Term};
use crate::syntax::diagnostics::nearest;
use crate::syntax::lexer::Tok;
use crate::syntax::patterns::{self, GoalPattern};
use crate::syntax::signatures;

/// Name and arguments of a directive.
pub(crate) struct Directive {
    pub(crate) name: &'static str,
    pub(crate) args: Vec<Term>,
    /// Place of the whole directive, braces included.
    pub(crate) span: Span,
}

const PLAIN: [&str; 3] = ["include", "namespace", "register_function"];

impl Parser<'_, '_> {
    pub(super) fn directive(&mut self) -> Parse<()> {
        let start = self.open()?.span;
        let block = self.accept(Tok::Begin);
        let header = self.with_namespace(None, |parser| parser.directive_header(start));
        if !block {
            match header {
                Ok(directive) => self.run_directive(&directive),
                Err(Failed) => self.skip_header(),
            }
            return Ok(());
        }
        let directive = match header {
            Ok(directive) => Some(directive),
            Err(Failed) => {
                self.skip_header();
                None
            }
        };
        self.open.clear();
        let span = self.span_from(start);
        if self.blocks >= limits::BRACKET_DEPTH_MAX {
            let message = format!("blocks are nested more than {} deep", limits::BRACKET_DEPTH_MAX);
            return Err(self.error(span, message, "one too many"));
        }
        self.blocks += 1;
        self.run_block(directive, span);
        self.blocks -= 1;
        Ok(())
    }

    fn directive_header(&mut self, start: Span) -> Parse<Directive> {
        let token = match self.peek() {
            Tok::Atom => self.advance(),
            Tok::RightBrace => {
                return Err(
                    self.unexpected_with_help(&["a directive"], "nothing stands in these braces; leave them out")
                );
            }
            _ => {
                let help = "in braces between clauses stands a directive: `{ include(\"file.asl\") }`";
                return Err(self.unexpected_with_help(&["a directive"], help));
            }
        };
        let name = self.symbol_of(token.span).as_str();
        let args = if self.peek() == Tok::LeftParen { self.arguments(name)? } else { Vec::new() };
        self.annotations()?;
        self.close(Tok::RightBrace, &["`}`"])?;
        Ok(Directive { name, args, span: self.span_from(start) })
    }

    fn skip_header(&mut self) {
        while !matches!(self.peek(), Tok::RightBrace | Tok::Dot | Tok::Eof) {
            self.advance();
        }
        self.accept(Tok::RightBrace);
    }

    fn run_directive(&mut self, directive: &Directive) {
        // The directive's text is read: an error was reported, and there is nothing to skip.
        let _: Parse<()> = match directive.name {
            "include" => self.include(directive),
            "namespace" => self.declare_namespace(directive).map(|_| {
                if directive.args.len() == 1 {
                    let message = "this directive alone changes nothing";
                    let help = "write `{ begin namespace(name) } ... { end }`; or `{ namespace(name, local) }` to \
                                keep the name to this file";
                    self.warn("useless-directive", directive.span, message, "no effect", help);
                }
            }),
            "register_function" => self.register_function(directive),
            name if GoalPattern::named(name).is_some() => {
                let help = format!("write `{{ begin {name}(...) }}`, the plans, and `{{ end }}`");
                Err(self.error_with_help(directive.span, format!("`{name}` is a block of plans"), "no block", help))
            }
            _ => Err(self.unknown_directive(directive)),
        };
    }

    fn unknown_directive(&mut self, directive: &Directive) -> Failed {
        let known = PLAIN.into_iter().chain(GoalPattern::names());
        let help = match nearest(directive.name, known) {
            Some(name) => format!("did you mean `{name}`?"),
            None => "the directives are include, namespace, register_function, and begin with \
                     namespace, dg, bdg, ebdg, bc, smc, rc, omc, mg or sga"
                .to_owned(),
        };
        let message = format!("unknown directive `{}`", directive.name);
        self.error_with_help(directive.span, message, "unknown", help)
    }

    /// Parses `{ begin directive } ... { end }`. The block of a faulty directive is parsed nevertheless, for its own
    /// errors.
    fn run_block(&mut self, directive: Option<Directive>, span: Span) {
        let Some(directive) = directive else { return self.components(Some(span)) };
        match directive.name {
            "namespace" => match self.declare_namespace(&directive) {
                Ok(namespace) => {
                    let outer = (self.namespace, self.this_namespace);
                    self.set_namespace(namespace);
                    self.components(Some(span));
                    (self.namespace, self.this_namespace) = outer;
                }
                Err(Failed) => self.components(Some(span)),
            },
            name => match GoalPattern::named(name) {
                Some(pattern) => self.run_pattern(pattern, &directive, span),
                None => {
                    if PLAIN.contains(&name) {
                        let help = format!("write `{{ {name}(...) }}`");
                        let message = format!("the directive `{name}` has no block");
                        self.error_with_help(directive.span, message, "begins a block", help);
                    } else {
                        self.unknown_directive(&directive);
                    }
                    self.components(Some(span));
                }
            },
        }
    }

    fn run_pattern(&mut self, pattern: GoalPattern, directive: &Directive, span: Span) {
        let outer = std::mem::take(&mut self.session.program);
        self.components(Some(span));
        let inner = std::mem::replace(&mut self.session.program, outer);
        let expanded = self.pattern_arguments(pattern, directive).and_then(|arguments| {
            patterns::expand(pattern, &arguments, inner.plans)
                .map_err(|problem| self.error_with_help(directive.span, problem, "", pattern.usage()))
        });
        let program = &mut self.session.program;
        program.beliefs.extend(inner.beliefs);
        program.goals.extend(inner.goals);
        program.functions.extend(inner.functions);
        program.local_namespaces.extend(inner.local_namespaces);
        if let Ok(expanded) = expanded {
            program.beliefs.extend(expanded.beliefs);
            program.plans.extend(expanded.plans);
        }
    }

    /// Prepares a pattern's arguments: puts goals into the namespace of the place, and parses the texts of `sga`.
    fn pattern_arguments(&mut self, pattern: GoalPattern, directive: &Directive) -> Parse<patterns::Arguments> {
        let mut terms = directive.args.clone();
        for term in &mut terms {
            if let Term::Literal(literal) = term
                && literal.namespace.is_none()
            {
                literal.namespace = self.current_namespace();
            }
        }
        let mut arguments =
            patterns::Arguments { terms, trigger: None, context: None, span: directive.span, file: self.file.clone() };
        if pattern == GoalPattern::Sga {
            let (trigger, context) = match (directive.args.first(), directive.args.get(1)) {
                (Some(Term::Str(trigger)), Some(Term::Str(context))) => (trigger.clone(), context.clone()),
                _ => {
                    let message = "the first two arguments of `sga` must be strings";
                    return Err(self.error_with_help(directive.span, message, "", pattern.usage()));
                }
            };
            arguments.trigger = Some(self.embedded(&trigger, directive.span, |parser| parser.trigger())?);
            arguments.context = Some(self.embedded(&context, directive.span, |parser| parser.condition())?);
        }
        Ok(arguments)
    }

    /// Parses text in a string of the directive at `span`; an error is reported at the directive.
    fn embedded<T>(
        &mut self,
        text: &Text,
        span: Span,
        parse: impl FnOnce(&mut Parser<'_, '_>) -> Parse<T>,
    ) -> Parse<T> {
        let before = std::mem::take(&mut self.session.diagnostics);
        let (namespace, file) = (self.namespace, self.file.clone());
        let mut parser = Parser::new(text, &file, self.session);
        parser.set_namespace(namespace);
        let parsed = parse(&mut parser).and_then(|parsed| match parser.peek() {
            Tok::Eof => Ok(parsed),
            _ => Err(parser.unexpected(&["the end of the string"])),
        });
        let problems = std::mem::replace(&mut self.session.diagnostics, before).into_vec();
        for problem in problems {
            self.error(span, format!("in the string {text:?}: {}", problem.message), "in this directive");
        }
        parsed
    }

    /// Handles `namespace(ns)`, `namespace(ns, local)` or `namespace(ns, global)`. Returns the namespace's name as
    /// known outside.
    fn declare_namespace(&mut self, directive: &Directive) -> Parse<Option<Symbol>> {
        let usage = "write `{ begin namespace(name) }` or `{ namespace(name, local) }`";
        let name = match directive.args.first().and_then(atom_name) {
            Some(name) if directive.args.len() <= 2 => name,
            _ => return Err(self.error_with_help(directive.span, "a namespace's name must be an atom", "", usage)),
        };
        match directive.args.get(1).map(|scope| atom_name(scope).map(Symbol::as_str)) {
            None => {}
            Some(Some("local")) => self.make_local(name),
            Some(Some("global")) => self.make_global(name, directive.span),
            Some(_) => {
                let message = "a namespace is either `local` or `global`";
                return Err(self.error_with_help(directive.span, message, "", usage));
            }
        }
        Ok(self.mapped(name))
    }

    fn make_local(&mut self, name: Symbol) {
        if self.local_names.contains_key(&name) {
            return;
        }
        self.session.local_namespaces += 1;
        let unique = Symbol::new(&format!("#{}{name}", self.session.local_namespaces));
        self.local_names.insert(name, unique);
        self.session.program.local_namespaces.push(unique);
    }

    fn make_global(&mut self, name: Symbol, span: Span) {
        if self.local_names.remove(&name).is_some() {
            let message = format!("the namespace `{name}` was local before and is global from here on");
            self.warn("namespace-scope", span, message, "", "declare it once");
        }
    }

    /// Handles `include("file")` or `include("file", namespace)`.
    fn include(&mut self, directive: &Directive) -> Parse<()> {
        let path = match directive.args.as_slice() {
            [Term::Str(path)] | [Term::Str(path), _] => path.replace('\\', "/"),
            _ => {
                let help = "write `{ include(\"file.asl\") }` or `{ include(\"file.asl\", namespace) }`";
                return Err(self.error_with_help(directive.span, "`include` needs a file name in quotes", "", help));
            }
        };
        let namespace = match directive.args.get(1) {
            None => self.namespace,
            Some(Term::Var(_)) => {
                self.session.local_namespaces += 1;
                Some(Symbol::new(&format!("ns{}", self.session.local_namespaces)))
            }
            Some(term) => match atom_name(term) {
                Some(name) if name == whimbrel_acl::sym::DEFAULT => None,
                Some(name) => Some(name),
                None => {
                    let message = "the namespace of an include must be an atom";
                    return Err(self.error_with_help(
                        directive.span,
                        message,
                        "",
                        "write `{ include(\"f.asl\", ns) }`",
                    ));
                }
            },
        };
        let is_library = shared_library::contains(&path);
        if is_library && !self.session.library.insert((path.clone(), namespace)) {
            // Files of the library share others: each is there once, whichever file includes it.
            return Ok(());
        }
        let found = match is_library {
            true => self.session.loader.load_library(&path),
            false => self.session.loader.load(&path, &self.file),
        };
        let (name, source) = match found {
            Ok(found) => found,
            Err(LoadError::Missing(reason)) => return self.not_included(&path, &reason, directive.span),
            Err(incomplete) => {
                let message = format!("cannot include `{path}`: {incomplete}");
                return Err(self.error(directive.span, message, "included here"));
            }
        };
        if let Some(warning) = source.warning(&name) {
            self.session.diagnostics.push(warning);
        }
        if self.check_include(&name, directive.span)? {
            self.include_text(&source.text, &name, namespace, directive.span);
        }
        Ok(())
    }

    /// Parses an included file. As in Jason, a file with errors is left out as a whole.
    fn include_text(&mut self, text: &str, name: &Text, namespace: Option<Symbol>, span: Span) {
        let before = self.session.mark();
        self.session.files.push(self.file.clone());
        let mut parser = Parser::new(text, name, self.session);
        parser.set_namespace(namespace);
        parser.program();
        self.session.files.pop();
        if self.session.failed_since(&before) && !self.session.loader.is_strict() {
            self.session.leave_out_since(before);
            let message = format!("`{name}` has errors: the program continues without it");
            self.warn("missing-include", span, message, "included here", "mend the errors in it, or delete this line");
        }
    }

    /// Reports a file that cannot be included: an error only if the loader is strict. Templates of JaCaMo never can
    /// be.
    fn not_included(&mut self, path: &str, reason: &str, span: Span) -> Parse<()> {
        let (reason, help) = match library_of(path) {
            Some(library) => (
                format!("it is part of {library}, which does not run here"),
                "delete this line: what it gives are Java artifacts and their plans".to_owned(),
            ),
            None => (reason.to_owned(), "delete this line, or put the file there".to_owned()),
        };
        if self.session.loader.is_strict() && library_of(path).is_none() {
            let message = format!("cannot include `{path}`: {reason}");
            return Err(self.error_with_help(span, message, "included here", help));
        }
        let message = format!("cannot include `{path}`: {reason}: the program continues without it");
        self.warn("missing-include", span, message, "included here", help);
        Ok(())
    }

    /// Returns true if an included file may be parsed. A file cannot include itself, not even indirectly.
    fn check_include(&mut self, name: &Text, span: Span) -> Parse<bool> {
        let mut chain: Vec<String> = self.session.files.iter().map(|file| file.to_string()).collect();
        chain.push(self.file.to_string());
        if let Some(first) = chain.iter().position(|file| file.as_str() == name.as_str()) {
            let cycle = chain.get(first..).unwrap_or_default().join("` includes `");
            let message = format!("`{name}` includes itself");
            let help = format!("`{cycle}` includes `{name}`");
            if self.session.loader.is_strict() {
                return Err(self.error_with_help(span, message, "the cycle closes here", help));
            }
            self.warn(
                "repeated-include",
                span,
                format!("{message}: it is included once"),
                "the cycle closes here",
                help,
            );
            return Ok(false);
        }
        if chain.len() > limits::INCLUDE_DEPTH_MAX {
            let message = format!("files include each other more than {} deep", limits::INCLUDE_DEPTH_MAX);
            return Err(self.error(span, message, "one too many"));
        }
        Ok(true)
    }

    /// Handles `register_function("name", arity, "rule")`.
    fn register_function(&mut self, directive: &Directive) -> Parse<()> {
        let usage = "write `{ register_function(\"lib.name\", arity, \"rule\") }`, \
                     where rule(Arguments, Result) computes the value";
        let (name, arity, rule) = match directive.args.as_slice() {
            [Term::Str(class)] => {
                let message = format!("the function `{class}` is a Java class, which cannot run here");
                return Err(self.error_with_help(
                    directive.span,
                    message,
                    "a Java class",
                    format!("{usage}; or provide the function as a WebAssembly module"),
                ));
            }
            [Term::Str(name), Term::Num(arity), Term::Str(rule)] => (name, *arity, rule),
            _ => {
                let message = "`register_function` needs a name, a number of arguments and a rule";
                return Err(self.error_with_help(directive.span, message, "", usage));
            }
        };
        if signatures::function_arity(name).is_some() {
            let message = format!("the function `{name}` is built in and cannot be registered again");
            return Err(self.error(directive.span, message, "registered here"));
        }
        if !name.contains('.') || name.starts_with('.') {
            let message = format!("a function's name must have a dot inside, `{name}` has none");
            return Err(self.error_with_help(
                directive.span,
                message,
                "",
                format!("call it `my.{}`", name.replace('.', "")),
            ));
        }
        if !(0.0..=1000.0).contains(&arity) || arity.fract() != 0.0 {
            return Err(self.error_with_help(directive.span, "a function's arity must be a whole number", "", usage));
        }
        let function = FunctionRule { name: Symbol::new(name), arity: arity as u32, rule: Symbol::new(rule) };
        self.session.functions.insert(function.name, function.arity);
        self.session.program.functions.push(function);
        Ok(())
    }
}

/// Returns the Java library that a path begins with, among those that JaCaMo's program templates include.
fn library_of(path: &str) -> Option<&'static str> {
    match path.split('/').next()? {
        "$jacamoJar" | "$jacamo" => Some("JaCaMo"),
        "$moiseJar" | "$moise" => Some("Moise"),
        "$cartagoJar" | "$cartago" => Some("CArtAgO"),
        _ => None,
    }
}

/// Returns the name of a bare atom.
fn atom_name(term: &Term) -> Option<Symbol> {
    match term {
        Term::Literal(Literal { functor, args, annots: None, negated: false, .. }) if args.is_empty() => Some(*functor),
        _ => None,
    }
}
