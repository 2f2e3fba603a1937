//! The certificates of one run: an authority that its networks trust, one that they do not, and what
//! the two sign for access points and VMs (RFC 5280, ECDSA with P-256). They are made anew for every
//! run and stand nowhere but in its guests and, for VMs that their user starts, in its output folder.
//!
//! Each is valid from 2000 to 2049, so whatever a guest's clock says fits.

use super::overlay::File;
use super::security::FOLDER;
use airlane_scenario::{Eap, EapMethod, Scenario, Security};
use anyhow::{Context, Result};
use p256::ecdsa::{DerSignature, SigningKey};
use p256::elliptic_curve::rand_core::OsRng;
use p256::pkcs8::{EncodePrivateKey, LineEnding};
use std::cell::Cell;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::builder::{Builder, CertificateBuilder, Profile};
use x509_cert::der::asn1::{Any, ObjectIdentifier, SetOfVec, UtcTime};
use x509_cert::der::{DateTime, EncodePem, Tag};
use x509_cert::ext::pkix::ExtendedKeyUsage;
use x509_cert::name::{Name, RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::SubjectPublicKeyInfoOwned;
use x509_cert::time::{Time, Validity};

/// What a key may be used for (RFC 5280 4.2.1.12).
const SERVER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
const CLIENT: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");

/// The attribute type commonName (X.520 6.2.2).
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// A run's authorities: the one that its networks trust, and one that nobody trusts.
pub struct Certificates {
    trusted: Authority,
    foreign: Authority,
}

impl Certificates {
    /// For a scenario with networks that ask for an identity; none for others.
    pub fn for_run(scenario: &Scenario) -> Result<Option<Self>> {
        let asks = |security| security == Security::Wpa2Enterprise;
        if !scenario.access_points.iter().any(|ap| asks(ap.security)) {
            return Ok(None);
        }
        Ok(Some(Self {
            trusted: Authority::new("authority of this run")?,
            foreign: Authority::new("authority that nobody trusts")?,
        }))
    }

    /// What an access point's EAP server needs.
    pub fn of_server(&self) -> Result<Vec<File>> {
        let mut files = self.trusted.issue("server", "access point", SERVER)?;
        files.push(self.authority());
        Ok(files)
    }

    /// What a VM needs to prove its identity, and to know its network. One that may be any user has no certificate.
    pub fn of_vm(&self, eap: Option<&Eap>) -> Result<Vec<File>> {
        let mut files = match eap.map(|eap| (eap, &eap.method)) {
            None | Some((_, EapMethod::Peap { .. })) => Vec::new(),
            Some((eap, &EapMethod::Tls { foreign })) => {
                let authority = if foreign {
                    &self.foreign
                } else {
                    &self.trusted
                };
                authority.issue("client", &eap.identity, CLIENT)?
            }
        };
        files.push(self.authority());
        Ok(files)
    }

    fn authority(&self) -> File {
        file("ca.pem", &self.trusted.certificate)
    }
}

fn file(name: &str, content: &str) -> File {
    (format!("{FOLDER}/{name}"), content.as_bytes().to_vec())
}

/// A certificate authority: its key, and the certificate that it has signed itself.
struct Authority {
    key: SigningKey,
    name: Name,
    /// Its own certificate, as PEM.
    certificate: String,
    /// The serial number of the next certificate.
    serial: Cell<u32>,
}

impl Authority {
    fn new(name: &str) -> Result<Self> {
        let (key, name) = (SigningKey::random(&mut OsRng), common_name(name)?);
        let builder = builder(Profile::Root, 1, &name, &key, &key)?;
        Ok(Self {
            certificate: signed(builder)?,
            key,
            name,
            serial: Cell::new(2),
        })
    }

    /// A new key and the certificate for it: `FILE.pem` and `FILE.key`.
    fn issue(&self, name: &str, subject: &str, purpose: ObjectIdentifier) -> Result<Vec<File>> {
        let serial = self.serial.replace(self.serial.get().saturating_add(1));
        let key = SigningKey::random(&mut OsRng);
        let profile = Profile::Leaf {
            issuer: self.name.clone(),
            enable_key_agreement: false,
            enable_key_encipherment: false,
        };
        let mut builder = builder(profile, serial, &common_name(subject)?, &key, &self.key)?;
        builder.add_extension(&ExtendedKeyUsage(vec![purpose]))?;
        let secret = key.to_pkcs8_pem(LineEnding::LF)?;
        Ok(vec![
            file(&format!("{name}.pem"), &signed(builder)?),
            file(&format!("{name}.key"), &secret),
        ])
    }
}

fn builder<'a>(
    profile: Profile,
    serial: u32,
    subject: &Name,
    key: &SigningKey,
    signer: &'a SigningKey,
) -> Result<CertificateBuilder<'a, SigningKey>> {
    let key = SubjectPublicKeyInfoOwned::from_key(*key.verifying_key())?;
    let (serial, subject) = (SerialNumber::from(serial), subject.clone());
    CertificateBuilder::new(profile, serial, validity()?, subject, key, signer)
        .context("cannot make a certificate")
}

