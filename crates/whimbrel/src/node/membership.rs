//! A node among others on other machines: letting them join, and joining.

use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use whimbrel_acl::Encoding;
use whimbrel_net::{Credentials, Hub, HubConfig, HubView, LinkSecurity};
use whimbrel_runtime::Platform;

use super::Notes;
use super::credentials::{self, WatchedFolder, alone};
use super::durability::Durability;
use super::ending::Farewell;
use super::policy_setup::Guards;

/// The name of the node that others join first, if its certificate says no other.
const FIRST: &str = "n1";
/// Longest time until the joined platform has named its agents.
const JOIN_PATIENCE: Duration = Duration::from_secs(10);
/// Further time for the platform's other nodes to name theirs, before agents begin without them.
const OTHERS_PATIENCE: Duration = Duration::from_secs(3);
/// Interval of looks meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Longest time for good-byes.
const LEAVE_PATIENCE: Duration = Duration::from_secs(2);

/// Name, address and security of a node's links.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// Name of this node; the one in its certificate, or a usual one, if there is none.
    pub name: Option<String>,
    /// Address at which other nodes reach this one.
    pub listen: Option<String>,
    /// Secret of the platform.
    pub token: Option<String>,
    /// Security; authenticated beyond this machine if nothing is said.
    pub level: Option<LinkSecurity>,
    /// Folder with this node's certificate.
    pub credentials: Option<PathBuf>,
    /// Encoding of messages on links.
    pub encoding: Encoding,
    /// Time for which another node may be out of reach before it is taken for lost.
    pub patience: Option<Duration>,
}

impl Default for LinkOptions {
    fn default() -> Self {
        let (name, listen, token, level, credentials, patience) = Default::default();
        Self { name, listen, token, level, credentials, encoding: Encoding::Compact, patience }
    }
}

/// Links of a node to the others of its platform.
pub struct Membership {
    hub: Arc<Hub>,
    notes: Notes,
}

impl Membership {
    /// Lets other nodes join at `address`.
    ///
    /// # Errors
    /// The node cannot listen there, or its links cannot be secured.
    pub fn listen(
        options: &LinkOptions,
        address: &str,
        platform: &Platform,
        guards: &Guards,
        notes: &Notes,
    ) -> anyhow::Result<Self> {
        let level = level_for(options.level, address, options.credentials.as_deref())?;
        let asked = options.name.as_deref();
        let mut config = config_of(asked, FIRST, level, options.credentials.as_deref(), platform)?;
        config.token.clone_from(&options.token);
        let member = Self::open(options, config, address, platform, guards, notes)?;
        notes.news(&format!("others can join at {}", member.hub.address().unwrap_or(address)));
        Ok(member)
    }

    /// Becomes a node of a cluster, with the name and the secret that it was let in with.
    ///
    /// # Errors
    /// As [`Membership::listen`].
    pub fn of_cluster(
        options: &LinkOptions,
        durability: &Durability,
        address: &str,
        platform: &Platform,
        guards: &Guards,
        notes: &Notes,
    ) -> anyhow::Result<Self> {
        check_reachable(address)?;
        let level = level_for(options.level, address, options.credentials.as_deref())?;
        let mut config = config_of(Some(durability.node()), FIRST, level, options.credentials.as_deref(), platform)?;
        config.token = Some(durability.token().to_owned());
        Self::open(options, config, address, platform, guards, notes)
    }

    /// Listens there, as these say.
    fn open(
        options: &LinkOptions,
        mut config: HubConfig,
        address: &str,
        platform: &Platform,
        guards: &Guards,
        notes: &Notes,
    ) -> anyhow::Result<Self> {
        config.encoding = options.encoding;
        config.patience = options.patience.unwrap_or(config.patience);
        guards.guard(&mut config)?;
        config.log = log(notes);
        let hub = Arc::new(Hub::start(config, platform.station(), Some(address))?);
        watch(options.credentials.as_deref(), &hub, notes);
        platform.link_with(hub.links());
        Ok(Self { hub, notes: notes.clone() })
    }

    /// Returns the dialler of links to other nodes, for as long as this node is a member.
    pub fn dialler(&self) -> Dialler {
        Dialler(Arc::downgrade(&self.hub))
    }

    /// Returns the address at which this node listens.
    pub fn address(&self) -> Option<String> {
        self.hub.address().map(str::to_owned)
    }

