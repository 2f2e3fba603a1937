//! What every card shares: VM-IDs, single-producer rings, the airtime dispatcher.
