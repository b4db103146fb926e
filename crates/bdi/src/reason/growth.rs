//! Growth of a mind during a turn.

use whimbrel_acl::AclMessage;
use whimbrel_acl::limits::BULKY_COUNTED_BYTES;
use whimbrel_acl::value::Scale;
use whimbrel_platform::growth;

use super::Cycle;

impl Cycle<'_> {
    /// Notes a message that the mind takes in as if the mind's turn had allocated it.
    #[inline(always)]
    pub(super) fn note_received(&mut self, message: &AclMessage) {
        if message.extras.is_some() || !message.content.is_light() {
            self.weigh_received(message);
        }
    }

    #[inline(never)]
    fn weigh_received(&mut self, message: &AclMessage) {
        let mut scale = Scale::new(BULKY_COUNTED_BYTES);
        scale.add_value(&message.content);
        for (_, value) in &message.extras().user {
            scale.add_value(value);
        }
        growth::take_in(scale.bytes());
        self.mind_memory();
    }

    /// Ends the turn after this step if it may have made the mind too large.
    #[inline(always)]
    pub(super) fn mind_memory(&mut self) {
        if growth::taken() >= self.memory_due {
            self.cycles_left = 0;
        }
    }
}
