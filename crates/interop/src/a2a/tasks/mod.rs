//! Tasks of clients, as a state machine without I/O.

mod contexts;
mod entry;
mod list;
mod reaction;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use whimbrel_acl::{AclMessage, Aid, Extras, Performative, Symbol, Text};
use whimbrel_platform::Time;
use whimbrel_platform::limits::{
    A2A_ANSWER_PATIENCE_MS, A2A_CANCEL_PATIENCE_MS, A2A_DONE_TASKS_EACH_MAX, A2A_FIRST_EVENT_MS,
    A2A_OPEN_TASKS_EACH_MAX, A2A_TASK_BYTES_MAX, A2A_TASKS_BYTES_EACH_MAX,
};

use self::contexts::{Contexts, StartProxy};
use self::entry::{AgentQuestion, TaskEntry, WatchKind};
pub use self::list::TaskPage;
use self::reaction::{Reaction, reaction};
use super::acl::{AclExtension, ReadMessage};
use super::error::{A2aError, A2aErrorKind};
use super::object::{A2aMessage, A2aTask, TaskState, TaskStatus, TaskUpdate};
use super::request::{SendParams, TaskFilter};
use super::timestamp;

/// Number of a client: a token's holder, or all without a token together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientId(u32);

/// Number of a watch: somebody who waits for updates of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WatchId(u64);

/// Present moment, by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Time of the platform.
    pub now: Time,
    /// Milliseconds since 1970-01-01 UTC.
    pub wall_ms: u64,
}

/// Random numbers that become identifiers nobody can guess.
#[derive(Clone, Copy, Debug)]
pub struct TaskIds {
    /// Identifier of the task.
    pub task: u128,
    /// Identifier of the context, if the client has none.
    pub context: u128,
}

/// Party to a message: the client that sends it, and the agent that it is for.
#[derive(Clone, Copy, Debug)]
pub struct TaskParties {
    /// Client.
    pub client: ClientId,
    /// Agent that the message is for.
    pub agent: Aid,
}

/// Message of a client, read.
#[derive(Clone, Debug)]
pub struct SentMessage {
    /// Client and agent.
    pub sender: TaskParties,
    /// Message, and how to answer it.
    pub params: SendParams,
    /// ACL message that it carries.
    pub read: ReadMessage,
    /// Extension in which the client wants answers, if the message itself uses none.
    pub extension: AclExtension,
    /// True if the answer is a stream.
    pub streams: bool,
    /// Identifiers for what is new.
    pub ids: TaskIds,
}

/// Answer to a message of a client, or to a subscription.
#[derive(Clone, Debug, PartialEq)]
pub enum Answering {
    /// Known at once.
    Now(TaskUpdate),
    /// Known when [`ServerOutput::Update`] comes for this watch.
    Watch(WatchId),
}

/// Effect of a cancellation.
pub type CancelOutcome = WatchId;

/// Output of a [`TaskServer`].
#[derive(Clone, Debug)]
pub enum ServerOutput {
    /// Message to an agent.
    Acl(Box<AclMessage>),
    /// Update for a watch, or why it ends.
    Update {
        /// Watch.
        watch: WatchId,
        /// Update.
        update: Result<Arc<TaskUpdate>, A2aError>,
        /// True if no more updates come.
        is_last: bool,
    },
}

/// Tasks of all clients of a node.
///
/// Inputs are requests of clients ([`handle_send`](Self::handle_send), [`handle_cancel`](Self::handle_cancel),
/// [`handle_subscribe`](Self::handle_subscribe), [`get`](Self::get), [`list`](Self::list)), messages of agents to the
/// agents that stand for clients ([`handle_message`](Self::handle_message)) and their ends
/// ([`handle_gone`](Self::handle_gone)), and time ([`handle_timeout`](Self::handle_timeout)). After each of them, take
/// all outputs of [`poll_output`](Self::poll_output), and wait until [`poll_timeout`](Self::poll_timeout) at most. Who
/// waits no more for a watch calls [`unwatch`](Self::unwatch).
#[derive(Default)]
pub struct TaskServer {
    contexts: Contexts,
    tasks: FxHashMap<u64, TaskEntry>,
    by_id: FxHashMap<String, u64>,
    accounts: FxHashMap<ClientId, TaskAccount>,
    watches: FxHashMap<WatchId, u64>,
    timers: BTreeSet<(Time, u64)>,
    outputs: VecDeque<ServerOutput>,
    /// Number of the next task, watch or change.
    next: u64,
}

