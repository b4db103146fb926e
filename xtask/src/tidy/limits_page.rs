//! The reference of limits is what `cargo xtask limits` makes of the constants.

use super::Finding;
use crate::limits::{FOLDER, PAGE, page};
use crate::repo::Repo;

pub fn check(repo: &Repo) -> Vec<Finding> {
    let has_limits = repo.ending(".rs").any(|(path, _)| path.starts_with(FOLDER));
    if !has_limits || repo.text(PAGE) == Some(page(repo).as_str()) {
        return Vec::new();
    }
    vec![Finding::new(PAGE, 0, "is not what the constants say: run cargo xtask limits")]
}
