//! `--durable`, `--store`: a society that is kept, so that it goes on where it was however this process ends.

mod tenure;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use whimbrel_platform::store::{Coord, Epoch, Journal, Revision};
use whimbrel_runtime::{Kept, Platform, PlatformBuilder, erase, recover};
use whimbrel_store::{Embedded, Options};

use self::tenure::{Beating, Claim, Terms, claim};
use crate::arguments::Run;
use crate::stopping::{INTERRUPTED, Stopping};
use crate::terminal;

/// The folder beside a project in which its society is kept.
const FOLDER: &str = ".whimbrel";
/// The key that is there while what is kept is being forgotten.
const ERASING: &str = "erasing";
/// The exit code of a process whose society another one took over.
pub const DEPOSED: i32 = 75;

/// A store: a folder, or an engine.
trait Store: Journal + Coord {}
impl<S: Journal + Coord> Store for S {}

/// A store, and this process's right to write to it.
pub struct Keeping {
    store: Arc<dyn Store>,
    epoch: Epoch,
    beating: Beating,
    /// Where the society runs, once it does.
    platform: Arc<OnceLock<Platform>>,
}

/// What a society's keeping begins with.
pub enum Begun {
    /// It is not kept.
    No(PlatformBuilder),
    /// It is.
    Yes(Keeping, PlatformBuilder),
    /// This process is not needed.
    Over(ExitCode),
}

impl Keeping {
    /// Opens the society's store, if it is to be kept, and gives the platform to be what is in it.
    pub fn begin(arguments: &Run, file: &Path, builder: PlatformBuilder, stopping: &Stopping) -> anyhow::Result<Begun> {
        let place = match &arguments.store {
            Some(place) => place.clone(),
            None if arguments.durable => default_folder(file).to_string_lossy().into_owned(),
            None if arguments.fresh => {
                anyhow::bail!("--fresh is for societies that are kept: with --durable or --store")
            }
            None => return Ok(Begun::No(builder)),
        };
        let on_engine = place.contains("://");
        let store = open(&place, on_engine)?;
        let coord: Arc<dyn Coord> = Arc::clone(&store) as _;
        let terms = Terms {
            exclusive: !on_engine,
            standby: arguments.standby,
            patience: arguments.takeover.unwrap_or(PATIENCE),
        };
        let tenure = match claim(&coord, &terms, |time| stopping.within(time), terminal::note)? {
            Claim::Ours(tenure) => tenure,
            Claim::Concluded => return Ok(Begun::Over(ExitCode::SUCCESS)),
            Claim::Interrupted => return Ok(Begun::Over(ExitCode::from(INTERRUPTED as u8))),
        };
        if let Some(dead) = &tenure.succeeded {
            terminal::note(&format!("{dead} gives no sign of life: taking over"));
        }
        let (epoch, took_over) = (tenure.epoch(), tenure.succeeded.is_some());
        let platform = Arc::new(OnceLock::new());
        let beating = tenure.begin(deposed(Arc::clone(&platform)));
        let keeping = Self { store, epoch, beating, platform };
        if arguments.fresh || keeping.was_being_erased()? {
            keeping.erase()?;
        }
        let kept = keeping.recover(&place)?;
        if kept.stopped().is_some() && took_over {
            terminal::note("it had ended the society, which is not begun again");
            keeping.erase()?;
            keeping.beating.end(true);
            return Ok(Begun::Over(ExitCode::SUCCESS));
        }
        let kept = keeping.kept(kept, &place, arguments.quiet)?;
        Ok(Begun::Yes(keeping, builder.durable(kept)))
    }

    /// The society runs on this platform, which is to end if another process takes the society over.
    pub fn runs_on(&self, platform: &Platform) {
        let _ = self.platform.set(platform.clone());
    }

    fn recover(&self, place: &str) -> anyhow::Result<Kept> {
        recover(Arc::clone(&self.store) as _, self.epoch)
            .with_context(|| format!("cannot go on with what is kept in {place}"))
    }

    fn kept(&self, mut kept: Kept, place: &str, quiet: bool) -> anyhow::Result<Kept> {
        if kept.stopped().is_some() {
            // It was cut short between its end and our forgetting it.
            self.erase()?;
            kept = self.recover(place)?;
        }
        if !quiet && !kept.is_empty() {
            let (agents, messages) = (kept.agents(), kept.messages());
            terminal::note(&format!(
                "going on with {agents} agents and {messages} messages on their way, kept in {place} (--fresh begins anew)"
            ));
        }
        Ok(kept)
    }

    /// The platform has stopped: if its society ended itself, there is nothing to go on with.
    pub fn end(self, platform: &Platform) -> anyhow::Result<()> {
        let concluded = platform.has_concluded();
        let erased = if concluded { self.erase() } else { Ok(()) };
        self.beating.end(concluded);
        erased
    }

    /// Forgets all that is kept; whoever finds that it was begun goes on with it.
    fn erase(&self) -> anyhow::Result<()> {
        let coord: &dyn Coord = &*self.store;
        let erase = || -> anyhow::Result<()> {
            let begun = coord.read(ERASING)?.map_or(Revision(0), |(revision, _)| revision);
            let begun = coord.write(ERASING, begun, b"")?;
            erase(&*self.store, self.epoch)?;
            Ok(coord.remove(ERASING, begun)?)
        };
        erase().context("cannot forget what was kept")
    }

    fn was_being_erased(&self) -> anyhow::Result<bool> {
        Ok(Coord::read(&*self.store, ERASING)?.is_some())
    }
}

/// What happens when another process takes the society over.
fn deposed(platform: Arc<OnceLock<Platform>>) -> impl FnOnce() + Send {
    move || {
        terminal::note("another process took the society over");
        match platform.get() {
            Some(platform) => platform.leave_with(DEPOSED),
            // It has not begun yet.
            None => std::process::exit(DEPOSED),
        }
    }
}

/// How long an owner may be silent if nobody says otherwise.
const PATIENCE: Duration = Duration::from_secs(3);

fn open(place: &str, on_engine: bool) -> anyhow::Result<Arc<dyn Store>> {
    if on_engine {
        return open_engine(place);
    }
    let store = Embedded::open(place, &Options::default());
    Ok(Arc::new(store.with_context(|| format!("cannot keep the society in {place}"))?))
}

/// Partitions of a store that is made on an engine, if its address does not say. One node has all of them: the fewer, the
/// more steps share a frame, and the sooner they are taken over.
#[cfg(feature = "nats")]
pub const ENGINE_PARTITIONS: u16 = 16;

#[cfg(feature = "nats")]
fn open_engine(place: &str) -> anyhow::Result<Arc<dyn Store>> {
    use whimbrel_store::nats::{Nats, Options};
    Ok(Arc::new(Nats::connect(place, Options { partitions: ENGINE_PARTITIONS, ..Options::default() })?))
}

#[cfg(not(feature = "nats"))]
fn open_engine(place: &str) -> anyhow::Result<Arc<dyn Store>> {
    anyhow::bail!("cannot keep the society in {place}: this program was built without NATS")
}

/// Where a society is kept if nobody says where: beside its file.
fn default_folder(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default();
    file.parent().unwrap_or(Path::new("")).join(FOLDER).join(stem)
}
