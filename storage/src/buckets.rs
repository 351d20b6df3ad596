use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cne_identity::AssumedRole;
use object_store::aws::AmazonS3Builder;
use serde::Deserialize;

/// How executors reach S3 buckets: their own file, named by `CNE_BUCKETS_FILE`. What it does not say is as the `AWS_*` environment says.
///
/// `[default]` is for every bucket, `[buckets."name"]` for one; of a key that both have, the bucket's counts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buckets {
    #[serde(default)]
    default: BucketSettings,
    #[serde(default)]
    buckets: BTreeMap<String, BucketSettings>,
}

/// What can be said of a bucket. A key that is not there leaves it to `[default]`, and then to the environment.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct BucketSettings {
    /// Region of the bucket, and of its signatures.
    pub region: Option<String>,
    /// URL of the S3 server, without the bucket.
    pub endpoint: Option<String>,
    /// Whether the endpoint may be without TLS.
    pub allow_http: Option<bool>,
    /// Whether the bucket is in the path of the URL, not in front of the host.
    pub path_style: Option<bool>,
    /// Whether this account pays for requests to somebody else's bucket.
    pub requester_pays: Option<bool>,
    /// Id or ARN of the KMS key that objects are encrypted with when they are written.
    pub sse_kms_key: Option<String>,
    /// A role that is assumed, from the process's identity, for this bucket.
    pub role_arn: Option<String>,
    /// What the role's trust policy asks for.
    pub external_id: Option<String>,
    /// Name of the role's session.
    pub session_name: Option<String>,
    /// Whether requests are not signed: the bucket is public.
    pub anonymous: Option<bool>,
}

/// Why a file of buckets cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BucketsError {
    /// It cannot be read.
    #[error("the file of buckets {path:?} (CNE_BUCKETS_FILE) cannot be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// It is no TOML, or has a key or value that is not known.
    #[error("the file of buckets {path:?} (CNE_BUCKETS_FILE) cannot be understood")]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and what.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// Keys that contradict each other, or a value that cannot be.
    #[error("the file of buckets {path:?} (CNE_BUCKETS_FILE), section {section}: {what}")]
    Value {
        /// The file.
        path: PathBuf,
        /// `default` or `buckets."name"`.
        section: String,
        /// What is wrong.
        what: String,
    },
}

impl Buckets {
    /// Reads and checks the file.
    ///
    /// # Errors
    /// A file that cannot be read or understood; each names the file, and the key.
    pub fn read(path: &Path) -> Result<Self, BucketsError> {
        let text = std::fs::read_to_string(path).map_err(|source| BucketsError::Read {
            path: path.into(),
            source,
        })?;
        let read: Self = toml::from_str(&text).map_err(|source| BucketsError::Parse {
            path: path.into(),
            source: Box::new(source),
        })?;
        read.check().map_err(|(section, what)| BucketsError::Value {
            path: path.into(),
            section,
            what,
        })?;
        Ok(read)
    }

    fn check(&self) -> Result<(), (String, String)> {
        let fail = |section: &str, what: &str| Err((section.to_owned(), what.to_owned()));
        if self.default.anonymous == Some(true) {
            return fail(
                "default",
                "anonymous is said of single buckets only, so that no other one is read without an identity",
            );
        }
        let default = ("default".to_owned(), self.default.clone());
        let sections = self.buckets.keys().map(|name| {
            let section = format!("buckets.{name:?}");
            (section, self.of(name))
        });
        for (section, settings) in std::iter::once(default).chain(sections) {
            if settings.role_arn.is_none()
                && (settings.external_id.is_some() || settings.session_name.is_some())
            {
                return fail(
                    &section,
                    "external_id and session_name belong to a role_arn, and there is none",
                );
            }
            if let Some(endpoint) = &settings.endpoint
                && !["http://", "https://"]
                    .iter()
                    .any(|scheme| endpoint.starts_with(scheme))
            {
                return fail(&section, "endpoint has to begin with https:// or http://");
            }
        }
        for (name, own) in &self.buckets {
            if own.anonymous == Some(true) && own.role_arn.is_some() {
                return fail(
                    &format!("buckets.{name:?}"),
                    "anonymous = true and role_arn exclude each other",
                );
            }
        }
        Ok(())
    }

