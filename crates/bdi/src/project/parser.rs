//! Parser of projects: recursive descent with recovery at each section and each agent.

use rustc_hash::FxHashMap;
use whimbrel_acl::{Symbol, Text};
use whimbrel_platform::limits;

use super::classes::{ClassRole, ClassSupport, verdict};
use super::lexer::{ProjectToken, ProjectTokenKind, tokens};
use super::{
    AgentNames, Class, ClassArg, Infrastructure, ParsedProject, Project, ProjectEnvironment, ProjectOffer, Scheduling,
};
use crate::syntax::ast::Span;
use crate::syntax::{Diagnostic, Diagnostics, nearest};

/// Sections of a project, in the order that Jason requires.
const SECTIONS: [&str; 8] = [
    "infrastructure",
    "environment",
    "offers",
    "executionControl",
    "agents",
    "directives",
    "classpath",
    "aslSourcePath",
];
/// Greatest depth of nested class parameters.
const ARGS_DEPTH_MAX: usize = 32;

/// Marker of an error that was reported.
pub(super) struct ReportedError;
pub(super) type Parse<T> = Result<T, ReportedError>;

/// Parses a project. `file` is its name. `environments` are the host's environments, by the names that projects may
/// use (so the host may stand in for a Java class of that name).
pub fn parse_project(text: &str, file: &Text, environments: &[&str]) -> ParsedProject {
    let mut diagnostics = Diagnostics::default();
    let mut text = text;
    if text.len() > limits::SOURCE_BYTES_MAX {
        let message = format!("this file is larger than {} bytes", limits::SOURCE_BYTES_MAX);
        diagnostics.push(Diagnostic::error(file, Span { line: 1, ..Span::default() }, message, ""));
        text = "";
    }
    let tokens = tokens(text, file, &mut diagnostics);
    let mut parser = ProjectParser {
        text,
        file,
        environments,
        tokens,
        at: 0,
        last: Span { line: 1, ..Span::default() },
        project: Project::default(),
        agent_places: FxHashMap::default(),
        names: AgentNames::default(),
        names_left: limits::PROJECT_NAMES_COMPARED_MAX,
        unescaped: None,
        diagnostics,
    };
    // An error was reported; the parts parsed before it are used.
    let _: Parse<()> = parser.project();
    ParsedProject { project: parser.project, diagnostics: parser.diagnostics.into_vec() }
}

pub(super) struct ProjectParser<'a> {
    pub(super) text: &'a str,
    pub(super) file: &'a Text,
    environments: &'a [&'a str],
    pub(super) tokens: Vec<ProjectToken>,
    pub(super) at: usize,
    pub(super) last: Span,
    pub(super) project: Project,
    /// Declaration of each agent.
    pub(super) agent_places: FxHashMap<Symbol, Span>,
    /// Names given so far.
    pub(super) names: AgentNames,
    /// Number of further names that are compared with those given so far.
    pub(super) names_left: usize,
    /// Text with escapes in strings undone, once it was needed.
    pub(super) unescaped: Option<String>,
    pub(super) diagnostics: Diagnostics,
}

/// Movement over tokens.
impl<'a> ProjectParser<'a> {
    pub(super) fn token(&self) -> ProjectToken {
        let end = || ProjectToken {
            kind: ProjectTokenKind::Eof,
            span: self.tokens.last().map(|token| token.span).unwrap_or_default(),
        };
        self.tokens.get(self.at).copied().unwrap_or_else(end)
    }

    pub(super) fn peek(&self) -> ProjectTokenKind {
        self.token().kind
    }

    fn peek_at(&self, ahead: usize) -> ProjectTokenKind {
        self.tokens.get(self.at + ahead).map_or(ProjectTokenKind::Eof, |token| token.kind)
    }

    pub(super) fn is(&self, sign: u8) -> bool {
        self.peek() == ProjectTokenKind::Sign(sign)
    }

    pub(super) fn advance(&mut self) -> ProjectToken {
        let token = self.token();
        if token.kind != ProjectTokenKind::Eof {
            self.at += 1;
            self.last = token.span;
        }
        token
    }