/// Tasks of one client.
#[derive(Default)]
struct TaskAccount {
    open: usize,
    bytes: usize,
    /// Tasks that are over, in the order of their ends.
    done: VecDeque<u64>,
    /// All tasks, by the number of their last change.
    by_change: BTreeMap<u64, u64>,
}

impl TaskServer {
    /// Returns the number of the client of this name.
    pub fn client(&mut self, name: &str) -> ClientId {
        self.contexts.client(name)
    }

    /// Returns the next output.
    pub fn poll_output(&mut self) -> Option<ServerOutput> {
        self.outputs.pop_front()
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(time, _)| *time)
    }

    /// Returns the number of tasks, and of those that are open.
    pub fn counts(&self) -> (usize, usize) {
        (self.tasks.len(), self.accounts.values().map(|account| account.open).sum())
    }

    /// Takes a message of a client.
    ///
    /// # Errors
    /// The task is unknown or over, its context is another one, the client has too many open tasks, or its agent cannot
    /// be started.
    pub fn handle_send(&mut self, sent: SentMessage, at: Moment, start: StartProxy<'_>) -> Result<Answering, A2aError> {
        match sent.params.message.task_id.clone() {
            Some(id) => self.follow_up(sent, &id, at),
            None => self.begin(sent, at, start),
        }
    }

    /// Begins a task.
    fn begin(&mut self, sent: SentMessage, at: Moment, start: StartProxy<'_>) -> Result<Answering, A2aError> {
        let SentMessage { sender: TaskParties { client, agent }, params, read, extension, streams, ids } = sent;
        if self.account(client).open >= A2A_OPEN_TASKS_EACH_MAX {
            let text = format!("the client has {A2A_OPEN_TASKS_EACH_MAX} open tasks: wait for some, or cancel them");
            return Err(A2aError::new(A2aErrorKind::TooMany, text));
        }
        let SendParams { mut message, configuration } = params;
        let context_id = message.context_id.get_or_insert_with(|| identifier(ids.context)).clone();
        let (context, proxy) = self.contexts.open(client, &context_id, start)?;
        let id = identifier(ids.task);
        let request = request_of(&message, &read, &id, (proxy, agent));
        message.task_id = Some(id.clone());
        let status = TaskStatus { state: TaskState::Submitted, message: None, timestamp: timestamp(at.wall_ms) };
        let history = vec![Arc::new(message)];
        let task = A2aTask { id: id.clone(), context_id, status, artifacts: Vec::new(), history, metadata: None };
        let used = if read.extension == AclExtension::None { extension } else { read.extension };
        let mut entry = TaskEntry::new(task, (client, context), (agent, request.clone()), used);
        entry.answer_by = Some(answer_by(request.extras(), at));
        self.next += 1;
        let key = self.next;
        self.account(client).open += 1;
        self.contexts.add_task(context, key);
        self.by_id.insert(id, key);
        self.tasks.insert(key, entry);
        self.note_change(key);
        self.outputs.push_back(ServerOutput::Acl(Box::new(request)));
        let answering = self.answering(key, streams, configuration.return_immediately, at);
        self.set_timer(key);
        Ok(answering)
    }

    /// Returns how a message about a task is answered.
    fn answering(&mut self, key: u64, streams: bool, at_once: bool, at: Moment) -> Answering {
        let kind = if streams { WatchKind::Stream } else { WatchKind::Settled };
        self.next += 1;
        let watch = WatchId(self.next);
        // The task was put in a moment ago.
        let Some(entry) = self.tasks.get_mut(&key) else { return Answering::Watch(watch) };
        if at_once && !streams {
            entry.is_known = true;
            return Answering::Now(TaskUpdate::Task(entry.task.clone()));
        }
        if streams && !entry.is_known {
            entry.announce_at = Some(at.now + Duration::from_millis(A2A_FIRST_EVENT_MS));
        } else if streams {
            let task = Arc::new(TaskUpdate::Task(entry.task.clone()));
            self.outputs.push_back(ServerOutput::Update { watch, update: Ok(task), is_last: false });
        }
        entry.watches.push((watch, kind));
        self.watches.insert(watch, key);
        Answering::Watch(watch)
    }

    /// Takes a further message about a task.
    fn follow_up(&mut self, sent: SentMessage, id: &str, at: Moment) -> Result<Answering, A2aError> {
        let SentMessage { sender, params: SendParams { mut message, configuration }, read, streams, .. } = sent;
        let key = self.key_of(sender.client, id).ok_or_else(|| A2aError::no_task(id))?;
        let Some(entry) = self.tasks.get_mut(&key).filter(|entry| entry.agent.name == sender.agent.name) else {
            return Err(A2aError::no_task(id));
        };
        if message.context_id.as_ref().is_some_and(|context| *context != entry.task.context_id) {
            return Err(A2aError::invalid("`contextId` is not that of the task"));
        }
        if entry.state().is_terminal() {
            let text = format!("task {id} is over: send a message without `taskId` to begin another in its context");
            return Err(A2aError::new(A2aErrorKind::UnsupportedOperation, text));
        }
        let Some(proxy) = self.contexts.aid(entry.context) else { return Err(A2aError::no_task(id)) };
        message.context_id = Some(entry.task.context_id.clone());
        let reply_with = read.message.extras().reply_with.clone().unwrap_or_else(|| Text::from(&*message.message_id));
        let said = follow_up_of(&read, reply_with.clone(), entry.question.take(), (proxy, sender.agent));
        entry.note_quotable(reply_with);
        entry.is_known = true;
        entry.bytes += message.footprint();
        entry.task.history.push(Arc::new(message));
        let was_settled = entry.state().is_settled();
        self.note_change(key);
        self.outputs.push_back(ServerOutput::Acl(Box::new(said)));
        let update = self.tasks.get_mut(&key).filter(|_| was_settled);
        let update = update.map(|entry| entry.set_status(TaskState::Working, None, at));
        update.into_iter().for_each(|update| self.emit(key, update));
        let answering = self.answering(key, streams, configuration.return_immediately, at);
        self.set_timer(key);
        Ok(answering)
    }

    /// Takes a message of an agent to the agent of this number. Returns false if no open task is meant.
    pub fn handle_message(&mut self, proxy: u32, message: &AclMessage, at: Moment) -> bool {
        let Some(key) = self.meant(proxy, message) else { return false };
        let Some(entry) = self.tasks.get_mut(&key) else { return false };
        let effect = reaction(message, entry.facts(message));
        entry.answer_by = None;
        if matches!(effect, Reaction::Answered) {
            let said = entry.message_of(message);
            self.answer_without_task(key, said);
            return true;
        }
        self.announce(key);
        let updates = self.tasks.get_mut(&key).map_or(Vec::new(), |entry| apply(entry, &effect, message, at));
        if effect == Reaction::KeptOn {
            self.refuse_cancel(key);
        }
        updates.into_iter().for_each(|update| self.emit(key, update));
        let too_long = self.tasks.get(&key).filter(|entry| entry.bytes > A2A_TASK_BYTES_MAX);
        if too_long.is_some_and(|entry| !entry.state().is_terminal()) {
            self.fail(key, &format!("the task has more than {A2A_TASK_BYTES_MAX} bytes"), at);
        }
        self.set_timer(key);
        true
    }

    /// Returns the open task that a message of an agent is about: by what it quotes, by its conversation, or the newest
    /// one of that agent.
    fn meant(&self, proxy: u32, message: &AclMessage) -> Option<u64> {
        let open = &self.contexts.of_proxy(proxy)?.open;
        let newest = |fits: &dyn Fn(&TaskEntry) -> bool| {
            open.iter().rev().copied().find(|key| self.tasks.get(key).is_some_and(fits))
        };
        newest(&|entry| entry.is_named_by(message.extras())).or_else(|| newest(&|entry| entry.may_mean(message)))
    }

    /// Notes that the agent of this number ended: its client's tasks fail.
    pub fn handle_gone(&mut self, proxy: u32, at: Moment) {
        for key in self.contexts.handle_gone(proxy) {
            self.fail(key, "the agent that stands for the client was ended", at);
        }
    }

    /// Returns the client, the context, and the number of open tasks of the agent of this number.
    pub fn describe(&self, proxy: u32) -> Option<(String, String, usize)> {
        let client = self.contexts.client_of(proxy)?.to_owned();
        let context = self.contexts.of_proxy(proxy);
        Some((client, context.map_or_else(String::new, |it| it.id.clone()), context.map_or(0, |it| it.open.len())))
    }

    /// Asks an agent to call off a task. The watch gets the task, or an error if the agent does not call it off.
    ///
    /// # Errors
    /// The task is unknown, or over.
    pub fn handle_cancel(
        &mut self,
        sender: TaskParties,
        id: &str,
        ids: TaskIds,
        at: Moment,
    ) -> Result<CancelOutcome, A2aError> {
        let key = self.key_of(sender.client, id).ok_or_else(|| A2aError::no_task(id))?;
        self.next += 1;
        let watch = WatchId(self.next);
        let Some(entry) = self.tasks.get_mut(&key).filter(|entry| entry.agent.name == sender.agent.name) else {
            return Err(A2aError::no_task(id));
        };
        if entry.state().is_terminal() {
            return Err(A2aError::new(A2aErrorKind::TaskNotCancelable, format!("task {id} is over")));
        }
        entry.is_known = true;
        entry.watches.push((watch, WatchKind::Cancel));
        self.watches.insert(watch, key);
        if entry.cancel.is_none() {
            let ticket = Text::from(identifier(ids.task));
            let mut cancel = AclMessage { performative: Performative::Cancel, ..entry.request.clone() };
            cancel.sender = self.contexts.aid(entry.context).unwrap_or(cancel.sender);
            let extras = cancel.extras_mut();
            (extras.reply_with, extras.in_reply_to, extras.reply_by_ms) = (Some(ticket.clone()), None, None);
            entry.cancel = Some(ticket);
            entry.cancel_by = Some(at.now + Duration::from_millis(A2A_CANCEL_PATIENCE_MS));
            self.outputs.push_back(ServerOutput::Acl(Box::new(cancel)));
            self.set_timer(key);
        }
        Ok(watch)
    }

    /// Begins a watch of all updates of a task.
    ///
    /// # Errors
    /// The task is unknown, or over.
    pub fn handle_subscribe(&mut self, sender: TaskParties, id: &str, at: Moment) -> Result<WatchId, A2aError> {
        let key = self.key_of(sender.client, id).ok_or_else(|| A2aError::no_task(id))?;
        let Some(entry) = self.tasks.get_mut(&key).filter(|entry| entry.agent.name == sender.agent.name) else {
            return Err(A2aError::no_task(id));
        };
        if entry.state().is_terminal() {
            let text = format!("task {id} is over: its state is there to be read");
            return Err(A2aError::new(A2aErrorKind::UnsupportedOperation, text));
        }
        entry.is_known = true;
        match self.answering(key, true, false, at) {
            Answering::Watch(watch) => Ok(watch),
            Answering::Now(_) => Err(A2aError::no_task(id)),
        }
    }

    /// Ends a watch.
    pub fn unwatch(&mut self, watch: WatchId) {
        let entry = self.watches.remove(&watch).and_then(|key| self.tasks.get_mut(&key));
        if let Some(entry) = entry {
            entry.watches.retain(|(other, _)| *other != watch);
        }
    }

    /// Returns a task of a client.
    ///
    /// # Errors
    /// The task is unknown.
    pub fn get(&self, sender: TaskParties, id: &str) -> Result<&A2aTask, A2aError> {
        let entry = self.key_of(sender.client, id).and_then(|key| self.tasks.get(&key));
        let entry = entry.filter(|entry| entry.agent.name == sender.agent.name);
        entry.map(|entry| &entry.task).ok_or_else(|| A2aError::no_task(id))
    }

    /// Returns a page of a client's tasks of an agent, those that changed last first.
    ///
    /// # Errors
    /// The page is unknown.
    pub fn list(&self, sender: TaskParties, filter: &TaskFilter) -> Result<TaskPage, A2aError> {
        let by_change = self.accounts.get(&sender.client).map(|account| &account.by_change);
        let entries = by_change.into_iter().flatten().rev().filter_map(|(_, key)| self.tasks.get(key));
        list::page(entries.filter(|entry| entry.agent.name == sender.agent.name), filter)
    }

    /// Lets time pass: tasks without an answer fail, and streams begin.
    pub fn handle_timeout(&mut self, at: Moment) {
        while let Some(&(time, key)) = self.timers.first()
            && time <= at.now
        {
            self.timers.remove(&(time, key));
            let Some(entry) = self.tasks.get_mut(&key) else { continue };
            entry.timer = None;
            let is_due = |timer: Option<Time>| timer.is_some_and(|timer| timer <= at.now);
            let (announces, fails, cancels) =
                (is_due(entry.announce_at), is_due(entry.answer_by), is_due(entry.cancel_by));
            if announces {
                self.announce(key);
            }
            if cancels {
                let update = self.tasks.get_mut(&key).map(|entry| entry.set_status(TaskState::Canceled, None, at));
                update.into_iter().for_each(|update| self.emit(key, update));
            } else if fails {
                self.announce(key);
                self.fail(key, "the agent did not answer in time", at);
            }
            self.set_timer(key);
        }
    }

    /// Fails a task for a reason of the server's own.
    fn fail(&mut self, key: u64, why: &str, at: Moment) {
        let Some(entry) = self.tasks.get_mut(&key) else { return };
        entry.is_known = true;
        let remark = entry.remark(why);
        let update = entry.set_status(TaskState::Failed, Some(remark), at);
        self.emit(key, update);
    }

    /// Has the streams of a task begin with the task.
    fn announce(&mut self, key: u64) {
        let Some(entry) = self.tasks.get_mut(&key) else { return };
        entry.announce_at = None;
        if std::mem::replace(&mut entry.is_known, true) {
            return;
        }
        let streams = entry.watches.iter().filter(|(_, kind)| *kind == WatchKind::Stream);
        let streams: SmallVec<[WatchId; 2]> = streams.map(|(watch, _)| *watch).collect();
        if streams.is_empty() {
            return;
        }
        let task = Arc::new(TaskUpdate::Task(entry.task.clone()));
        for watch in streams {
            self.outputs.push_back(ServerOutput::Update { watch, update: Ok(Arc::clone(&task)), is_last: false });
        }
    }

    /// Passes an update on to those who watch, and ends their watches if nothing more is to come.
    fn emit(&mut self, key: u64, update: TaskUpdate) {
        self.note_change(key);
        let Some(entry) = self.tasks.get_mut(&key) else { return };
        let (is_settled, is_over) = (entry.state().is_settled(), entry.state().is_terminal());
        let is_status = matches!(update, TaskUpdate::StatusUpdate(_));
        let ends = is_settled && is_status;
        let snapshot = ends.then(|| Arc::new(TaskUpdate::Task(entry.task.clone())));
        let update = Arc::new(update);
        let is_canceled = entry.state() == TaskState::Canceled;
        let (id, outputs, watches) = (&entry.task.id, &mut self.outputs, &mut self.watches);
        entry.watches.retain(|(watch, kind)| {
            let (watch, is_last) = (*watch, if *kind == WatchKind::Cancel { is_over } else { ends });
            let told = match (kind, &snapshot) {
                (WatchKind::Stream, _) => Ok(Arc::clone(&update)),
                (WatchKind::Settled, Some(task)) => Ok(Arc::clone(task)),
                (WatchKind::Cancel, Some(task)) if is_canceled => Ok(Arc::clone(task)),
                (WatchKind::Cancel, Some(_)) if is_over => {
                    Err(A2aError::new(A2aErrorKind::TaskNotCancelable, format!("task {id} was over first")))
                }
                _ => return true,
            };
            outputs.push_back(ServerOutput::Update { watch, update: told, is_last });
            if is_last {
                watches.remove(&watch);
            }
            !is_last
        });
        if is_over && is_status {
            self.finish(key);
        }
    }

    /// Answers by a message: there was no task that the client knew.
    fn answer_without_task(&mut self, key: u64, message: Arc<A2aMessage>) {
        let Some(entry) = self.tasks.get_mut(&key) else { return };
        let message = A2aMessage { task_id: None, ..Arc::unwrap_or_clone(message) };
        let update = Arc::new(TaskUpdate::Message(Arc::new(message)));
        for (watch, _) in std::mem::take(&mut entry.watches) {
            self.watches.remove(&watch);
            self.outputs.push_back(ServerOutput::Update { watch, update: Ok(Arc::clone(&update)), is_last: true });
        }
        self.finish(key);
        self.forget(key);
    }

    /// Tells those who wait for a cancellation that the agent does not call the task off.
    fn refuse_cancel(&mut self, key: u64) {
        let Some(entry) = self.tasks.get_mut(&key) else { return };
        (entry.cancel, entry.cancel_by) = (None, None);
        let text = format!("the agent does not call off task {}", entry.task.id);
        let (outputs, watches) = (&mut self.outputs, &mut self.watches);
        entry.watches.retain(|(watch, kind)| {
            if *kind == WatchKind::Cancel {
                let update = Err(A2aError::new(A2aErrorKind::TaskNotCancelable, text.clone()));
                outputs.push_back(ServerOutput::Update { watch: *watch, update, is_last: true });
                watches.remove(watch);
            }
            *kind != WatchKind::Cancel
        });
    }

    /// Counts a task as over, and forgets the oldest of the client's that are too many.
    fn finish(&mut self, key: u64) {
        let Some(entry) = self.tasks.get_mut(&key) else { return };
        (entry.announce_at, entry.answer_by, entry.cancel_by, entry.cancel) = (None, None, None, None);
        let (client, context) = (entry.client, entry.context);
        self.set_timer(key);
        self.contexts.remove_task(context, key);
        let account = self.account(client);
        account.open = account.open.saturating_sub(1);
        account.done.push_back(key);
        while let account = self.account(client)
            && (account.done.len() > A2A_DONE_TASKS_EACH_MAX || account.bytes > A2A_TASKS_BYTES_EACH_MAX)
            && let Some(oldest) = account.done.pop_front()
        {
            self.forget(oldest);
        }
    }

    fn forget(&mut self, key: u64) {
        let Some(entry) = self.tasks.remove(&key) else { return };
        self.by_id.remove(&entry.task.id);
        if let Some(time) = entry.timer {
            self.timers.remove(&(time, key));
        }
        for (watch, _) in &entry.watches {
            self.watches.remove(watch);
        }
        let account = self.account(entry.client);
        account.by_change.remove(&entry.change);
        account.bytes = account.bytes.saturating_sub(entry.counted);
    }

    fn account(&mut self, client: ClientId) -> &mut TaskAccount {
        self.accounts.entry(client).or_default()
    }

    fn key_of(&self, client: ClientId, id: &str) -> Option<u64> {
        let key = *self.by_id.get(id)?;
        // A task of another client is as unknown as one that never was.
        self.tasks.get(&key).is_some_and(|entry| entry.client == client).then_some(key)
    }

    /// Notes that a task changed, and how many bytes it has by now.
    fn note_change(&mut self, key: u64) {
        self.next += 1;
        let Some(entry) = self.tasks.get_mut(&key) else { return };
        let before = std::mem::replace(&mut entry.change, self.next);
        let account = self.accounts.entry(entry.client).or_default();
        account.bytes = account.bytes + entry.bytes - entry.counted;
        entry.counted = entry.bytes;
        account.by_change.remove(&before);
        account.by_change.insert(self.next, key);
    }

    fn set_timer(&mut self, key: u64) {
        let Some(entry) = self.tasks.get_mut(&key) else { return };
        let due = entry.due();
        if due == entry.timer {
            return;
        }
        if let Some(time) = std::mem::replace(&mut entry.timer, due) {
            self.timers.remove(&(time, key));
        }
        if let Some(time) = due {
            self.timers.insert((time, key));
        }
    }
}

