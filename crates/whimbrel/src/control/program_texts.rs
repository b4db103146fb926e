//! Programs of the project, and their text, for operators.

use whimbrel_acl::Symbol;
use whimbrel_operator::{ProgramText, Reason, Refusal};
use whimbrel_runtime::Platform;

use crate::programs::SocietyLoader;

/// Returns the text of an agent's program, or of another file of the project. The agent lives on this node.
pub(super) fn read(
    platform: &Platform,
    programs: Option<&SocietyLoader>,
    agent: &str,
    file: Option<String>,
) -> Result<ProgramText, Refusal> {
    let own = || {
        let names: Vec<Symbol> = Symbol::known(agent).into_iter().collect();
        platform.figures_of(&names).into_iter().find_map(|figures| figures.program)
    };
    let file = file.or_else(|| own().map(|file| file.to_string())).unwrap_or_default();
    let text = programs.and_then(|programs| Some((programs.name(&file), programs.text(&file)?)));
    let none = || Refusal::new(Reason::BadState, format!("the project has no AgentSpeak program of {agent}"));
    text.map(|(file, text)| ProgramText { file, text }).ok_or_else(none)
}