    pub(super) fn accept(&mut self, sign: u8) -> bool {
        let found = self.is(sign);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, sign: u8, expected: &[&'static str], help: &str) -> Parse<ProjectToken> {
        if self.is(sign) { Ok(self.advance()) } else { Err(self.unexpected(expected, help)) }
    }

    pub(super) fn text_of(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// Returns the word here, if there is one.
    pub(super) fn word(&self) -> Option<&'a str> {
        (self.peek() == ProjectTokenKind::Word).then(|| self.text_of(self.token().span))
    }

    pub(super) fn span_from(&self, start: Span) -> Span {
        Span { start: start.start, end: self.last.end.max(start.end), line: start.line }
    }

    pub(super) fn error(&mut self, span: Span, message: impl Into<String>, label: &str, help: &str) -> ReportedError {
        let mut error = Diagnostic::error(self.file, span, message, label);
        error.help = (!help.is_empty()).then(|| help.to_owned());
        self.diagnostics.push(error);
        ReportedError
    }

    pub(super) fn warn(&mut self, span: Span, message: impl Into<String>, label: &str, help: &str) {
        let warning = Diagnostic::warning(self.file, span, message, label).with_code("project").with_help(help);
        self.diagnostics.push(warning);
    }

    pub(super) fn unexpected(&mut self, expected: &[&'static str], help: &str) -> ReportedError {
        let token = self.token();
        if token.kind == ProjectTokenKind::Unknown {
            return ReportedError;
        }
        let found = match token.kind {
            ProjectTokenKind::Eof => "the end of the file".to_owned(),
            _ => format!("`{}`", self.text_of(token.span)),
        };
        let wanted = expected.join(" or ");
        let mut error = Diagnostic::error(
            self.file,
            token.span,
            format!("expected {wanted}, found {found}"),
            format!("expected {wanted}"),
        );
        error.expected = expected.to_vec();
        error.help = (!help.is_empty()).then(|| help.to_owned());
        self.diagnostics.push(error);
        ReportedError
    }
}

/// Sections.
impl ProjectParser<'_> {
    fn project(&mut self) -> Parse<()> {
        let help = "a project is written `MAS name { agents: a; b; }`";
        if self.word() != Some("MAS") {
            return Err(self.unexpected(&["`MAS`"], help));
        }
        self.advance();
        match self.word() {
            Some(name) => self.project.name = Text::from(name),
            None => return Err(self.unexpected(&["the society's name"], help)),
        }
        self.advance();
        self.expect(b'{', &["`{`"], help)?;
        let mut sections = Vec::new();
        loop {
            if self.accept(b'}') {
                break;
            }
            if self.peek() == ProjectTokenKind::Eof {
                return Err(self.unexpected(&["a section", "`}`"], "the project's `{` is not closed"));
            }
            if self.section(&mut sections).is_err() {
                self.skip_section();
            }
        }
        if self.peek() != ProjectTokenKind::Eof {
            return Err(self.unexpected(&["the end of the file"], "nothing follows the project's `}`"));
        }
        if !sections.contains(&"agents") {
            let span = self.last;
            self.warn(span, "this project has no agents", "ends here", "declare them: `agents: a; b;`");
        }
        Ok(())
    }

    fn section(&mut self, sections: &mut Vec<&'static str>) -> Parse<()> {
        let token = self.token();
        let Some(word) = self.word() else {
            return Err(self.unexpected(&["a section", "`}`"], "sections are written `name: ...`"));
        };
        let known = SECTIONS.iter().position(|section| *section == word);
        let Some(index) = known else {
            return self.unknown_section(word, token.span);
        };
        self.advance();
        self.expect(b':', &["`:`"], "sections are written `name: ...`")?;
        let name = SECTIONS.get(index).copied().unwrap_or_default();
        if sections.contains(&name) {
            self.warn(token.span, format!("a second section `{name}`"), "again", "put them together");
        } else if let Some(later) = sections.iter().find(|section| SECTIONS.iter().skip(index).any(|s| s == *section)) {
            let message = format!("`{name}` after `{later}`");
            let help = "the order is: infrastructure, environment, offers, executionControl, agents, directives, \
                        classpath, aslSourcePath";
            self.warn(token.span, message, "out of order", help);
        }
        sections.push(name);
        match name {
            "infrastructure" => self.infrastructure(),
            "environment" => self.environment(),
            "offers" => self.offers(),
            "executionControl" => {
                let class = self.class_on_host()?;
                if self.accepted(ClassRole::ExecutionControl, &class) {
                    self.project.execution_control = Some(class);
                }
                Ok(())
            }
            "agents" => self.agents(),
            "directives" => self.directives(),
            "classpath" => {
                self.project.classpath = self.texts()?;
                Ok(())
            }
            _ => {
                self.project.asl_source_path = self.texts()?;
                Ok(())
            }
        }
    }

    fn unknown_section(&mut self, word: &str, span: Span) -> Parse<()> {
        if self.peek_at(1) != ProjectTokenKind::Sign(b':') {
            return Err(self.unexpected(&["a section", "`}`"], "sections are written `name: ...`"));
        }
        let help = match nearest(word, SECTIONS) {
            Some(section) => format!("did you mean `{section}`?"),
            None => format!("the sections are {}", SECTIONS.join(", ")),
        };
        self.warn(span, format!("unknown section `{word}`"), "skipped", &help);
        self.advance();
        self.skip_section();
        Ok(())
    }

    /// Returns true if a section begins here, even an unknown one.
    pub(super) fn at_section(&self) -> bool {
        self.peek() == ProjectTokenKind::Word && self.peek_at(1) == ProjectTokenKind::Sign(b':')
    }

    /// Skips to the next section, or to the end of the project.
    fn skip_section(&mut self) {
        let start = self.at;
        loop {
            match self.peek() {
                ProjectTokenKind::Eof => return,
                ProjectTokenKind::Sign(b'}') if self.at > start || self.peek_at(1) == ProjectTokenKind::Eof => return,
                _ if self.at_section() && self.at > start => return,
                _ => {
                    self.advance();
                }
            }
        }
    }

    fn infrastructure(&mut self) -> Parse<()> {
        let class = self.class()?;
        let mut infrastructure = Infrastructure::default();
        let numbers: Vec<u32> = class.args.iter().filter_map(number).collect();
        infrastructure.scheduling = match class.args.first().and_then(ClassArg::as_text) {
            Some("pool") => Scheduling::Pool,
            Some("synch_scheduled") => Scheduling::SynchScheduled,
            Some("asynch") => Scheduling::Asynch,
            Some("asynch_shared") => Scheduling::AsynchShared,
            _ => Scheduling::Threaded,
        };
        match class.name.as_str() {
            "Local" | "Centralised" => {
                if infrastructure.scheduling != Scheduling::Threaded {
                    infrastructure.workers = numbers.first().copied().filter(|workers| *workers > 0);
                }
                let cycles = if numbers.len() > 1 || infrastructure.scheduling == Scheduling::Threaded {
                    numbers.last()
                } else {
                    None
                };
                infrastructure.cycles = cycles.copied().filter(|cycles| *cycles > 0);
            }
            "Jade" => {
                let help = "write `Local`, or leave it out; for several machines see `whimbrel join --help`";
                self.warn(class.span, "the infrastructure Jade is run locally", "run as `Local`", help);
            }
            other => {
                let help = match nearest(other, ["Local", "Centralised", "Jade"]) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => "write `Local`, or leave it out".to_owned(),
                };
                let message = format!("unknown infrastructure `{other}`");
                self.warn(class.span, message, "run as `Local`", &help);
            }
        }
        infrastructure.class = Some(class);
        self.project.infrastructure = infrastructure;
        Ok(())
    }