/// Applies the effect of an agent's message to a task. Returns the updates.
fn apply(entry: &mut TaskEntry, effect: &Reaction, message: &AclMessage, at: Moment) -> Vec<TaskUpdate> {
    let mut updates = Vec::new();
    let (state, says) = match effect {
        Reaction::Working | Reaction::KeptOn => (TaskState::Working, true),
        Reaction::Failed => (TaskState::Failed, true),
        Reaction::Rejected => (TaskState::Rejected, true),
        Reaction::Asked => (TaskState::InputRequired, true),
        Reaction::Canceled => (TaskState::Canceled, true),
        Reaction::Result(place) => {
            if entry.state() != TaskState::Working {
                updates.push(entry.set_status(TaskState::Working, None, at));
            }
            updates.extend(entry.add_result(message, place));
            return updates;
        }
        Reaction::Completed(place) => {
            updates.extend(entry.add_result(message, place));
            (TaskState::Completed, false)
        }
        Reaction::Answered => return updates,
    };
    if *effect == Reaction::Asked {
        let extras = message.extras();
        let (reply_with, conversation) = (extras.reply_with.clone(), extras.conversation_id.clone());
        entry.question = Some(AgentQuestion { reply_with, conversation, protocol: extras.protocol });
    }
    let says = says && (!matches!(message.content, whimbrel_acl::Value::Null) || entry.extension != AclExtension::None);
    let said = says.then(|| entry.message_of(message));
    updates.push(entry.set_status(state, said, at));
    updates
}

