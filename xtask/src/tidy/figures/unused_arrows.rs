//! Arrows between crates that nobody uses: a permission that no manifest takes, and a dependency that no code names.

use super::{Figure, Finding, Tenths};
use crate::repo::Repo;
use crate::tidy::arrows::{Dependency, MAY_USE, dependencies};
use crate::tidy::words;

pub fn figure(repo: &Repo) -> Figure {
    let mut places = Vec::new();
    for (name, may_use) in MAY_USE {
        let path = format!("crates/{name}/Cargo.toml");
        let Some(manifest) = repo.text(&path) else { continue };
        let dependencies = dependencies(manifest);
        for used in may_use.iter().filter(|used| !dependencies.iter().any(|found| found.used == **used)) {
            places.push(Finding::new(&path, 0, format!("{name} may use {used}, and does not")));
        }
        for Dependency { line, used, for_tests } in dependencies {
            if !names(repo, name, used, for_tests) {
                places.push(Finding::new(&path, line, format!("{name} depends on {used}, and never names it")));
            }
        }
    }
    Figure {
        name: "unused_arrows",
        title: "arrows between crates that nobody uses",
        advice: "delete the dependency, or the permission in xtask/src/tidy/arrows.rs",
        target: Tenths(0),
        now: Tenths::whole(places.len()),
        places,
    }
}

/// True if a crate's code names another crate; code that is no test, unless the dependency is for tests.
fn names(repo: &Repo, name: &str, used: &str, for_tests: bool) -> bool {
    let folder = format!("crates/{name}/");
    let used = match used {
        "whimbrel" => used.to_owned(),
        used => format!("whimbrel_{}", used.replace('-', "_")),
    };
    let mut files = repo.rust().filter_map(|(file, _, code)| Some((file.strip_prefix(&folder)?, code)));
    files.any(|(file, code)| {
        (for_tests || file.starts_with("src/") || file == "build.rs") && words(code, &used).next().is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::expect;
    use super::*;

    #[test]
    fn unused_arrows_are_found() {
        let manifest =
            "[dependencies]\nwhimbrel-acl.workspace = true\n[dev-dependencies]\nwhimbrel-testkit.workspace = true\n";
        let source = |text| ("crates/bdi/src/lib.rs", text);
        let test = ("crates/bdi/tests/it/main.rs", "use whimbrel_testkit::A;\n");
        let unused = "crates/bdi/Cargo.toml: bdi may use platform, and does not";
        let files = [("crates/bdi/Cargo.toml", manifest), test, source("use whimbrel_acl::A;\n")];
        expect(figure, &files, "1", &[unused]);
        let files = [("crates/bdi/Cargo.toml", manifest), test, source("// whimbrel_acl\n")];
        expect(figure, &files, "2", &[unused, "crates/bdi/Cargo.toml:2: bdi depends on acl, and never names it"]);
    }
}
