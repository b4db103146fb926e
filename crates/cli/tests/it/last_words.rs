//! Last messages of an ended agent: they arrive at other nodes, which meanwhile learn of its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_net::{Authority, Credentials, Hub, HubConfig, LinkSecurity};
use whimbrel_runtime::{Agent, Context, Platform};

const TALKERS: u64 = 300;
const WORDS: u64 = 20;

struct MessageCounter(Arc<AtomicU64>);

impl Agent for MessageCounter {
    fn on_message(&mut self, _ctx: &mut Context<'_, '_>, _message: MessageBody) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Talker(Arc<AtomicBool>);

impl Agent for Talker {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        for word in 0..WORDS {
            let word = Value::Int(word as i64);
            ctx.send(AclMessage::new(Performative::Inform, Aid::NOBODY, Aid::local("listener"), word));
        }
        self.0.store(true, Ordering::Release);
    }

    fn on_message(&mut self, _ctx: &mut Context<'_, '_>, _message: MessageBody) {}
}

fn node(name: &str, credentials: Credentials) -> (Platform, Hub) {
    let platform = Platform::builder().name("home").workers(1).build();
    let mut config = HubConfig::new("home", name, platform.services().random());
    (config.level, config.credentials) = (LinkSecurity::Authenticated, Some(credentials));
    let hub = Hub::start(config, platform.station(), Some("127.0.0.1:0")).expect("it starts");
    platform.link_with(hub.links());
    (platform, hub)
}

fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn last_messages_of_ended_agent_arrive() {
    let mut authority = Authority::create("home").expect("randomness");
    let [here, there] = ["n1", "n2"].map(|name| authority.issue(name, &[], 1).expect("a name"));
    let ((here, here_hub), (there, there_hub)) = (node("n1", here), node("n2", there));
    let heard = Arc::new(AtomicU64::new(0));
    there.spawn("listener", MessageCounter(Arc::clone(&heard))).expect("a free name");
    here_hub.connect(there_hub.address().expect("it listens"));
    until("they are linked", || here_hub.has_links(1) && here.services().exists(Aid::local("listener")));
    for number in 0..TALKERS {
        let said = Arc::new(AtomicBool::new(false));
        let talker = here.spawn(format!("talker{number}").as_str(), Talker(Arc::clone(&said))).expect("a free name");
        while !said.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        assert!(here.kill(talker));
    }
    until("all is heard, or refused", || {
        heard.load(Ordering::Relaxed) + there.dead_letters().len() as u64 == TALKERS * WORDS
    });
    let dead = there.dead_letters();
    assert!(dead.is_empty(), "{dead:?}");
}