fn signed(builder: CertificateBuilder<SigningKey>) -> Result<String> {
    let certificate = builder.build::<DerSignature>()?;
    Ok(certificate.to_pem(LineEnding::LF)?)
}

fn common_name(text: &str) -> Result<Name> {
    let part = AttributeTypeAndValue {
        oid: COMMON_NAME,
        value: Any::new(Tag::Utf8String, text.as_bytes())?,
    };
    let parts = SetOfVec::try_from(vec![part])?;
    Ok(RdnSequence(vec![RelativeDistinguishedName(parts)]))
}

fn validity() -> Result<Validity> {
    let day = |year, month, day| -> Result<Time> {
        let date = DateTime::new(year, month, day, 0, 0, 0)?;
        Ok(Time::UtcTime(UtcTime::from_date_time(date)?))
    };
    Ok(Validity {
        not_before: day(2000, 1, 1)?,
        not_after: day(2049, 12, 31)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use p256::ecdsa::VerifyingKey;
    use p256::ecdsa::signature::Verifier;
    use p256::pkcs8::DecodePrivateKey;
    use x509_cert::Certificate;
    use x509_cert::der::{DecodePem, Encode};

    fn certificates() -> Certificates {
        Certificates {
            trusted: Authority::new("trusted").unwrap(),
            foreign: Authority::new("foreign").unwrap(),
        }
    }

    fn tls(identity: &str, foreign: bool) -> Eap {
        Eap {
            identity: identity.to_owned(),
            method: EapMethod::Tls { foreign },
        }
    }

    fn content<'a>(files: &'a [File], name: &str) -> &'a [u8] {
        let path = format!("{FOLDER}/{name}");
        &files.iter().find(|(other, _)| *other == path).unwrap().1
    }

    fn certificate(files: &[File], name: &str) -> Certificate {
        Certificate::from_pem(content(files, name)).unwrap()
    }

    /// Whether the authority in `files` has signed the VM's certificate.
    fn is_signed(files: &[File]) -> bool {
        let (own, authority) = (
            certificate(files, "client.pem"),
            certificate(files, "ca.pem"),
        );
        let key = authority.tbs_certificate.subject_public_key_info;
        let key = VerifyingKey::from_sec1_bytes(key.subject_public_key.raw_bytes()).unwrap();
        let signature = DerSignature::from_bytes(own.signature.raw_bytes()).unwrap();
        let body = own.tbs_certificate.to_der().unwrap();
        key.verify(&body, &signature).is_ok()
    }

    #[test]
    fn a_certificate_names_the_identity_and_fits_the_key_beside_it() {
        let files = certificates()
            .of_vm(Some(&tls("it, the one", false)))
            .unwrap();
        let own = certificate(&files, "client.pem").tbs_certificate;
        assert!(own.subject.to_string().contains("it"), "{}", own.subject);
        let secret = std::str::from_utf8(content(&files, "client.key")).unwrap();
        let key = SigningKey::from_pkcs8_pem(secret).unwrap();
        let public = key.verifying_key().to_encoded_point(false);
        let certified = own.subject_public_key_info.subject_public_key;
        assert_eq!(certified.raw_bytes(), public.as_bytes());
    }

    #[test]
    fn only_a_certificate_of_ones_own_is_signed_by_the_networks_authority() {
        let certificates = certificates();
        assert!(is_signed(
            &certificates.of_vm(Some(&tls("it", false))).unwrap()
        ));
        assert!(!is_signed(
            &certificates.of_vm(Some(&tls("it", true))).unwrap()
        ));
    }

    #[test]
    fn no_two_vms_and_no_two_runs_share_a_key() {
        let one = certificates();
        let files: Vec<_> = [&one, &one, &certificates()]
            .map(|all| all.of_vm(Some(&tls("it", false))).unwrap())
            .into();
        let keys: std::collections::BTreeSet<_> = files
            .iter()
            .map(|files| content(files, "client.key"))
            .collect();
        assert_eq!(keys.len(), 3);
        let serials = files[..2].iter().map(|files| {
            certificate(files, "client.pem")
                .tbs_certificate
                .serial_number
        });
        let serials: Vec<_> = serials.collect();
        assert_ne!(serials[0], serials[1]);
    }

    #[test]
    fn a_vm_with_a_password_gets_the_authority_and_no_key() {
        let eap = Eap {
            identity: "user".to_owned(),
            method: EapMethod::Peap {
                password: "secret".to_owned(),
            },
        };
        let files = certificates().of_vm(Some(&eap)).unwrap();
        let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["etc/airlane/ca.pem"]);
    }
}