    /// Joins the platform at `address`, and waits until it has told of its agents. `None` if this node is to end
    /// before: `ends_within` waits for so long, and returns true then.
    ///
    /// # Errors
    /// The platform refuses this node, or does not answer in time, or its links cannot be secured.
    pub fn join(
        options: &LinkOptions,
        address: &str,
        platform: &Platform,
        guards: &Guards,
        ends_within: &dyn Fn(Duration) -> bool,
        notes: &Notes,
    ) -> anyhow::Result<Option<Self>> {
        let mut level = level_for(options.level, address, options.credentials.as_deref())?;
        if let Some(listen) = &options.listen {
            check_reachable(listen)?;
            level = level.max(level_for(options.level, listen, options.credentials.as_deref())?);
        }
        let made_up = format!("n-{:08x}", platform.services().random() as u32);
        let asked = options.name.as_deref();
        let mut config = config_of(asked, &made_up, level, options.credentials.as_deref(), platform)?;
        config.token.clone_from(&options.token);
        config.encoding = options.encoding;
        config.patience = options.patience.unwrap_or(config.patience);
        guards.guard(&mut config)?;
        config.log = log(notes);
        let hub = Arc::new(Hub::start(config, platform.station(), options.listen.as_deref())?);
        watch(options.credentials.as_deref(), &hub, notes);
        platform.link_with(hub.links());
        let first = hub.connect(address);
        let until = Instant::now() + JOIN_PATIENCE;
        while !platform.knows_all_of(first) {
            if let Some(why) = hub.refusal() {
                bail!("the platform at {} refused this node: {why}", address);
            }
            let (no_node, obstacle) = hub.obstacle();
            if let Some(why) = no_node {
                bail!("cannot link to a node at {}: {why}", address);
            }
            if Instant::now() > until {
                let why =
                    obstacle.unwrap_or_else(|| "it sent an unexpected answer to a query for its agents".to_owned());
                bail!("cannot join the platform at {} within {JOIN_PATIENCE:?}: {why}", address);
            }
            if ends_within(LOOK_EVERY) {
                return Ok(None);
            }
        }
        let member = Self { hub, notes: notes.clone() };
        Ok(member.hear_of_others(platform, ends_within)?.then_some(member))
    }

    /// Waits until the other nodes of the platform have told of their agents, too: names of these agents are taken.
    /// Returns false if this node is to end before.
    fn hear_of_others(&self, platform: &Platform, ends_within: &dyn Fn(Duration) -> bool) -> anyhow::Result<bool> {
        let links = self.hub.links();
        let until = Instant::now() + OTHERS_PATIENCE;
        let mut silent = links.nodes();
        loop {
            silent.retain(|node| !platform.knows_all_of(*node));
            if let Some(why) = self.hub.refusal() {
                bail!("a node of the platform refused this node: {why}");
            }
            if silent.is_empty() || Instant::now() > until {
                break;
            }
            if ends_within(LOOK_EVERY) {
                return Ok(false);
            }
        }
        let names: Vec<String> = silent.into_iter().filter_map(|node| links.name_of(node)).collect();
        if !names.is_empty() {
            let names = names.join(", ");
            self.notes.news(&format!(
                "no link to {names} yet: if both nodes have an agent of the same name, one of the two is stopped"
            ));
        }
        Ok(true)
    }

    /// Returns the links as an operator sees them.
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
fn watch(folder: Option<&Path>, hub: &Arc<Hub>, notes: &Notes) {
    let Some(folder) = folder else { return };
    let hub = Arc::downgrade(hub);
    let told = notes.clone();
    WatchedFolder::new(folder).watch(notes.clone(), move |credentials| {
        let Some(hub) = hub.upgrade() else { return false };
        match credentials.map(|credentials| hub.set_credentials(credentials)) {
            Some(Ok(())) => told.warning("the new credentials are in use"),
            Some(Err(error)) => told.warning(&format!("cannot use the new credentials: {error}")),
            None => {}
        }
        true
    });
}

fn log(notes: &Notes) -> Box<dyn Fn(&str) + Send + Sync> {
    let notes = notes.clone();
    Box::new(move |text| notes.news(text))
}

/// Returns the security of connections at `address`, with credentials.
///
/// # Errors
/// They are to be, and there is nothing to do it with.
pub fn security_at(
    asked: Option<LinkSecurity>,
    address: &str,
    folder: Option<&Path>,
) -> anyhow::Result<(LinkSecurity, Option<Credentials>)> {
    let level = level_for(asked, address, folder)?;
    Ok((level, folder.map(credentials::read).transpose()?))
}

/// Returns the requested level; by default, links to other machines are authenticated.
fn level_for(asked: Option<LinkSecurity>, address: &str, credentials: Option<&Path>) -> anyhow::Result<LinkSecurity> {
    let addresses = address
        .to_socket_addrs()
        .with_context(|| format!("invalid address {address}: expected for example 127.0.0.1:7001"))?;
    let here = addresses.into_iter().all(|address| address.ip().is_loopback());
    let level = match asked {
        Some(asked) => asked,
        None if here && credentials.is_none() => LinkSecurity::Open,
        None => LinkSecurity::Authenticated,
    };
    if level != LinkSecurity::Open && credentials.is_none() {
        bail!(
            "connections at {address} must be secured: make certificates with `whimbrel ca init` and `whimbrel ca issue`, \
             and give this node's with --credentials (or give --security open)"
        );
    }
    Ok(level)
}

/// Checks that other nodes can use this address: they are told it as it stands.
fn check_reachable(address: &str) -> anyhow::Result<()> {
    let mut addresses = address
        .to_socket_addrs()
        .with_context(|| format!("invalid address {address}: expected for example 10.0.0.2:7001"))?;
    if addresses.any(|address| address.ip().is_unspecified()) {
        bail!("other nodes cannot reach {address}: give --listen the address at which they see this node");
    }
    Ok(())
}

/// Returns the configuration of a node's links. The name is the requested one, else that of the certificate, else
/// `otherwise`.
fn config_of(
    asked: Option<&str>,
    otherwise: &str,
    level: LinkSecurity,
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
