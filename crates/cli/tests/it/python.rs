//! Environments and actions in Python: real processes of the interpreter that is installed.

use std::path::Path;
use std::process::Command;

use super::examples::{by_agent, repository};
use super::{CommandOutput, Scratch, whimbrel};

/// Returns a command whose Python finds the SDK of this repository.
fn with_sdk() -> Command {
    let mut command = whimbrel();
    command.env("PYTHONPATH", repository().join("sdk/python/src")).env_remove("VIRTUAL_ENV");
    command
}

fn run_in(folder: &Path, arguments: &[&str]) -> CommandOutput {
    with_sdk().args(arguments).current_dir(folder).output().expect("it runs").into()
}

#[track_caller]
fn run(files: &[(&str, &str)]) -> CommandOutput {
    run_in(Scratch::with(files).path(), &["run", files[0].0])
}

const ROOM: &str = "MAS room { environment: py(\"env.py\", 2) agents: bob; }";

const ENVIRONMENT: &str = "
import asyncio
from whimbrel.environment import ActionError, Atom, Environment, Term

class Room(Environment):
    def __init__(self, stock):
        self.door, self.stock = 'open', stock

    def percepts(self, agent):
        yield Term('door', Atom(self.door))
        yield Term('stock', self.stock)

    async def close(self, agent, how: str):
        print('closing', how)
        self.progress(0.5)
        await asyncio.sleep(0.01)
        self.door = 'closed'

    async def paint(self, agent):
        raise ActionError(Term('no_paint', agent))

    async def burn(self, agent):
        return 1 / 0

    async def end(self):
        print('the room ends')
";

