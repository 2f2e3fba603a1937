//! `[card]` and `[[card]]`: one radio or several, and which of them a VM is on.

use super::error::{ScenarioError, Source};
use super::{address, fields, raw};
use crate::model::{Card, MAX_CARDS, Position, Scenario};
use airlane_dma::Translation;
use airlane_engine::DataPath;
use airlane_iwl::Model;
use airlane_lane::{Coalescing, Polling, Threads};
use airlane_waist::MAX_VMS;
use std::ops::Range;
use toml::Spanned;

type Result<T> = std::result::Result<T, ScenarioError>;

/// The name of a card that has none: of the only one.
const ONLY: &str = "card";

/// All cards, in the order in which they are written.
pub fn cards(source: Source, raw: &raw::Cards) -> Result<Vec<Card>> {
    let entries = match raw {
        raw::Cards::Table(only) => {
            let written = only.name.as_ref().map(|name| fields::name(source, name));
            let name = written.transpose()?.unwrap_or_else(|| ONLY.to_owned());
            return Ok(vec![card(source, only, name, 0)?]);
        }
        raw::Cards::Array(entries) => entries,
    };
    fields::count(source, "[[card]]", entries, MAX_CARDS)?;
    let mut cards: Vec<Card> = Vec::new();
    for entry in entries {
        let name = name(source, entry, &cards, entries.len())?;
        let card = card(source, entry.get_ref(), name, cards.len())?;
        let span = address_span(entry);
        let taken = cards.iter().map(|card| card.mac);
        fields::unique(source, "address", &card.mac, &span, taken)?;
        cards.push(card);
    }
    Ok(cards)
}

/// A card's name; where it is the only one it need not be written.
fn name(
    source: Source,
    entry: &Spanned<raw::Card>,
    others: &[Card],
    count: usize,
) -> Result<String> {
    let Some(written) = &entry.get_ref().name else {
        if count == 1 {
            return Ok(ONLY.to_owned());
        }
        let message = "one of several cards has no name";
        let remedy =
            "write name = \"NAME\" in each [[card]]; a VM says by card_name which is its own";
        return Err(source.error(&entry.span(), message, remedy));
    };
    let name = fields::name(source, written)?;
    let names = others.iter().map(|other| other.name.clone());
    fields::unique(source, "name", &name, &written.span(), names)?;
    Ok(name)
}

fn address_span(entry: &Spanned<raw::Card>) -> Range<usize> {
    let written = entry.get_ref().mac.as_ref();
    written.map_or_else(|| entry.span(), Spanned::span)
}

fn card(source: Source, raw: &raw::Card, name: String, index: usize) -> Result<Card> {
    let mac = raw.mac.as_ref().map(|value| fields::mac(source, value));
    let position = raw.position.as_ref();
    let position = position.map_or(Ok(Position::default()), |at| fields::position(source, at));
    let scan_cache = raw.scan_cache.as_ref();
    Ok(Card {
        name,
        model: model(source, raw.model.as_ref(), Model::default(), &[])?,
        mac: mac.transpose()?.unwrap_or_else(|| address::of_card(index)),
        position: position?,
        scan_cache: fields::within(source, "scan_cache", scan_cache, 0.0..=60.0, 5.0)?,
        translation: fields::parsed(source, raw.translation.as_ref(), Translation::FORMS)?,
        interrupts: fields::parsed(source, raw.interrupts.as_ref(), Coalescing::FORMS)?,
        polling: fields::parsed(source, raw.polling.as_ref(), Polling::FORMS)?,
        data_path: fields::parsed(source, raw.data_path.as_ref(), DataPath::FORMS)?,
        threads: fields::parsed(source, raw.threads.as_ref(), Threads::FORMS)?,
    })
}