    fn environment(&mut self) -> Parse<()> {
        let class = self.class_on_host()?;
        if class.name.as_str() == "asl" {
            match class.args.as_slice() {
                [ClassArg::Str(file)] => {
                    self.project.environment = Some(ProjectEnvironment::Program { file: forward(file), class });
                }
                _ => {
                    let help = "write `environment: asl(\"env.asl\")`";
                    self.error(class.span, "an environment in AgentSpeak needs its file", "expected a file", help);
                }
            }
            return Ok(());
        }
        if self.accepted(ClassRole::Environment, &class) {
            self.project.environment = Some(ProjectEnvironment::Host(class));
        }
        Ok(())
    }

    fn offers(&mut self) -> Parse<()> {
        let help = "offers are written `name = \"folder\";`, or `name = \"folder\" at \"n2\";`";
        while self.peek() == ProjectTokenKind::Word && !self.at_section() {
            let start = self.token().span;
            let name = Text::from(self.word().unwrap_or_default());
            self.advance();
            self.expect(b'=', &["`=`"], help)?;
            if self.peek() != ProjectTokenKind::Str {
                return Err(self.unexpected(&["a folder in quotes"], help));
            }
            let token = self.advance();
            let folder = forward(&unquoted(self.text_of(token.span)));
            let host = self.host()?;
            self.expect(b';', &["`;`"], help)?;
            self.project.offers.push(ProjectOffer { name, folder, host, span: self.span_from(start) });
        }
        if self.project.offers.is_empty() {
            return Err(self.unexpected(&["an offer"], help));
        }
        Ok(())
    }

    fn directives(&mut self) -> Parse<()> {
        while self.peek() == ProjectTokenKind::Word && !self.at_section() {
            let name = Symbol::new(self.word().unwrap_or_default());
            self.advance();
            self.expect(b'=', &["`=`"], "directives are written `name = class;`")?;
            let class = self.class()?;
            self.accepted(ClassRole::Directive, &class);
            self.project.directives.push((name, class));
            self.expect(b';', &["`;`"], "")?;
        }
        Ok(())
    }

