//! Messages to and from the agent `devices`: terms for AgentSpeak programs, or maps for programs with objects.

use std::time::Duration;

use whimbrel_acl::{Symbol, Text, Value};
use whimbrel_platform::devices::{Battery, Condition, Device, WorkTerms};
use whimbrel_platform::limits::{
    DEVICE_AGENTS_TOLD_MAX, DEVICE_KIND_BYTES_MAX, DEVICE_KINDS_MAX, WORK_AGREEING_MAX, WORK_ATTEMPTS_MAX,
    WORK_LEASE_MS_MAX, WORK_LEASE_MS_MIN,
};

/// Request `share(Kind, Part)` or `share(Kind, Part, Options)`, or a map with these names.
#[derive(Debug, PartialEq)]
pub(super) struct ShareRequest {
    /// Kind of work that a device must offer.
    pub kind: Text,
    /// Content for the device.
    pub part: Value,
    pub terms: WorkTerms,
    /// True if the answer has to name the devices that gave it.
    pub named: bool,
}

/// A device's description of itself.
#[derive(Debug, PartialEq)]
pub(super) struct DeviceOffer {
    pub device: Device,
    /// Kinds of work that the device accepts.
    pub kinds: Vec<Text>,
    /// Agents that run on the device.
    pub agents: Vec<Symbol>,
}

impl ShareRequest {
    /// Reads a request.
    ///
    /// # Errors
    /// Returns the reason, for people, if the content is no request.
    pub fn read(content: &Value) -> Result<Self, String> {
        let (kind, part, options) = match (content.functor().map(Symbol::as_str), content.args()) {
            (Some("share"), [kind, part]) => (kind, part, None),
            (Some("share"), [kind, part, options]) => (kind, part, Some(options)),
            _ => match (field(content, "kind"), field(content, "part")) {
                (Some(kind), Some(part)) => (kind, part, Some(content)),
                _ => return Err("share(Kind, Part) or share(Kind, Part, Options) is expected".to_owned()),
            },
        };
        options.map_or(Ok(()), check_options)?;
        let within = option(options, "within_ms", [1, WORK_LEASE_MS_MAX])?;
        let option =
            |name: &str, range: [u64; 2], or: u64| Ok::<_, String>(option(options, name, range)?.unwrap_or(or));
        let or = WorkTerms::default();
        let lease_ms = option("lease_ms", [WORK_LEASE_MS_MIN, WORK_LEASE_MS_MAX], or.lease.as_millis() as u64)?;
        let terms = WorkTerms {
            lease: Duration::from_millis(lease_ms),
            agreeing: option("agreeing", [1, WORK_AGREEING_MAX.into()], or.agreeing.into())? as u32,
            attempts_max: option("attempts", [1, WORK_ATTEMPTS_MAX.into()], or.attempts_max.into())? as u32,
            within: within.map(Duration::from_millis),
            ..or
        };
        let named = options.and_then(|options| field(options, "named")).map_or(Ok(false), |named| {
            named.as_bool().ok_or_else(|| format!("named({named}): true or false is expected"))
        })?;
        Ok(Self { kind: kind_of(kind)?, part: part.clone(), terms, named })
    }

    /// Returns the content for a device.
    pub fn content(&self) -> Value {
        Value::term("share", [Value::from(self.kind.clone()), self.part.clone()])
    }
}

impl DeviceOffer {
    /// Reads a device's description from its agent's message.
    ///
    /// # Errors
    /// Returns the reason, for people, if the content describes no device.
    pub fn read(agent: Symbol, content: &Value) -> Result<Self, String> {
        let or = Condition::default();
        let number =
            |name: &str, max: u64, or: u64| Ok::<_, String>(option(Some(content), name, [0, max])?.unwrap_or(or));
        let most = u64::from(u32::MAX);
        let units = field(content, "units").ok_or("units are expected: what it can do, in compute units")?;
        let units =
            whole(units, [1, most]).ok_or_else(|| format!("units({units}): a whole number is expected"))? as u32;
        let battery =
            field(content, "battery").filter(|battery| **battery != Value::Null).map(battery_of).transpose()?;
        let visible = field(content, "visible").map_or(Ok(or.visible), |visible| {
            visible.as_bool().ok_or_else(|| format!("visible({visible}): true or false is expected"))
        })?;
        let condition = Condition { visible, battery, places: number("places", most, or.places.into())? as u32 };
        let kinds: Vec<Text> = match field(content, "kinds") {
            None => Vec::new(),
            Some(kinds) if kinds.is_list() => {
                kinds.items().take(DEVICE_KINDS_MAX + 1).map(kind_of).collect::<Result<_, _>>()?
            }
            Some(kinds) => return Err(format!("kinds({kinds}): a list is expected")),
        };
        if kinds.len() > DEVICE_KINDS_MAX {
            return Err(format!("at most {DEVICE_KINDS_MAX} kinds of work"));
        }
        // Names that no agent has are dropped.
        let known = |name: &Value| name.as_str().and_then(Symbol::known);
        let agents = field(content, "agents").filter(|agents| agents.is_list());
        let agents = agents.map(|agents| agents.items().take(DEVICE_AGENTS_TOLD_MAX).filter_map(known).collect());
        let agents = agents.unwrap_or_default();
        Ok(Self { device: Device { agent, units, condition }, kinds, agents })
    }
}

