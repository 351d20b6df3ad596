//! The tenants of a pool: by which tokens and certificates a driver stands for one, and what it may scan.

use std::collections::HashMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::TransportError;
use crate::reload::Reloaded;

/// Name of the only tenant of a pool without a file of tenants.
pub(crate) const DEFAULT_TENANT: &str = "default";

/// Whose a ticket is, by the tenant that it names: one of a scheduler that knew no tenants names none.
pub fn ticket_owner(tenant: &str) -> &str {
    match tenant {
        "" => DEFAULT_TENANT,
        owner => owner,
    }
}

const LONGEST_NAME: usize = 64;

/// One tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// What it may scan, each ending in a slash; `None`: everything that executors may.
    prefixes: Option<Vec<String>>,
}

impl Tenant {
    /// A tenant that may scan what is below `prefixes`, or everything.
    ///
    /// # Errors
    /// What is wrong with the name or a prefix.
    pub fn new(name: &str, prefixes: Option<&[String]>) -> Result<Self, String> {
        let usual = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(usual) {
            return Err(format!(
                "the name {name:?} is not 1 to {LONGEST_NAME} letters, digits and -_."
            ));
        }
        let prefixes = prefixes
            .map(|prefixes| prefixes.iter().map(|prefix| prefix_of(name, prefix)).collect())
            .transpose()?;
        Ok(Self {
            name: name.to_owned(),
            prefixes,
        })
    }

    /// The tenant of a pool that has no other.
    pub fn default_tenant() -> Arc<Self> {
        static DEFAULT: LazyLock<Arc<Tenant>> = LazyLock::new(|| {
            Arc::new(Tenant {
                name: DEFAULT_TENANT.into(),
                prefixes: None,
            })
        });
        Arc::clone(&DEFAULT)
    }

    /// Whether the tenant may scan the object or directory at `url`.
    pub fn may_scan(&self, url: &str) -> bool {
        let Some(prefixes) = &self.prefixes else {
            return true;
        };
        let Some(url) = normal(url) else {
            return false;
        };
        // A directory is scanned by its own name, too.
        prefixes
            .iter()
            .any(|prefix| url.starts_with(prefix) || prefix.strip_suffix('/') == Some(&url))
    }
}

/// One spelling of a location; `None` where its meaning depends on who reads it.
fn normal(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once(':')?;
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "s3a" | "s3n" => "s3".to_owned(),
        other => other.to_owned(),
    };
    // `file:/x` and `file:///x` are the same.
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            (host.to_ascii_lowercase(), path)
        }
        None => (String::new(), rest),
    };
    if path.to_ascii_lowercase().contains("%2f") {
        return None;
    }
    let path = decoded(path)?;
    let ambiguous = |segment: &str| segment == "." || segment == "..";
    if path.split('/').any(ambiguous) || path.contains("//") || path.contains(['\\', '\0']) {
        return None;
    }
    Some(format!("{scheme}://{host}{path}"))
}

/// The path with what percent signs stand for; `None` when that is no text.
fn decoded(path: &str) -> Option<String> {
    let mut parts = path.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let digits = part
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        // One that is not followed by two digits stands for itself.
        bytes.push(digits.unwrap_or(b'%'));
        let rest = if digits.is_some() { 2 } else { 0 };
        bytes.extend_from_slice(&part.as_bytes()[rest..]);
    }
    String::from_utf8(bytes).ok()
}

/// All tenants of a pool.
#[derive(Debug, Default)]
pub struct Tenants {
    tokens: Vec<([u8; 32], Arc<Tenant>)>,
    certificates: HashMap<String, Arc<Tenant>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tenant: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    token_sha256: Vec<String>,
    #[serde(default)]
    certificates: Vec<String>,
    prefixes: Option<Vec<String>>,
}

impl Tenants {
    pub(crate) fn open(path: &Path) -> Result<Reloaded<Self>, TransportError> {
        let own = path.to_path_buf();
        let make =
            move |contents: &[Vec<u8>]| Self::parse(&own, contents.first().map_or(&[][..], Vec::as_slice));
        Reloaded::open("tenants", vec![path.to_path_buf()], make)
    }

