use std::time::Instant;

use tokio::io::AsyncWriteExt;
use whimbrel_acl::Aid;
use whimbrel_platform::AgentBody;
use whimbrel_platform::route::ShardIndex;
use whimbrel_platform::services::CreateError;
use whimbrel_platform::session::{FrameReader, FrameWriter, Framing};

use super::wire::{SessionInput, write_frame};
use super::*;
use crate::stream::Stream;
use crate::{Authority, SessionCredentials};

/// Platform that takes no agents. Its clock stands still, unless it has begun.
struct EmptyHost {
    begun: Option<Instant>,
}

impl SessionHost for EmptyHost {
    fn node(&self) -> Symbol {
        Symbol::new("")
    }

    fn platform(&self) -> Symbol {
        "home".into()
    }

    fn now(&self) -> Time {
        self.begun.map_or(Time::ZERO, |begun| Time::ZERO + begun.elapsed())
    }

    fn lodge(
        &self,
        _name: Symbol,
        _body: Box<dyn AgentBody>,
        _is_home: bool,
        _near: Option<ShardIndex>,
    ) -> Result<Aid, CreateError> {
        Err(CreateError::Stopping)
    }

    fn wake(&self, _agent: Aid) {}
}

pub(super) fn open(level: LinkSecurity, credentials: Option<Credentials>) -> AgentPort {
    open_at(level, credentials, EmptyHost { begun: None })
}

fn open_at(level: LinkSecurity, credentials: Option<Credentials>, host: EmptyHost) -> AgentPort {
    let authorise: Authorise =
        Box::new(|claim| Some(SessionGrant::new(claim.certified.first().copied().or(claim.token)?, vec!["*".into()])));
    let config = AgentPortConfig {
        level,
        credentials,
        links: None,
        session_ports: None,
        authorise,
        auditor: None,
        log: Box::new(|_| ()),
    };
    AgentPort::open(config, Arc::new(host), "127.0.0.1:0").unwrap()
}

/// Client before its welcome, or with it.
struct PortClient {
    stream: Stream,
    incoming: SessionInput,
    reader: FrameReader,
}

impl PortClient {
    async fn begin(port: &AgentPort, tls: Option<&Tls>, token: Option<&str>) -> Self {
        let socket = TcpStream::connect(port.address()).await.unwrap();
        let mut stream = Stream::connect(socket, tls).await.unwrap();
        let hello = HelloFrame { versions: vec![1], token: token.map(str::to_owned), ..HelloFrame::default() };
        let (mut writer, mut bytes) = (FrameWriter::new(Framing::Json, 0, 4096), Vec::new());
        write_frame(&mut bytes, |out| writer.write(&SessionFrame::Hello(hello), out)).unwrap();
        stream.write_all(&bytes).await.unwrap();
        stream.flush().await.unwrap();
        Self { stream, incoming: SessionInput::default(), reader: FrameReader::new(Framing::Json, 0) }
    }

    /// Reads the next frame: the code of an error, and whether it is a welcome.
    async fn hear(&mut self) -> (Option<ErrorCode>, bool) {
        loop {
            if let Some(frame) = self.incoming.frame(4096).unwrap() {
                return match self.reader.read(frame).unwrap() {
                    SessionFrame::Error(fault) => (Some(fault.code), false),
                    frame => (None, matches!(frame, SessionFrame::Welcome(_))),
                };
            }
            let read = std::future::poll_fn(|cx| self.incoming.poll_read(&mut self.stream, cx)).await;
            assert_ne!(read.unwrap(), 0, "it says why it closes");
        }
    }
}

const WELCOME: (Option<ErrorCode>, bool) = (None, true);

pub(super) fn block_on<R>(work: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let in_time = async { tokio::time::timeout(Duration::from_secs(20), work).await };
    runtime.block_on(in_time).expect("it does not hang")
}

#[test]
fn full_account_leaves_room_for_others() {
    let port = open(LinkSecurity::Open, None);
    let account = port.inner.account(("greedy".to_owned(), Some([127, 0, 0, 1].into()))).unwrap();
    account.sessions.store(SESSIONS_PER_ACCOUNT_MAX - 1, Ordering::Relaxed);
    block_on(async {
        let mut last = PortClient::begin(&port, None, Some("greedy")).await;
        assert_eq!(last.hear().await, WELCOME);
        assert_eq!(PortClient::begin(&port, None, Some("greedy")).await.hear().await, (Some(ErrorCode::Busy), false));
        assert_eq!(PortClient::begin(&port, None, Some("other")).await.hear().await, WELCOME);
    });
    assert_eq!(port.refusals().of(RefusalReason::TooMany), 1);
    assert_eq!(account.sessions.load(Ordering::Relaxed), SESSIONS_PER_ACCOUNT_MAX);
    let inner = Arc::clone(&port.inner);
    port.close(Duration::from_secs(5));
    assert_eq!(account.sessions.load(Ordering::Relaxed), SESSIONS_PER_ACCOUNT_MAX - 1, "its session is over");
    assert!(inner.sessions().is_empty());
}

