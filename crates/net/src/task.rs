//! Task of a link: moves bytes between a socket and the link's state machine.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, Sleep};
use whimbrel_acl::{AclMessage, Aid, Envelope};
use whimbrel_platform::Time;
use whimbrel_platform::audit::{Party, RefusalReason};
use whimbrel_platform::limits::LINK_FORGET_FACTOR;
use whimbrel_platform::link::{ClaimOutcome, FrameKind, Hello, Link, LinkError, LinkEvent, LinkFrame, LinkItem};

use crate::arrived::{Arrived, ArrivedElement, MessageRow};
use crate::connection::{Accepted, LinkConnection};
use crate::hub::{self, HubState};
use crate::peer::Peer;
use crate::refusal;
use crate::security::LinkSecurity;
use crate::signing::Digest;

/// Interval at which a link checks whether its node has room again, if it is not woken.
const NO_ROOM_WAIT: Duration = Duration::from_millis(20);
/// Weight of former items in the average size of an item: all but one part of this many.
const ITEM_BYTES_INERTIA: usize = 4;
/// Maximal time that a task sleeps: a bound for timers, not a period.
pub(crate) const SLEEP_MAX: Duration = Duration::from_secs(3600);
const PEER_CLOSED: &str = "the peer closed the connection";

/// Task of a link.
struct LinkTask {
    hub: Arc<HubState>,
    peer: Arc<Peer>,
    link: Link,
    accepted: UnboundedReceiver<Box<Accepted>>,
    /// Connection by the peer's name, whichever end made it, until its claim is decided.
    claimant: Option<Box<Accepted>>,
    /// True once the claimant's connection is the link's.
    granted: bool,
    /// Time since which another node is at the peer's address.
    absent_since: Option<Time>,
    /// Time since which the peer is lost.
    lost_since: Option<Time>,
    /// Place of the next chunk of this node's introduction to the peer.
    introducing: Option<u64>,
    /// Address of the present connection's other end.
    host: Option<IpAddr>,
    /// Items from the outbox, on their way to the link.
    fresh: Vec<LinkItem>,
    /// Items from the wire, on their way to the scheduler.
    arrived: Arrived,
    messages: Vec<Envelope>,
    /// Messages whose senders the peer may not speak for.
    forged: Vec<Envelope>,
    /// Messages that are not as their senders signed them, with the reason.
    unsigned: Vec<(Envelope, &'static str)>,
    /// Bytes to be written, and the number of written ones.
    out: Vec<u8>,
    written: usize,
    /// True if the scheduler had no room for more when it was asked last.
    no_room: bool,
    /// Average size of recent items, in bytes.
    item_bytes: usize,
    /// Next step about the connection.
    next: ConnectionStep,
    /// True if this end connects.
    dials: bool,
    /// Number of credential changes when the peer was checked last.
    tls_changes: u64,
    /// True while a connection is replaced because of one message, which is logged once only.
    is_renewing: bool,
}

/// Last results of checks that the following messages may share.
#[derive(Default)]
struct LastAnswers {
    /// Last sender, and whether the peer speaks for it: messages of one sender mostly come in a row.
    speaks: Option<(Aid, bool)>,
    /// Last message whose signature was verified, if it may be for several receivers.
    verified: Option<(Arc<AclMessage>, Digest)>,
}

enum ConnectionStep {
    /// Nothing to do.
    Go,
    /// Make a connection.
    Connect,
    /// Close the connection for this error.
    Close(LinkError),
    /// End the link: the peer will not come back, or should not.
    End,
}

/// Event of a connection.
enum SocketEvent {
    Came(usize),
    Wrote,
    Woken,
    Accepted(Box<Accepted>),
}

/// Runs a link until its peer or this node leaves for good.
pub(crate) async fn run(hub: Arc<HubState>, peer: Arc<Peer>, link: Link, accepted: UnboundedReceiver<Box<Accepted>>) {
    let mut task = LinkTask {
        dials: false,
        tls_changes: hub.tls_changes.load(Ordering::Acquire),
        is_renewing: false,
        hub,
        peer,
        link,
        accepted,
        claimant: None,
        granted: false,
        absent_since: None,
        lost_since: None,
        introducing: None,
        host: None,
        fresh: Vec::new(),
        arrived: Arrived::default(),
        messages: Vec::new(),
        forged: Vec::new(),
        unsigned: Vec::new(),
        out: Vec::new(),
        written: 0,
        no_room: false,
        item_bytes: 0,
        next: ConnectionStep::Go,
    };
    let mut connection: Option<LinkConnection> = None;
    loop {
        connection = match connection.take() {
            Some(connection) => task.converse(connection).await,
            None => task.find_connection().await,
        };
        if matches!(task.next, ConnectionStep::End) {
            break;
        }
    }
    if let Some(connection) = connection {
        let now = task.now();
        task.link.poll_transmit(now, &mut task.out);
        connection.close(task.out.get(task.written..).unwrap_or_default()).await;
    }
    task.end();
}

impl LinkTask {
    fn now(&self) -> Time {
        self.hub.station.now()
    }

