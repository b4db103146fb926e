//! Library of files that programs include by a path such as `$whimbrel/contract_net.asl`. They are a part of the
//! engine, so they exist on every node and in every page.

use whimbrel_acl::Text;

use crate::syntax::{LoadError, SourceText, nearest};

/// Prefix of the library's paths.
const ROOT: &str = "$whimbrel/";

/// Files of the library, by name.
const FILES: [(&str, &str); 27] = [
    ("auction.asl", include_str!("library/protocols/auction.asl")),
    ("auction_dutch.asl", include_str!("library/protocols/auction_dutch.asl")),
    ("auction_english.asl", include_str!("library/protocols/auction_english.asl")),
    ("bidding.asl", include_str!("library/protocols/bidding.asl")),
    ("brokering.asl", include_str!("library/protocols/brokering.asl")),
    ("contract_net.asl", include_str!("library/protocols/contract_net.asl")),
    ("conversation.asl", include_str!("library/protocols/conversation.asl")),
    ("iterated_contract_net.asl", include_str!("library/protocols/iterated_contract_net.asl")),
    ("propose.asl", include_str!("library/protocols/propose.asl")),
    ("proxy.asl", include_str!("library/protocols/proxy.asl")),
    ("query.asl", include_str!("library/protocols/query.asl")),
    ("recruiting.asl", include_str!("library/protocols/recruiting.asl")),
    ("request.asl", include_str!("library/protocols/request.asl")),
    ("request_when.asl", include_str!("library/protocols/request_when.asl")),
    ("subscribe.asl", include_str!("library/protocols/subscribe.asl")),
    ("work.asl", include_str!("library/protocols/work.asl")),
    ("tables/auction_dutch.asl", include_str!("library/protocols/tables/auction_dutch.asl")),
    ("tables/auction_english.asl", include_str!("library/protocols/tables/auction_english.asl")),
    ("tables/brokering.asl", include_str!("library/protocols/tables/brokering.asl")),
    ("tables/contract_net.asl", include_str!("library/protocols/tables/contract_net.asl")),
    ("tables/iterated_contract_net.asl", include_str!("library/protocols/tables/iterated_contract_net.asl")),
    ("tables/propose.asl", include_str!("library/protocols/tables/propose.asl")),
    ("tables/query.asl", include_str!("library/protocols/tables/query.asl")),
    ("tables/recruiting.asl", include_str!("library/protocols/tables/recruiting.asl")),
    ("tables/request.asl", include_str!("library/protocols/tables/request.asl")),
    ("tables/request_when.asl", include_str!("library/protocols/tables/request_when.asl")),
    ("tables/subscribe.asl", include_str!("library/protocols/tables/subscribe.asl")),
];

/// Returns true for a path in the library.
pub fn contains(path: &str) -> bool {
    path.starts_with(ROOT)
}

/// Returns the paths of the library's files.
pub fn names() -> impl Iterator<Item = String> {
    FILES.iter().map(|(name, _)| path_of(name))
}

/// Returns the names of the library's files, without `$whimbrel/`, and their texts.
pub fn texts() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.into_iter()
}

/// Returns the name of a file in the library, without `$whimbrel/`, of a path there.
pub fn name_of(path: &str) -> Option<&str> {
    path.strip_prefix(ROOT)
}

/// Returns the path of a file in the library.
pub fn path_of(name: &str) -> String {
    format!("{ROOT}{name}")
}

/// Returns the name and text of a file of the library.
///
/// # Errors
/// Returns the reason if there is no such file.
pub fn load(path: &str) -> Result<(Text, SourceText), LoadError> {
    let name = path.strip_prefix(ROOT).unwrap_or(path);
    match FILES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Ok((Text::from(path), (*text).to_owned().into())),
        None => Err(missing(name).into()),
    }
}

fn missing(name: &str) -> String {
    let known = FILES.map(|(name, _)| name);
    match nearest(name, known) {
        Some(meant) => format!("Whimbrel's library has no such file; did you mean `{ROOT}{meant}`?"),
        None => format!("Whimbrel's library has no such file; its files are {}", known.join(", ")),
    }
}