#[test]
fn revocation_ends_session() {
    let mut authority = Authority::create("home").unwrap();
    let node = authority.issue("n1", &[], 1).unwrap();
    let mut tls_of = |name| {
        let SessionCredentials { certificate_pem, key_pem, authority_pem } =
            authority.issue_session(name, &[], 1).unwrap();
        let (agents_pem, agents_key_pem, revoked_pem) = Default::default();
        let theirs = Credentials { certificate_pem, key_pem, agents_pem, agents_key_pem, authority_pem, revoked_pem };
        Tls::new(LinkSecurity::Authenticated, Some(&theirs)).unwrap().unwrap()
    };
    let (ann, bob) = (tls_of("ann"), tls_of("bob"));
    let port = open(LinkSecurity::Authenticated, Some(node.clone()));
    block_on(async {
        let mut ann = PortClient::begin(&port, Some(&ann), None).await;
        let mut bob = PortClient::begin(&port, Some(&bob), None).await;
        assert_eq!((ann.hear().await, bob.hear().await), (WELCOME, WELCOME));
        assert_eq!(authority.revoke("session:ann"), 1);
        let revoked_pem = authority.trust().unwrap().revoked_pem;
        port.set_credentials(&Credentials { revoked_pem, ..node }).unwrap();
        assert_eq!(ann.hear().await, (Some(ErrorCode::Unauthorised), false));
    });
    assert_eq!(port.refusals().of(RefusalReason::Revoked), 1);
    let left = || port.status().into_iter().map(|session| session.principal).collect::<Vec<_>>();
    let until = Instant::now() + Duration::from_secs(20);
    while left() != ["bob"] {
        assert!(Instant::now() < until, "{:?}", left());
        std::thread::sleep(Duration::from_millis(5));
    }
    port.close(Duration::from_secs(1));
}

#[test]
fn tokens_and_addresses_are_separate_accounts() {
    let [(one, first), (two, second)] = [(); 2].map(|()| new_token(&["*".to_owned()]).unwrap());
    let tokens = AcceptedTokens::parse(&(first + &second)).unwrap();
    let [one, two] = [one, two].map(|token| tokens.grant(&token).unwrap());
    assert_eq!((&one.principal, &two.principal), (&"*".to_owned(), &"*".to_owned()));
    assert_ne!(one.account, two.account);
    assert_eq!(one.account.len(), 64, "it is the hash, not the token: {}", one.account);
    let port = open(LinkSecurity::Open, None);
    let account = |grant: &SessionGrant, address: [u8; 4]| {
        port.inner.account((grant.account.clone(), Some(household(address.into())))).unwrap()
    };
    let [mine, again] = [0, 1].map(|_| account(&one, [10, 0, 0, 1]));
    assert!(Arc::ptr_eq(&mine, &again));
    assert!(!Arc::ptr_eq(&mine, &account(&two, [10, 0, 0, 1])));
    assert!(!Arc::ptr_eq(&mine, &account(&one, [10, 0, 0, 2])));
    assert!(port.inner.is_too_much_named(&mine, SESSION_NAME_BYTES_MAX + 1));
    assert!(!port.inner.is_too_much_named(&account(&one, [10, 0, 0, 2]), 1), "others may go on");
    // When names run out over all accounts, accounts with few names continue.
    let many = (1..=200u8).map(|n| account(&two, [10, 0, 1, n]));
    let refused = many.filter(|many| port.inner.is_too_much_named(many, SESSIONS_NAME_BYTES_MAX / 100));
    assert!(refused.count() > 99);
    let newcomer = account(&two, [10, 0, 2, 1]);
    assert!(!port.inner.is_too_much_named(&newcomer, SESSION_NAME_BYTES_SPARE));
    assert!(port.inner.is_too_much_named(&newcomer, 1));
}

