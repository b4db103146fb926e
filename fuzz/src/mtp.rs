//! Properties of posts between platforms, and of the answers to them, for any bytes. The fuzz target looks for
//! violations; a test of `whimbrel-interop` replays those that were found.

use whimbrel_acl::codec::envelope;
use whimbrel_interop::mtp::{HomePlatform, HttpReply, read_multipart, read_post, write_post};

/// Arrival time of the posts.
const ARRIVAL_MS: u64 = 1_700_000_000_000;

/// Reads a post whose boundary is in its body. An envelope that is read can be written, and is the same then. A message
/// that is taken goes to agents of this platform, from an agent of another one, and can be answered.
pub fn mtp_post(bytes: &[u8]) {
    answer(bytes);
    let Ok(parts) = read_multipart("multipart/mixed", bytes) else { return };
    if let Ok(read) = envelope::decode(parts.envelope)
        && let Ok(written) = envelope::encode(&read)
    {
        assert_eq!(envelope::decode(&written).as_ref(), Ok(&read));
    }
    let home = HomePlatform::new("whimbrel", "http://127.0.0.1:7788/acc");
    let Ok(arrived) = read_post(&home, "multipart/mixed", bytes, ARRIVAL_MS) else { return };
    assert!(!arrived.messages.is_empty() && arrived.messages.iter().all(|message| home.has(message.to)));
    for mut message in arrived.messages {
        assert!(!home.has(message.body.sender));
        message.to = message.body.sender;
        let _ = write_post(&home, &message, arrived.encoding, ARRIVAL_MS);
    }
}

/// The end of an answer is where its bytes are; more bytes do not change what is complete.
fn answer(bytes: &[u8]) {
    for is_closed in [false, true] {
        if let Ok(Some(reply)) = HttpReply::read(bytes, is_closed) {
            assert!(reply.length <= bytes.len());
        }
    }
}

/// Seeds: posts as JADE writes them, and an answer.
pub fn seeds() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/mtp_post");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read(file.path()).ok()).collect()
}
