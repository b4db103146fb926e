//! Lines of plans and of their steps, where breakpoints may be.

use whimbrel_acl::Text;

use super::plans::each;
use crate::code::Image;
use crate::load::is_library;

/// Lines of a plan, or of a plan within a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanLines {
    /// File of the plan, as breakpoints name it.
    pub file: Text,
    /// Line where the plan begins; 0 if the plan has no text.
    pub line: u32,
    /// Lines where steps begin, sorted.
    pub steps: Vec<u32>,
}

/// Returns the lines of a program's plans, without those that every agent has.
pub fn plan_lines(image: &Image) -> Vec<PlanLines> {
    let mut found = Vec::new();
    for plan in image.plans.iter().filter(|plan| !is_library(&plan.source.file)) {
        each(plan, &mut |plan| {
            let mut steps: Vec<u32> = plan.body.sources.iter().map(|source| source.line).collect();
            steps.retain(|line| *line > 0);
            steps.sort_unstable();
            steps.dedup();
            found.push(PlanLines { file: plan.body.file.clone(), line: plan.source.span.line, steps });
        });
    }
    found
}