/// Describes a device that takes part.
pub(super) fn description(device: &Device, taken: u32, kinds: &[Text]) -> Value {
    let Device { agent, units, condition, .. } = device;
    let mut fields = vec![
        ("device", Value::from(agent.as_str())),
        ("units", Value::Int((*units).into())),
        ("places", Value::Int(condition.places().into())),
        ("taken", Value::Int(taken.into())),
        ("visible", condition.visible.into()),
        ("kinds", Value::list(kinds.iter().cloned().map(Value::from))),
    ];
    if let Some(Battery { percent, charging }) = condition.battery {
        fields.push(("battery", Value::term("battery", [Value::Int(percent.into()), charging.into()])));
    }
    Value::list(fields.into_iter().map(|(name, value)| Value::term(name, [value])))
}

/// Refuses unknown options, which would silently keep their defaults: of `agreeing`, for instance, by which work is
/// done twice.
fn check_options(options: &Value) -> Result<(), String> {
    const KNOWN: [&str; 5] = ["within_ms", "lease_ms", "agreeing", "attempts", "named"];
    let said: Vec<Value> = match options {
        Value::Map(pairs) => pairs.iter().map(|(name, _)| name.clone()).collect(),
        Value::Record(record) => record.fields.iter().map(|(name, _)| Value::atom(*name)).collect(),
        list if list.is_list() => list.items().cloned().collect(),
        other => return Err(format!("{other} is no list of options")),
    };
    let is_known = |option: &Value| {
        let name = option.functor().map(Symbol::as_str).or(option.as_str());
        name.is_some_and(|name| KNOWN.contains(&name) || ["kind", "part"].contains(&name))
    };
    match said.iter().find(|option| !is_known(option)) {
        Some(option) => Err(format!("{option} is no option: {} are", KNOWN.join(", "))),
        None => Ok(()),
    }
}

/// Returns a field of a map or record. In a list of terms, returns the argument of the term of this name, or the term
/// itself if it has several.
fn field<'a>(content: &'a Value, name: &str) -> Option<&'a Value> {
    if content.is_list() {
        let named = |option: &&Value| option.functor().is_some_and(|functor| functor.as_str() == name);
        let term = content.items().find(named)?;
        return Some(if let [argument] = term.args() { argument } else { term });
    }
    content.field(Symbol::new(name))
}

fn option(options: Option<&Value>, name: &str, range: [u64; 2]) -> Result<Option<u64>, String> {
    let Some(value) = options.and_then(|options| field(options, name)) else { return Ok(None) };
    let [least, most] = range;
    let number = whole(value, range);
    Ok(Some(number.ok_or_else(|| format!("{name}({value}): a whole number from {least} to {most} is expected"))?))
}

fn whole(value: &Value, [least, most]: [u64; 2]) -> Option<u64> {
    value.as_i64().and_then(|number| u64::try_from(number).ok()).filter(|number| (least..=most).contains(number))
}

fn battery_of(battery: &Value) -> Result<Battery, String> {
    let wrong = || format!("battery({battery}): percent, 0 to 100, and whether it is charging, are expected");
    let (percent, charging) = match battery.args() {
        [percent, charging] => (percent, charging),
        _ => field(battery, "percent").zip(field(battery, "charging")).ok_or_else(wrong)?,
    };
    let percent = whole(percent, [0, 100]).ok_or_else(wrong)? as u8;
    Ok(Battery { percent, charging: charging.as_bool().ok_or_else(wrong)? })
}

