//! Properties of the keys that nodes of a cluster write for each other, for any value. The fuzz target looks for
//! violations; a test of `platform` replays those that were found.

use std::collections::BTreeMap;
use std::time::Duration;

use whimbrel_platform::Time;
use whimbrel_platform::cluster::{
    ClusterAction, ClusterTerms, LEVEL, Member, Nonce, Participant, Placement, StoredSociety,
};
use whimbrel_platform::store::{Revision, WatchNotice, WriteError};

const PARTITIONS: u16 = 4;
const ME: Nonce = Nonce(0xff);

/// Reads lines of a key and a value each. A decoded value is the same after another round. A node that watches the
/// keys, and may write or not, neither fails nor has ever more to do than there is.
pub fn cluster_keys(bytes: &[u8]) {
    let mut part = Participant::new(terms(), Time::ZERO);
    let mut now = Time::ZERO;
    part.told(WatchNotice::Complete, now);
    for (revision, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let (key, value) = line.split_at(line.iter().position(|byte| *byte == b' ').unwrap_or(line.len()));
        let (key, value) = (String::from_utf8_lossy(key).into_owned(), value.get(1..).unwrap_or_default());
        comes_back(value);
        now = now + Duration::from_millis(100);
        part.told(WatchNotice::Written(key, Revision(revision), value.to_vec()), now);
        let _ = part.nodes(now);
        act(&mut part, revision, now);
    }
}

fn comes_back(value: &[u8]) {
    if let Ok(table) = Placement::decode(value, PARTITIONS) {
        assert_eq!(Placement::decode(&table.encode(), PARTITIONS), Ok(table));
    }
    if let Ok(member) = serde_json::from_slice::<Member>(value) {
        let again = serde_json::to_vec(&member).expect("what was read can be written");
        assert_eq!(serde_json::from_slice::<Member>(&again).ok(), Some(member));
    }
    if let Ok(society) = serde_json::from_slice::<StoredSociety>(value) {
        let again = serde_json::to_vec(&society).expect("what was read can be written");
        assert_eq!(serde_json::from_slice::<StoredSociety>(&again).ok(), Some(society));
    }
}

/// Carries out the node's writes, or lets another node write first, in turns.
fn act(part: &mut Participant, revision: u64, now: Time) {
    for turn in 0..1_000 {
        let Some(action) = part.act(now) else { return };
        match action {
            ClusterAction::Write(key, _, value) if turn % 2 == 0 => {
                part.wrote(&key, Ok(Revision(revision)), now);
                part.told(WatchNotice::Written(key, Revision(revision), value), now);
            }
            ClusterAction::Write(key, ..) | ClusterAction::Remove(key, _) => {
                part.wrote(&key, Err(WriteError::Conflict(Revision(revision))), now);
            }
            ClusterAction::Read(key) => part.read(&key, Ok(None), now),
            ClusterAction::Accepted { .. } => part.begin("here".to_owned()),
            ClusterAction::Adopt(partitions) => part.adopted(&partitions, Vec::new(), now),
            ClusterAction::Yield(partitions) => part.yielded(&partitions, Vec::new(), now),
            ClusterAction::Forget(_) => part.forgot(Ok(()), now),
            ClusterAction::Conclude => part.leave(),
            ClusterAction::LinkWith(_) | ClusterAction::Note(_) | ClusterAction::Moved { .. } => {}
            ClusterAction::End(_) => return,
        }
    }
    panic!("it never has enough");
}

fn terms() -> ClusterTerms {
    ClusterTerms {
        me: ME,
        name: None,
        level: LEVEL,
        weight: 10,
        standby: false,
        fresh: false,
        alone: false,
        patience: Duration::from_secs(1),
        project: "garden".to_owned(),
        token: "secret".to_owned(),
        process: String::new(),
        layout: PARTITIONS.into(),
        labels: Vec::new(),
        programs: BTreeMap::new(),
    }
}

/// Seeds: lines.
pub fn seeds() -> Vec<Vec<u8>> {
    let society = r#"society {"state":"running","project":"garden","token":"t","term":3,"named":2}"#;
    let node = |number: u64, state: &str, more: &str| {
        format!(
            r#"node/{number:016x} {{"name":"n{number}","weight":8,"state":"{state}","number":1,"term":3,"beat":7{more}}}"#
        )
    };
    let table = r#"placement {"nodes":["0000000000000001","00000000000000ff"],"parts":[[3,0],[4,1,0],[1,0,1],[2]]}"#;
    let trouble = r#","troubles":[{"partition":1,"kind":"unreadable","why":"damaged"},{"partition":2,"kind":"stuck"}]"#;
    let concluded = r#"society {"state":"concluded","project":"garden","token":"t","term":3}"#;
    let former = r#"owner {"node":"process 7","nonce":5,"epoch":41,"beat":9,"state":"left"}"#;
    let all = [
        vec![society.to_owned(), node(1, "running", ""), node(2, "draining", trouble), table.to_owned()],
        vec![former.to_owned(), "erasing".to_owned(), node(1, "joining", r#","standby":true"#), concluded.to_owned()],
        vec![society.to_owned(), table.to_owned(), "drain/00000000000000ff".to_owned(), node(255, "left", trouble)],
    ];
    all.into_iter().map(|lines| lines.join("\n").into_bytes()).collect()
}
