//! The policy table: what the host driver does about each command (Virtual WiFi, section 3.3: a
//! driver may change its own state; what touches the whole card is decided here).

use airlane_waist::{Command, PowerSave, ScanRequest, VifCommand};

/// The three answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To the NIC as it is, for the VM's own vMAC.
    PassOn,
    /// Merged with what the other VMs ask for; the NIC gets the result.
    Consolidate,
    /// Answered here; the NIC never sees it.
    AnswerLocally,
}

/// A command that is merged with what the other VMs ask for.
#[derive(Debug)]
pub enum Shared {
    /// [`Command::Scan`].
    Scan(Box<ScanRequest>),
    /// [`Command::AbortScan`].
    AbortScan,
    /// [`Command::PowerSave`].
    PowerSave(PowerSave),
}

/// A command, sorted by its answer.
#[derive(Debug)]
pub enum Sorted {
    /// [`Answer::PassOn`]: what the NIC gets.
    PassOn(VifCommand),
    /// [`Answer::Consolidate`]: what is merged.
    Consolidate(Shared),
    /// [`Answer::AnswerLocally`].
    AnswerLocally,
}

impl Sorted {
    /// By which answer.
    pub fn answer(&self) -> Answer {
        match self {
            Self::PassOn(_) => Answer::PassOn,
            Self::Consolidate(_) => Answer::Consolidate,
            Self::AnswerLocally => Answer::AnswerLocally,
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The command's name.
    pub kind: CommandKind,
    /// What is done.
    pub answer: Answer,
    /// Why.
    pub why: &'static str,
}

/// Declares the table. Each row sorts one command; a command without a row does not compile, since the rows are the
/// arms of a `match`.
macro_rules! policy {
    ($($kind:ident $(($($field:ident),*))? $({$named:ident})? => $answer:ident, $why:literal;)*) => {
        /// One kind per command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum CommandKind { $($kind),* }

        impl CommandKind {
            /// All kinds, in the order of [`Command`].
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// What is done about commands of this kind.
            pub const fn rule(self) -> Rule {
                match self {
                    $(Self::$kind => Rule { kind: self, answer: Answer::$answer, why: $why }),*
                }
            }
        }

        impl From<&Command> for CommandKind {
            fn from(command: &Command) -> Self {
                match command {
                    $(policy!(@any $kind $(($($field)*))? $({$named})?) => Self::$kind),*
                }
            }
        }

        /// Sorts a command by the table.
        pub fn sort(command: Command) -> Sorted {
            match command {
                $(Command::$kind $(($($field),*))? $({$named})? =>
                    policy!(@$answer $kind $(($($field),*))? $({$named})?)),*
            }
        }
    };
    (@any $kind:ident ($($field:ident)*)) => { Command::$kind(..) };
    (@any $kind:ident {$named:ident}) => { Command::$kind { .. } };
    (@any $kind:ident) => { Command::$kind };
    (@PassOn $kind:ident $($rest:tt)*) => { Sorted::PassOn(VifCommand::$kind $($rest)*) };
    (@Consolidate $kind:ident $($rest:tt)*) => { Sorted::Consolidate(Shared::$kind $($rest)*) };
    (@AnswerLocally $kind:ident $(($($field:ident),*))?) => {{ $($(let _ = $field;)*)? Sorted::AnswerLocally }};
}

policy! {
    Reset => PassOn,
        "A VM switches off its own vMAC only; the radio stays on for the others.";
    Initialize => PassOn,
        "Starts a vMAC; another VM's settings are not touched.";
    Configure(config) => PassOn,
        "Address, BSS and channel are the vMAC's own; the NIC's channel schedule serves several channels.";
    Timing(timing) => PassOn,
        "Beacon timing belongs to the vMAC's BSS.";
    Edca(parameters) => PassOn,
        "Channel access parameters are announced per BSS and kept per vMAC.";
    AddStation(index, address, ht) => PassOn,
        "Each vMAC has a station table of its own.";
    RemoveStation(address) => PassOn,
        "Each vMAC has a station table of its own.";
    ModifyStation(index, ht) => PassOn,
        "Each vMAC has a station table of its own.";
    SetKey(key) => PassOn,
        "Keys are indexed by access point and vMAC: no VM reaches another's.";
    RemoveKey(index, slot) => PassOn,
        "Keys are indexed by access point and vMAC: no VM reaches another's.";
    BlockAck(agreement) => PassOn,
        "Agreements are made per vMAC and peer.";
    RateTable(index, rates, limits) => PassOn,
        "The NIC updates the rate table of this VM-ID alone.";
    Scan(request) => Consolidate,
        "A scan takes the one radio away from every VM: all VMs' scans are merged into one, and what was heard a moment ago is not scanned again.";
    AbortScan => Consolidate,
        "Ends the asking VM's scan at once and leaves the others'.";
    PowerSave(schedule) => Consolidate,
        "The radio sleeps only if every VM lets it, and no longer than the shortest sleep asked for.";
    TxPower(half_dbm) => PassOn,
        "The NIC updates the power of this VM-ID alone.";
    TxAntennas(antennas) => AnswerLocally,
        "The antennas are the card's; a VM's choice would bind the others.";
    Statistics { clear } => PassOn,
        "Statistics are kept per vMAC.";
    SwitchChannel(switch) => PassOn,
        "A vMAC follows its own access point; the schedule serves the new channel.";
    Flush(rings) => PassOn,
        "Only the VM's own frames are dropped.";
    Transmit(frame) => PassOn,
        "The data path: the NIC checks the frame's identity on its own copy.";
    Calibrate => AnswerLocally,
        "The radio is calibrated once, for all; a VM must not disturb it.";
    Sensitivity => AnswerLocally,
        "One receiver serves all VMs; none may make it deaf for the others.";
    Led => AnswerLocally,
        "There is one light; it shows nothing about one VM.";
    Coexistence => AnswerLocally,
        "Concerns other radios in the machine, which a VM cannot see.";
    Thermal => AnswerLocally,
        "Temperature limits are the card's own business.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_is_done() {
        let samples = [
            Command::TxPower(3),
            Command::AbortScan,
            Command::Led,
            Command::TxAntennas(1),
        ];
        let answers = samples.map(|command| {
            let rule = CommandKind::from(&command).rule();
            assert_eq!(sort(command).answer(), rule.answer, "{:?}", rule.kind);
            rule.answer
        });
        let local = Answer::AnswerLocally;
        assert_eq!(answers, [Answer::PassOn, Answer::Consolidate, local, local]);
    }
}