fn kind_of(kind: &Value) -> Result<Text, String> {
    let text = kind.as_str().filter(|kind| (1..=DEVICE_KIND_BYTES_MAX).contains(&kind.len()));
    text.map(Text::from).ok_or_else(|| format!("a kind of work is a text of 1 to {DEVICE_KIND_BYTES_MAX} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(fields: &[(&str, Value)]) -> Value {
        Value::map(fields.iter().map(|(name, value)| (Value::from(*name), value.clone())))
    }

    fn list(options: &[(&str, Value)]) -> Value {
        Value::list(options.iter().map(|(name, value)| Value::term(*name, [value.clone()])))
    }

    #[test]
    fn terms_and_maps_ask_alike() {
        let part = Value::from("part");
        let options = [
            ("agreeing", Value::Num(2.0)),
            ("lease_ms", Value::Int(5_000)),
            ("attempts", Value::Int(9)),
            ("named", true.into()),
            ("within_ms", Value::Int(30_000)),
        ];
        let within = Some(Duration::from_secs(30));
        let terms =
            WorkTerms { lease: Duration::from_secs(5), agreeing: 2, attempts_max: 9, within, ..WorkTerms::default() };
        let expected = Ok(ShareRequest { kind: "ants".into(), part: part.clone(), terms, named: true });
        let term = Value::term("share", [Value::atom("ants"), part.clone(), list(&options)]);
        assert_eq!(ShareRequest::read(&term), expected);
        let fields = [&options[..], &[("kind", Value::from("ants")), ("part", part.clone())]].concat();
        assert_eq!(ShareRequest::read(&map(&fields)), expected);
        for wrong in [list(&[("agreing", Value::Int(2))]), map(&[("agreing", Value::Int(2))]), Value::from("agreeing")]
        {
            assert!(ShareRequest::read(&Value::term("share", [Value::from("ants"), part.clone(), wrong])).is_err());
        }
        let plain = ShareRequest::read(&Value::term("share", [Value::from("ants"), part]));
        assert!(plain.is_ok_and(|share| share.terms == WorkTerms::default() && !share.named));
    }

    #[test]
    fn devices_say_what_they_are() {
        let agent = Symbol::new("tab-1");
        let condition = Condition { visible: false, battery: Some(Battery { percent: 30, charging: true }), places: 4 };
        let device = Device { agent, units: 120, condition };
        let expected = Ok(DeviceOffer { device, kinds: vec!["ants".into(), "primes".into()], agents: Vec::new() });
        let battery = [("percent", Value::Int(30)), ("charging", true.into())];
        let kinds = Value::list([Value::from("ants"), Value::from("primes")]);
        let mut fields =
            vec![("units", Value::Num(120.0)), ("places", Value::Int(4)), ("visible", false.into()), ("kinds", kinds)];
        fields.push(("battery", map(&battery)));
        assert_eq!(DeviceOffer::read(agent, &map(&fields)), expected);
        fields.pop();
        fields.push(("battery", Value::term("battery", [Value::Int(30), true.into()])));
        assert_eq!(DeviceOffer::read(agent, &list(&fields)), expected);
        let plain = [("units", Value::Int(120)), ("places", Value::Int(4)), ("visible", false.into())]
            .map(|(name, value)| Value::term(name, [value]));
        let battery = Value::term("battery", [Value::Int(30), true.into()]);
        let offer = DeviceOffer::read(agent, &Value::list([&plain[..], &[battery]].concat()));
        assert_eq!(offer.map(|offer| offer.device), Ok(device));
        // The description can be read again.
        let told = description(&device, 0, &["ants".into(), "primes".into()]);
        assert_eq!(DeviceOffer::read(agent, &told), expected);
        let least = DeviceOffer::read(agent, &map(&[("units", Value::Int(1))]));
        assert!(least.is_ok_and(|offer| offer.device.condition == Condition::default() && offer.kinds.is_empty()));
        let scout = Symbol::new("scout of tab-1");
        let agents =
            Value::list([Value::from(scout.as_str()), Value::from("nobody was ever called so"), Value::Int(1)]);
        let with_agents = DeviceOffer::read(agent, &map(&[("units", Value::Int(1)), ("agents", agents)]));
        assert_eq!(with_agents.map(|offer| offer.agents), Ok(vec![scout]));
        assert_eq!(Symbol::known("nobody was ever called so"), None);
    }

    #[track_caller]
    fn check_refused(outcome: Result<impl Sized, String>, expected: &str) {
        let why = outcome.err().expect("it is none");
        assert!(why.contains(expected), "{why}");
    }

    #[test]
    fn errors_are_explained() {
        let share =
            |options: Value| ShareRequest::read(&Value::term("share", [Value::from("ants"), Value::Null, options]));
        check_refused(ShareRequest::read(&Value::from("share")), "share(Kind, Part)");
        check_refused(share(list(&[("agreeing", Value::Int(0))])), "agreeing(0): a whole number from 1 to");
        check_refused(share(list(&[("lease_ms", Value::Num(1.5))])), "lease_ms(1.5)");
        check_refused(share(list(&[("within_ms", Value::Int(0))])), "within_ms(0): a whole number from 1 to");
        check_refused(share(list(&[("named", Value::Int(1))])), "named(1): true or false");
        check_refused(ShareRequest::read(&Value::term("share", [Value::from(""), Value::Null])), "a kind of work is");
        let offer = |fields: &[(&str, Value)]| DeviceOffer::read(Symbol::new("tab"), &map(fields));
        check_refused(offer(&[]), "units are expected");
        check_refused(offer(&[("units", Value::from("many"))]), "units(\"many\")");
        let units = ("units", Value::Int(1));
        check_refused(offer(&[units.clone(), ("visible", Value::Int(1))]), "visible(1): true or false");
        check_refused(offer(&[units.clone(), ("battery", Value::Int(1))]), "battery(1): percent");
        check_refused(offer(&[units.clone(), ("kinds", Value::Int(1))]), "kinds(1): a list");
        let kinds = Value::list((0..=DEVICE_KINDS_MAX).map(|_| Value::from("ants")));
        check_refused(offer(&[units, ("kinds", kinds)]), "at most 16 kinds of work");
    }
}