    /// Returns the peer as the policy writes it; its address, if nothing proved its name.
    fn principal(&self) -> String {
        self.peer.name.get().map_or_else(|| self.peer_name(), |name| format!("node:{name}"))
    }

    fn peer_name(&self) -> String {
        self.peer.name.get().cloned().or_else(|| self.peer.address()).unwrap_or_else(|| "?".to_owned())
    }

    /// Logs a failure to connect, once.
    fn complain(&self, what: &str) {
        let mut complaint = self.peer.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        if *complaint != what {
            what.clone_into(&mut complaint);
            drop(complaint);
            self.say(what);
        }
    }

    /// Notes why something at the peer's address is no node, unless a node was heard there before.
    fn note_no_node(&self, why: &str) {
        if self.peer.dials() && self.peer.figures.items_in.load(Ordering::Relaxed) == 0 {
            let _ = self.peer.no_node.set(why.to_owned());
        }
    }

    fn say(&self, what: &str) {
        self.hub.guard.say(&format!("link to {}: {what}", self.peer_name()));
    }

    /// Waits for a connection; `None` when the link ends.
    async fn find_connection(&mut self) -> Option<LinkConnection> {
        self.look_after();
        match std::mem::replace(&mut self.next, ConnectionStep::Go) {
            ConnectionStep::End => {
                self.next = ConnectionStep::End;
                None
            }
            _ if std::mem::take(&mut self.granted) => self.begin_claimant(),
            ConnectionStep::Connect => self.connect().await,
            _ => {
                let until = self.link.poll_timeout().min(self.forget_at());
                let wait = (until - self.now()).min(SLEEP_MAX);
                tokio::select! {
                    accepted = self.accepted.recv() => accepted.and_then(|accepted| self.consider(accepted)),
                    () = self.peer.wake.notified() => None,
                    () = tokio::time::sleep(wait) => None,
                }
            }
        }
    }

    async fn connect(&mut self) -> Option<LinkConnection> {
        let address = self.peer.address()?;
        let tls = self.hub.tls();
        match LinkConnection::open(&address, tls.as_deref()).await {
            Ok(connection) => {
                if let Some(name) = self.peer.name.get() {
                    self.link.set_peer(name);
                }
                let connection = self.begin(connection)?;
                self.link.handle_connected(self.now());
                Some(connection)
            }
            Err(error) => {
                if let Some(reason) = refusal::of_connection(&error) {
                    self.hub.refuse(reason, Party::named(&self.principal()), &error.to_string());
                }
                if let Some(why) = refusal::of_no_node(&error) {
                    self.note_no_node(&why);
                }
                if self.peer.figures.items_in.load(Ordering::Relaxed) == 0 {
                    let closed = tls.is_some() && error.kind() == io::ErrorKind::UnexpectedEof;
                    let why = if closed {
                        "the other end closes when TLS begins: it may not speak TLS"
                    } else {
                        &error.to_string()
                    };
                    self.complain(&format!("cannot connect: {why}"));
                }
                let now = self.now();
                self.link.handle_disconnected(now);
                None
            }
        }
    }

    fn begin(&mut self, connection: LinkConnection) -> Option<LinkConnection> {
        let now = self.now();
        // A connection is accepted on another runtime than that of its link.
        let Ok(connection) = connection.move_here() else {
            self.link.handle_disconnected(now);
            return None;
        };
        self.out.clear();
        self.written = 0;
        self.host = connection.host();
        self.peer.figures.connections.fetch_add(1, Ordering::Relaxed);
        Some(connection)
    }

    /// Makes an accepted connection the link's.
    fn begin_accepted(&mut self, accepted: Accepted) -> Option<LinkConnection> {
        if let Some(address) = accepted.address() {
            self.peer.listens_at(address);
        }
        let connection = self.begin(accepted.connection)?;
        self.peer.up.store(false, Ordering::Release);
        self.link.handle_accepted(self.now());
        Some(connection)
    }

