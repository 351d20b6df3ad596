use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use aws_config::ecs::EcsCredentialsProvider;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::imds::credentials::ImdsCredentialsProvider;
use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::sts::AssumeRoleProvider;
use aws_config::timeout::TimeoutConfig;
use aws_config::web_identity_token::{StaticConfiguration, WebIdentityTokenCredentialsProvider};
use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, future};
use aws_sdk_sts::config::SharedHttpClient;
use aws_sdk_sts::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sts::operation::assume_role::AssumeRoleError;
use aws_sdk_sts::operation::assume_role_with_web_identity::AssumeRoleWithWebIdentityError;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use object_store::aws::AwsCredential;

use crate::error::chain;
use crate::{AssumedRole, Identity, IdentityError, Source};

/// A credential, and until when it can be used; `None`: as long as nobody replaces it.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The credential.
    pub credential: Arc<AwsCredential>,
    /// Its expiry.
    pub expires: Option<SystemTime>,
}

/// Something that issues credentials. One call is one request: nothing is repeated and nothing is kept.
#[async_trait]
pub trait Fetch: fmt::Debug + Send + Sync {
    /// Asks for a credential.
    async fn fetch(&self) -> Result<Issued, IdentityError>;
}

/// Where STS is asked when nothing names a region: its answers are valid in all of them.
const REGION: &str = "us-east-1";

/// How the services that issue credentials are asked.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    client: SharedHttpClient,
    region: Region,
    timeouts: TimeoutConfig,
}

impl Asking {
    /// `region` names STS's endpoint. Certificates are those of the system (`SSL_CERT_FILE`, where it is set).
    pub(crate) fn new(region: Option<String>, connect: Duration, request: Duration) -> Self {
        Self {
            client: aws_smithy_http_client::Builder::new()
                .tls_provider(Provider::Rustls(CryptoMode::Ring))
                .build_https(),
            region: Region::new(region.unwrap_or_else(|| REGION.into())),
            timeouts: TimeoutConfig::builder()
                .connect_timeout(connect)
                .operation_timeout(request)
                .build(),
        }
    }

    /// New every time: it keeps the profile that it has read.
    fn config(&self, base: ProviderConfig) -> ProviderConfig {
        base.with_http_client(self.client.clone())
            .with_region(Some(self.region.clone()))
            .with_retry_config(RetryConfig::disabled())
            .with_timeout_config(self.timeouts.clone())
    }
}

/// One of the process's own sources.
#[derive(Debug)]
pub(crate) struct SourceFetch {
    source: Source,
    asking: Asking,
    /// Which of the ambient ones has answered.
    ambient: OnceLock<Ambient>,
}

#[derive(Clone, Copy, Debug)]
enum Ambient {
    Profile,
    Machine,
}

impl SourceFetch {
    pub(crate) fn new(source: Source, asking: Asking) -> Self {
        let ambient = OnceLock::new();
        Self {
            source,
            asking,
            ambient,
        }
    }

    async fn ask(&self) -> provider::Result {
        let config = self.asking.config(ProviderConfig::without_region());
        match &self.source {
            Source::Environment => {
                EnvironmentVariableCredentialsProvider::new()
                    .provide_credentials()
                    .await
            }
            Source::WebIdentity {
                token_file,
                role_arn,
                session_name,
            } => {
                let configured = StaticConfiguration {
                    web_identity_token_file: token_file.clone(),
                    role_arn: role_arn.clone(),
                    session_name: session_name.clone().unwrap_or_else(|| SESSION.into()),
                };
                WebIdentityTokenCredentialsProvider::builder()
                    .configure(&config)
                    .static_configuration(configured)
                    .build()
                    .provide_credentials()
                    .await
            }
            Source::Container { .. } => {
                // Without a clock to wait by, it does not repeat anything itself.
                let config = self.asking.config(ProviderConfig::empty());
                EcsCredentialsProvider::builder()
                    .configure(&config)
                    .build()
                    .provide_credentials()
                    .await
            }
            Source::Profile { name } => profile(&config, Some(name)).await,
            Source::Ambient => self.ask_ambient(&config).await,
        }
    }

    async fn ask_ambient(&self, config: &ProviderConfig) -> provider::Result {
        match self.ambient.get() {
            Some(Ambient::Profile) => return profile(config, None).await,
            Some(Ambient::Machine) => return machine(config).await,
            None => {}
        }
        match profile(config, None).await {
            // Only a profile that is not there is passed over; one that fails is not.
            Err(CredentialsError::CredentialsNotLoaded(_)) => {
                let answer = machine(config).await?;
                let _ = self.ambient.set(Ambient::Machine);
                Ok(answer)
            }
            Err(error) => Err(error),
            Ok(answer) => {
                let _ = self.ambient.set(Ambient::Profile);
                Ok(answer)
            }
        }
    }
}

async fn profile(config: &ProviderConfig, name: Option<&str>) -> provider::Result {
    let mut builder = ProfileFileCredentialsProvider::builder().configure(config);
    if let Some(name) = name {
        builder = builder.profile_name(name);
    }
    builder.build().provide_credentials().await
}

async fn machine(config: &ProviderConfig) -> provider::Result {
    ImdsCredentialsProvider::builder()
        .configure(config)
        .build()
        .provide_credentials()
        .await
}

/// What a role is assumed under when no name is configured.
pub(crate) const SESSION: &str = "comet-executor";

#[async_trait]
impl Fetch for SourceFetch {
    async fn fetch(&self) -> Result<Issued, IdentityError> {
        let identity = self.source.describe();
        match &self.source {
            Source::WebIdentity { token_file, .. } => readable(&identity, token_file).await?,
            Source::Container {
                token_file: Some(token_file),
            } => readable(&identity, token_file).await?,
            _ => {}
        }
        self.ask()
            .await
            .map(issued)
            .map_err(|error| understood(&identity, error))
    }
}

