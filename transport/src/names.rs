//! Names and times in a certificate.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// The names of whom a certificate is for: DNS names and URIs of the subject; its common names where it has neither. Empty when there is none,
/// or the certificate cannot be read.
pub(crate) fn names(der: &[u8]) -> Vec<String> {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else {
        return vec![];
    };
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let mut names: Vec<String> = alternative
        .iter()
        .flat_map(|extension| &extension.value.general_names)
        .filter_map(|name| match name {
            GeneralName::DNSName(name) | GeneralName::URI(name) => Some((*name).to_owned()),
            _ => None,
        })
        .collect();
    if names.is_empty() {
        let common = certificate.subject().iter_common_name();
        names = common
            .filter_map(|name| name.as_str().ok().map(str::to_owned))
            .collect();
    }
    names
}

/// From when to when a certificate is valid.
pub(crate) fn validity(der: &[u8]) -> Option<(SystemTime, SystemTime)> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let time = |seconds: i64| UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    let validity = certificate.validity();
    Some((
        time(validity.not_before.timestamp()),
        time(validity.not_after.timestamp()),
    ))
}