    /// What is said of a bucket, `[default]` included. Where requests are not signed, no role is assumed.
    pub fn of(&self, bucket: &str) -> BucketSettings {
        let Some(own) = self.buckets.get(bucket).cloned() else {
            return self.default.clone();
        };
        let default = self.default.clone();
        // A role comes with its session and external id: those of another role would not fit it.
        let role = match (own.role_arn.is_some(), own.anonymous) {
            (_, Some(true)) => BucketSettings::default(),
            (true, _) => own.clone(),
            (false, _) => BucketSettings {
                external_id: own.external_id.clone().or(default.external_id),
                session_name: own.session_name.clone().or(default.session_name),
                role_arn: default.role_arn,
                ..BucketSettings::default()
            },
        };
        BucketSettings {
            region: own.region.or(default.region),
            endpoint: own.endpoint.or(default.endpoint),
            allow_http: own.allow_http.or(default.allow_http),
            path_style: own.path_style.or(default.path_style),
            requester_pays: own.requester_pays.or(default.requester_pays),
            sse_kms_key: own.sse_kms_key.or(default.sse_kms_key),
            role_arn: role.role_arn,
            external_id: role.external_id,
            session_name: role.session_name,
            anonymous: own.anonymous,
        }
    }
}

impl BucketSettings {
    /// The role to assume, if there is one.
    pub(crate) fn role(&self) -> Option<AssumedRole> {
        self.role_arn.clone().map(|role_arn| AssumedRole {
            role_arn,
            external_id: self.external_id.clone(),
            session_name: self.session_name.clone(),
        })
    }

    /// Puts on a builder what is said here; credentials are not.
    pub(crate) fn apply(&self, bucket: &str, mut builder: AmazonS3Builder) -> AmazonS3Builder {
        use object_store::aws::AmazonS3ConfigKey::S3Endpoint;
        if let Some(region) = &self.region {
            builder = builder.with_region(region);
        }
        if let Some(endpoint) = &self.endpoint {
            let endpoint = endpoint.trim_end_matches('/');
            let endpoint = match self.path_style {
                // The builder leaves it to its caller to put the bucket there.
                Some(false) => endpoint.replacen("://", &format!("://{bucket}."), 1),
                _ => endpoint.to_owned(),
            };
            // Before an endpoint of the environment, whichever variable it comes from.
            builder = builder.with_config(S3Endpoint, endpoint);
        }
        if let Some(allow) = self.allow_http {
            builder = builder.with_allow_http(allow);
        }
        if let Some(path_style) = self.path_style {
            builder = builder.with_virtual_hosted_style_request(!path_style);
        }
        if let Some(pays) = self.requester_pays {
            builder = builder.with_request_payer(pays);
        }
        if let Some(key) = &self.sse_kms_key {
            builder = builder.with_sse_kms_encryption(key);
        }
        builder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Buckets, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Buckets::read(file.path()).map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            assert!(
                error.to_string().contains(file.path().to_str().unwrap()),
                "{error}"
            );
            format!("{error} {}", cause.unwrap_or_default())
        })
    }

    #[test]
    fn a_bucket_inherits_and_overrides() {
        let buckets = read(
            r#"
            [default]
            region = "eu-central-1"
            path_style = true
            role_arn = "arn:aws:iam::1:role/reader"
            external_id = "e1"
            [buckets.public]
            anonymous = true
            [buckets."sales.data"]
            region = "us-west-2"
            role_arn = "arn:aws:iam::2:role/sales"
            [buckets.named]
            session_name = "nightly"
            "#,
        )
        .unwrap();
        let role = |bucket: &str| {
            buckets
                .of(bucket)
                .role()
                .map(|r| (r.role_arn, r.external_id, r.session_name))
        };
        let reader = || "arn:aws:iam::1:role/reader".to_owned();
        assert_eq!(role("other"), Some((reader(), Some("e1".into()), None)));
        assert_eq!(
            role("named"),
            Some((reader(), Some("e1".into()), Some("nightly".into())))
        );
        assert_eq!(
            role("sales.data"),
            Some(("arn:aws:iam::2:role/sales".into(), None, None))
        );
        let public = buckets.of("public");
        assert_eq!((public.role(), public.anonymous), (None, Some(true)));
        assert_eq!(buckets.of("other").anonymous, None);
        assert_eq!(buckets.of("sales.data").region.as_deref(), Some("us-west-2"));
        assert_eq!(buckets.of("sales.data").path_style, Some(true));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, named) in [
            ("[default]\nregoin = \"x\"", "regoin"),
            ("[bucket.a]\nregion = \"x\"", "bucket"),
            ("[buckets.a]\nsecret_key = \"x\"", "secret_key"),
            ("[buckets.a]\npath_style = \"yes\"", "path_style"),
            ("[default]\nanonymous = true", "anonymous"),
            ("[buckets.a]\nexternal_id = \"x\"", "external_id"),
            ("[buckets.a]\nendpoint = \"s3.local\"", "endpoint"),
            ("[buckets.a]\nanonymous = true\nrole_arn = \"x\"", "buckets.\"a\""),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
        assert!(matches!(
            Buckets::read(Path::new("/no/such/file")),
            Err(BucketsError::Read { .. })
        ));
    }
}