#[test]
fn environment_acts_and_is_perceived() {
    let program = "
!go.
+!go <- .wait(door(_)); ?door(D); ?stock(S); .print(D, \" \", S); close(gently); ?door(E); .print(E);
  !try(paint); !try(burn); !try(brun); .stopMAS.
+progress(A, P) <- .print(A, \" \", P).
+!try(A) <- A.
-!try(A)[error(E), error_msg(M), failure_reason(R)] <- .print(A, \": \", E, \" \", M, \" \", R).
";
    let seen = run(&[("room.mas2j", ROOM), ("env.py", ENVIRONMENT), ("bob.asl", program)]);
    let lines = by_agent(&seen.out);
    assert_eq!(
        lines["[bob"],
        [
            " open 2",
            " closing gently",
            " close(gently) 0.5",
            " closed",
            " paint: action_failed no_paint(\"bob\") no_paint(\"bob\")",
            " burn: action_failed ZeroDivisionError: division by zero (env.py:23) ZeroDivisionError: division by zero (env.py:23)",
            " brun: action_failed Room has no action brun: did you mean burn? Room has no action brun: did you mean burn?",
        ],
        "{}",
        seen.err
    );
    assert_eq!(lines["[environment"], [" the room ends"]);
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""));
}

const ACTIONS: &str = "
from whimbrel.actions import Atom, caller, relation

def double(x):
    print('doubling', x)
    return 2 * x

def odd(x):
    return x % 2 == 1

def numbers(n):
    for i in range(n):
        yield i

def forever():
    i = 0
    while True:
        yield i
        i += 1

@relation
def parent(x, y):
    for one, other in (('ann', 'bob'), ('bob', 'cid')):
        yield Atom(one), Atom(other)

def who():
    return Atom(caller())

def bad(x):
    return x['no']

def nothing():
    pass
";

#[test]
fn calls_unify_in_bodies_and_contexts() {
    let program = "
!go.
small(X) :- py.numbers(3, X).
grand(X, Z) :- py.parent(X, Y) & py.parent(Y, Z).
+!go : py.double(4, Y) & py.odd(3) & not py.odd(4) & py.who(W) & not py.double(4, 9)
  <- .print(Y, \" \", W);
     py.double(21, X); .print(X); py.double(21, 42); py.odd(5);
     .findall(N, py.numbers(200, N), L); .length(L, Length); .print(Length);
     .findall(N, small(N), S); .print(S);
     ?(py.forever(Q) & Q > 100); .print(Q);
     ?grand(A, C); .print(A, \" \", C);
     if (py.odd(4)) { .print(odd) } else { .print(even) };
     for (py.numbers(2, I)) { .print(I) };
     .stopMAS.
";
    let seen = run(&[("bob.asl", program), ("actions.py", ACTIONS)]);
    let printed = "doubling 4|doubling 4|8 bob|doubling 21|42|doubling 21|200|[0,1,2]|101|ann cid|even|0|1";
    let lines: Vec<&str> = seen.out.lines().map(|line| line.strip_prefix("[bob] ").unwrap_or(line)).collect();
    assert_eq!(lines.join("|"), printed, "{}", seen.err);
    // The first formula waits until Python has started, which may take a busy machine more than a second.
    let faults: Vec<&str> = seen.err.lines().filter(|line| !line.contains("in one turn for a second")).collect();
    assert_eq!((seen.code, faults), (Some(0), vec![]));
}

#[test]
fn failed_call_names_line_of_python() {
    let program = "
!go.
+!go <- !try(py.bad(3)); !try(py.bad); !try(py.odd(2)); !try(py.nothing); !try(py.duoble(3, X)); !try(py.double(1, 3));
  !!uncaught; !over.
+!uncaught <- py.bad(1).
+!uncaught : false <- true.
+!over : .desire(uncaught) <- .wait(20); !over.
+!over <- .stopMAS.
+!try(A) <- A.
-!try(_)[error(E), error_msg(M), py_file(F), py_line(L)] <- .print(E, \" | \", M, \" | \", F, \" \", L).
-!try(_)[error(E), error_msg(M)] <- .print(E, \" | \", M).
";
    let seen = run(&[("bob.asl", program), ("actions.py", ACTIONS)]);
    let lines: Vec<&str> = seen.out.lines().filter(|line| !line.contains("doubling")).collect();
    assert_eq!(
        lines,
        [
            "[bob] unknown | TypeError: 'int' object is not subscriptable (actions.py:30) | actions.py 30",
            "[bob] wrong_arguments | py.bad takes 1 argument (x) and 1 result, and the call has 0 arguments \
             (actions.py:29) | actions.py 29",
            "[bob] ia_failed | py.odd returned False (actions.py:8) | actions.py 8",
            "[bob] ia_failed | py.nothing returned None: a function that succeeds returns a value, or is a @procedure \
             (actions.py:32) | actions.py 32",
            "[bob] action_failed | actions.py has no function duoble: did you mean double?",
            "[bob] ia_failed | the result 2 is not that of the call",
        ],
        "{}",
        seen.err
    );
    let report = "error: [bob] bob.asl:5: py.bad(1) failed: TypeError: 'int' object is not subscriptable (actions.py:30)\n    \
                  in +!uncaught\n";
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), report));
}

#[test]
fn crash_fails_calls_and_is_bounded() {
    let actions = "import os\n\ndef crash():\n    os._exit(3)\n\ndef fine(x):\n    return x\n";
    let program = "
!go(1).
+!go(N) : N <= 7 <- !crash; !go(N + 1).
+!go(_) <- .stopMAS.
+!crash <- py.crash.
-!crash[error(E), error_msg(M)] <- .print(E, \" \", M).
";
    let seen = run(&[("bob.asl", program), ("actions.py", actions)]);
    let ended = "[bob] action_failed the Python process has ended (exit status: 3)";
    let over = "[bob] action_failed the Python process has ended 6 times within 60 s: it is not started again";
    let lines: Vec<&str> = seen.out.lines().collect();
    assert_eq!(lines, [ended, ended, ended, ended, ended, ended, over], "{}", seen.err);
    assert!(seen.err.contains("the Python process has ended (exit status: 3)"), "{}", seen.err);
}

/// A child that the process forks leaves its pipes: the node notices the end of the process. The child ends after the
/// node.
#[cfg(unix)]
#[test]
fn crash_beside_forked_child_fails_calls() {
    let actions = "
import os, signal, time

def outlive(node):
    for _ in range(250):
        try:
            os.kill(node, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)

def crash():
    printed, prints = os.pipe()
    node = os.getppid()
    if os.fork() == 0:
        print('not a frame', flush=True)
        os.close(1)
        os.close(2)
        os.write(prints, b'.')
        outlive(node)
        os._exit(0)
    os.read(printed, 1)
    os.kill(os.getpid(), signal.SIGKILL)
";
    let program = "
!go. !late.
+!go <- py.crash.
-!go[error_msg(M)] <- .print(M); .stopMAS.
+!late <- .wait(20000); .print(late); .stopMAS.
";
    let seen = run(&[("bob.asl", program), ("actions.py", actions)]);
    assert!(seen.out.starts_with("[bob] the Python process has ended (signal: 9"), "{}\n{}", seen.out, seen.err);
}

/// The process ends with its environment, and calls that are open fail.
#[test]
fn killed_environment_fails_calls() {
    let actions = "
from threading import Event

started = Event()

def slow():
    print('asleep')
    started.set()
    Event().wait()

def starts():
    return started.wait()
";
    let program = "
!go. !late.
+!go <- !!kill; py.slow.
-!go[error_msg(M)] <- .print(M); !again.
+!again <- py.slow.
-!again[error_msg(M)] <- .print(M); .stopMAS.
+!kill <- .wait(door(_)); py.starts; .kill_agent(environment).
+!late <- .wait(20000); .print(late); .stopMAS.
";
    let seen = run(&[("room.mas2j", ROOM), ("env.py", ENVIRONMENT), ("bob.asl", program), ("actions.py", actions)]);
    let lines = by_agent(&seen.out);
    let ended = [" asleep", " the environment has ended", " the Python process has ended with its environment or node"];
    assert_eq!(lines["[bob"], ended, "{}", seen.err);
}

/// A formula waits for Python in its agent's turn: others have theirs, also those of the same thread.
#[test]
fn slow_formula_delays_no_other_agent() {
    let actions = "import time\n\ndef slow(x):\n    time.sleep(x)\n    return x\n";
    let bob = "!go. +!go <- py.slow(0, _); .broadcast(tell, begin); .wait(1); !wait. \
         +!wait : py.slow(3, _) <- .print(slow); .stopMAS.";
    let ada = "+begin <- !count(20). +!count(0) <- .print(done). +!count(N) <- .wait(5); !count(N - 1).";
    let project = "MAS m { agents: ada; bob; }";
    let folder = Scratch::with(&[("m.mas2j", project), ("ada.asl", ada), ("bob.asl", bob), ("actions.py", actions)]);
    let seen = run_in(folder.path(), &["run", "m.mas2j", "--workers", "1"]);
    assert_eq!(seen.out, "[ada] done\n[bob] slow\n", "{}", seen.err);
}

#[test]
fn crashed_environment_begins_anew() {
    let program = "
!go.
+!go <- .wait(stock(2)); !crash; .wait(stock(2)); close(x); ?door(D); .print(D); .stopMAS.
+!crash <- drop(all).
-!crash[error_msg(M)] <- .print(M).
";
    let environment = ENVIRONMENT.replace("async def end(self)", "async def drop(self, agent, x):\n        import os\n        self.stock = 7\n        self.update()\n        os._exit(3)\n\n    async def end(self)");
    let seen = run(&[("room.mas2j", ROOM), ("env.py", &environment), ("bob.asl", program)]);
    let lines = by_agent(&seen.out);
    assert_eq!(lines["[bob"][0], " the Python process has ended (exit status: 3)", "{}", seen.err);
    assert_eq!(lines["[bob"].last(), Some(&" closed"), "{}", seen.err);
    assert!(seen.err.contains("it is started again, and its state is lost"), "{}", seen.err);
}

#[test]
fn missing_python_is_named() {
    let folder = Scratch::with(&[
        ("bob.asl", "!go. +!go <- py.f. -!go[error_msg(M)] <- .print(M); .stopMAS."),
        ("actions.py", ""),
    ]);
    let run = |command: &mut Command| -> CommandOutput {
        command.args(["run", "bob.asl"]).current_dir(folder.path()).output().expect("it runs").into()
    };
    let absent = run(with_sdk().env("WHIMBREL_PYTHON", "/no/such/python"));
    assert!(absent.out.contains("Python cannot be started as /no/such/python"), "{}", absent.out);
    let without = run(whimbrel().env_remove("PYTHONPATH").env("PYTHONNOUSERSITE", "1").env_remove("VIRTUAL_ENV"));
    assert!(without.out.contains("has no package whimbrel: pip install whimbrel"), "{}", without.out);
}

#[test]
fn missing_file_is_error() {
    let seen = run(&[("room.mas2j", ROOM), ("bob.asl", "!go.")]);
    assert!(seen.code == Some(1) && seen.err.contains("there is no file env.py"), "{}", seen.err);
    let program = "!go. +!go <- py.f. -!go[error_msg(M)] <- .print(M); .stopMAS.";
    let seen = run(&[("bob.asl", program)]);
    assert_eq!(seen.out, "[bob] py.f is a function of actions.py, which does not exist\n");
}

#[test]
fn grid_example_prints_what_it_should() {
    let folder = repository().join("examples/gridworld");
    let expected = std::fs::read_to_string(folder.join("expected.txt")).expect("it has one");
    let seen = run_in(&folder, &["run", "."]);
    assert_eq!(by_agent(&seen.out), by_agent(&expected), "{}", seen.err);
    assert_eq!((seen.code, seen.err.as_str()), (Some(0), ""));
    assert_eq!(run_in(&folder, &["check", "."]).err, "1 project: nothing wrong\n");
}

/// A node that is killed takes its Python process with it, even a busy one.
#[cfg(unix)]
#[test]
fn killed_node_leaves_no_process() {
    use std::io::{BufRead, BufReader, Read};

    let actions = "import os\n\ndef spin():\n    print(os.getpid())\n    while True:\n        pass\n";
    let folder = Scratch::with(&[("bob.asl", "!go. +!go <- py.spin."), ("actions.py", actions)]);
    let mut command = with_sdk();
    command.args(["run", "bob.asl"]).current_dir(folder.path()).stdout(std::process::Stdio::piped());
    let mut node = command.stderr(std::process::Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(node.stdout.take().unwrap()).lines();
    let pid: u32 = lines.next().unwrap().unwrap().strip_prefix("[bob] ").unwrap().parse().unwrap();
    // The process has the node's standard error until it ends.
    let mut errors = node.stderr.take().unwrap();
    node.kill().unwrap();
    node.wait().unwrap();
    errors.read_to_string(&mut String::new()).unwrap();
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}
