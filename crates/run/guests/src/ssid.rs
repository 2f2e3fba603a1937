//! SSIDs as `wpa_cli` prints them: an SSID is up to 32 octets of anything, of which those outside of printable ASCII, quotation
//! marks and backslashes are written as escapes (wpa_supplicant, `printf_encode`).

/// The SSID that is written so, for comparison with one of a scenario. Octets that are no UTF-8 become U+FFFD, which no
/// scenario's SSID holds by chance; an escape that is none stays as it is.
pub fn decoded(text: &str) -> String {
    let mut octets = Vec::new();
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        octets.extend(before.bytes());
        let (octet, length) = escaped(escape).unwrap_or((b'\\', 0));
        octets.push(octet);
        rest = escape.get(length..).unwrap_or_default();
    }
    octets.extend(rest.bytes());
    String::from_utf8_lossy(&octets).into_owned()
}

/// The octet behind a backslash, and how many characters stand for it.
fn escaped(text: &str) -> Option<(u8, usize)> {
    let octet = match *text.as_bytes().first()? {
        b'x' => return Some((u8::from_str_radix(text.get(1..3)?, 16).ok()?, 3)),
        quoted @ (b'\\' | b'"') => quoted,
        b'e' => 0x1b,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    };
    Some((octet, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn octets_outside_ascii_are_those_of_the_network_s_name() {
        assert_eq!(decoded(r"B\xc3\xbcro"), "Büro");
        assert_eq!(decoded(r#"a \"b\" \\ \t"#), "a \"b\" \\ \t");
        assert_eq!(decoded("corp"), "corp");
    }

    #[test]
    fn what_is_no_escape_stays_as_it_is() {
        for text in [r"\", r"\x", r"\xg0", r"a\qb", r"\xé"] {
            assert_eq!(decoded(text), text);
        }
        assert_eq!(decoded(r"\xff"), "\u{fffd}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in r"[\\\\xe0-9a-fé]{0,40}") {
            decoded(&text);
        }
    }
}
