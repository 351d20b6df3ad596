use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::fetch::{Asking, RoleFetch, SESSION, SourceFetch};
use crate::{Fetch, Identity, IdentityCounts, IdentityError, RefreshPolicy, Source};

/// A role that is assumed from the process's own identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AssumedRole {
    /// `arn:aws:iam::<account>:role/<name>`.
    pub role_arn: String,
    /// What the role's trust policy asks for, where it belongs to somebody else.
    pub external_id: Option<String>,
    /// Under which name it appears in the logs of the account; `comet-executor` by default.
    pub session_name: Option<String>,
}

impl AssumedRole {
    /// For messages and logs.
    pub fn describe(&self) -> String {
        let session = self.session_name.as_deref().unwrap_or(SESSION);
        format!("role {}, session {session}", self.role_arn)
    }
}

/// How credentials are asked for.
#[derive(Clone, Debug)]
pub struct IdentityOptions {
    /// Longest time until a connection is there.
    pub connect_timeout: Duration,
    /// Longest time of one request.
    pub request_timeout: Duration,
    /// When credentials are replaced and requests repeated.
    pub refresh: RefreshPolicy,
    /// Whose threads refreshes run on; by default those of whoever asks.
    pub runtime: Option<Handle>,
    /// Where requests are counted.
    pub counts: Arc<IdentityCounts>,
}

/// All identities of a process: one for its own and one for each role, whoever asks.
#[derive(Debug)]
pub struct Identities {
    options: IdentityOptions,
    asking: Asking,
    /// Why STS must not be asked.
    plain_sts: Option<IdentityError>,
    own: Identity,
    roles: Mutex<HashMap<AssumedRole, Identity>>,
}

impl Identities {
    /// Chooses the process's source by its environment. Nothing is read or asked yet.
    ///
    /// # Errors
    /// A contradictory environment; an STS endpoint without TLS, unless `AWS_ALLOW_HTTP` is `true`.
    pub fn from_env(options: IdentityOptions) -> Result<Self, IdentityError> {
        Self::new(|name| std::env::var(name).ok(), options)
    }

    pub(crate) fn new(
        get: impl Fn(&str) -> Option<String>,
        options: IdentityOptions,
    ) -> Result<Self, IdentityError> {
        let source = Source::choose(&get)?;
        let region = get("AWS_REGION").or_else(|| get("AWS_DEFAULT_REGION"));
        let asking = Asking::new(region, options.connect_timeout, options.request_timeout);
        let plain_sts = plain_sts(&get);
        if let (true, Some(error)) = (source.asks_sts(), &plain_sts) {
            return Err(error.clone());
        }
        let name = source.describe();
        let fetch = SourceFetch::new(source, asking.clone());
        let own = identity(name, fetch, &options);
        Ok(Self {
            options,
            asking,
            plain_sts,
            own,
            roles: Mutex::default(),
        })
    }

    /// The process's own.
    pub fn process(&self) -> Identity {
        self.own.clone()
    }

    /// A role that is assumed from it.
    ///
    /// # Errors
    /// An STS endpoint without TLS, as above.
    pub fn role(&self, role: &AssumedRole) -> Result<Identity, IdentityError> {
        if let Some(error) = &self.plain_sts {
            return Err(error.clone());
        }
        let mut roles = self.roles.lock();
        if let Some(found) = roles.get(role) {
            return Ok(found.clone());
        }
        let fetch = RoleFetch::new(role.clone(), self.own.clone(), self.asking.clone());
        let made = identity(role.describe(), fetch, &self.options);
        roles.insert(role.clone(), made.clone());
        Ok(made)
    }

    /// Requests so far.
    pub fn counts(&self) -> &Arc<IdentityCounts> {
        &self.options.counts
    }
}

fn identity(name: String, fetch: impl Fetch + 'static, options: &IdentityOptions) -> Identity {
    let counts = Arc::clone(&options.counts);
    Identity::new(
        name,
        Arc::new(fetch),
        options.refresh,
        counts,
        options.runtime.clone(),
    )
}

/// What STS answers is a secret.
fn plain_sts(get: impl Fn(&str) -> Option<String>) -> Option<IdentityError> {
    let (name, url) = ["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"]
        .into_iter()
        .find_map(|name| get(name).map(|url| (name, url)))?;
    let allowed = get("AWS_ALLOW_HTTP").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let plain = url
        .get(..7)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"));
    (plain && !allowed).then(|| IdentityError::Configuration {
        what: format!(
            "{name} is where STS is asked, and it has no TLS: use https, or set AWS_ALLOW_HTTP=true"
        ),
    })
}
