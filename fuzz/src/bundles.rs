//! Properties of programs that come from other nodes, for any bytes. The fuzz target looks for violations; a test of
//! `whimbrel-bdi` replays those that were found.

use whimbrel_acl::Text;
use whimbrel_bdi::{Bundle, Included, load_bundled};

/// No bundle; or one that comes back the same, and is a program with the same bundle, or none.
pub fn code_bundle(bytes: &[u8]) {
    let Ok(bundle) = Bundle::decode(bytes) else { return };
    let Some(written) = bundle.encode() else { return };
    assert_eq!(Bundle::decode(&written).as_ref(), Ok(&bundle));
    let file = "/x/p.asl";
    let Ok(loaded) = load_bundled(&bundle.text, &Text::from(file), &mut bundle.loader(file)) else { return };
    // A file that nothing includes may be missing.
    assert!(loaded.bundle.included.len() <= bundle.included.len());
    let again = load_bundled(&loaded.bundle.text, &Text::from(file), &mut loaded.bundle.loader(file));
    assert_eq!(again.map(|again| again.image.fingerprint).ok(), Some(loaded.image.fingerprint));
}

/// Seeds: bundles.
pub fn seeds() -> Vec<Vec<u8>> {
    let included = |path: &str, name: &str, is_beside, text: &str| Included {
        path: path.to_owned(),
        name: name.to_owned(),
        is_beside,
        text: text.to_owned(),
    };
    let plain = Bundle { text: "!go. +!go <- .print(1); .move_to(n2).".to_owned(), included: Vec::new() };
    let nested = Bundle {
        text: "{ include(\"a.asl\") } { include(\"/l/c.asl\", ns) } +!go <- !a.".to_owned(),
        included: vec![
            included("a.asl", "a.asl", true, "{ include(\"b.asl\") } +!a <- !b."),
            included("b.asl", "sub/b.asl", true, "+!b : c(X) <- .print(X)."),
            included("/l/c.asl", "/l/c.asl", false, "c(1)."),
        ],
    };
    [Bundle::default(), plain, nested].iter().filter_map(Bundle::encode).collect()
}
