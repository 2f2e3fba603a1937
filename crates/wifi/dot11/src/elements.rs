//! Elements of management frames (IEEE 802.11-2020 9.4.2): identifier, length, body, one after the
//! other. One iterator for all who look for one, and readers of the few that are understood here.
//!
//! Not here: which networks are agreed with (RSN policy is the access point's), elements in parts
//! (9.4.2.232), the extended identifiers behind 255.

use crate::{Channel, Width};

/// Element identifiers (IEEE 802.11-2020 table 9-92), those that somebody looks at.
pub mod id {
    /// SSID (9.4.2.2).
    pub const SSID: u8 = 0;
    /// Supported rates (9.4.2.3).
    pub const RATES: u8 = 1;
    /// DSSS parameter set (9.4.2.4).
    pub const DSSS: u8 = 3;
    /// Traffic indication map (9.4.2.5).
    pub const TIM: u8 = 5;
    /// ERP (9.4.2.11).
    pub const ERP: u8 = 42;
    /// RSN (9.4.2.24).
    pub const RSN: u8 = 48;
    /// Extended supported rates (9.4.2.12).
    pub const EXTENDED_RATES: u8 = 50;
    /// HT operation (9.4.2.56).
    pub const HT_OPERATION: u8 = 61;
    /// Vendor specific (9.4.2.25); key data encapsulations as well (12.7.2).
    pub const VENDOR: u8 = 221;
}

/// Time stamp, beacon interval and capabilities before the elements of a beacon or probe response
/// (IEEE 802.11-2020 9.3.3.2, 9.3.3.10).
pub const BEACON_FIXED: usize = 12;
/// Longest SSID, in bytes (IEEE 802.11-2020 9.4.2.2).
pub const LONGEST_SSID: usize = 32;

/// OUI and type of WMM's elements (Wi-Fi Alliance WMM 1.2, 2.2).
const WMM: [u8; 4] = [0x00, 0x50, 0xf2, 2];

/// The last element is longer than what is left of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an element ends after its frame")]
pub struct Cut;

/// One element (IEEE 802.11-2020 9.4.2.1), borrowed from its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// One of [`id`], or another.
    pub id: u8,
    /// At most 255 bytes.
    pub body: &'a [u8],
}

impl<'a> Element<'a> {
    /// The first element of `bytes` and what follows it; `None` when it is not whole, or none is
    /// there.
    pub fn split_first(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (&[id, length], rest) = bytes.split_first_chunk()?;
        let (body, rest) = rest.split_at_checked(usize::from(length))?;
        Some((Self { id, body }, rest))
    }

    /// Writes it behind `out`: of a longer body the first 255 bytes.
    pub fn write(self, out: &mut Vec<u8>) {
        let length = u8::try_from(self.body.len()).unwrap_or(u8::MAX);
        out.extend([self.id, length]);
        out.extend(self.body.iter().take(usize::from(length)));
    }
}

/// The elements of a frame, one after the other. What is behind an element that is cut off is not
/// looked at.
///
/// ```
/// use airlane_dot11::elements::{Element, Elements, id};
///
/// let mut body = Vec::new();
/// Element { id: id::SSID, body: b"corp" }.write(&mut body);
/// Element { id: id::TIM, body: &[1, 3, 0, 0b100] }.write(&mut body);
///
/// let elements = Elements::checked(&body)?;
/// assert_eq!(elements.ssid(), Some(&b"corp"[..]));
/// assert!(elements.tim().is_some_and(|tim| tim.names(2) && !tim.names(1)));
/// // Read without a check, a list that was cut off has fewer elements.
/// assert_eq!(Elements::new(&body[..9]).iter().count(), 1);
/// assert!(Elements::checked(&body[..9]).is_err());
/// # Ok::<(), airlane_dot11::elements::Cut>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    /// Those that are whole.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The same, after a check that all are whole.
    pub fn checked(bytes: &'a [u8]) -> Result<Self, Cut> {
        let mut rest = bytes;
        while !rest.is_empty() {
            (_, rest) = Element::split_first(rest).ok_or(Cut)?;
        }
        Ok(Self(bytes))
    }

    /// All, in order.
    pub fn iter(self) -> impl Iterator<Item = Element<'a>> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (element, after) = Element::split_first(rest)?;
            rest = after;
            Some(element)
        })
    }

    /// The bodies of all elements of this identifier.
    pub fn all(self, id: u8) -> impl Iterator<Item = &'a [u8]> {
        let wanted = self.iter().filter(move |element| element.id == id);
        wanted.map(|element| element.body)
    }

    /// The body of the first element of this identifier.
    pub fn find(self, id: u8) -> Option<&'a [u8]> {
        self.all(id).next()
    }

    /// The network's name; empty is the wildcard of a probe request, or a hidden name.
    pub fn ssid(self) -> Option<&'a [u8]> {
        self.find(id::SSID)
    }

    /// The first traffic indication map that has all its fixed parts.
    pub fn tim(self) -> Option<Tim<'a>> {
        self.all(id::TIM).find_map(Tim::parse)
    }

    /// The first HT Operation element that says how wide the BSS works.
    pub fn ht_operation(self) -> Option<HtOperation> {
        self.all(id::HT_OPERATION).find_map(HtOperation::parse)
    }

    /// True when the station knows WMM.
    pub fn has_wmm(self) -> bool {
        self.all(id::VENDOR).any(|body| body.starts_with(&WMM))
    }

    /// The rates in both rate elements, in units of 500 kb/s, without the bit that marks basic ones.
    pub fn rates(self) -> impl Iterator<Item = u8> + 'a {
        let lists = [id::RATES, id::EXTENDED_RATES].into_iter();
        let rates = lists.filter_map(move |id| self.find(id)).flatten();
        rates.map(|rate| rate & 0x7f)
    }
}

