//! Description of this platform, as a GET of its address returns it: JADE's RMA adds platforms by it.

use super::departure::{quoted, word};
use super::{HomePlatform, TRANSPORT};

/// Returns the description: one SL0 term.
//= fipa00023 6.1.6
pub fn platform_description(home: &HomePlatform) -> String {
    let (name, address) = (word(home.name.as_str()), quoted(&home.address));
    format!(
        "(ap-description :name {name} :ap-services (set (ap-service :name {TRANSPORT} :type {TRANSPORT} :addresses \
         (sequence {address}))))"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_is_one_term() {
        let home = HomePlatform::new("bees:1/x", "http://127.0.0.1:7778/acc");
        assert_eq!(
            platform_description(&home),
            "(ap-description :name \"bees:1/x\" :ap-services (set (ap-service :name fipa.mts.mtp.http.std :type \
             fipa.mts.mtp.http.std :addresses (sequence \"http://127.0.0.1:7778/acc\"))))"
        );
    }
}