/// Returns the time by which the agent has to answer first.
fn answer_by(extras: &Extras, at: Moment) -> Time {
    let asked_ms = extras.reply_by_ms.map(|by| by.saturating_sub(at.wall_ms));
    at.now + Duration::from_millis(asked_ms.unwrap_or(A2A_ANSWER_PATIENCE_MS).min(A2A_ANSWER_PATIENCE_MS))
}

/// Makes the message with which a task begins for its agent.
fn request_of(message: &A2aMessage, read: &ReadMessage, task: &str, (from, to): (Aid, Aid)) -> AclMessage {
    let mut request = read.message.clone();
    (request.sender, request.receivers) = (from, SmallVec::from_buf([to]));
    if read.extension == AclExtension::None {
        request.performative = Performative::Request;
    }
    let protocol = protocol_of(request.performative).filter(|_| read.extension != AclExtension::Whole);
    let extras = request.extras_mut();
    // Answers go to the client, whatever it says.
    extras.reply_to.clear();
    extras.protocol = extras.protocol.or(protocol);
    extras.conversation_id.get_or_insert_with(|| Text::from(format!("a2a-{task}")));
    extras.reply_with.get_or_insert_with(|| Text::from(message.message_id.as_str()));
    request
}

/// Makes a further message to the agent: by default an `inform` that answers its question.
fn follow_up_of(
    read: &ReadMessage,
    reply_with: Text,
    question: Option<AgentQuestion>,
    (from, to): (Aid, Aid),
) -> AclMessage {
    let mut said = read.message.clone();
    (said.sender, said.receivers) = (from, SmallVec::from_buf([to]));
    if read.extension == AclExtension::None {
        said.performative = Performative::Inform;
    }
    let question = question.unwrap_or_default();
    let extras = said.extras_mut();
    extras.reply_to.clear();
    extras.reply_with = Some(reply_with);
    extras.in_reply_to = extras.in_reply_to.take().or(question.reply_with);
    extras.conversation_id = extras.conversation_id.take().or(question.conversation);
    extras.protocol = extras.protocol.or(question.protocol);
    said
}

/// Returns the interaction protocol that a message of this performative begins.
fn protocol_of(performative: Performative) -> Option<Symbol> {
    let name = match performative {
        Performative::Request => "fipa-request",
        Performative::QueryIf | Performative::QueryRef => "fipa-query",
        Performative::RequestWhen => "fipa-request-when",
        Performative::Cfp => "fipa-contract-net",
        Performative::Propose => "fipa-propose",
        Performative::Subscribe => "fipa-subscribe",
        _ => return None,
    };
    Some(Symbol::new(name))
}

/// Returns a random number as an identifier, in the form of a UUID.
fn identifier(random: u128) -> String {
    let hex = format!("{random:032x}");
    let part = |from, to| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}
