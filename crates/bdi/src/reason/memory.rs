//! Memory quota of a mind. Each turn counts the bytes that its thread allocates. When the mind may have grown by as
//! much as it is allowed, its memory is counted; an agent that exceeds its quota ends.

use whimbrel_acl::{AclMessage, Aid, Performative, Value, sym};
use whimbrel_platform::audit::{RefusalReason, Refused};
use whimbrel_platform::limits::MIND_COUNTED_EVERY_BYTES;
use whimbrel_platform::policy::Principal;
use whimbrel_platform::services::LogLevel;
use whimbrel_platform::{EndReason, Next, Turn};

use super::{Agent, Cycle};
use crate::mind::Mind;

impl Agent {
    /// Counts the memory of the mind after a turn that ended like this.
    #[cold]
    #[inline(never)]
    pub(super) fn count_memory(&mut self, next: Next, turn: &mut Turn<'_>) -> Next {
        let who = match turn.services.principal(turn.aid) {
            Principal::Stranger => Principal::Agent { name: turn.aid.name, node: turn.services.node() },
            known => known,
        };
        let most = turn.services.policy().terms(who).mind_memory_bytes;
        let bytes = self.footprint(most.saturating_add(1));
        if bytes <= most {
            // Seldom enough that counting takes no time to speak of, and often enough that little is taken beyond.
            let room = (most - bytes) as u64 / 2;
            self.memory_due = (2 * bytes as u64).min(room).max(MIND_COUNTED_EVERY_BYTES.min(most as u64));
            return next;
        }
        let reason = format!(
            "it takes more memory than it may: {most} bytes (`mind_memory_bytes` in a `[[quota]]` of the policy)"
        );
        turn.services.log(turn.aid, LogLevel::Severe, &reason);
        turn.services.audit(&Refused::somebody(RefusalReason::Quota, &who.to_string(), &reason));
        tell_owner(turn, &reason);
        self.forget(Mind::default());
        Next::End(EndReason::Failed(reason))
    }
}

impl Cycle<'_> {
    /// Ends the turn after this step if it may have made the mind too large.
    #[inline(always)]
    pub(super) fn mind_memory(&mut self) {
        if whimbrel_platform::growth::taken() >= self.memory_due {
            self.cycles_left = 0;
        }
    }
}

/// Sends the agent's owner, if it has one, a `failure` whose content is `failed(Reason)`.
fn tell_owner(turn: &mut Turn<'_>, reason: &str) {
    let aid = turn.aid;
    let described = turn.services.directory().and_then(|all| all.with_ams(|ams| ams.describe(aid))).flatten();
    if let Some(owner) = described.map(|described| described.owner).filter(|owner| *owner != sym::EMPTY) {
        let content = Value::term("failed", [Value::Str(reason.into())]);
        turn.outbox.send(AclMessage::new(Performative::Failure, aid, Aid::local(owner), content));
    }
}
