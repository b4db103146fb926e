//! Agents that an operator has made: of a program, or of another agent.

use std::path::{Component, Path};

use whimbrel_acl::{Aid, Symbol, Value};
use whimbrel_bdi::{Bundle, Included};
use whimbrel_operator::{IncludedSource, ProgramSource, Reason, Refusal, Spawning};
use whimbrel_platform::ams::CloneError;
use whimbrel_platform::durable::CodeHash;
use whimbrel_platform::limits::SPAWNED_AT_ONCE_MAX;
use whimbrel_platform::services::{AgentSource, CreateAgent, CreateError};

use super::operator_service::OperatorService;
use crate::programs::code_option;

/// Makes agents, all or none: their names.
pub(super) fn spawn(service: &OperatorService, spawning: Spawning) -> Result<Vec<String>, Refusal> {
    let Spawning { name, program, source, count, beliefs, goals } = spawning;
    check_path(&program)?;
    let code = match source {
        Some(source) => Some(admit(service, &program, source)?),
        None => check_file(service, &program).map(|()| None)?,
    };
    let names = match count {
        None => vec![name],
        Some(count @ 1..=SPAWNED_AT_ONCE_MAX) => (1..=count).map(|number| format!("{name}{number}")).collect(),
        Some(_) => {
            let text = format!("expected a count from 1 to {SPAWNED_AT_ONCE_MAX}");
            return Err(Refusal::new(Reason::BadRequest, text));
        }
    };
    // Checked before any agent is created that would have to end again.
    if let Some(taken) = names.iter().find(|name| service.found(name).is_some()) {
        return Err(Refusal::new(Reason::BadState, format!("an agent named {taken} exists already")));
    }
    let options = [("beliefs", beliefs), ("goals", goals)];
    let options = options.into_iter().filter_map(|(key, text)| Some((Symbol::new(key), Value::from(text?.as_str()))));
    let options: Vec<(Symbol, Value)> = options.chain(code.map(code_option)).collect();
    let mut made: Vec<Aid> = Vec::new();
    for name in &names {
        let source = AgentSource::Program { path: program.clone(), options: options.clone() };
        let request = CreateAgent { name: Symbol::new(name), unique: false, owner: None, source };
        match service.platform().services().create(request) {
            Ok(aid) => made.push(aid),
            Err(error) => {
                made.iter().for_each(|aid| _ = service.platform().kill(*aid));
                return Err(refusal(&error));
            }
        }
    }
    Ok(names)
}

/// Returns a program as it travels: of this text, or a program of the project.
pub(super) fn bundle(
    service: &OperatorService,
    program: &str,
    source: Option<ProgramSource>,
) -> Result<Vec<u8>, Refusal> {
    check_path(program)?;
    let Some(source) = source else {
        check_file(service, program)?;
        let programs = service.programs.as_ref().ok_or_else(no_programs)?;
        return programs.bundle(program).map_err(|error| Refusal::new(Reason::BadRequest, error.to_string()));
    };
    bundle_of(source).encode().ok_or_else(|| Refusal::new(Reason::BadRequest, format!("{program} is too large")))
}

fn bundle_of(source: ProgramSource) -> Bundle {
    let included = source.includes.into_iter();
    // Names of files beside the program are relative to its folder.
    let is_beside = |name: &str| !name.is_empty() && !Path::new(name).is_absolute();
    let included = included.map(|IncludedSource { path, name, text }| {
        let is_beside = is_beside(&name);
        Included { path, name, is_beside, text }
    });
    Bundle { text: source.text, included: included.collect() }
}

/// Has the node keep a program that came as text. Returns the hash by which the node knows the program.
fn admit(service: &OperatorService, program: &str, source: ProgramSource) -> Result<CodeHash, Refusal> {
    let bytes = bundle(service, program, Some(source))?;
    let programs = service.programs.as_ref().ok_or_else(no_programs)?;
    programs.admit_text(program, bytes).map_err(|error| Refusal::new(Reason::BadRequest, error.to_string()))
}

fn no_programs() -> Refusal {
    Refusal::new(Reason::BadState, "this node runs no AgentSpeak programs")
}

/// Makes an agent that continues as another one does.
pub(super) fn clone(service: &OperatorService, agent: &str, name: &str) -> Result<(), Refusal> {
    service.not_ours(agent)?;
    service.is_here(agent)?;
    let original = service.known(agent)?;
    service.platform().clone_agent(original, name).map(drop).map_err(|error| match error {
        CloneError::Copy(error) => refusal(&error),
        error => Refusal::new(Reason::BadState, error.to_string()),
    })
}

fn refusal(error: &CreateError) -> Refusal {
    let reason = match error {
        CreateError::BadName { .. } | CreateError::BadProgram { .. } => Reason::BadRequest,
        CreateError::Forbidden(_) => Reason::NotAllowed,
        CreateError::TooManyAgents { .. }
        | CreateError::NoRoomElsewhere(_)
        | CreateError::TooLittleMemory { .. }
        | CreateError::TooManyOfOwner { .. }
        | CreateError::TooFast { .. } => Reason::Busy,
        _ => Reason::BadState,
    };
    Refusal::new(reason, error.to_string())
}

/// Refuses programs outside the society's folders. Otherwise users of the console could read other files of the machine
/// by the errors in them.
fn check_path(program: &str) -> Result<(), Refusal> {
    let is_below = Path::new(program).components().all(|part| matches!(part, Component::Normal(_)));
    if is_below && !program.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(Reason::BadRequest, "expected a program of the project, as bidder.asl: a path below its folder"))
}

/// Refuses files outside the project's folder; a symbolic link may lead to any file of the machine.
fn check_file(service: &OperatorService, program: &str) -> Result<(), Refusal> {
    if service.programs.as_ref().is_none_or(|programs| programs.has_inside(program)) {
        return Ok(());
    }
    let text =
        format!("the project has no program {program}: expected a file below its folder, which is no symbolic link");
    Err(Refusal::new(Reason::BadRequest, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_those_of_the_project() {
        assert!(["bidder.asl", "agents/bidder.asl", "counter.wasm"].iter().all(|path| check_path(path).is_ok()));
        assert!(
            ["", "/etc/passwd", "../other.asl", "agents/../../other.asl"].iter().all(|path| check_path(path).is_err())
        );
    }
}
