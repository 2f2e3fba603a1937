//! How wide an access point of 802.11n is: 20 MHz, or 40 MHz with the second channel where the channel
//! plan has it (IEEE 802.11-2020 table E-4, operating classes 116, 117 and their like; in 2.4 GHz the
//! side on which there is room).

use super::error::{ScenarioError, Source};
use super::{fields, raw};
use airlane_dot11::{Band, Channel, Width};
use toml::Spanned;

/// None without the key: the access point is not one of 802.11n.
pub fn of(
    source: Source,
    channel: Channel,
    raw: Option<&Spanned<u64>>,
) -> Result<Option<Width>, ScenarioError> {
    let Some(value) = raw else {
        return Ok(None);
    };
    let width = match value.get_ref() {
        20 => Some(Width::Mhz20),
        40 => wide(channel),
        _ => None,
    };
    width.map(Some).ok_or_else(|| {
        let message = format!(
            "channel {} cannot be {} MHz wide",
            channel.number(),
            value.get_ref()
        );
        let remedy = "write width = 20 or width = 40; channel 165 has room for 20 MHz only";
        source.error(&value.span(), message, remedy)
    })
}

/// The modulation and coding scheme of an access point's frames, where it is fixed.
pub fn mcs(source: Source, raw: &raw::AccessPoint) -> Result<Option<u8>, ScenarioError> {
    let Some(value) = &raw.mcs else {
        return Ok(None);
    };
    if raw.width.is_some() {
        return fields::within(source, "mcs", Some(value), 0..=31, 0).map(Some);
    }
    let message = "mcs is a rate of 802.11n, which the access point does not have";
    Err(source.error(
        &value.span(),
        message,
        "write width = 20 or width = 40, too",
    ))
}

fn wide(channel: Channel) -> Option<Width> {
    let number = channel.number();
    let first_of_pair = match channel.band() {
        Band::Ghz2 => number <= 9,
        Band::Ghz5 if number == 165 => return None,
        Band::Ghz5 if number >= 149 => (number - 149).is_multiple_of(8),
        Band::Ghz5 => number.saturating_sub(36).is_multiple_of(8),
    };
    Some(match first_of_pair {
        true => Width::Mhz40Above,
        false => Width::Mhz40Below,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(band: Band, number: u16) -> Option<Width> {
        wide(Channel::new(band, number).unwrap())
    }

    #[test]
    fn the_second_channel_lies_where_the_plan_has_it() {
        for number in [36, 44, 100, 140, 149, 157] {
            assert_eq!(on(Band::Ghz5, number), Some(Width::Mhz40Above), "{number}");
        }
        for number in [40, 64, 104, 144, 153, 161] {
            assert_eq!(on(Band::Ghz5, number), Some(Width::Mhz40Below), "{number}");
        }
        assert_eq!(on(Band::Ghz5, 165), None);
        assert_eq!(on(Band::Ghz2, 1), Some(Width::Mhz40Above));
        assert_eq!(on(Band::Ghz2, 11), Some(Width::Mhz40Below));
    }
}
