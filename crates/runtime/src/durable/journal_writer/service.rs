//! Service of partitions: this node begins and ends to serve them, and repeats messages to their servers.

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_platform::durable::Facts;
use whimbrel_platform::link::News;
use whimbrel_platform::route::NodeId;
use whimbrel_platform::store::Partition;

use super::served_term::ServedTerm;
use super::writer_state::WriterState;
use super::{Takeover, WriterJob};
use crate::cluster::PartitionServer;
use crate::sync::locked;

impl WriterState {
    /// Changes the partitions that this node serves, or handles the announcement of another server.
    pub fn change_service(&mut self, job: WriterJob) {
        match job {
            WriterJob::TakeOver(takeover, answer) => {
                let _ = answer.send(self.take_over(*takeover));
            }
            WriterJob::GiveUp(partitions, answer) => {
                self.ledger.give_up(&partitions);
                self.terms.retain(|partition, _| !partitions.contains(partition));
                if let Some(scribe) = &self.node.scribe {
                    let stays = |agent: &Symbol| !partitions.contains(&self.ledger.partition_of(*agent));
                    locked(&scribe.durable).retain(stays);
                    scribe.give_up_ends(|agent| !stays(&agent));
                }
                let _ = answer.send(());
            }
            WriterJob::SayAgain(to, partitions) => {
                let letters = self.ledger.say_again(&partitions);
                let Some(scribe) = &self.node.scribe else { return };
                self.node.open_to(to, &partitions, |replay_round| scribe.envelopes(letters, replay_round));
            }
            WriterJob::SayAgainHere(partition) => {
                let letters = self.ledger.letters_to(&[partition]);
                let Some(scribe) = &self.node.scribe else { return };
                self.node.say_again_here(partition, |replay_round| scribe.envelopes(letters, replay_round));
            }
            WriterJob::Create(created) => {
                let handled = |ticket| self.ledger.has_handled(created.name, ticket);
                let is_new = !created.ticket.is_some_and(handled);
                self.node.make_created(*created, is_new);
            }
            WriterJob::Write(_)
            | WriterJob::WriteOff(..)
            | WriterJob::Refuse(..)
            | WriterJob::Hear(_)
            | WriterJob::End => {}
        }
    }

    fn take_over(&mut self, takeover: Takeover) -> usize {
        let Takeover { books, partitions: terms, sizes, agents, letters: own, standings } = takeover;
        for (partition, epoch) in &terms {
            let size = sizes.get(partition).copied().unwrap_or_default();
            self.terms.insert(*partition, ServedTerm::begin(*epoch, size));
        }
        let partitions: Vec<Partition> = terms.iter().map(|(partition, _)| *partition).collect();
        let mut letters = self.ledger.letters_to(&partitions);
        self.ledger.take_over(books, &own);
        letters.extend(own);
        let tickets = agents.iter().map(|agent| (agent.name, self.ledger.tickets_of(agent.name).collect())).collect();
        let Some(scribe) = &self.node.scribe else { return 0 };
        self.node.open_here(&terms, agents, standings, &tickets, |replay_round| scribe.envelopes(letters, replay_round))
    }

    /// Tells other nodes the fate of their agents' messages.
    pub fn tell_facts(&mut self) {
        let Some(cluster) = &self.node.cluster else { return };
        let mut facts: FxHashMap<NodeId, Facts> = FxHashMap::default();
        while let Some((partition, some)) = self.ledger.poll_facts() {
            // The next server of the partition gets the report later.
            if let PartitionServer::Node(node) = cluster.server(partition) {
                facts.entry(node).or_default().append(some);
            }
        }
        if let Some(links) = self.node.linked.links() {
            for (node, facts) in facts {
                facts.pieces().for_each(|piece| links.tell(node, News::Facts(piece)));
            }
        }
        // Agents need not learn which messages are not repeated, because each sender's messages arrive in order.
        self.ledger.take_known();
    }
}
