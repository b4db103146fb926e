//! Code and quotas of a node's agents.

use std::collections::BTreeMap;

use crate::programs::CodeSeen;
use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_operator::{CodeForm, CodeInfo, CodesFound, QuotaInfo, QuotasFound, UsageInfo};
use whimbrel_platform::ams::{AgentKind, AgentQuery};
use whimbrel_platform::durable::CodeHash;
use whimbrel_platform::inspection::{QuotaSeen, Upkeep};

use super::keep_first::keep_first;
use super::operator_service::OperatorService;

/// Returns all code that the node has.
pub fn codes(service: &OperatorService) -> CodesFound {
    let Some(programs) = &service.programs else {
        return CodesFound { codes: Vec::new(), kept_bytes: None, kept_bytes_max: None };
    };
    let mut agents: FxHashMap<CodeHash, u64> = FxHashMap::default();
    let run_code = |kind| matches!(kind, AgentKind::AgentSpeak | AgentKind::Wasm);
    for (_, upkeep) in upkeep(service, run_code) {
        *upkeep.code.map(|code| agents.entry(code).or_default()).unwrap_or(&mut 0) += 1;
    }
    let (codes, kept) = programs.codes();
    let info = |seen: CodeSeen| CodeInfo {
        code: seen.code.to_string(),
        name: seen.name,
        form: if seen.is_module { CodeForm::Wasm } else { CodeForm::Agentspeak },
        own: seen.is_own,
        loaded: seen.is_loaded,
        bytes: seen.bytes,
        compiled_bytes: seen.compiled_bytes,
        agents: agents.get(&seen.code).copied().unwrap_or_default(),
        hits: seen.hits,
    };
    let (kept_bytes, kept_bytes_max) = kept.unzip();
    CodesFound { codes: codes.into_iter().map(info).collect(), kept_bytes, kept_bytes_max }
}

/// Returns the code and usage of agents of these kinds, including agents that came from clients and now run here.
fn upkeep(service: &OperatorService, wanted: impl Fn(AgentKind) -> bool) -> Vec<(Symbol, Upkeep)> {
    let may_run = |kind| kind == AgentKind::Session || wanted(kind);
    let all = service.platform().search(&AgentQuery::named(""));
    let names: Vec<Symbol> = all.iter().filter(|agent| may_run(agent.kind)).map(|agent| agent.aid.name).collect();
    let mut found = service.platform().upkeep_of(&names);
    found.retain(|(_, upkeep)| upkeep.kind.is_none_or(&wanted));
    found
}

/// Returns the usage of agents and owners: at most `limit` agents, those nearest to a limit first.
pub fn quotas(service: &OperatorService, limit: usize) -> QuotasFound {
    let (storage, mut stored) = (service.platform().storage(), BTreeMap::new());
    let mut agents: Vec<UsageInfo> = Vec::new();
    for (name, Upkeep { owner, mut quotas, storage: kept, .. }) in upkeep(service, |kind| kind == AgentKind::Wasm) {
        if let Some((holder, room)) = kept {
            let (own, of_owner) = storage.kept_for(&holder);
            quotas.push(QuotaSeen::of("storage_bytes", own, Some(room.bytes)));
            stored.insert(owner.clone(), QuotaSeen::of("owner_storage_bytes", of_owner, Some(room.owner_bytes)));
        }
        if !quotas.is_empty() {
            let owner = Some(owner).filter(|owner| !owner.is_empty());
            agents.push(UsageInfo { name: name.to_string(), owner, quotas: quotas.into_iter().map(info).collect() });
        }
    }
    let total = agents.len() as u64;
    keep_first(&mut agents, limit, |a, b| {
        fullness(b).total_cmp(&fullness(a)).then_with(|| super::name_order::compare(&a.name, &b.name))
    });
    QuotasFound { agents, total, owners: owners(service, stored) }
}

fn owners(service: &OperatorService, mut stored: BTreeMap<String, QuotaSeen>) -> Vec<UsageInfo> {
    let mut all: BTreeMap<String, Vec<QuotaSeen>> =
        service.programs.as_ref().map(|programs| programs.owners(service.now())).into_iter().flatten().collect();
    while let Some((owner, quota)) = stored.pop_first() {
        all.entry(owner).or_default().push(quota);
    }
    let usage = |(name, quotas): (String, Vec<QuotaSeen>)| UsageInfo {
        name,
        owner: None,
        quotas: quotas.into_iter().map(info).collect(),
    };
    all.into_iter().map(usage).collect()
}

fn info(QuotaSeen { name, used, max }: QuotaSeen) -> QuotaInfo {
    QuotaInfo { name: name.to_owned(), used, max }
}

/// Returns the used share of the scarcest resource, from 0 to 1.
fn fullness(usage: &UsageInfo) -> f64 {
    let share = |quota: &QuotaInfo| Some(quota.used? as f64 / (quota.max? as f64).max(1.0));
    usage.quotas.iter().filter_map(share).fold(0.0, f64::max)
}