/// A traffic indication map (IEEE 802.11-2020 9.4.2.5): who has frames waiting at the access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tim<'a> {
    /// Beacons until the next DTIM; 0: this one is it.
    pub count: u8,
    /// Beacons from DTIM to DTIM.
    pub period: u8,
    /// Group frames wait; they follow a DTIM.
    pub group: bool,
    /// Octet of the whole map at which `bits` begins; even.
    first: u8,
    bits: &'a [u8],
}

/// Octets of the whole map: association IDs 0 to 2007.
const WHOLE_MAP: usize = 251;
/// Bitmap Control: group frames wait. The other seven bits are half the first octet's number.
const GROUP: u8 = 1;

impl<'a> Tim<'a> {
    /// Reads an element's body; `None` when a fixed part is missing.
    pub fn parse(body: &'a [u8]) -> Option<Self> {
        let &[count, period, control, ref bits @ ..] = body else {
            return None;
        };
        Some(Self {
            count,
            period,
            group: control & GROUP != 0,
            first: control & !GROUP,
            bits,
        })
    }

    /// True when frames wait for this station. ID 0 is nobody's.
    pub fn names(&self, association_id: u16) -> bool {
        let octet = usize::from(association_id / 8).checked_sub(usize::from(self.first));
        let octet = octet.and_then(|at| self.bits.get(at));
        association_id != 0 && octet.is_some_and(|octet| octet & (1 << (association_id % 8)) != 0)
    }

    /// An element's body: `count` beacons until the DTIM, of which there is one every `period`;
    /// whether group frames wait; the association IDs that have frames waiting. IDs beyond 2007 are
    /// left out.
    pub fn body(count: u8, period: u8, group: bool, ids: impl Iterator<Item = u16>) -> Vec<u8> {
        let mut bits = [0u8; WHOLE_MAP];
        for id in ids {
            if let Some(octet) = bits.get_mut(usize::from(id / 8)) {
                *octet |= 1 << (id % 8);
            }
        }
        let first = bits.iter().position(|&octet| octet != 0).unwrap_or(0) & !1;
        let last = bits.iter().rposition(|&octet| octet != 0).unwrap_or(0);
        let control = u8::try_from(first).unwrap_or(0) | if group { GROUP } else { 0 };
        let mut body = vec![count, period, control];
        body.extend(bits.get(first..=last).unwrap_or_default());
        body
    }
}

/// What an HT Operation element says first (IEEE 802.11-2020 9.4.2.56).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtOperation {
    /// Number of the primary channel.
    pub primary: u8,
    /// How wide the BSS works, and on which side of the primary channel.
    pub width: Width,
}

