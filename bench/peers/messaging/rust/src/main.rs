//! Messaging between two processes as `whimbrel bench messaging` measures it, without Whimbrel.
//!
//!     messaging-peer CONTENDER SCENARIO PRODUCERS CONSUMERS BYTES MODE SECURITY MESSAGES
//!
//! This process has the consumers; it starts itself again for the producers. Prints one line of JSON.

mod bare;
mod certificates;
mod tally;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is measured.
#[derive(Clone)]
pub struct Case {
    pub contender: String,
    pub scenario: String,
    pub producers: usize,
    pub consumers: usize,
    pub bytes: usize,
    pub paced: bool,
    pub secure: bool,
    pub messages: u64,
}

impl Case {
    fn read(arguments: &[String]) -> Result<Self> {
        let [contender, scenario, producers, consumers, bytes, mode, security, messages] = arguments else {
            bail!("messaging-peer CONTENDER SCENARIO PRODUCERS CONSUMERS BYTES MODE SECURITY MESSAGES");
        };
        Ok(Self {
            contender: contender.clone(),
            scenario: scenario.clone(),
            producers: producers.parse()?,
            consumers: consumers.parse()?,
            bytes: bytes.parse()?,
            paced: mode == "paced",
            secure: security != "open",
            messages: messages.parse()?,
        })
    }

    /// To whom a producer sends.
    pub fn receivers(&self, producer: usize) -> Vec<usize> {
        match self.scenario.as_str() {
            "one-to-one" => vec![producer],
            "many-to-one" => vec![0],
            _ => (0..self.consumers).collect(),
        }
    }

    /// How many messages each consumer gets.
    pub fn due(&self) -> u64 {
        if self.scenario == "one-to-one" { self.messages } else { self.messages * self.producers as u64 }
    }
}

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = match arguments.iter().position(|argument| argument == "--produce") {
        Some(place) => {
            let address = arguments.get(place + 1).cloned().context("--produce ADDRESS")?;
            arguments.truncate(place);
            Some(address)
        }
        None => None,
    };
    let case = Case::read(&arguments)?;
    // As many threads as one of two processes gets.
    let threads = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    match address {
        Some(address) => runtime.block_on(produce(case, address)),
        None => runtime.block_on(consume(case, &arguments)),
    }
}

async fn consume(case: Case, arguments: &[String]) -> Result<()> {
    let tally = tally::Tally::new(&case);
    let address = match case.contender.as_str() {
        "bare" => bare::consume(&case, &tally).await?,
        other => bail!("there is no contender {other}: only bare"),
    };
    let mut child = start_producers(arguments, &address)?;
    let processes = ["self".to_owned(), child.id().to_string()];
    let before = tally::cpu_s(&processes)?;
    writeln!(child.stdin.as_mut().context("a pipe")?, "go")?;
    let metrics = tally.wait(&case, || tally::cpu_s(&processes).map(|now| now - before)).await;
    let _ = child.kill();
    let _ = child.wait();
    println!("{{\"metrics\": {}}}", metrics?);
    std::process::exit(0);
}

async fn produce(case: Case, address: String) -> Result<()> {
    let go = || -> Result<()> {
        println!("ready");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line)?;
        Ok(())
    };
    match case.contender.as_str() {
        "bare" => bare::produce(&case, &address, go).await?,
        other => bail!("there is no contender {other}: only bare"),
    }
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line)? > 0 {}
    Ok(())
}

fn start_producers(arguments: &[String], address: &str) -> Result<Child> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(arguments)
        .args(["--produce", address])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut ready = String::new();
    BufReader::new(child.stdout.take().context("a pipe")?).read_line(&mut ready)?;
    if ready.trim() != "ready" {
        bail!("the producers' process did not start");
    }
    Ok(child)
}
