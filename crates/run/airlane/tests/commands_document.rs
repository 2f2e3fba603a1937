//! `docs/commands.md`: every host command of the driver, what the card makes of it, what the host driver
//! does about it, and the test that shows it. Printed from the tables of `iwl` and `host`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use airlane_host_driver::{Answer, CommandKind};
use airlane_iwl::commands::{Description, descriptions};

/// The test that shows what a command does to the neighbours: nothing.
const fn test_of(kind: CommandKind) -> &'static str {
    use CommandKind as K;
    match kind {
        K::Reset => "a_reset_takes_the_own_vmac_only",
        K::Initialize => "initialize_starts_the_own_vmac_only",
        K::Configure => "configure_changes_the_own_vmac_only",
        K::Timing => "timing_is_per_vmac",
        K::Edca => "channel_access_parameters_are_per_vmac",
        K::AddStation => "a_station_enters_the_own_table_only",
        K::RemoveStation => "a_station_leaves_the_own_table_only",
        K::ModifyStation => "flags_of_a_station_are_per_vmac",
        K::SetKey => "a_key_is_the_own_vmacs_only",
        K::RemoveKey => "a_key_goes_from_the_own_vmac_only",
        K::BlockAck => "a_block_ack_agreement_is_per_vmac",
        K::RateTable => "a_rate_ladder_is_per_vmac",
        K::Scan => "scans_of_several_vms_are_one_sweep_and_each_is_told_its_own",
        K::AbortScan => "an_abort_ends_the_own_scan_at_once_and_leaves_the_others",
        K::PowerSave => "the_radio_sleeps_when_all_let_it_and_the_nic_hears_of_changes_only",
        K::TxPower => "transmit_power_is_per_vmac",
        K::Statistics => "statistics_are_told_and_cleared_per_vmac",
        K::SwitchChannel => "a_channel_switch_is_per_vmac",
        K::Flush => "a_flush_drops_the_own_frames_only",
        K::Transmit => "a_vm_cannot_send_from_anothers_address",
        K::TxAntennas | K::Calibrate | K::Sensitivity | K::Led | K::Coexistence | K::Thermal => {
            "commands_for_the_card_are_answered_here_and_reach_nobody"
        }
    }
}

/// Of commands that the card acknowledges by itself.
const BY_THE_CARD: &str = "commands_that_nobody_needs_to_know_of_are_answered_by_the_card";

const HEAD: &str = "# Host commands\n\n\
    Printed from the tables in `crates/wifi/iwl/src/commands/mod.rs` and `crates/wifi/host-driver/src/policy.rs`; do not edit. Regenerate with\n\
    `UPDATE_DOCS=1 cargo test -p airlane --test commands_document`.\n\n\
    ## What the driver sends\n\n\
    Every command of the command ring is answered by one packet with its id and sequence, in ring order. A payload of\n\
    another length, or one that makes no sense, is acknowledged and counted as malformed; an id that is not listed is\n\
    acknowledged and counted as unknown. TX (0x1c) comes from the transmit rings and is answered by 40 bytes.\n\n\
    | id | name | payload, bytes | becomes | policy | test | response |\n|---|---|---|---|---|---|---|\n";

const POLICIES: &str = "\n## What the host driver does\n\n\
    Per command one of: pass on (to the VM's own vMAC), consolidate (with what the other VMs ask for), answer locally (the\n\
    NIC never sees it). Reset and Initialize come from registers, Transmit from the transmit rings.\n\n\
    | command | policy | what a VM may change, and what the card does | test |\n|---|---|---|---|\n";

fn words(answer: Answer) -> &'static str {
    match answer {
        Answer::PassOn => "pass on",
        Answer::Consolidate => "consolidate",
        Answer::AnswerLocally => "answer locally",
    }
}

/// The commands of the waist that a row's effect names.
fn kinds(row: &Description) -> Vec<CommandKind> {
    let named: Vec<&str> = row.effect.split(|c: char| !c.is_alphanumeric()).collect();
    let all = CommandKind::ALL.iter().copied();
    all.filter(|kind| named.contains(&format!("{kind:?}").as_str()))
        .collect()
}

fn listed<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let items: BTreeSet<&str> = items.collect();
    items.into_iter().collect::<Vec<_>>().join(", ")
}

fn row(text: &mut String, row: &Description) {
    let kinds = kinds(row);
    let answers = kinds.iter().map(|&kind| words(kind.rule().answer));
    let tests: Vec<String> = kinds
        .iter()
        .map(|&kind| format!("`{}`", test_of(kind)))
        .collect();
    let (policy, test) = match kinds.as_slice() {
        [] => (
            "answered by the card".to_owned(),
            format!("`{BY_THE_CARD}`"),
        ),
        _ => (listed(answers), listed(tests.iter().map(String::as_str))),
    };
    let (length, more) = row.length;
    let least = if more { "≥ " } else { "" };
    let Description {
        id,
        name,
        effect,
        response,
        ..
    } = row;
    let _ = writeln!(
        text,
        "| {id:#04x} | {name} | {least}{length} | {effect} | {policy} | {test} | {response} |"
    );
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    for description in descriptions() {
        row(&mut text, &description);
    }
    text.push_str(POLICIES);
    for rule in CommandKind::ALL.iter().map(|kind| kind.rule()) {
        let (kind, why, test) = (rule.kind, rule.why, test_of(rule.kind));
        let policy = words(rule.answer);
        let _ = writeln!(text, "| `{kind:?}` | {policy} | {why} | `{test}` |");
    }
    text
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

#[test]
fn the_document_says_what_the_tables_say() {
    let path = root().join("docs/commands.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, document()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == document(),
        "run `UPDATE_DOCS=1 cargo test -p airlane --test commands_document`"
    );
}

#[test]
fn every_command_that_is_not_the_cards_own_names_its_policy() {
    for description in descriptions() {
        let own = description.effect.starts_with("acknowledged");
        assert_eq!(kinds(&description).is_empty(), own, "{}", description.name);
    }
}

#[test]
fn every_test_that_the_document_names_exists() {
    let mut sources = String::new();
    read_all(&root().join("crates"), &mut sources);
    let tests = CommandKind::ALL.iter().map(|&kind| test_of(kind));
    for test in tests.chain([BY_THE_CARD]) {
        let marked = format!("#[test]\nfn {test}()");
        assert!(sources.contains(&marked), "no test is named {test}");
    }
}

/// All Rust sources below `folder`.
fn read_all(folder: &Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}