    /// Decides about a connection that was made by the peer's name. Returns the connection if it is the link's.
    fn consider(&mut self, accepted: Box<Accepted>) -> Option<LinkConnection> {
        match self.link.handle_claim(self.now(), &accepted.hello) {
            ClaimOutcome::Granted => return self.begin_accepted(*accepted),
            ClaimOutcome::Waits => self.claimant = Some(accepted),
            ClaimOutcome::Crossed => {}
        }
        None
    }

    /// Makes the waiting connection the link's.
    fn begin_claimant(&mut self) -> Option<LinkConnection> {
        let claimant = self.claimant.take()?;
        self.begin_accepted(*claimant)
    }

    /// Refuses the waiting connection.
    fn refuse_claimant(&mut self, why: Option<LinkError>) {
        if let (Some(claimant), Some(why)) = (self.claimant.take(), why) {
            match refusal::of_link(&why) {
                Some(reason) => self.hub.turn_away(*claimant, reason, &why),
                // The two nodes are linked already: no harm was meant.
                None => hub::close(*claimant, &why),
            }
        }
    }

    /// Exchanges bytes until something about the connection changes. Returns the connection to use then.
    async fn converse(&mut self, mut connection: LinkConnection) -> Option<LinkConnection> {
        let hub = Arc::clone(&self.hub);
        let peer = Arc::clone(&self.peer);
        let mut woken = pin!(peer.wake.notified());
        let mut alarm = pin!(tokio::time::sleep(Duration::ZERO));
        loop {
            if let Err(error) = self.take_frames(&mut connection) {
                self.next = ConnectionStep::Close(error);
            }
            self.look_after();
            self.look_over(&connection);
            match std::mem::replace(&mut self.next, ConnectionStep::Go) {
                ConnectionStep::Go if std::mem::take(&mut self.granted) => return self.begin_claimant(),
                ConnectionStep::Go => {}
                ConnectionStep::Close(error) => return self.hang_up(connection, &error).await,
                next => {
                    self.next = next;
                    return Some(connection);
                }
            }
            self.fill_out();
            let until = if self.no_room { hub.station.now() + NO_ROOM_WAIT } else { self.link.poll_timeout() };
            set_alarm(&mut alarm, (until - hub.station.now()).min(SLEEP_MAX));
            let happened = poll_fn(|cx| {
                if woken.as_mut().poll(cx).is_ready() {
                    woken.set(peer.wake.notified());
                    return Poll::Ready(Ok(SocketEvent::Woken));
                }
                if let Poll::Ready(happened) = self.poll_connection(cx, &mut connection) {
                    return Poll::Ready(happened);
                }
                alarm.as_mut().poll(cx).map(|()| Ok(SocketEvent::Woken))
            });
            match happened.await {
                Ok(SocketEvent::Came(0)) => {
                    self.note_answer(&connection);
                    return self.lost_connection(PEER_CLOSED);
                }
                Ok(SocketEvent::Came(count)) => {
                    self.peer.figures.bytes_in.fetch_add(count as u64, Ordering::Relaxed);
                    hub.note_came(&peer);
                    connection.incoming.fill(count);
                }
                Ok(SocketEvent::Wrote | SocketEvent::Woken) => {}
                Ok(SocketEvent::Accepted(accepted)) => {
                    if let Some(connection) = self.consider(accepted) {
                        return Some(connection);
                    }
                }
                Err(error) => {
                    if let Some(why) = refusal::of_no_node(&error) {
                        self.note_no_node(&why);
                    }
                    // The text of rustls would not help an operator.
                    let gone = error.kind() == io::ErrorKind::UnexpectedEof;
                    let why = if gone { PEER_CLOSED.to_owned() } else { error.to_string() };
                    return self.lost_connection(&why);
                }
            }
        }
    }