impl HtOperation {
    /// Reads an element's body; `None` when it is shorter than these two parts.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let &[primary, information, ..] = body else {
            return None;
        };
        // Secondary Channel Offset: 1 above, 3 below, 0 none, 2 reserved.
        let width = match information & 3 {
            1 => Width::Mhz40Above,
            3 => Width::Mhz40Below,
            _ => Width::Mhz20,
        };
        Some(Self { primary, width })
    }

    /// How wide the BSS works if `channel` is the one that it is heard on.
    pub fn width_on(self, channel: Channel) -> Width {
        if self.primary == channel.number() {
            self.width
        } else {
            Width::Mhz20
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Band;
    use proptest::prelude::*;

    /// SSID "x", WMM, two rate lists, TIM, HT operation on channel 36 and above.
    const BODY: [u8; 33] = [
        0, 1, b'x', 221, 6, 0x00, 0x50, 0xf2, 2, 0, 1, 1, 2, 0x8c, 18, 5, 5, 0, 2, 3, 0, 0b10, 50,
        1, 108, 61, 3, 36, 5, 0, 7, 1, 9,
    ];

    #[test]
    fn a_beacons_elements_are_read() {
        let elements = Elements::checked(&BODY).unwrap();
        assert_eq!(elements.ssid(), Some(&b"x"[..]));
        assert!(elements.has_wmm());
        assert_eq!(elements.rates().collect::<Vec<_>>(), [12, 18, 108]);
        let tim = elements.tim().unwrap();
        assert_eq!((tim.count, tim.period, tim.group), (0, 2, true));
        let ht = elements.ht_operation().unwrap();
        assert_eq!((ht.primary, ht.width), (36, Width::Mhz40Above));
        assert_eq!(elements.iter().count(), 7);
        assert_eq!(elements.find(7), Some(&[9][..]));
        assert_eq!(elements.find(id::RSN), None);
    }

    #[test]
    fn a_list_that_is_cut_off_is_refused_or_ends_early() {
        let ends = [0, 3, 11, 15, 22, 25, 30, 33];
        for length in 0..=BODY.len() {
            let bytes = &BODY[..length];
            let whole = ends.iter().rposition(|&end| end <= length).unwrap();
            assert_eq!(Elements::new(bytes).iter().count(), whole, "{length}");
            let checked = Elements::checked(bytes).err();
            assert_eq!(checked, (!ends.contains(&length)).then_some(Cut));
        }
    }

    #[test]
    fn another_vendors_element_is_not_wmm() {
        let elements = [221, 4, 0x00, 0x50, 0xf2, 1, 221, 3, 0x00, 0x50, 0xf2];
        assert!(!Elements::checked(&elements).unwrap().has_wmm());
    }

    #[test]
    fn maps_and_operations_without_their_fixed_parts_are_passed_over() {
        let bytes = [5, 2, 0, 1, 5, 3, 4, 5, 0, 61, 1, 36, 61, 2, 40, 7];
        let elements = Elements::checked(&bytes).unwrap();
        assert_eq!(elements.tim().unwrap().count, 4);
        assert_eq!(elements.ht_operation().unwrap().primary, 40);
        assert_eq!(
            (Tim::parse(&[0, 1]), HtOperation::parse(&[36])),
            (None, None)
        );
    }

    #[test]
    fn a_map_may_begin_behind_its_first_octets() {
        let tim = Tim::parse(&[0, 1, 3, 0, 0b10]).unwrap();
        assert_eq!(
            [1, 16, 25, 26, 9_999].map(|id| tim.names(id)),
            [false, false, true, false, false]
        );
    }

    #[test]
    fn a_map_is_cut_to_where_bits_are() {
        assert_eq!(Tim::body(1, 2, false, [].into_iter()), [1, 2, 0, 0]);
        assert_eq!(Tim::body(0, 2, true, [1, 5].into_iter()), [0, 2, 1, 0x22]);
        // From an even octet on: the offset counts pairs of octets.
        let map = Tim::body(0, 1, false, [24, 34].into_iter());
        assert_eq!(map, [0, 1, 2, 0, 1, 4]);
        assert_eq!(Tim::body(0, 1, false, [9_999].into_iter()), [0, 1, 0, 0]);
    }

    #[test]
    fn the_width_holds_for_the_channel_that_the_element_names() {
        let channel = Channel::new(Band::Ghz5, 36).unwrap();
        let width = |body: &[u8]| HtOperation::parse(body).unwrap().width_on(channel);
        assert_eq!(width(&[36, 5, 0]), Width::Mhz40Above);
        assert_eq!(width(&[36, 7]), Width::Mhz40Below);
        assert_eq!(width(&[36, 4]), Width::Mhz20);
        assert_eq!(width(&[36, 6]), Width::Mhz20);
        assert_eq!(width(&[40, 5]), Width::Mhz20, "another channel's");
    }

    #[test]
    fn a_body_that_is_too_long_is_cut_and_never_misread() {
        let mut out = Vec::new();
        let body = [7; 300];
        Element { id: 9, body: &body }.write(&mut out);
        let (element, rest) = Element::split_first(&out).unwrap();
        assert_eq!((element.body.len(), rest), (255, &[][..]));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            list in proptest::collection::vec(
                (any::<u8>(), proptest::collection::vec(any::<u8>(), 0..=255)), 0..6,
            ),
        ) {
            let mut bytes = Vec::new();
            for (id, body) in &list {
                Element { id: *id, body }.write(&mut bytes);
            }
            let read = Elements::checked(&bytes).unwrap().iter();
            let read: Vec<_> = read.map(|element| (element.id, element.body.to_vec())).collect();
            prop_assert_eq!(read, list);
        }

        #[test]
        fn a_written_map_names_whom_it_was_written_for(
            ids in proptest::collection::btree_set(1u16..2008, 0..20),
            count: u8, period: u8, group: bool,
        ) {
            let body = Tim::body(count, period, group, ids.iter().copied());
            prop_assert!(body.len() <= 3 + WHOLE_MAP);
            let tim = Tim::parse(&body).unwrap();
            prop_assert_eq!((tim.count, tim.period, tim.group), (count, period, group));
            for id in 0..2_100 {
                prop_assert_eq!(tim.names(id), ids.contains(&id));
            }
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), id: u16) {
            let elements = Elements::new(&bytes);
            let _ = (elements.ssid(), elements.has_wmm(), elements.rates().count());
            let _ = (elements.tim().is_some_and(|tim| tim.names(id)), elements.ht_operation());
            let _ = Elements::checked(&bytes);
        }
    }
}
