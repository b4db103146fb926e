//! Rendering of diagnostics for people: the message, the place in the text, advice.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::ast::Span;
use super::diagnostics::{Diagnostic, Severity};

/// Greatest number of bytes shown before and after a place: of a longer line only a part is shown.
const AROUND_BYTES: usize = 2_000;

/// Renders a diagnostic with the lines of `source`, the text of its file, that it is about; in terminal colours if
/// `color`.
pub fn render(diagnostic: &Diagnostic, source: &str, color: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let shown = lines_around(source, diagnostic);
    let text = source.get(shown.clone()).unwrap_or_default();
    let line = source.get(..shown.start).unwrap_or_default().matches('\n').count() + 1;
    let within = |span: Span| within(text, shown.start, span);
    let primary = AnnotationKind::Primary.span(within(diagnostic.span)).label(diagnostic.label.as_str());
    let is_shown = |span: &Span| shown.start <= span.start as usize && span.end as usize <= shown.end;
    let related = diagnostic
        .related
        .iter()
        .filter(|(span, _)| is_shown(span))
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

/// Returns the bytes of the whole lines around the diagnostic's places, if they are not too many.
fn lines_around(source: &str, diagnostic: &Diagnostic) -> Range<usize> {
    let place = |span: &Span| boundary(source, span.start as usize)..boundary(source, span.end as usize);
    let primary = place(&diagnostic.span);
    let (mut first, mut last) = (primary.start, primary.end.max(primary.start));
    for (span, _) in &diagnostic.related {
        let related = place(span);
        if related.start + AROUND_BYTES > primary.start && related.end < last + AROUND_BYTES {
            first = first.min(related.start);
            last = last.max(related.end);
        }
    }
    let least = boundary(source, first.saturating_sub(AROUND_BYTES));
    let most = boundary(source, last.saturating_add(AROUND_BYTES));
    let before = source.get(least..first).unwrap_or_default();
    let after = source.get(last..most).unwrap_or_default();
    let start = before.rfind('\n').map_or(least, |newline| least + newline + 1);
    let end = last + after.find('\n').unwrap_or(after.len());
    start..end
}

/// Returns the place in `text`, which begins at byte `offset` of the source; at characters' boundaries.
fn within(text: &str, offset: usize, span: Span) -> Range<usize> {
    let start = boundary(text, (span.start as usize).saturating_sub(offset));
    let end = boundary(text, (span.end as usize).saturating_sub(offset));
    start..end.max(start)
}

/// Returns the nearest character boundary at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