    fn parse(path: &Path, content: &[u8]) -> Result<Self, TransportError> {
        let file: File = toml::from_slice(content).map_err(|error| TransportError::Tenants {
            path: path.to_path_buf(),
            reason: without_values(&error, content),
        })?;
        let mut tenants = Self::default();
        let mut names = vec![];
        for entry in file.tenant {
            let added = match names.contains(&entry.name) {
                true => Err(format!("two are named {:?}", entry.name)),
                false => {
                    names.push(entry.name.clone());
                    tenants.add(entry)
                }
            };
            added.map_err(|reason| TransportError::Tenants {
                path: PathBuf::from(path),
                reason,
            })?;
        }
        Ok(tenants)
    }

    fn add(&mut self, entry: Entry) -> Result<(), String> {
        let name = entry.name;
        let tenant = Arc::new(Tenant::new(&name, entry.prefixes.as_deref())?);
        if entry.token_sha256.is_empty() && entry.certificates.is_empty() {
            return Err(format!(
                "{name} has neither token_sha256 nor certificates: nobody can be it"
            ));
        }
        for digest in entry.token_sha256 {
            let bytes = hex::decode(&digest).ok().and_then(|bytes| bytes.try_into().ok());
            let bytes: [u8; 32] = bytes.ok_or_else(|| {
                format!("a token_sha256 of {name} is not 64 hexadecimal digits: it is the SHA-256 of the token, not the token")
            })?;
            if self.tokens.iter().any(|(other, _)| *other == bytes) {
                return Err(format!("a token_sha256 of {name} is there twice"));
            }
            self.tokens.push((bytes, Arc::clone(&tenant)));
        }
        for certificate in entry.certificates {
            let before = self.certificates.insert(certificate.clone(), Arc::clone(&tenant));
            if before.is_some() {
                return Err(format!(
                    "the certificate name {certificate:?} of {name} is there twice"
                ));
            }
        }
        Ok(())
    }

    /// Whose token it is. Takes the same time for each.
    pub(crate) fn by_token(&self, token: &str) -> Option<Arc<Tenant>> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        let mut found = None;
        for (known, tenant) in &self.tokens {
            if same(known, &digest) {
                found = Some(tenant);
            }
        }
        found.cloned()
    }

    /// Whose certificate it is that has these names. `None` also when they are of different tenants.
    pub(crate) fn by_names(&self, names: &[String]) -> Option<Arc<Tenant>> {
        let mut found = names.iter().filter_map(|name| self.certificates.get(name));
        let first = found.next()?;
        found.all(|other| other == first).then(|| Arc::clone(first))
    }
}

/// Where the file is wrong. Messages that may repeat a value are left out: somebody may have written a token in the place of its digest.
fn without_values(error: &toml::de::Error, content: &[u8]) -> String {
    let at = error.span().map_or(0, |span| span.start);
    let line = 1 + content.iter().take(at).filter(|byte| **byte == b'\n').count();
    let message = error.message();
    let of_keys = ["unknown field", "missing field", "duplicate"];
    match of_keys.iter().any(|kind| message.starts_with(kind)) {
        true => format!("line {line}: {message}"),
        false => format!("line {line} is not TOML, or a value in it is of another type than expected"),
    }
}

fn prefix_of(tenant: &str, prefix: &str) -> Result<String, String> {
    let wrong = || {
        format!(
            "the prefix {prefix:?} of {tenant} is not a URL with a scheme and a path, e.g. s3://bucket/data/"
        )
    };
    let mut prefix = normal(prefix).ok_or_else(wrong)?;
    if !prefix.ends_with('/') {
        prefix.push('/');
    }
    // "s3:///" would be everything.
    let bare = prefix
        .split_once("://")
        .is_some_and(|(scheme, rest)| scheme != "file" && rest.starts_with('/'));
    match bare {
        true => Err(wrong()),
        false => Ok(prefix),
    }
}