/// AWS's own clients say of a missing token only that something could not be read.
async fn readable(identity: &str, path: &Path) -> Result<(), IdentityError> {
    let what = match tokio::fs::read(path).await {
        Ok(token) if token.trim_ascii().is_empty() => "it is empty".to_owned(),
        Ok(_) => return Ok(()),
        Err(error) => error.to_string(),
    };
    Err(IdentityError::TokenFile {
        identity: identity.into(),
        path: path.into(),
        what,
    })
}

/// A role that is assumed from another identity.
#[derive(Debug)]
pub(crate) struct RoleFetch {
    role: AssumedRole,
    base: Identity,
    asking: Asking,
}

impl RoleFetch {
    pub(crate) fn new(role: AssumedRole, base: Identity, asking: Asking) -> Self {
        Self { role, base, asking }
    }
}

#[async_trait]
impl Fetch for RoleFetch {
    async fn fetch(&self) -> Result<Issued, IdentityError> {
        // First by itself, so that what goes wrong with it is not taken for a failure of the role.
        self.base.credential().await?;
        let base = Base(self.base.clone());
        let config = aws_config::defaults(BehaviorVersion::latest())
            .http_client(self.asking.client.clone())
            .region(self.asking.region.clone())
            .retry_config(RetryConfig::disabled())
            .timeout_config(self.asking.timeouts.clone())
            .credentials_provider(base.clone())
            .load()
            .await;
        let mut builder = AssumeRoleProvider::builder(self.role.role_arn.clone())
            .session_name(self.role.session_name.clone().unwrap_or_else(|| SESSION.into()))
            .configure(&config);
        if let Some(id) = &self.role.external_id {
            builder = builder.external_id(id.clone());
        }
        let provider = builder.build_from_provider(base).await;
        let answer = provider.provide_credentials().await;
        answer
            .map(issued)
            .map_err(|error| understood(&self.role.describe(), error))
    }
}

/// An identity as AWS's own clients want it.
#[derive(Clone, Debug)]
struct Base(Identity);

impl ProvideCredentials for Base {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async {
            let had = self
                .0
                .credential()
                .await
                .map_err(CredentialsError::provider_error)?;
            let (key, secret) = (had.key_id.clone(), had.secret_key.clone());
            Ok(Credentials::new(key, secret, had.token.clone(), None, "cne"))
        })
    }
}

fn issued(credentials: Credentials) -> Issued {
    Issued {
        expires: credentials.expiry(),
        credential: Arc::new(AwsCredential {
            key_id: credentials.access_key_id().into(),
            secret_key: credentials.secret_access_key().into(),
            token: credentials.session_token().map(Into::into),
        }),
    }
}

/// The service's own answer, out of what AWS's client makes of it.
struct Answer {
    status: u16,
    code: Option<String>,
    message: Option<String>,
}

fn answer(cause: &(dyn Error + 'static)) -> Option<Answer> {
    fn of<E: ProvideErrorMetadata>(error: &SdkError<E>) -> Option<Answer> {
        let response = error.raw_response()?;
        Some(Answer {
            status: response.status().as_u16(),
            code: ProvideErrorMetadata::code(error).map(Into::into),
            message: ProvideErrorMetadata::message(error).map(Into::into),
        })
    }
    if let Some(error) = cause.downcast_ref::<SdkError<AssumeRoleWithWebIdentityError>>() {
        return of(error);
    }
    of(cause.downcast_ref::<SdkError<AssumeRoleError>>()?)
}

/// Codes of answers that say "not now".
const BUSY: [&str; 8] = [
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "TooManyRequestsException",
    "RequestLimitExceeded",
    "SlowDown",
    "IDPCommunicationError",
    "ServiceUnavailable",
];

fn understood(identity: &str, error: CredentialsError) -> IdentityError {
    let chain = || chain(&error);
    if let Some(own) = chain().find_map(|cause| cause.downcast_ref::<IdentityError>()) {
        return own.clone();
    }
    let identity = identity.to_owned();
    if let Some(found) = chain().find_map(answer) {
        let code = found.code.unwrap_or_else(|| format!("HTTP {}", found.status));
        let reason = without_tokens(&found.message.unwrap_or_default());
        let busy = found.status == 429 || found.status >= 500 || BUSY.contains(&code.as_str());
        return match busy {
            true => IdentityError::Unavailable {
                identity,
                attempts: 1,
                what: format!("{code} {reason}").trim_end().to_owned(),
                source: None,
            },
            false => IdentityError::Refused {
                identity,
                code,
                reason,
            },
        };
    }
    let texts: Vec<String> = chain().map(|cause| cause.to_string()).collect();
    let what = without_tokens(&texts.join(": "));
    match error {
        CredentialsError::CredentialsNotLoaded(_) | CredentialsError::InvalidConfiguration(_) => {
            IdentityError::Configuration {
                what: format!("{identity}: {what}"),
            }
        }
        error => IdentityError::Unavailable {
            identity,
            attempts: 1,
            what,
            source: Some(Arc::new(error)),
        },
    }
}

/// Services repeat what they were given: signed tokens begin like this, all of them.
fn without_tokens(text: &str) -> String {
    let mut parts = text.split("eyJ");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c));
        clean.push_str("eyJ***");
        clean.push_str(end.map_or("", |end| &part[end..]));
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_cut_out_of_messages() {
        assert_eq!(
            without_tokens("token eyJhbGciOi.eyJpc3Mi-_.c2ln is bad"),
            "token eyJ***eyJ*** is bad"
        );
        assert_eq!(without_tokens("no token"), "no token");
    }
}
