//! Questions of operators to other nodes, also to nodes that cannot answer.

use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use whimbrel_platform::limits::{QUESTION_THREADS, QUESTIONS_AT_ONCE_MAX};
use whimbrel_runtime::QuestionError;

use crate::hops::Nodes;

const PATIENCE: Duration = Duration::from_secs(60);

/// Asks n1 several questions at once, each on a thread of its own, while messages are delivered until `enough` of
/// them are answered. Then calls `after`, and waits for the others, too.
fn ask(
    nodes: &Nodes,
    questions: &[&str],
    at_most: Duration,
    enough: usize,
    after: impl FnOnce(),
) -> Vec<Result<Vec<u8>, QuestionError>> {
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        for question in questions {
            let (tell, question) = (tell.clone(), question.as_bytes().to_vec());
            scope.spawn(move || tell.send(nodes.at(0).ask_node("n1", question, at_most)));
        }
        let (mut heard, mut after, begin) = (Vec::new(), Some(after), Instant::now());
        while heard.len() < questions.len() {
            assert!(begin.elapsed() < PATIENCE, "{heard:?}");
            nodes.pairs().into_iter().for_each(|(from, to)| while nodes.step(from, to) {});
            heard.extend(told.recv_timeout(Duration::from_millis(1)));
            if heard.len() >= enough
                && let Some(after) = after.take()
            {
                after();
            }
        }
        heard
    })
}

#[test]
fn unanswered_question_is_forgotten() {
    let nodes = Nodes::with(2, 1, |_, builder| builder);
    let answerer = |_, question: &[u8]| {
        assert_ne!(question, b"odd", "nobody can answer that");
        question.to_vec()
    };
    assert!(nodes.at(1).answer_with(Arc::new(answerer)));
    for _ in 0..=QUESTION_THREADS {
        let heard = ask(&nodes, &["odd"; 5], Duration::from_millis(50), 0, || ());
        assert!(heard.iter().all(|heard| *heard == Err(QuestionError::NoAnswer("n1".into()))), "{heard:?}");
    }
    assert_eq!(ask(&nodes, &["even"], PATIENCE, 0, || ()), [Ok(b"even".to_vec())]);
}

#[test]
fn overloaded_node_answers_busy() {
    let nodes = Nodes::with(2, 1, |_, builder| builder);
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let answerer = move |_, question: &[u8]| {
        // Each waits until the test releases it.
        let _ = wait.lock().unwrap().recv();
        question.to_vec()
    };
    assert!(nodes.at(1).answer_with(Arc::new(answerer)));
    let questions = vec!["?"; QUESTIONS_AT_ONCE_MAX as usize + 3];
    let heard = ask(&nodes, &questions, PATIENCE, 3, || drop(go));
    let is_busy = |heard: &Result<_, _>| *heard == Err(QuestionError::Busy("n1".into()));
    assert!(heard[..3].iter().all(is_busy), "{heard:?}");
    assert!(heard[3..].iter().all(|heard| *heard == Ok(b"?".to_vec())), "{heard:?}");
}

#[test]
fn unlinked_node_fails_at_once() {
    let mut nodes = Nodes::with(2, 1, |_, builder| builder);
    nodes.kill(1);
    let begin = Instant::now();
    assert!(nodes.at(0).ask_node("n1", vec![1], PATIENCE).is_err());
    assert!(begin.elapsed() < PATIENCE / 2);
}
