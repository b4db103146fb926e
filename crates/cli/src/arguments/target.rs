//! Options that choose a platform and its nodes.

use clap::Args;

/// Selection of a platform, and of one of its nodes.
#[derive(Clone, Debug, Default, Args)]
pub struct TargetArguments {
    /// Name of the platform or its project, if several run on this machine.
    #[arg(long, value_name = "NAME", help_heading = "Platform")]
    pub platform: Option<String>,
    /// Name of one node of the platform.
    #[arg(long, value_name = "NAME", help_heading = "Platform")]
    pub node: Option<String>,
    /// Process number of the node.
    #[arg(long, value_name = "PID", help_heading = "Platform")]
    pub pid: Option<u32>,
}

impl From<&TargetArguments> for whimbrel::control::PlatformChoice {
    fn from(target: &TargetArguments) -> Self {
        Self { platform: target.platform.clone(), node: target.node.clone(), pid: target.pid }
    }
}
