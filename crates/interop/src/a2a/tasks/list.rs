//! Lists of tasks, by pages.

use std::sync::Arc;

use serde::Serialize;
use whimbrel_platform::limits::A2A_PAGE_TASKS_MAX;

use super::entry::TaskEntry;
use crate::a2a::error::A2aError;
use crate::a2a::object::A2aTask;
use crate::a2a::request::TaskFilter;

/// Tasks of a page if the client does not say.
const PAGE_TASKS: usize = 50;

/// Page of a list of tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskPage {
    /// Tasks, those that changed last first.
    pub tasks: Vec<A2aTask>,
    /// Page that follows; empty if this is the last.
    pub next_page_token: String,
    /// Number of tasks that a page may have.
    pub page_size: usize,
    /// Number of tasks of all pages.
    pub total_size: usize,
}

/// Returns the page of these entries, newest first, that a filter asks for.
pub(super) fn page<'a>(
    entries: impl Iterator<Item = &'a TaskEntry>,
    filter: &TaskFilter,
) -> Result<TaskPage, A2aError> {
    let page_size = filter.page_size.and_then(|size| usize::try_from(size).ok()).unwrap_or(PAGE_TASKS);
    let page_size = page_size.clamp(1, A2A_PAGE_TASKS_MAX);
    let token = filter.page_token.as_deref().filter(|token| !token.is_empty());
    let before = token.map(str::parse::<u64>).transpose().map_err(|_| A2aError::invalid("`pageToken` is unknown"))?;
    let history = filter.history_length.and_then(|length| usize::try_from(length).ok());
    let is_wanted = |entry: &&TaskEntry| {
        let task = &entry.task;
        filter.context_id.as_ref().is_none_or(|context| *context == task.context_id)
            && filter.status.is_none_or(|state| state == task.status.state)
            && filter.status_timestamp_after.as_deref().is_none_or(|after| task.status.timestamp.as_str() > after)
    };
    let mut page = TaskPage { tasks: Vec::new(), next_page_token: String::new(), page_size, total_size: 0 };
    let mut last = 0;
    for entry in entries.filter(is_wanted) {
        page.total_size += 1;
        if before.is_some_and(|before| entry.change >= before) {
            continue;
        }
        if page.tasks.len() == page_size {
            page.next_page_token = format!("{last}");
            continue;
        }
        last = entry.change;
        let mut task = entry.task.clone().with_history(history);
        if filter.include_artifacts != Some(true) {
            task.artifacts = Vec::<Arc<_>>::new();
        }
        page.tasks.push(task);
    }
    Ok(page)
}