#[test]
fn closing_port_begins_no_session() {
    let port = open(LinkSecurity::Open, None);
    block_on(async {
        let mut before = PortClient::begin(&port, None, Some("ann")).await;
        assert_eq!(before.hear().await, WELCOME);
        port.end_sessions();
        assert_eq!(before.hear().await, (Some(ErrorCode::Stopping), false));
        assert_eq!(PortClient::begin(&port, None, Some("bob")).await.hear().await, (Some(ErrorCode::Stopping), false));
    });
    port.close(Duration::from_secs(5));
}

#[test]
fn idle_accounts_are_forgotten() {
    let mut accounts: FxHashMap<AccountKey, Arc<SessionAccount>> = FxHashMap::default();
    for number in 0..100_u64 {
        let account =
            SessionAccount { name_bytes: AtomicU64::new(number), sessions: AtomicU64::new(u64::from(number < 10)) };
        accounts.insert((number.to_string(), None), Arc::new(account));
    }
    forget_idle(&mut accounts);
    let has = |number: u64| accounts.contains_key(&(number.to_string(), None));
    assert!((0..10).all(has), "they are there");
    assert!((10..55).all(|number| !has(number)), "they made the fewest names");
    assert!((55..100).all(has), "what they made is remembered");
    (0..10).for_each(|_| forget_idle(&mut accounts));
    assert_eq!(accounts.len(), 10, "whoever is there stays");
}

impl PortClient {
    /// Client whose first bytes are these.
    async fn saying(port: &AgentPort, framing: Framing, first: &[u8]) -> Self {
        let socket = TcpStream::connect(port.address()).await.unwrap();
        let mut stream = Stream::connect(socket, None).await.unwrap();
        stream.write_all(first).await.unwrap();
        stream.flush().await.unwrap();
        Self { stream, incoming: SessionInput::default(), reader: FrameReader::new(framing, 0) }
    }
}

#[test]
fn garbage_gets_an_error() {
    let port = open(LinkSecurity::Open, None);
    let framed = |frame: &[u8]| [&(frame.len() as u32).to_be_bytes()[..], frame].concat();
    block_on(async {
        for (framing, first, code) in [
            (Framing::Json, framed(br#"{"type":"nonsense"}"#), ErrorCode::Protocol),
            (Framing::Json, framed(b"{"), ErrorCode::Protocol),
            (Framing::Compact, framed(b"GET / HTTP/1.1"), ErrorCode::Protocol),
            (Framing::Json, b"GET / HTTP/1.1\r\n\r\n".to_vec(), ErrorCode::TooLong),
        ] {
            let mut client = PortClient::saying(&port, framing, &first).await;
            assert_eq!(client.hear().await, (Some(code), false), "{}", String::from_utf8_lossy(&first));
        }
    });
    assert_eq!(port.refusals().of(RefusalReason::Malformed), 4);
}

#[test]
fn flooding_session_gets_an_error() {
    // Frames beyond the credit are charged to the session's rate, which recovers with time.
    let port = open_at(LinkSecurity::Open, None, EmptyHost { begun: Some(Instant::now()) });
    block_on(async {
        let mut client = PortClient::begin(&port, None, Some("eager")).await;
        assert_eq!(client.hear().await, WELCOME);
        let (mut writer, mut bytes) = (FrameWriter::new(Framing::Json, 0, 4096), Vec::new());
        for number in 1..=20_000 {
            let end = SessionFrame::End(whimbrel_platform::session::EndFrame { number, agent: 0 });
            write_frame(&mut bytes, |out| writer.write(&end, out)).unwrap();
        }
        // All of it is written before anything is read.
        client.stream.write_all(&bytes).await.unwrap();
        client.stream.flush().await.unwrap();
        let code = loop {
            if let (Some(code), _) = client.hear().await {
                break code;
            }
        };
        assert_eq!(code, ErrorCode::OverCredit);
    });
}

#[test]
fn closed_arrivals_drop_waiting_connection() {
    let arrivals = SessionArrivals::default();
    let (first, second, third) = (Arc::new(1), Arc::new(2), Arc::new(3));
    assert_eq!(arrivals.put(Arc::clone(&first)), Ok(None));
    assert_eq!(arrivals.put(Arc::clone(&second)), Ok(Some(Arc::clone(&first))), "only the newest counts");
    assert_eq!(arrivals.take(), Some(Arc::clone(&second)));
    assert_eq!((arrivals.take(), arrivals.put(Arc::clone(&third))), (None, Ok(None)));
    arrivals.close();
    assert_eq!(Arc::strong_count(&third), 1, "whoever still has the arrivals does not keep what waited there");
    assert_eq!((arrivals.take(), arrivals.put(Arc::clone(&first))), (None, Err(first)));
}
