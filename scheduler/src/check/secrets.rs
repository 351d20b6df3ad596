//! What may not leave a driver.

/// Whether a setting's name says that its value is a credential or an endpoint.
pub(super) fn is_secret_key(key: &str) -> bool {
    let key: String = key
        .to_ascii_lowercase()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    const PARTS: &[&str] = &[
        "secret",
        "password",
        "passwd",
        "accesskey",
        "accountkey",
        "sessiontoken",
        "token",
        "credential",
        "privatekey",
        "sas",
        "endpoint",
        "proxy",
        "signature",
        "encryptionkey",
        "oauth",
        "rolearn",
        "externalid",
        "apikey",
        "connectionstring",
    ];
    PARTS.iter().any(|part| key.contains(part))
}

fn authority(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    Some((scheme, authority))
}

/// Whether a URL has a user, or a user and a password, before its host. Azure's have a container there.
pub(super) fn has_user_info(url: &str) -> bool {
    const CONTAINERS: [&str; 4] = ["abfs", "abfss", "wasb", "wasbs"];
    authority(url).is_some_and(|(scheme, authority)| authority.contains('@') && !CONTAINERS.contains(&scheme))
}

/// The URL with its user and password replaced.
pub(super) fn without_user_info(url: &str) -> String {
    match authority(url) {
        Some((_, authority)) => match authority.rsplit_once('@') {
            Some((user, _)) => url.replacen(user, "***", 1),
            None => url.to_owned(),
        },
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for key in [
            "fs.s3a.access.key",
            "fs.s3a.secret.key",
            "fs.s3a.session.token",
            "fs.s3a.bucket.b.endpoint",
            "FS.S3A.SECRET.KEY",
            "fs.azure.account.key.x",
            "fs.s3a.aws.credentials.provider",
            "fs.s3a.assumed.role.arn",
            "aws_secret_access_key",
        ] {
            assert!(is_secret_key(key), "{key}");
        }
        for key in [
            "fs.s3a.path.style.access",
            "fs.s3a.region",
            "spark.sql.session.timeZone",
            "spark.sql.ansi.enabled",
        ] {
            assert!(!is_secret_key(key), "{key}");
        }
    }

    #[test]
    fn users_in_urls() {
        assert!(has_user_info("s3a://key:secret@bucket/a"));
        assert!(!has_user_info("s3a://bucket/a@b"));
        assert!(!has_user_info("abfss://container@account/a"));
        assert_eq!(
            without_user_info("s3a://key:secret@bucket/a"),
            "s3a://***@bucket/a"
        );
    }
}
