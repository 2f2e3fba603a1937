//! JUnit's XML, as Jenkins, GitLab and GitHub's actions read it: one suite for the scenario, one test case for each check of each VM.

use super::names::RUN;
use crate::summary::counts;
use airlane_harness::report::{Check, Report};
use anyhow::Result;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

type Xml = Writer<Vec<u8>>;

/// The whole document.
pub fn document(report: &Report) -> Result<String> {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let counts = counts(report);
    let errors = usize::from(report.error.is_some());
    let tests = (counts.all + errors).to_string();
    let (failures, errors) = (counts.failed.to_string(), errors.to_string());
    let (skipped, time) = (
        counts.not_made.to_string(),
        format!("{:.3}", report.seconds),
    );
    let totals = [
        ("tests", tests.as_str()),
        ("failures", &failures),
        ("errors", &errors),
        ("skipped", &skipped),
        ("time", &time),
    ];
    xml.create_element("testsuites")
        .with_attributes([("name", "airlane")].into_iter().chain(totals))
        .write_inner_content(|xml| {
            xml.create_element("testsuite")
                .with_attributes([("name", legal(&report.scenario).as_str())])
                .with_attributes(totals)
                .write_inner_content(|xml| cases(xml, report))?;
            Ok(())
        })?;
    Ok(String::from_utf8(xml.into_inner())? + "\n")
}

fn cases(xml: &mut Xml, report: &Report) -> std::io::Result<()> {
    for check in &report.checks {
        let class = format!("{}.{}", report.scenario, check.vm);
        case(xml, &class, &check.name, |xml| outcome(xml, check))?;
    }
    if let Some(error) = &report.error {
        case(xml, &report.scenario, RUN, |xml| told(xml, "error", error))?;
    }
    Ok(())
}

fn case(
    xml: &mut Xml,
    class: &str,
    name: &str,
    inner: impl FnOnce(&mut Xml) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let (class, name) = (legal(class), legal(name));
    xml.create_element("testcase")
        .with_attributes([("classname", class.as_str()), ("name", &name)])
        .write_inner_content(inner)?;
    Ok(())
}

fn outcome(xml: &mut Xml, check: &Check) -> std::io::Result<()> {
    let detail = legal(&check.detail);
    match (check.made, check.passed) {
        (false, _) => {
            xml.create_element("skipped")
                .with_attribute(("message", detail.as_str()))
                .write_empty()?;
            Ok(())
        }
        (true, false) => told(xml, "failure", &check.detail),
        (true, true) => {
            xml.create_element("system-out")
                .write_text_content(BytesText::new(&detail))?;
            Ok(())
        }
    }
}

/// An element whose message is the first line, and whose text is all.
fn told(xml: &mut Xml, element: &str, text: &str) -> std::io::Result<()> {
    let text = legal(text);
    let first = text.lines().next().unwrap_or_default();
    xml.create_element(element)
        .with_attribute(("message", first))
        .write_text_content(BytesText::new(&text))?;
    Ok(())
}

/// The text with every character replaced that XML 1.0 (section 2.2) has not, escaped or not: guests may say anything.
fn legal(text: &str) -> String {
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    let replaced = text.chars().map(|c| match allowed(c) {
        true => c,
        false => char::REPLACEMENT_CHARACTER,
    });
    replaced.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::report;
    use quick_xml::Reader;

    /// The names of all elements in order; an error where the text is no XML.
    fn elements(text: &str) -> Vec<String> {
        let mut reader = Reader::from_str(text);
        let mut names = Vec::new();
        loop {
            match reader.read_event().unwrap() {
                Event::Start(tag) | Event::Empty(tag) => {
                    let attributes = tag.attributes().map(|one| one.unwrap());
                    attributes.for_each(|one| {
                        drop(
                            one.normalized_value(quick_xml::XmlVersion::Implicit1_0)
                                .unwrap(),
                        )
                    });
                    names.push(tag.name().as_ref().to_owned());
                }
                Event::Eof => return names,
                _ => {}
            }
        }
    }

    #[test]
    fn each_check_is_a_test_case_and_a_run_that_ended_early_is_an_error() {
        let text = document(&report(1, 1, 1)).unwrap();
        let expected = [
            "testsuites",
            "testsuite",
            "testcase",
            "system-out",
            "testcase",
            "failure",
            "testcase",
            "skipped",
            "testcase",
            "error",
        ];
        assert_eq!(elements(&text), expected, "{text}");
        let totals = "tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"45.400\"";
        assert_eq!(text.matches(totals).count(), 2, "{text}");
        assert!(
            text.contains("classname=\"lab.it\" name=\"ping\""),
            "{text}"
        );
        assert!(
            text.contains("<error message=\"the VM `it` has stopped\">"),
            "{text}"
        );
    }

    #[test]
    fn a_run_that_passed_has_no_failure() {
        let text = document(&report(2, 0, 0)).unwrap();
        let expected = [
            "testsuites",
            "testsuite",
            "testcase",
            "system-out",
            "testcase",
            "system-out",
        ];
        assert_eq!(elements(&text), expected, "{text}");
    }

    #[test]
    fn whatever_a_guest_says_the_document_is_xml() {
        let mut report = report(0, 1, 0);
        report.checks[0].detail = "a \u{1b}[2J <b> & \"c\" ]]> \u{0} d".to_owned();
        report.checks[0].name = "<&\"'>".to_owned();
        let text = document(&report).unwrap();
        elements(&text);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{0}'));
    }
}
