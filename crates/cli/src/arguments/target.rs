//! Options that choose a platform and its nodes.

use clap::Args;

/// Which platform, and which of its nodes, a command is about.
#[derive(Clone, Debug, Default, Args)]
pub struct TargetArguments {
    /// The platform, by its name or its project's, if several run here.
    #[arg(long, value_name = "NAME", help_heading = "Which platform")]
    pub platform: Option<String>,
    /// Only this node of it.
    #[arg(long, value_name = "NAME", help_heading = "Which platform")]
    pub node: Option<String>,
    /// The node that is this process.
    #[arg(long, value_name = "PID", help_heading = "Which platform")]
    pub pid: Option<u32>,
}

impl From<&TargetArguments> for whimbrel::control::Target {
    fn from(target: &TargetArguments) -> Self {
        Self { platform: target.platform.clone(), node: target.node.clone(), pid: target.pid }
    }
}
