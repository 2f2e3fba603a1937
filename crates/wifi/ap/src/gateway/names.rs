//! The name server (RFC 1035) at the gateway's address: it knows the names that it was given, and says of all others that they
//! do not exist. The format is simple-dns's.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use simple_dns::rdata::{A, RData};
use simple_dns::{
    CLASS, OPCODE, Packet, PacketFlag, QCLASS, QTYPE, Question, RCODE, ResourceRecord, TYPE,
};

/// Where servers listen (RFC 1035 4.2.1).
pub const PORT: u16 = 53;
/// Seconds that an answer may be kept: a client that has passed a captive portal asks again.
const LIFETIME: u32 = 10;

/// Names and their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostNames {
    /// In small letters, without a dot at the end.
    exact: BTreeMap<String, Ipv4Addr>,
    /// Of every name that is not among them, as a captive portal's name server answers.
    any: Option<Ipv4Addr>,
}

impl HostNames {
    /// One more name; `*` is every name that has no address of its own.
    pub fn insert(&mut self, name: &str, address: Ipv4Addr) {
        match name {
            "*" => self.any = Some(address),
            _ => {
                self.exact.insert(plain(name), address);
            }
        }
    }

    /// True when there is no name, so no name server either.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.any.is_none()
    }

    /// The address of `name`, in whatever case.
    fn find(&self, name: &str) -> Option<Ipv4Addr> {
        self.exact.get(&plain(name)).copied().or(self.any)
    }

    /// The message that answers `message`; `None` to what is no question.
    pub(super) fn answer(&self, message: &[u8]) -> simple_dns::Result<Option<Vec<u8>>> {
        let asked = Packet::parse(message)?;
        if asked.has_flags(PacketFlag::RESPONSE) {
            return Ok(None);
        }
        let mut reply = Packet::new_reply(asked.id());
        reply.set_flags(PacketFlag::AUTHORITATIVE_ANSWER);
        if asked.has_flags(PacketFlag::RECURSION_DESIRED) {
            reply.set_flags(PacketFlag::RECURSION_DESIRED);
        }
        *reply.opcode_mut() = asked.opcode();
        *reply.rcode_mut() = match (asked.opcode(), asked.questions.as_slice()) {
            (OPCODE::StandardQuery, [question]) => self.look_up(question, &mut reply),
            (OPCODE::StandardQuery, _) => RCODE::FormatError,
            _ => RCODE::NotImplemented,
        };
        Ok(Some(reply.build_bytes_vec()?))
    }

    /// A name that is known has no records but its address.
    fn look_up<'a>(&self, question: &Question<'a>, reply: &mut Packet<'a>) -> RCODE {
        reply.questions.push(question.clone());
        let name = &question.qname;
        let Some(address) = self.find(&name.to_string()) else {
            return RCODE::NameError;
        };
        let of_the_internet = matches!(question.qclass, QCLASS::CLASS(CLASS::IN) | QCLASS::ANY);
        let of_an_address = matches!(question.qtype, QTYPE::TYPE(TYPE::A) | QTYPE::ANY);
        if of_the_internet && of_an_address {
            let address = RData::A(A::from(address));
            let record = ResourceRecord::new(name.clone(), CLASS::IN, LIFETIME, address);
            reply.answers.push(record);
        }
        RCODE::NoError
    }
}

fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use simple_dns::Name;

    const PORTAL: Ipv4Addr = Ipv4Addr::new(192, 168, 3, 1);

    fn names(list: &[&str]) -> HostNames {
        let mut names = HostNames::default();
        for name in list {
            names.insert(name, PORTAL);
        }
        names
    }

    fn question(name: &'static str, kind: TYPE) -> Packet<'static> {
        let mut asked = Packet::new_query(7);
        asked.set_flags(PacketFlag::RECURSION_DESIRED);
        let name = Name::new_unchecked(name);
        let class = QCLASS::CLASS(CLASS::IN);
        asked
            .questions
            .push(Question::new(name, QTYPE::TYPE(kind), class, false));
        asked
    }

    /// The addresses and the code that a client reads.
    fn ask(names: &HostNames, asked: &Packet) -> (Vec<Ipv4Addr>, RCODE) {
        let message = asked.build_bytes_vec().unwrap();
        let answer = names.answer(&message).unwrap().expect("an answer");
        let reply = Packet::parse(&answer).unwrap();
        assert_eq!(reply.id(), 7);
        assert!(reply.has_flags(PacketFlag::RESPONSE | PacketFlag::RECURSION_DESIRED));
        let addresses = reply.answers.iter().map(|record| match &record.rdata {
            RData::A(address) => address.address.into(),
            other => panic!("{other:?}"),
        });
        (addresses.collect(), reply.rcode())
    }

    #[test]
    fn a_known_name_has_its_address_and_no_other_records() {
        let names = names(&["Portal.Test."]);
        let asked = question("pOrtal.test", TYPE::A);
        assert_eq!(ask(&names, &asked), (vec![PORTAL], RCODE::NoError));
        let asked = question("portal.test", TYPE::AAAA);
        assert_eq!(ask(&names, &asked), (vec![], RCODE::NoError));
    }

    #[test]
    fn an_unknown_name_does_not_exist_unless_all_do() {
        let asked = question("example.org", TYPE::A);
        let known = names(&["portal.test"]);
        assert_eq!(ask(&known, &asked), (vec![], RCODE::NameError));
        assert_eq!(ask(&names(&["*"]), &asked), (vec![PORTAL], RCODE::NoError));
    }

    #[test]
    fn what_is_no_single_question_is_refused() {
        let names = names(&["*"]);
        let mut two = question("a.test", TYPE::A);
        two.questions.push(two.questions[0].clone());
        assert_eq!(ask(&names, &two).1, RCODE::FormatError);
        let mut update = question("a.test", TYPE::A);
        *update.opcode_mut() = OPCODE::Update;
        assert_eq!(ask(&names, &update).1, RCODE::NotImplemented);
        let answer = Packet::new_reply(7).build_bytes_vec().unwrap();
        assert_eq!(
            names.answer(&answer).unwrap(),
            None,
            "two servers would answer each other for ever"
        );
    }

    proptest! {
        #[test]
        fn hostile_messages_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = names(&["*"]).answer(&bytes);
        }

        /// A question whose octets were changed here and there.
        #[test]
        fn mutated_questions_are_survived(changes in proptest::collection::vec((0_usize..40, any::<u8>()), 1..6)) {
            let mut bytes = question("portal.test", TYPE::A).build_bytes_vec().unwrap();
            for (at, value) in changes {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            if let Ok(Some(answer)) = names(&["*"]).answer(&bytes) {
                prop_assert!(answer.len() < 1_400, "it fits into a frame");
            }
        }
    }
}
