//! Diagnostics as a person reads them: the message, the place in the text, advice.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::ast::Span;
use super::diagnostics::{Diagnostic, Severity};

/// The diagnostic with the lines of `source`, the text of its file, that it is about; with terminal colours if `color`.
pub fn render(diagnostic: &Diagnostic, source: &str, color: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let places = std::iter::once(&diagnostic.span).chain(diagnostic.related.iter().map(|(span, _)| span));
    let shown = lines_around(source, places);
    let text = source.get(shown.clone()).unwrap_or_default();
    let line = source.get(..shown.start).unwrap_or_default().matches('\n').count() + 1;
    let within = |span: Span| within(text, shown.start, span);
    let primary = AnnotationKind::Primary.span(within(diagnostic.span)).label(diagnostic.label.as_str());
    let related = diagnostic
        .related
        .iter()
        .map(|(span, label)| AnnotationKind::Context.span(within(*span)).label(label.as_str()));
    let snippet =
        Snippet::source(text).line_start(line).path(diagnostic.file.as_str()).annotation(primary).annotations(related);
    let mut group = level.primary_title(diagnostic.message.as_str()).element(snippet);
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

/// The bytes of the whole lines that hold these places.
fn lines_around<'a>(source: &str, places: impl Iterator<Item = &'a Span>) -> Range<usize> {
    let (mut first, mut last) = (source.len(), 0);
    for span in places {
        first = first.min(boundary(source, span.start as usize));
        last = last.max(boundary(source, span.end as usize));
    }
    let before = source.get(..first).unwrap_or_default();
    let after = source.get(last.max(first)..).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let end = last.max(first) + after.find('\n').unwrap_or(after.len());
    start..end
}

/// The place in `text`, which begins at byte `offset` of the source; at characters' boundaries.
fn within(text: &str, offset: usize, span: Span) -> Range<usize> {
    let start = boundary(text, (span.start as usize).saturating_sub(offset));
    let end = boundary(text, (span.end as usize).saturating_sub(offset));
    start..end.max(start)
}

/// The nearest boundary of a character at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