/// The model of that name, else `default`. Whoever names one of `cards` instead is told of `card_name`.
pub fn model(
    source: Source,
    raw: Option<&Spanned<String>>,
    default: Model,
    cards: &[Card],
) -> Result<Model> {
    let Some(value) = raw else {
        return Ok(default);
    };
    let written = value.get_ref();
    written.parse().map_err(|_| {
        let message = format!("there is no card model `{written}`");
        let models = Model::ALL.map(|model| format!("\"{model}\"")).join(", ");
        let remedy = match cards.iter().any(|card| card.name == *written) {
            true => format!(
                "write card_name = \"{written}\" to name the card; `card` is its model, one of: {models}"
            ),
            false => format!("write one of: {models}"),
        };
        source.error(&value.span(), message, remedy)
    })
}

/// The card that a VM is on, and its index: the one that it names, else the first. It must have room.
pub fn of_vm<'a>(
    source: Source,
    scenario: &'a Scenario,
    entry: &Spanned<raw::Vm>,
) -> Result<(usize, &'a Card)> {
    let written = entry.get_ref().card_name.as_ref();
    let span = written.map_or_else(|| entry.span(), Spanned::span);
    let named = |card: &Card| written.is_none_or(|name| *name.get_ref() == card.name);
    let mut cards = scenario.cards.iter().enumerate();
    let (index, card) = cards.find(|(_, card)| named(card)).ok_or_else(|| {
        let name = written.map_or(ONLY, |name| name.get_ref());
        let names: Vec<&str> = scenario.cards.iter().map(|card| &*card.name).collect();
        let remedy = format!(
            "write card_name = \"NAME\" with one of: {}",
            names.join(", ")
        );
        source.error(&span, format!("there is no card `{name}`"), remedy)
    })?;
    let there = scenario.vms.iter().filter(|vm| vm.on == index).count();
    if there < MAX_VMS {
        return Ok((index, card));
    }
    let message = format!(
        "there are more than {MAX_VMS} VMs on the card `{}`",
        card.name
    );
    let remedy = "name another card with card_name, or remove the VM";
    Err(source.error(&span, message, remedy))
}

#[cfg(test)]
mod tests {
    use crate::tests::{VALID, parse, refused_at};

    const ONE: &str = "[card]\nposition = [0, 1]\n";
    const TWO: &str = "[[card]]\nname = \"attic\"\nposition = [0, 1]\n\n\
                       [[card]]\nname = \"cellar\"\nmodel = \"6300\"\n";

    /// The valid scenario with `cards`, and `of_user` in its second VM.
    fn with(cards: &str, of_user: &str) -> String {
        let name = "name = \"user\"\n";
        let text = VALID.replacen(ONE, cards, 1);
        let text = text.replacen(name, &format!("{name}{of_user}"), 1);
        assert!(text.contains(cards) && text.contains(of_user));
        text
    }

    /// Expects an error at the last line that is `line`.
    #[track_caller]
    fn refused(text: &str, line: &str, message: &str, remedy: &str) {
        let number = text.lines().count() - text.lines().rev().position(|one| one == line).unwrap();
        refused_at(text, number, message, remedy);
    }

    #[test]
    fn a_table_is_one_card_and_an_array_several() {
        let one = parse(&with(ONE, "")).unwrap();
        assert_eq!(one.cards.len(), 1);
        assert_eq!(one.cards[0].name, "card");
        assert_eq!(one.cards[0].mac.to_string(), "00:21:6a:00:00:01");
        let two = parse(&with(TWO, "card_name = \"cellar\"\n")).unwrap();
        let cards: Vec<_> = two.cards.iter().map(|card| card.name.as_str()).collect();
        assert_eq!(cards, ["attic", "cellar"]);
        assert_eq!(two.cards[1].mac.to_string(), "00:21:6a:00:00:02");
        let vms: Vec<_> = two
            .vms
            .iter()
            .map(|vm| (vm.on, vm.model.to_string()))
            .collect();
        assert_eq!(vms, [(0, "5300".to_owned()), (1, "6300".to_owned())]);
    }

    #[test]
    fn a_scenario_without_a_card_has_the_usual_one() {
        let scenario = parse(&with("", "")).unwrap();
        assert_eq!(scenario.cards.len(), 1);
    }