    fn texts(&mut self) -> Parse<Vec<Text>> {
        let mut texts = Vec::new();
        while self.peek() == ProjectTokenKind::Str {
            let token = self.advance();
            texts.push(forward(&unquoted(self.text_of(token.span))));
            self.expect(b';', &["`;`"], "each path ends with `;`")?;
        }
        if texts.is_empty() {
            return Err(self.unexpected(&["a path in quotes"], "write `\"path\";`"));
        }
        Ok(texts)
    }
}

/// Classes.
impl ProjectParser<'_> {
    /// Reports a class that cannot run. Returns true if the project should record the class.
    pub(super) fn accepted(&mut self, place: ClassRole, class: &Class) -> bool {
        let keyword = place.keyword();
        match verdict(place, class, self.environments) {
            ClassSupport::BuiltIn => false,
            ClassSupport::Provided => true,
            ClassSupport::LeftOut(what, instead) => {
                self.warn(class.span, what, "not used", instead);
                true
            }
            ClassSupport::Missing(instead) => {
                let message = format!("the {keyword} `{}` is a Java class, which cannot run here", class.name);
                self.error(class.span, message, "a Java class", instead);
                false
            }
        }
    }

    fn class_on_host(&mut self) -> Parse<Class> {
        let mut class = self.class()?;
        class.host = self.host()?;
        Ok(class)
    }

    /// Parses `at "host"`.
    pub(super) fn host(&mut self) -> Parse<Option<Text>> {
        if self.word() != Some("at") {
            return Ok(None);
        }
        self.advance();
        if self.peek() != ProjectTokenKind::Str {
            return Err(self.unexpected(&["a host in quotes"], "write `at \"host\"`"));
        }
        let token = self.advance();
        Ok(Some(unquoted(self.text_of(token.span))))
    }

    pub(super) fn class(&mut self) -> Parse<Class> {
        self.class_at(0)
    }

    fn class_at(&mut self, depth: usize) -> Parse<Class> {
        let start = self.token().span;
        let Some(name) = self.word().filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic())) else {
            return Err(self.unexpected(&["a name"], ""));
        };
        self.advance();
        let mut args = Vec::new();
        if self.accept(b'(') && !self.accept(b')') {
            args = self.class_args(b')', &["`,`", "`)`"], depth)?;
        }
        Ok(Class { name: Text::from(name), args, host: None, span: self.span_from(start) })
    }

    fn class_args(&mut self, close: u8, expected: &[&'static str], depth: usize) -> Parse<Vec<ClassArg>> {
        if depth >= ARGS_DEPTH_MAX {
            let span = self.token().span;
            return Err(self.error(span, "parameters are nested too deep", "one too many", ""));
        }
        let mut args = Vec::new();
        loop {
            args.push(self.class_arg(depth + 1)?);
            if !self.accept(b',') {
                break;
            }
        }
        self.expect(close, expected, "")?;
        Ok(args)
    }

    fn class_arg(&mut self, depth: usize) -> Parse<ClassArg> {
        match self.peek() {
            ProjectTokenKind::Str => {
                let token = self.advance();
                Ok(ClassArg::Str(unquoted(self.text_of(token.span))))
            }
            ProjectTokenKind::Sign(b'[') => {
                self.advance();
                if self.accept(b']') {
                    return Ok(ClassArg::List(Vec::new()));
                }
                self.class_args(b']', &["`,`", "`]`"], depth).map(ClassArg::List)
            }
            ProjectTokenKind::Word => match self.word().and_then(parse_number) {
                Some(n) => {
                    self.advance();
                    Ok(ClassArg::Num(n))
                }
                None => self.class_at(depth).map(ClassArg::Class),
            },
            _ => Err(self.unexpected(&["a parameter"], "parameters are names, numbers, texts and lists")),
        }
    }
}

pub(super) fn parse_number(word: &str) -> Option<f64> {
    word.parse::<f64>().ok().filter(|_| word.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '-'))
}

fn number(arg: &ClassArg) -> Option<u32> {
    match arg {
        ClassArg::Num(n) if *n >= 0.0 && *n <= f64::from(u32::MAX) => Some(*n as u32),
        _ => None,
    }
}

/// Returns a path with slashes: paths written on Windows have back-slashes, one or two of them.
pub(super) fn forward(path: &str) -> Text {
    Text::from(path.replace("\\\\", "/").replace('\\', "/"))
}

/// Returns a string without its quotes; `\"` is `"`.
pub(super) fn unquoted(text: &str) -> Text {
    let inner = text.strip_prefix('"').unwrap_or(text);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if inner.contains('\\') { Text::from(inner.replace("\\\"", "\"")) } else { Text::from(inner) }
}