/// Compares in a time that does not depend on where they differ.
fn same(a: &[u8; 32], b: &[u8; 32]) -> bool {
    let differing = a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b));
    black_box(differing) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACME: &str = r#"
        [[tenant]]
        name = "acme"
        # printf %s token-of-acme | sha256sum
        token_sha256 = ["DIGEST"]
        certificates = ["spark.acme.example", "spiffe://cluster/acme"]
        prefixes = ["s3a://Lake/acme", "file:///data/acme/", "s3://lake/a b/"]

        [[tenant]]
        name = "other"
        certificates = ["other"]
    "#;

    fn parse(text: &str) -> Result<Tenants, TransportError> {
        Tenants::parse(Path::new("tenants.toml"), text.as_bytes())
    }

    fn acme() -> Tenants {
        parse(&ACME.replace("DIGEST", &hex::encode(Sha256::digest("token-of-acme")))).unwrap()
    }

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|&name| name.into()).collect()
    }

    #[test]
    fn tokens_and_certificates_name_a_tenant() {
        let tenants = acme();
        let name = |tenant: Option<Arc<Tenant>>| tenant.map(|tenant| tenant.name.clone());
        assert_eq!(name(tenants.by_token("token-of-acme")), Some("acme".into()));
        assert_eq!(name(tenants.by_token("token-of-acm")), None);
        assert_eq!(name(tenants.by_token("")), None);
        let by = |all: &[&str]| name(tenants.by_names(&names(all)));
        assert_eq!(
            by(&["x", "spark.acme.example", "spiffe://cluster/acme"]),
            Some("acme".into())
        );
        assert_eq!(by(&["other"]), Some("other".into()));
        assert_eq!(by(&["other", "spark.acme.example"]), None, "of two tenants");
        assert_eq!(by(&["spark.acme.exampl"]), None);
    }

    #[test]
    fn prefixes_end_at_a_slash_and_no_spelling_gets_past_them() {
        let tenant = acme().by_token("token-of-acme").unwrap();
        for inside in [
            "s3://lake/acme/t/part-0.parquet",
            "s3a://lake/acme/x",
            "s3://lake/acme",
            "file:/data/acme/x",
            "file:///data/acme/a%20b",
            "s3://lake/a%20b/100%",
        ] {
            assert!(tenant.may_scan(inside), "{inside}");
        }
        for outside in [
            "s3://lake/acme2/x",
            "s3://lake/acme/../other/x",
            "s3://lake/acme/%2e%2E/other/x",
            "s3://lake/acme/..%2fother/x",
            "s3://lake/acme//x",
            "s3://lake.evil/acme/x",
            "gs://lake/acme/x",
            "file:///data/acme/../../etc",
            "/data/acme/x",
        ] {
            assert!(!tenant.may_scan(outside), "{outside}");
        }
        assert!(
            acme()
                .by_names(&names(&["other"]))
                .unwrap()
                .may_scan("s3://any/thing")
        );
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (text, named) in [
            ("", "missing field `tenant`"),
            ("[[tenant]]\nname = \"a\"\ntoken = \"x\"", "unknown field `token`"),
            (
                "[[tenant]]\nname = \"a\"\ntoken_sha256 = \"secret\"",
                "line 3 is not TOML",
            ),
            ("[[tenant]]\nname = \"a\"", "nobody can be it"),
            (
                "[[tenant]]\nname = \"a b\"\ncertificates = [\"x\"]",
                "the name \"a b\"",
            ),
            (
                "[[tenant]]\nname = \"a\"\ntoken_sha256 = [\"secret\"]",
                "not 64 hexadecimal digits",
            ),
            (
                "[[tenant]]\nname = \"a\"\ncertificates = [\"x\", \"x\"]",
                "is there twice",
            ),
            (
                "[[tenant]]\nname = \"a\"\ncertificates = [\"x\"]\n[[tenant]]\nname = \"a\"\ncertificates = [\"y\"]",
                "two are named",
            ),
            (
                "[[tenant]]\nname = \"a\"\ncertificates = [\"x\"]\nprefixes = [\"bucket/x\"]",
                "e.g. s3://",
            ),
            (
                "[[tenant]]\nname = \"a\"\ncertificates = [\"x\"]\nprefixes = [\"s3:///\"]",
                "e.g. s3://",
            ),
        ] {
            let error = parse(text).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(shown.contains(named) && shown.contains("tenants.toml"), "{shown}");
            assert!(!shown.contains("\"secret"), "{shown}");
        }
    }
}