    #[test]
    fn a_vm_that_names_no_card_is_on_the_first() {
        let scenario = parse(&with(TWO, "")).unwrap();
        assert!(scenario.vms.iter().all(|vm| vm.on == 0));
    }

    #[test]
    fn vms_stand_in_the_order_of_their_cards() {
        let first = VALID.replacen(ONE, TWO, 1);
        let first = first.replacen(
            "name = \"it\"\n",
            "name = \"it\"\ncard_name = \"cellar\"\n",
            1,
        );
        let scenario = parse(&first).unwrap();
        let vms: Vec<_> = scenario
            .vms
            .iter()
            .map(|vm| (vm.name.as_str(), vm.on))
            .collect();
        assert_eq!(vms, [("user", 0), ("it", 1)]);
        let killed = scenario.checks.last().unwrap();
        assert_eq!(killed.vm, 0, "the checks follow");
    }

    #[test]
    fn a_card_that_is_not_there_is_refused_with_those_that_are() {
        let line = "card_name = \"roof\"";
        let text = with(TWO, &format!("{line}\n"));
        refused(&text, line, "no card `roof`", "attic, cellar");
        let text = with(ONE, &format!("{line}\n"));
        refused(&text, line, "no card `roof`", "card");
    }

    #[test]
    fn a_card_named_where_its_model_belongs_is_told_from_no_model_at_all() {
        let line = "card = \"cellar\"";
        let text = with(TWO, &format!("{line}\n"));
        refused(
            &text,
            line,
            "no card model `cellar`",
            "write card_name = \"cellar\"",
        );
        let line = "card = \"roof\"";
        let text = with(TWO, &format!("{line}\n"));
        refused(
            &text,
            line,
            "no card model `roof`",
            "write one of: \"5100\"",
        );
    }

    #[test]
    fn two_cards_cannot_have_one_name_or_one_address() {
        let line = "name = \"cellar\"";
        let text = with(&TWO.replace(line, "name = \"attic\""), "");
        refused(
            &text,
            "name = \"attic\"",
            "`attic` is used twice",
            "its own name",
        );
        let own = "mac = \"00:21:6a:00:00:01\"";
        let text = with(&TWO.replace(line, &format!("{line}\n{own}")), "");
        refused(&text, own, "is used twice", "its own address");
    }

    #[test]
    fn one_of_several_cards_must_have_a_name_and_the_only_one_need_not() {
        let text = with(&TWO.replace("name = \"cellar\"\n", ""), "");
        refused(&text, "[[card]]", "no name", "card_name");
        assert_eq!(
            parse(&with("[[card]]\n", "")).unwrap().cards[0].name,
            "card"
        );
    }

    #[test]
    fn a_card_has_room_for_sixteen_vms_and_the_next_card_for_more() {
        let more = |card: &str, count: usize| -> String {
            let vm = |n| {
                format!("[[vm]]\nname = \"{card}{n}\"\njoin = \"corp\"\ncard_name = \"{card}\"\n")
            };
            (0..count).map(vm).collect()
        };
        let text = with(TWO, "");
        let full = format!("{text}{}{}", more("attic", 14), more("cellar", 16));
        assert_eq!(parse(&full).unwrap().vms.len(), 32);
        let text = format!("{text}{}", more("attic", 15));
        refused(
            &text,
            "card_name = \"attic\"",
            "16 VMs on the card `attic`",
            "another card",
        );
    }

    #[test]
    fn there_are_no_more_cards_than_a_network_has_addresses_for() {
        let card = |n| format!("[[card]]\nname = \"c{n}\"\n");
        let cards: String = (0..7).map(card).collect();
        refused(
            &with(&cards, ""),
            "[[card]]",
            "more than 6 [[card]]",
            "remove",
        );
    }

    #[test]
    fn an_unknown_key_of_a_card_is_refused_in_both_forms() {
        for cards in [ONE, TWO] {
            let text = with(&cards.replacen("position", "positron", 1), "");
            refused(
                &text,
                "positron = [0, 1]",
                "unknown key `positron`",
                "`position`",
            );
        }
    }
}
