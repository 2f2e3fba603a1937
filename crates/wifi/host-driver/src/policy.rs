//! The policy table: what the host driver does about each command (Virtual WiFi, section 3.3: a
//! driver may change its own state; what touches the whole card is decided here).

use airlane_waist::Command;

/// The three answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To the NIC as it is, for the VM's own vMAC.
    PassOn,
    /// Merged with what the other VMs ask for; the NIC gets the result.
    Consolidate,
    /// Answered here; the NIC never sees it.
    AnswerLocally,
    /// The host driver's own: refused when it comes from a VM.
    Refuse,
}

macro_rules! kinds {
    ($($kind:ident $(($($ignore:tt)*))? $({$($ignored:tt)*})?),* $(,)?) => {
        /// One kind per command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum CommandKind { $($kind),* }

        impl CommandKind {
            /// All kinds, in the order of [`Command`].
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];
        }

        impl From<&Command> for CommandKind {
            fn from(command: &Command) -> Self {
                match command {
                    $(Command::$kind $(($($ignore)*))? $({$($ignored)*})? => Self::$kind),*
                }
            }
        }
    };
}

kinds! {
    Reset,
    Initialize,
    Configure(_),
    Timing(_),
    Edca(_),
    AddStation(..),
    RemoveStation(_),
    ModifyStation(..),
    SetKey(_),
    RemoveKey(..),
    BlockAck(_),
    RateTable(..),
    Scan(_),
    AbortScan,
    ScanSlot(_),
    PowerSave(_),
    TxPower(_),
    TxAntennas(_),
    Statistics { .. },
    SwitchChannel(_),
    Flush(_),
    Transmit(_),
    Calibrate,
    Sensitivity,
    Led,
    Coexistence,
    Thermal,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// For which command.
    pub kind: CommandKind,
    /// What is done.
    pub answer: Answer,
    /// Why.
    pub why: &'static str,
}

const fn rule(kind: CommandKind, answer: Answer, why: &'static str) -> Rule {
    Rule { kind, answer, why }
}

/// The table.
pub const POLICY: &[Rule] = {
    use Answer::{AnswerLocally, Consolidate, PassOn, Refuse};
    use CommandKind as K;
    &[
        rule(
            K::Reset,
            PassOn,
            "A VM switches off its own vMAC only; the radio stays on for the others.",
        ),
        rule(
            K::Initialize,
            PassOn,
            "Starts a vMAC; an active neighbour's settings are not touched.",
        ),
        rule(
            K::Configure,
            PassOn,
            "Address, BSS and channel are the vMAC's own; the NIC's channel schedule serves several channels.",
        ),
        rule(
            K::Timing,
            PassOn,
            "Beacon timing belongs to the vMAC's BSS.",
        ),
        rule(
            K::Edca,
            PassOn,
            "Channel access parameters are announced per BSS and kept per vMAC.",
        ),
        rule(
            K::AddStation,
            PassOn,
            "Each vMAC has a station table of its own.",
        ),
        rule(
            K::RemoveStation,
            PassOn,
            "Each vMAC has a station table of its own.",
        ),
        rule(
            K::ModifyStation,
            PassOn,
            "Each vMAC has a station table of its own.",
        ),
        rule(
            K::SetKey,
            PassOn,
            "Keys are indexed by access point and vMAC: no VM reaches another's.",
        ),
        rule(
            K::RemoveKey,
            PassOn,
            "Keys are indexed by access point and vMAC: no VM reaches another's.",
        ),
        rule(
            K::BlockAck,
            PassOn,
            "Agreements are made per vMAC and peer.",
        ),
        rule(
            K::RateTable,
            PassOn,
            "The NIC updates the rate table of this VM-ID alone.",
        ),
        rule(
            K::Scan,
            Consolidate,
            "A sweep takes the one radio away from every VM: all scans are merged into one, and what was heard a moment ago is not looked for again.",
        ),
        rule(
            K::AbortScan,
            Consolidate,
            "Ends the asking VM's scan at once and leaves the others'.",
        ),
        rule(
            K::ScanSlot,
            Refuse,
            "The host driver's own: one stop of the merged sweep. No card produces it.",
        ),
        rule(
            K::PowerSave,
            Consolidate,
            "The radio sleeps only if every VM lets it, and no longer than the shortest sleep asked for.",
        ),
        rule(
            K::TxPower,
            PassOn,
            "The NIC updates the power of this VM-ID alone.",
        ),
        rule(
            K::TxAntennas,
            AnswerLocally,
            "The antennas are the card's; a VM's choice would bind the others.",
        ),
        rule(K::Statistics, PassOn, "Statistics are kept per vMAC."),
        rule(
            K::SwitchChannel,
            PassOn,
            "A vMAC follows its own access point; the schedule serves the new channel.",
        ),
        rule(K::Flush, PassOn, "Only the VM's own frames are dropped."),
        rule(
            K::Transmit,
            PassOn,
            "The data path: the NIC checks the frame's identity on its own copy.",
        ),
        rule(
            K::Calibrate,
            AnswerLocally,
            "The radio is calibrated once, for all; a VM must not disturb it.",
        ),
        rule(
            K::Sensitivity,
            AnswerLocally,
            "One receiver serves all VMs; none may make it deaf for the others.",
        ),
        rule(
            K::Led,
            AnswerLocally,
            "There is one light; it shows nothing about one VM.",
        ),
        rule(
            K::Coexistence,
            AnswerLocally,
            "Concerns other radios in the machine, which a VM cannot see.",
        ),
        rule(
            K::Thermal,
            AnswerLocally,
            "Temperature limits are the card's own business.",
        ),
    ]
};

/// What is done about commands of this kind.
pub fn answer(kind: CommandKind) -> Answer {
    POLICY
        .iter()
        .find(|rule| rule.kind == kind)
        // Every kind has its row (a test proves it); the NIC isolates VMs whatever comes.
        .map_or(Answer::PassOn, |rule| rule.answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_exactly_one_row() {
        for kind in CommandKind::ALL {
            let rows = POLICY.iter().filter(|rule| rule.kind == *kind).count();
            assert_eq!(rows, 1, "{kind:?}");
        }
        assert_eq!(POLICY.len(), CommandKind::ALL.len());
    }
}
