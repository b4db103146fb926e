//! A node among others on other machines: letting them join, and joining.

use std::net::ToSocketAddrs;
use std::path::Path;
use std::sync::{Arc, Weak, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use whimbrel_net::{Credentials, Hub, HubConfig, HubView, Level};
use whimbrel_runtime::Platform;

use crate::arguments::{Join, Run};
use crate::credentials::{self, Watched, alone};
use crate::durability::Durability;
use crate::policy_setup::Guards;
use whimbrel_terminal as terminal;
use whimbrel_terminal::options::SecurityLevel;
use whimbrel_terminal::stopping::{Farewell, Stopping};

/// The name of the node that others join first, if its certificate says no other.
const FIRST: &str = "n1";
/// How long it may take until the platform that is joined has told of its agents.
const JOIN_PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take beyond that until the platform's other nodes have, before agents begin without.
const OTHERS_PATIENCE: Duration = Duration::from_secs(3);
/// How often that is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How long good-byes may take.
const LEAVE_PATIENCE: Duration = Duration::from_secs(2);

/// This node's links.
pub struct Membership {
    hub: Arc<Hub>,
}

impl Membership {
    /// Lets other nodes join at `address`.
    pub fn listen(arguments: &Run, address: &str, platform: &Platform, guards: &Guards) -> anyhow::Result<Self> {
        let level = level_for(arguments.security, address, arguments.credentials.as_deref())?;
        let asked = arguments.name.as_deref();
        let mut config = config_of(asked, FIRST, level, arguments.credentials.as_deref(), platform)?;
        config.token.clone_from(&arguments.token);
        let member = Self::open(arguments, config, address, platform, guards)?;
        if !arguments.quiet {
            terminal::note(&format!("others can join at {}", member.hub.address().unwrap_or(address)));
        }
        Ok(member)
    }

    /// Becomes a node of a cluster, with the name and the secret that it was let in with.
    pub fn of_cluster(
        arguments: &Run,
        keeping: &Durability,
        address: &str,
        platform: &Platform,
        guards: &Guards,
    ) -> anyhow::Result<Self> {
        check_reachable(address)?;
        let level = level_for(arguments.security, address, arguments.credentials.as_deref())?;
        let mut config = config_of(Some(keeping.node()), FIRST, level, arguments.credentials.as_deref(), platform)?;
        config.token = Some(keeping.token().to_owned());
        Self::open(arguments, config, address, platform, guards)
    }

    /// Listens there, as these say.
    fn open(
        arguments: &Run,
        mut config: HubConfig,
        address: &str,
        platform: &Platform,
        guards: &Guards,
    ) -> anyhow::Result<Self> {
        config.encoding = arguments.encoding;
        config.patience = arguments.link_timeout.unwrap_or(config.patience);
        guards.guard(&mut config)?;
        config.log = log(arguments.quiet);
        let hub = Arc::new(Hub::start(config, platform.station(), Some(address))?);
        watch(arguments.credentials.as_deref(), &hub);
        platform.link_with(hub.links());
        Ok(Self { hub })
    }

    /// What links this node with others, as long as it is a member.
    pub fn dialler(&self) -> Dialler {
        Dialler(Arc::downgrade(&self.hub))
    }

    /// Where this node listens.
    pub fn address(&self) -> Option<String> {
        self.hub.address().map(str::to_owned)
    }

    /// Joins a platform, and waits until it has told of its agents. `None` if this node is to end before.
    pub fn join(
        arguments: &Join,
        platform: &Platform,
        guards: &Guards,
        stopping: &Stopping,
    ) -> anyhow::Result<Option<Self>> {
        let mut level = level_for(arguments.security, &arguments.address, arguments.credentials.as_deref())?;
        if let Some(listen) = &arguments.listen {
            check_reachable(listen)?;
            level = level.max(level_for(arguments.security, listen, arguments.credentials.as_deref())?);
        }
        let made_up = format!("n-{:08x}", platform.services().random() as u32);
        let asked = arguments.name.as_deref();
        let mut config = config_of(asked, &made_up, level, arguments.credentials.as_deref(), platform)?;
        config.token.clone_from(&arguments.token);
        config.encoding = arguments.encoding;
        config.patience = arguments.link_timeout.unwrap_or(config.patience);
        guards.guard(&mut config)?;
        config.log = log(arguments.quiet);
        let hub = Arc::new(Hub::start(config, platform.station(), arguments.listen.as_deref())?);
        watch(arguments.credentials.as_deref(), &hub);
        platform.link_with(hub.links());
        let first = hub.connect(&arguments.address);
        let until = Instant::now() + JOIN_PATIENCE;
        while !platform.knows_all_of(first) {
            if let Some(why) = hub.refusal() {
                bail!("the platform at {} does not want this node: {why}", arguments.address);
            }
            let (no_node, obstacle) = hub.obstacle();
            if let Some(why) = no_node {
                bail!("there is no node at {} that this one could link with: {why}", arguments.address);
            }
            if Instant::now() > until {
                let why = obstacle.unwrap_or_else(|| "it does not tell of its agents".to_owned());
                bail!("the platform at {} cannot be joined within {JOIN_PATIENCE:?}: {why}", arguments.address);
            }
            if stopping.within(LOOK_EVERY) {
                return Ok(None);
            }
        }
        let member = Self { hub };
        Ok(member.hear_of_others(platform, stopping, arguments.quiet)?.then_some(member))
    }

    /// Waits until the other nodes of the platform have told of their agents, too: names that are theirs are taken. False if this node is
    /// to end before.
    fn hear_of_others(&self, platform: &Platform, stopping: &Stopping, quiet: bool) -> anyhow::Result<bool> {
        let links = self.hub.links();
        let until = Instant::now() + OTHERS_PATIENCE;
        let mut silent = links.nodes();
        loop {
            silent.retain(|node| !platform.knows_all_of(*node));
            if let Some(why) = self.hub.refusal() {
                bail!("a node of the platform does not want this one: {why}");
            }
            if silent.is_empty() || Instant::now() > until {
                break;
            }
            if stopping.within(LOOK_EVERY) {
                return Ok(false);
            }
        }
        let names: Vec<String> = silent.into_iter().filter_map(|node| links.name_of(node)).collect();
        if !names.is_empty() && !quiet {
            let names = names.join(", ");
            terminal::note(&format!(
                "no link to {names} yet: if an agent there has the name of one here, one of the two ends"
            ));
        }
        Ok(true)
    }

    /// The links as an operator sees them.
    pub fn view(&self) -> HubView {
        self.hub.view()
    }

    /// Tells this channel, in place of the one before, whenever every other node has left.
    pub fn when_alone(&self, tell: Option<mpsc::Sender<()>>) {
        self.hub.when_alone(tell);
    }

    /// Says good-bye.
    pub fn end(self, farewell: &Farewell) {
        alone(self.hub).leave(farewell.patience(LEAVE_PATIENCE));
    }
}

/// Links a node with others.
pub struct Dialler(Weak<Hub>);

impl Dialler {
    /// Connects to these nodes, by name and address, unless they are linked already. Forgets other nodes that were
    /// lost.
    pub fn dial(&self, members: &[(String, String)]) {
        let Some(hub) = self.0.upgrade() else { return };
        for (name, address) in members {
            hub.connect_to(name, address);
        }
        hub.forget_lost_but(members);
    }
}

/// Has the hub show and trust what is in the folder, whenever that changes.
fn watch(folder: Option<&Path>, hub: &Arc<Hub>) {
    let Some(folder) = folder else { return };
    let hub = Arc::downgrade(hub);
    Watched::new(folder).watch(move |credentials| {
        let Some(hub) = hub.upgrade() else { return false };
        match credentials.map(|credentials| hub.set_credentials(credentials)) {
            Some(Ok(())) => terminal::note("the new credentials are in use"),
            Some(Err(error)) => terminal::note(&format!("the new credentials are of no use: {error}")),
            None => {}
        }
        true
    });
}

fn log(quiet: bool) -> Box<dyn Fn(&str) + Send + Sync> {
    Box::new(move |text| {
        if !quiet {
            terminal::note(text);
        }
    })
}

/// How connections at `address` are secured, and with what.
///
/// # Errors
/// They are to be, and there is nothing to do it with.
pub fn security_at(
    asked: Option<SecurityLevel>,
    address: &str,
    folder: Option<&Path>,
) -> anyhow::Result<(Level, Option<Credentials>)> {
    let level = level_for(asked, address, folder)?;
    Ok((level, folder.map(credentials::read).transpose()?))
}

/// What is asked for; else, authenticated beyond this machine.
fn level_for(asked: Option<SecurityLevel>, address: &str, credentials: Option<&Path>) -> anyhow::Result<Level> {
    let addresses = address.to_socket_addrs().with_context(|| format!("{address} is no address as 127.0.0.1:7001"))?;
    let here = addresses.into_iter().all(|address| address.ip().is_loopback());
    let level = match asked {
        Some(asked) => Level::from(asked),
        None if here && credentials.is_none() => Level::Open,
        None => Level::Authenticated,
    };
    if level != Level::Open && credentials.is_none() {
        bail!(
            "connections at {address} are to be secured: make certificates with `whimbrel ca init` and `whimbrel ca issue`, \
             and name this node's with --credentials (or say --security open)"
        );
    }
    Ok(level)
}

/// Other nodes are told this address as it stands.
fn check_reachable(address: &str) -> anyhow::Result<()> {
    let mut addresses =
        address.to_socket_addrs().with_context(|| format!("{address} is no address as 10.0.0.2:7001"))?;
    if addresses.any(|address| address.ip().is_unspecified()) {
        bail!("nobody can reach {address}: --listen takes the address under which other nodes see this one");
    }
    Ok(())
}

/// What a node's links are to be. It has the name that is asked for, else the one in its certificate, else `otherwise`.
fn config_of(
    asked: Option<&str>,
    otherwise: &str,
    level: Level,
    folder: Option<&Path>,
    platform: &Platform,
) -> anyhow::Result<HubConfig> {
    let services = platform.services();
    let credentials = folder.map(credentials::read).transpose()?;
    let certified = credentials.as_ref().map(Credentials::node).transpose()?.flatten();
    let name = asked.or(certified.as_deref()).unwrap_or(otherwise);
    let mut config = HubConfig::new(services.platform().as_str(), name, services.random());
    config.level = level;
    config.credentials = credentials;
    Ok(config)
}
