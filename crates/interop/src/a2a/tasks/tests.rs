//! Tests of the tasks, on a clock of their own.

use whimbrel_acl::Value;
use whimbrel_acl::codec::json::value_to_string;

use super::*;
use crate::a2a::acl;
use crate::a2a::object::{A2aPart, MessageRole, PartContent};
use crate::a2a::request::SendConfiguration;

const WALL_MS: u64 = 1_795_697_170_383;

/// Server with one agent, `bob`, and the moment of the next step.
struct Scene {
    server: TaskServer,
    ms: u64,
    ids: u128,
    started: u32,
}

fn bob() -> Aid {
    Aid::local("bob")
}

impl Scene {
    fn new() -> Self {
        Self { server: TaskServer::default(), ms: 0, ids: 0, started: 0 }
    }

    fn at(&self) -> Moment {
        Moment { now: Time::from_ms(self.ms), wall_ms: WALL_MS + self.ms }
    }

    fn sender(&mut self, client: &str) -> TaskParties {
        TaskParties { client: self.server.client(client), agent: bob() }
    }

    fn message(id: &str) -> A2aMessage {
        A2aMessage {
            message_id: id.to_owned(),
            context_id: None,
            task_id: None,
            role: MessageRole::User,
            parts: vec![A2aPart::of(PartContent::Text("buy".to_owned()))],
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    fn send(&mut self, client: &str, message: A2aMessage, streams: bool) -> Result<Answering, A2aError> {
        let configuration = SendConfiguration::default();
        self.send_with(client, message, streams, configuration)
    }

    fn send_with(
        &mut self,
        client: &str,
        message: A2aMessage,
        streams: bool,
        configuration: SendConfiguration,
    ) -> Result<Answering, A2aError> {
        self.ids += 1;
        let ids = TaskIds { task: self.ids, context: 1_000 + self.ids };
        let read = acl::read(&message)?;
        let (sender, at) = (self.sender(client), self.at());
        let params = SendParams { message, configuration };
        let sent = SentMessage { sender, params, read, extension: AclExtension::None, streams, ids };
        let started = &mut self.started;
        self.server.handle_send(sent, at, &mut |proxy, _| {
            *started += 1;
            Ok(Aid::local(format!("a2a_{}", proxy + 1).as_str()))
        })
    }

    /// Takes all outputs: messages to agents, and updates with their last flags.
    fn outputs(&mut self) -> (Vec<AclMessage>, Vec<(WatchId, Told, bool)>) {
        let (mut messages, mut updates) = (Vec::new(), Vec::new());
        while let Some(output) = self.server.poll_output() {
            match output {
                ServerOutput::Acl(message) => messages.push(*message),
                ServerOutput::Update { watch, update, is_last } => {
                    updates.push((watch, update.map(|update| (*update).clone()), is_last));
                }
            }
        }
        (messages, updates)
    }

    /// Has bob answer the message that was sent last, and returns the updates.
    fn answer(
        &mut self,
        request: &AclMessage,
        performative: Performative,
        content: Value,
    ) -> Vec<(WatchId, Told, bool)> {
        let reply = request.make_reply(bob(), performative).with_content(content);
        self.hear(&reply)
    }

    fn hear(&mut self, message: &AclMessage) -> Vec<(WatchId, Told, bool)> {
        let proxy: u32 = message.receivers[0].name.as_str().trim_start_matches("a2a_").parse().expect("a proxy");
        let at = self.at();
        self.server.handle_message(proxy - 1, message, at);
        self.outputs().1
    }
}

type Told = Result<TaskUpdate, A2aError>;

/// Names of updates: states, artifacts, messages, errors.
fn names(updates: &[(WatchId, Told, bool)]) -> String {
    let name = |(_, update, is_last): &(WatchId, Told, bool)| {
        let name = match update {
            Ok(TaskUpdate::Task(task)) => format!("task {}", task.status.state.name_03()),
            Ok(TaskUpdate::StatusUpdate(update)) => update.status.state.name_03().to_owned(),
            Ok(TaskUpdate::ArtifactUpdate(update)) => format!("artifact {}", update.artifact.artifact_id),
            Ok(TaskUpdate::Message(_)) => "message".to_owned(),
            Err(error) => error.kind.code().to_string(),
        };
        if *is_last { format!("{name}!") } else { name }
    };
    updates.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn task_of(updates: &[(WatchId, Told, bool)]) -> &A2aTask {
    let task = updates.iter().find_map(|(_, update, _)| match update {
        Ok(TaskUpdate::Task(task)) => Some(task),
        _ => None,
    });
    task.expect("a task")
}

#[test]
fn request_is_answered_by_inform() {
    let mut scene = Scene::new();
    scene.send("", Scene::message("m1"), false).expect("it is taken");
    let (messages, updates) = scene.outputs();
    assert_eq!(updates.len(), 0);
    let [request] = messages.as_slice() else { panic!("{messages:?}") };
    assert_eq!((request.performative, request.sender.name.as_str()), (Performative::Request, "a2a_1"));
    assert_eq!(request.extras().reply_with.as_deref(), Some("m1"));
    assert_eq!(request.extras().protocol.map(Symbol::as_str), Some("fipa-request"));
    let updates = scene.answer(request, Performative::Inform, Value::from("bought"));
    assert_eq!(names(&updates), "task completed!");
    let task = task_of(&updates);
    assert_eq!(task.artifacts[0].parts, [A2aPart::of(PartContent::Text("bought".to_owned()))]);
    assert_eq!(scene.server.counts(), (1, 0));
    assert_eq!(scene.server.poll_timeout(), None, "no timer is left");
}

#[test]
fn stream_begins_with_task() {
    let mut scene = Scene::new();
    scene.send("", Scene::message("m1"), true).expect("it is taken");
    let request = scene.outputs().0.remove(0);
    let updates = scene.answer(&request, Performative::Agree, Value::from("yes"));
    assert_eq!(names(&updates), "task submitted, working");
    let updates = scene.answer(&request, Performative::Inform, Value::from("done"));
    assert_eq!(names(&updates), "artifact 1, completed!");
}

#[test]
fn silent_stream_begins_soon() {
    let mut scene = Scene::new();
    scene.send("", Scene::message("m1"), true).expect("it is taken");
    scene.outputs();
    scene.ms = A2A_FIRST_EVENT_MS;
    assert_eq!(scene.server.poll_timeout(), Some(scene.at().now));
    let at = scene.at();
    scene.server.handle_timeout(at);
    assert_eq!(names(&scene.outputs().1), "task submitted");
}

#[test]
fn message_may_answer_without_task() {
    for streams in [false, true] {
        let mut scene = Scene::new();
        scene.send("", Scene::message("m1"), streams).expect("it is taken");
        let request = scene.outputs().0.remove(0);
        let mut reply = request.make_reply(bob(), Performative::Inform).with_content("hi");
        reply.extras_mut().user.push((reaction::MESSAGE_PARAMETER.into(), Value::Bool(true)));
        assert_eq!(names(&scene.hear(&reply)), "message!");
        assert_eq!(scene.server.counts(), (0, 0));
    }
}

#[test]
fn question_waits_for_client() {
    let mut scene = Scene::new();
    scene.send("", Scene::message("m1"), false).expect("it is taken");
    let request = scene.outputs().0.remove(0);
    let mut question = AclMessage::new(Performative::QueryRef, bob(), request.sender, "which colour?");
    question.extras_mut().reply_with = Some("samid1".into());
    let updates = scene.hear(&question);
    assert_eq!(names(&updates), "task input-required!");
    let task = task_of(&updates).clone();
    let answer = A2aMessage { task_id: Some(task.id.clone()), ..Scene::message("m2") };
    scene.send("", answer, false).expect("the task is open");
    let (messages, updates) = scene.outputs();
    assert_eq!((messages.len(), updates.len()), (1, 0));
    assert_eq!(messages[0].performative, Performative::Inform);
    assert_eq!(messages[0].extras().in_reply_to.as_deref(), Some("samid1"));
    assert_eq!(names(&scene.answer(&request, Performative::Inform, Value::from("red"))), "task completed!");
    let late = A2aMessage { task_id: Some(task.id), ..Scene::message("m3") };
    let error = scene.send("", late, false).expect_err("the task is over");
    assert_eq!(error.kind, A2aErrorKind::UnsupportedOperation);
}

#[test]
fn refusals_and_failures_end_tasks() {
    for (performative, state) in [
        (Performative::Refuse, "task rejected!"),
        (Performative::NotUnderstood, "task rejected!"),
        (Performative::Failure, "task failed!"),
        (Performative::Confirm, "task completed!"),
        (Performative::Propose, "task input-required!"),
    ] {
        let mut scene = Scene::new();
        scene.send("", Scene::message("m1"), false).expect("it is taken");
        let request = scene.outputs().0.remove(0);
        assert_eq!(names(&scene.answer(&request, performative, Value::from("x"))), state);
    }
}

#[test]
fn silence_fails_task() {
    let mut scene = Scene::new();
    scene.send("", Scene::message("m1"), false).expect("it is taken");
    scene.outputs();
    scene.ms = A2A_ANSWER_PATIENCE_MS;
    let at = scene.at();
    scene.server.handle_timeout(at);
    assert_eq!(names(&scene.outputs().1), "task failed!");
}

#[test]
fn cancel_asks_agent() {
    for (answer, expected) in [
        (Some(Performative::Inform), "task canceled!"),
        (Some(Performative::Refuse), "-32002!"),
        (None, "task canceled!"),
    ] {
        let mut scene = Scene::new();
        let configuration = SendConfiguration { return_immediately: true, ..SendConfiguration::default() };
        let known = scene.send_with("", Scene::message("m1"), false, configuration).expect("it is taken");
        let Answering::Now(TaskUpdate::Task(task)) = known else { panic!("{known:?}") };
        scene.outputs();
        let (sender, at) = (scene.sender(""), scene.at());
        scene.server.handle_cancel(sender, &task.id, TaskIds { task: 77, context: 0 }, at).expect("it is open");
        let cancel = scene.outputs().0.remove(0);
        assert_eq!(cancel.performative, Performative::Cancel);
        let updates = match answer {
            Some(performative) => scene.answer(&cancel, performative, Value::from("so be it")),
            None => {
                scene.ms = A2A_CANCEL_PATIENCE_MS;
                let at = scene.at();
                scene.server.handle_timeout(at);
                scene.outputs().1
            }
        };
        assert_eq!(names(&updates), expected);
        let again = scene.server.handle_cancel(sender, &task.id, TaskIds { task: 78, context: 0 }, at);
        assert_eq!(again.is_err(), expected == "task canceled!");
    }
}

#[test]
fn tasks_of_others_are_unknown() {
    let mut scene = Scene::new();
    scene.send("alice", Scene::message("m1"), false).expect("it is taken");
    let request = scene.outputs().0.remove(0);
    let updates = scene.answer(&request, Performative::Inform, Value::from("done"));
    let id = task_of(&updates).id.clone();
    let (alice, eve, at) = (scene.sender("alice"), scene.sender("eve"), scene.at());
    assert!(scene.server.get(alice, &id).is_ok());
    let kinds = [
        scene.server.get(eve, &id).map(drop),
        scene.server.handle_cancel(eve, &id, TaskIds { task: 1, context: 1 }, at).map(drop),
        scene.server.handle_subscribe(eve, &id, at).map(drop),
        scene.send("eve", A2aMessage { task_id: Some(id.clone()), ..Scene::message("m2") }, false).map(drop),
        scene.server.get(TaskParties { agent: Aid::local("amy"), ..alice }, &id).map(drop),
    ];
    assert!(kinds.iter().all(|kind| kind.as_ref().is_err_and(|error| error.kind == A2aErrorKind::TaskNotFound)));
    assert_eq!(scene.server.list(eve, &TaskFilter::default()).expect("a page").total_size, 0);
    assert_eq!(scene.server.list(alice, &TaskFilter::default()).expect("a page").total_size, 1);
}

#[test]
fn contexts_keep_their_agents() {
    let mut scene = Scene::new();
    let of = |context: &str, id: &str| A2aMessage { context_id: Some(context.to_owned()), ..Scene::message(id) };
    for (client, context) in [("alice", "c1"), ("alice", "c2"), ("alice", "c1"), ("eve", "c1")] {
        scene.send(client, of(context, "m"), false).expect("it is taken");
    }
    let senders: Vec<_> = scene.outputs().0.iter().map(|message| message.sender.name.as_str()).collect();
    assert_eq!(senders, ["a2a_1", "a2a_2", "a2a_1", "a2a_3"]);
}

#[test]
fn agents_of_idle_contexts_are_used_again() {
    let mut scene = Scene::new();
    for _ in 0..1_000 {
        scene.send("", Scene::message("m"), false).expect("it is taken");
        let request = scene.outputs().0.remove(0);
        scene.answer(&request, Performative::Inform, Value::from("done"));
    }
    let most = whimbrel_platform::limits::A2A_IDLE_CONTEXTS_EACH_MAX as u32 + 1;
    assert!(scene.started <= most, "{} agents", scene.started);
}

#[test]
fn open_tasks_are_bounded() {
    let mut scene = Scene::new();
    for _ in 0..A2A_OPEN_TASKS_EACH_MAX {
        scene.send("", Scene::message("m"), false).expect("there is room");
    }
    let error = scene.send("", Scene::message("m"), false).expect_err("there is no room");
    assert_eq!(error.kind, A2aErrorKind::TooMany);
    assert!(scene.send("alice", Scene::message("m"), false).is_ok(), "others have room");
}

#[test]
fn done_tasks_are_bounded() {
    let mut scene = Scene::new();
    for _ in 0..A2A_DONE_TASKS_EACH_MAX + 10 {
        scene.send("", Scene::message("m"), false).expect("it is taken");
        let request = scene.outputs().0.remove(0);
        scene.answer(&request, Performative::Inform, Value::from("done"));
    }
    assert_eq!(scene.server.counts(), (A2A_DONE_TASKS_EACH_MAX, 0));
    let (sender, size) = (scene.sender(""), 7);
    let filter = TaskFilter { page_size: Some(size), ..TaskFilter::default() };
    let first = scene.server.list(sender, &filter).expect("a page");
    let token = Some(first.next_page_token.clone());
    let second = scene.server.list(sender, &TaskFilter { page_token: token, ..filter }).expect("a page");
    let ids = |page: &TaskPage| page.tasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>();
    assert_eq!((ids(&first).len(), ids(&second).len()), (7, 7));
    assert!(ids(&first).iter().all(|id| !ids(&second).contains(id)));
}

#[test]
fn chunks_make_one_artifact() {
    let mut scene = Scene::new();
    scene.send("", Scene::message("m1"), true).expect("it is taken");
    let request = scene.outputs().0.remove(0);
    let chunk = |text: &str, parameters: &[(&str, Value)]| {
        let mut chunk = request.make_reply(bob(), Performative::Inform).with_content(text);
        let parameters = parameters.iter().map(|(name, value)| ((*name).into(), value.clone()));
        chunk.extras_mut().user.extend(parameters);
        chunk
    };
    let first = chunk("one ", &[("X-a2a-artifact", Value::from("a")), ("X-a2a-last", Value::Bool(false))]);
    assert_eq!(names(&scene.hear(&first)), "task submitted, working, artifact a");
    let last = chunk("two", &[("X-a2a-artifact", Value::from("a")), ("X-a2a-append", Value::from("true"))]);
    let updates = scene.hear(&last);
    assert_eq!(names(&updates), "artifact a, completed!");
    let sender = scene.sender("");
    let id = match &updates[0].1 {
        Ok(TaskUpdate::ArtifactUpdate(update)) => update.task_id.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(scene.server.get(sender, &id).expect("it is kept").artifacts[0].parts.len(), 2);
}

#[test]
fn terms_are_data() {
    let mut scene = Scene::new();
    let data = serde_json::json!({"term": "buy", "args": [{"atom": "tea"}, 3]});
    let parts = vec![A2aPart::of(PartContent::Data(data))];
    scene.send("", A2aMessage { parts, ..Scene::message("m1") }, false).expect("it is taken");
    let request = scene.outputs().0.remove(0);
    assert_eq!(request.content.to_string(), "buy(tea,3)");
    assert_eq!(value_to_string(&request.content).expect("it is flat"), r#"{"term":"buy","args":[{"atom":"tea"},3]}"#);
}

#[test]
fn ended_proxy_fails_its_tasks() {
    let mut scene = Scene::new();
    scene.send("", Scene::message("m1"), false).expect("it is taken");
    scene.outputs();
    let at = scene.at();
    scene.server.handle_gone(0, at);
    assert_eq!(names(&scene.outputs().1), "task failed!");
    scene.send("", A2aMessage { context_id: None, ..Scene::message("m2") }, false).expect("another agent is started");
}