    /// Writes as much as possible, then reads as much as possible.
    fn poll_connection(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut LinkConnection,
    ) -> Poll<io::Result<SocketEvent>> {
        let mut wrote = false;
        while let Some(rest) = self.out.get(self.written..).filter(|rest| !rest.is_empty()) {
            match Pin::new(&mut connection.socket).poll_write(cx, rest) {
                Poll::Ready(count) => {
                    self.written += count?;
                    wrote = true;
                }
                Poll::Pending => break,
            }
        }
        if let Poll::Ready(outcome) = Pin::new(&mut connection.socket).poll_flush(cx) {
            outcome?;
        }
        let mut room = ReadBuf::new(connection.incoming.room());
        match Pin::new(&mut connection.socket).poll_read(cx, &mut room) {
            Poll::Ready(outcome) => return Poll::Ready(outcome.map(|()| SocketEvent::Came(room.filled().len()))),
            Poll::Pending if wrote => return Poll::Ready(Ok(SocketEvent::Wrote)),
            Poll::Pending => {}
        }
        match self.accepted.poll_recv(cx) {
            Poll::Ready(Some(accepted)) => Poll::Ready(Ok(SocketEvent::Accepted(accepted))),
            _ => Poll::Pending,
        }
    }

    /// Takes all frames that have arrived, and hands on their items.
    fn take_frames(&mut self, connection: &mut LinkConnection) -> Result<(), LinkError> {
        let now = self.now();
        let outcome = loop {
            let used = match connection.incoming.frame() {
                Ok(Some(frame)) => {
                    if let Err(error) = self.check_hello(connection, &frame) {
                        self.link.handle_disconnected(now);
                        break Err(error);
                    }
                    match self.link.handle_frame(now, &frame, &mut self.arrived) {
                        Ok(()) => frame.bytes,
                        Err(error) => break Err(error),
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => {
                    self.link.handle_disconnected(now);
                    break Err(error.into());
                }
            };
            connection.incoming.use_up(used);
            if self.link.has_events() {
                // In the order of the frames: a peer's last items come before its good-bye, and it is introduced before
                // its first ones, since a receiver may reply.
                self.hand_on();
                self.react_to_all();
            }
        };
        self.hand_on();
        // Note the lack of room first: if there is room only after this question, the task is woken.
        self.peer.no_room.store(true, Ordering::Release);
        self.no_room = !self.hub.station.has_room();
        if !self.no_room {
            self.peer.no_room.store(false, Ordering::Release);
            self.link.handle_dealt_with();
        }
        outcome
    }

    /// Closes the connection if the peer is no longer trusted after a change of credentials.
    fn look_over(&mut self, connection: &LinkConnection) {
        let changes = self.hub.tls_changes.load(Ordering::Acquire);
        if changes == self.tls_changes {
            return;
        }
        self.tls_changes = changes;
        let (Some(tls), Some(shown)) = (self.hub.tls(), connection.socket.certificates()) else { return };
        if let Some(error) = tls.distrusts(shown) {
            let reason = refusal::of_tls(&error).unwrap_or(RefusalReason::BadCertificate);
            self.hub.refuse(reason, Party::named(&self.principal()), &error.to_string());
            let now = self.now();
            self.link.handle_disconnected(now);
            self.next = ConnectionStep::Close(LinkError::Impostor(error.to_string()));
        }
    }

    /// Checks at a hello that the peer is the same node as before, or a new one.
    fn check_hello(&self, connection: &LinkConnection, frame: &LinkFrame<'_>) -> Result<(), LinkError> {
        if frame.kind != FrameKind::Hello {
            return Ok(());
        }
        let hello: Hello = frame.parse()?;
        if let Some((reason, why)) = connection.contradicts(&hello.node, self.hub.level) {
            // The address alone is proven.
            let from = connection.host().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
            self.hub.refuse(reason, Party::Stranger(from), &format!("claimed node {:?}: {why}", hello.node));
            return Err(LinkError::Impostor(why));
        }
        if self.hub.assign_name(&self.peer, &hello.node) {
            return Ok(());
        }
        if let Some(wanted) = self.peer.name.get() {
            return Err(LinkError::OtherNode { here: hello.node.clone(), wanted: wanted.clone() });
        }
        Err(LinkError::Linked(hello.node.clone()))
    }

    /// Hands on the items that arrived, in order.
    fn hand_on(&mut self) {
        if self.arrived.is_empty() {
            return;
        }
        let (count, mut all) = self.arrived.take();
        let mut known = LastAnswers::default();
        for came in all.drain(..) {
            match came {
                ArrivedElement::Row(row) => self.hand_on_row(row, &mut known),
                ArrivedElement::Item(LinkItem::Message(envelope)) => self.sort_out(envelope, &mut known),
                ArrivedElement::Item(LinkItem::Forwarded(envelope)) => {
                    known.speaks = None;
                    self.let_arrive();
                    self.hub.station.arrive_forwarded(self.peer.id, envelope);
                }
                ArrivedElement::Item(LinkItem::Tombstone) => {}
                ArrivedElement::Item(LinkItem::News(news)) => {
                    known.speaks = None;
                    self.let_arrive();
                    self.hub.hear(self.peer.id, *news);
                }
            }
        }
        self.arrived.keep_room(all);
        self.let_arrive();
        self.peer.figures.items_in.fetch_add(count as u64, Ordering::Relaxed);
        if !self.forged.is_empty() {
            self.refuse_forged();
        }
        if !self.unsigned.is_empty() {
            self.refuse_unsigned();
        }
    }

    /// Hands on the messages that were sorted so far.
    fn let_arrive(&mut self) {
        if !self.messages.is_empty() {
            self.hub.station.arrive(self.peer.id, &mut self.messages);
        }
    }

    /// Returns true if the peer may speak for this sender.
    fn speaks_for(&self, sender: Aid, known: &mut LastAnswers) -> bool {
        if self.hub.level < LinkSecurity::Authenticated {
            return true;
        }
        match known.speaks {
            Some((last, speaks)) if last == sender => speaks,
            _ => known.speaks.insert((sender, self.hub.station.speaks_for(self.peer.id, sender))).1,
        }
    }

    /// Hands on a row. All its messages are from one sender: one check serves all, if none is signed.
    fn hand_on_row(&mut self, row: MessageRow, known: &mut LastAnswers) {
        let sender = row.bodies.first().map(|first| first.sender);
        if self.hub.signing.is_some() || !sender.is_some_and(|sender| self.speaks_for(sender, known)) {
            return row.into_envelopes().for_each(|envelope| self.sort_out(envelope, known));
        }
        self.let_arrive();
        self.hub.station.arrive_row(self.peer.id, row.to, row.bodies);
    }

    /// Sorts a message: into the accepted ones, or into those to refuse.
    fn sort_out(&mut self, envelope: Envelope, known: &mut LastAnswers) {
        let speaks = self.speaks_for(envelope.body.sender, known);
        let signing = self.hub.signing.as_ref().zip(self.peer.name.get());
        match signing.map(|(signing, node)| signing.check(node, &envelope, &mut known.verified)) {
            Some(Err(why)) if speaks => self.unsigned.push((envelope, why)),
            None | Some(Ok(())) if speaks => self.messages.push(envelope),
            Some(Err(_)) => self.forged.push(envelope),
            _ => self.forged.extend(self.hub.station.keep_doubtful(self.peer.id, envelope)),
        }
    }

    /// Refuses messages whose senders the peer may not speak for.
    #[cold]
    fn refuse_forged(&mut self) {
        for envelope in &self.forged {
            let why = format!("sender {} is not an agent of that node", envelope.body.sender);
            self.hub.refuse_message(RefusalReason::Forged, &self.peer_name(), envelope, &why);
        }
        self.hub.station.refuse_forged(std::mem::take(&mut self.forged));
    }

    /// Refuses messages that are not as their senders signed them.
    #[cold]
    fn refuse_unsigned(&mut self) {
        for (envelope, why) in &self.unsigned {
            let why = format!("of {}, {why}", envelope.body.sender);
            self.hub.refuse_message(RefusalReason::BadSignature, &self.peer_name(), envelope, &why);
        }
        let refused = std::mem::take(&mut self.unsigned).into_iter().map(|(envelope, _)| envelope);
        self.hub.station.refuse_forged(refused.collect());
    }

    /// Takes new items, advances the link's time, and carries out its events.
    fn look_after(&mut self) {
        if self.peer.leaving.load(Ordering::Acquire) {
            self.link.leave();
        }
        self.introduce_more();
        self.peer.take(&mut self.fresh);
        self.link.offer(&mut self.fresh);
        let now = self.now();
        if !self.dials && self.peer.dials() {
            self.dials = true;
            self.link.start_dialling(now);
        }
        if self.link.poll_timeout() <= now {
            self.link.handle_timeout(now);
        }
        self.react_to_all();
        self.peer.done(self.link.take_released());
        if self.peer.to_measure.swap(false, Ordering::AcqRel) {
            self.link.measure(now);
        }
        if let Some(measured) = self.link.take_measured() {
            self.peer.note_measured(measured);
        }
        let round_trip_us = self.link.round_trip().map_or(0, |took| (took.as_micros() as u64).max(1));
        self.peer.figures.round_trip_us.store(round_trip_us, Ordering::Relaxed);
        if now >= self.forget_at() {
            self.peer.forgotten.store(true, Ordering::Release);
            self.next = ConnectionStep::End;
        }
        if self.peer.leaving.load(Ordering::Acquire) && !self.link.is_up() {
            self.next = ConnectionStep::End;
        }
    }

    /// Returns the time at which a lost peer is forgotten, which frees its place: never while this end connects, or
    /// messages wait.
    fn forget_at(&self) -> Time {
        let is_away = !self.dials && !self.link.is_up() && self.link.waiting() == 0;
        let lost_since = self.lost_since.filter(|_| is_away);
        lost_since.map_or(Time::NEVER, |since| since + self.hub.patience * LINK_FORGET_FACTOR)
    }

    fn react_to_all(&mut self) {
        while let Some(event) = self.link.poll_event() {
            self.react(event);
        }
    }

    fn react(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Connect => self.next = ConnectionStep::Connect,
            LinkEvent::Close(error) => self.next = ConnectionStep::Close(error),
            LinkEvent::ClaimGranted => self.granted = true,
            LinkEvent::ClaimRefused(why) => self.refuse_claimant(why),
            LinkEvent::Began => self.introduce(),
            LinkEvent::Resumed => {
                self.note_there();
                self.peer.up.store(true, Ordering::Release);
                if !std::mem::take(&mut self.is_renewing) {
                    self.say("up again");
                }
            }
            LinkEvent::Lost(mut messages) => {
                messages.append(&mut self.peer.forget(false));
                self.peer.done(messages.len());
                self.say(&end_words(self.link.is_leaving(), messages.len()));
                self.hub.station.lose(self.peer.id, messages);
                self.lost_since = Some(self.now());
                self.introducing = None;
                self.tell_waiters();
            }
            LinkEvent::Unsendable(messages) => {
                self.peer.done(messages.len());
                self.hub.station.refuse(messages);
            }
            LinkEvent::Left => {
                self.peer.left.store(true, Ordering::Release);
                self.next = ConnectionStep::End;
            }
            _ => {}
        }
    }

    /// Notes that the peer is present.
    fn note_there(&mut self) {
        (self.absent_since, self.lost_since) = (None, None);
        if let Some(host) = self.host {
            self.hub.peers.note_host(&self.peer, host);
        }
    }

    fn introduce(&mut self) {
        self.note_there();
        let members = if self.peer.dials() {
            self.peer.up.store(true, Ordering::Release);
            None
        } else {
            Some(self.hub.enlist(&self.peer))
        };
        let (peer, link, signing) = (&self.peer, &mut self.link, &self.hub.signing);
        self.hub.station.introduce(&mut |mut news| {
            peer.introduce();
            // Before all other items: the peer links with the others, and waits for their introductions.
            news.splice(0..0, members.clone());
            news.extend(signing.iter().flat_map(|signing| signing.signer.introductions()));
            link.introduce(news);
        });
        self.introducing = Some(0);
        self.peer.wake.notify_one();
        self.say("up");
    }

    /// Asks for the next chunk of the introduction, if all before it is written. The chunk takes the way of later
    /// changes, so that it overtakes none.
    fn introduce_more(&mut self) {
        let Some(place) = self.introducing.filter(|_| self.written >= self.out.len() && self.link.unsent() == 0) else {
            return;
        };
        let (peer, mut told) = (&self.peer, false);
        self.introducing = self.hub.station.introduce_more(place, &mut |news| {
            told |= !news.is_empty();
            news.into_iter().for_each(|news| _ = peer.tell(news));
        });
        if !told {
            // Nothing will be written, so nothing else wakes this task.
            peer.wake.notify_one();
        }
    }

    /// Encodes further items, if the last ones are written.
    fn fill_out(&mut self) {
        if self.written < self.out.len() {
            return;
        }
        self.peer.figures.bytes_out.fetch_add(self.written as u64, Ordering::Relaxed);
        self.out.clear();
        self.written = 0;
        let (now, before) = (self.now(), self.link.sent_items());
        self.link.poll_transmit(now, &mut self.out);
        let sent = self.link.sent_items() - before;
        self.peer.figures.items_out.fetch_add(sent, Ordering::Relaxed);
        if let Some(bytes) = self.out.len().checked_div(sent as usize) {
            let before = if self.item_bytes == 0 { bytes } else { self.item_bytes };
            self.item_bytes = (before * (ITEM_BYTES_INERTIA - 1) + bytes).div_ceil(ITEM_BYTES_INERTIA);
            self.peer.set_item_bytes(self.item_bytes);
        }
        self.tell_waiters();
    }

    /// Wakes shards that wait, once most of their messages are written.
    fn tell_waiters(&self) {
        let waiters = self.peer.handle_written(self.link.unsent());
        if !waiters.is_empty() {
            self.hub.station.drained(self.peer.id, &waiters);
        }
    }

    fn lost_connection(&mut self, why: &str) -> Option<LinkConnection> {
        self.peer.up.store(false, Ordering::Release);
        let now = self.now();
        self.link.handle_disconnected(now);
        if !self.peer.leaving.load(Ordering::Acquire) {
            match self.peer.figures.items_in.load(Ordering::Relaxed) {
                0 => self.complain(why),
                _ => self.say(why),
            }
        }
        None
    }

    /// Notes that the received bytes are no node's, if there are any.
    fn note_answer(&self, connection: &LinkConnection) {
        if let Some(why) = refusal::of_answer(connection.incoming.unused()) {
            self.note_no_node(&why);
        }
    }

    /// Notes that another node is at the peer's address. The peer is looked for there as long as a link may be broken.
    fn note_absence(&mut self, error: &LinkError) {
        let now = self.now();
        self.complain(&error.to_string());
        self.peer.faults.note(error.reason());
        if now >= *self.absent_since.get_or_insert(now) + self.hub.patience {
            self.next = ConnectionStep::End;
        }
    }

    /// Closes a connection after an error, or ends the link if no other connection would succeed.
    async fn hang_up(&mut self, connection: LinkConnection, error: &LinkError) -> Option<LinkConnection> {
        self.peer.up.store(false, Ordering::Release);
        if error.is_of_other_node() {
            self.note_absence(error);
            connection.close(&error.refusal().unwrap_or_default()).await;
            return None;
        }
        // The received bytes are no frame, or the beginning of one.
        self.note_answer(&connection);
        self.is_renewing = error.is_of_names();
        match self.peer.figures.items_in.load(Ordering::Relaxed) {
            0 => self.complain(&error.to_string()),
            _ if self.is_renewing => self.complain(&error.to_string()),
            _ => self.say(&error.to_string()),
        }
        self.peer.faults.note(error.reason());
        if let Some(reason) = refusal::of_link(error).filter(|reason| *reason != RefusalReason::Impostor) {
            self.hub.refuse(reason, Party::named(&self.principal()), &error.to_string());
        }
        if error.is_refusal() {
            if let LinkError::Refused { why, .. } = error {
                let _ = self.peer.refused.set(why.clone());
            }
            if self.peer.dials() || self.peer.figures.items_in.load(Ordering::Relaxed) == 0 {
                self.next = ConnectionStep::End;
            }
        }
        let farewell = error.refusal();
        if error.is_refusal() || farewell.is_some() {
            connection.close(&farewell.unwrap_or_default()).await;
        }
        None
    }

    /// Ends the link.
    fn end(&mut self) {
        self.peer.up.store(false, Ordering::Release);
        let mut messages = self.link.abandon();
        messages.append(&mut self.peer.forget(true));
        self.peer.done(messages.len());
        self.hub.strike_out(&self.peer);
        self.peer.ended.store(true, Ordering::Release);
        self.hub.station.lose(self.peer.id, messages);
        self.hub.peers.end(&self.peer);
    }
}

/// Sets the alarm to ring within this time, or somewhat earlier: it is only moved if necessary.
fn set_alarm(alarm: &mut Pin<&mut Sleep>, wait: Duration) {
    let at = Instant::now() + wait;
    if alarm.is_elapsed() || alarm.deadline() > at || alarm.deadline() + Duration::from_millis(50) < at {
        alarm.as_mut().reset(at);
    }
}
/// Returns what to say of a peer that is gone: `the node is lost, with 2 messages for it`.
fn end_words(has_said_goodbye: bool, messages: usize) -> String {
    let gone = if has_said_goodbye { "the node has left" } else { "the node is lost" };
    match messages {
        0 => gone.to_owned(),
        1 => format!("{gone}, with 1 message for it"),
        several => format!("{gone}, with {several} messages for it"),
    }
}
