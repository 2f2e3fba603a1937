//! When the vMAC behind a card comes and goes: one `Initialize` per start, one `Reset` per stop, and
//! silence for everything that the radio says about the time before.

use airlane_waist::Command;

/// What the radio has been and is to be told.
#[derive(Debug, Default)]
pub struct Vmac {
    /// The radio has been told to initialize, or is about to be.
    up: bool,
    initialize_due: bool,
    reset_due: bool,
    /// Resets sent whose answer has not come.
    resets_outstanding: u32,
}

impl Vmac {
    /// The microcode has started.
    pub fn start(&mut self) {
        self.up = true;
        self.initialize_due = true;
    }

    /// The microcode has stopped. A start that the radio has not heard of is taken back instead.
    pub fn stop(&mut self) {
        if std::mem::take(&mut self.up) && !std::mem::take(&mut self.initialize_due) {
            self.reset_due = true;
        }
    }

    /// The next thing to tell the radio.
    pub fn take_command(&mut self) -> Option<Command> {
        if std::mem::take(&mut self.reset_due) {
            self.resets_outstanding = self.resets_outstanding.saturating_add(1);
            return Some(Command::Reset);
        }
        std::mem::take(&mut self.initialize_due).then_some(Command::Initialize)
    }

    /// A reset was answered.
    pub fn reset_done(&mut self) {
        self.resets_outstanding = self.resets_outstanding.saturating_sub(1);
    }

    /// True when the radio's events are about the present.
    pub fn listens(&self) -> bool {
        self.up && !self.initialize_due && !self.reset_due && self.resets_outstanding == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reset_per_stop_and_deaf_until_it_is_answered() {
        let mut vmac = Vmac::default();
        vmac.stop();
        assert!(vmac.take_command().is_none(), "nothing was initialized");
        vmac.start();
        assert!(matches!(vmac.take_command(), Some(Command::Initialize)));
        assert!(vmac.listens());
        vmac.stop();
        vmac.stop();
        vmac.start();
        assert!(matches!(vmac.take_command(), Some(Command::Reset)));
        assert!(matches!(vmac.take_command(), Some(Command::Initialize)));
        assert!(vmac.take_command().is_none() && !vmac.listens());
        vmac.reset_done();
        assert!(vmac.listens());
    }

    #[test]
    fn a_start_that_nobody_heard_of_is_taken_back() {
        let mut vmac = Vmac::default();
        vmac.start();
        vmac.stop();
        assert!(vmac.take_command().is_none());
    }
}
