use std::path::PathBuf;

use crate::IdentityError;

/// Where the credentials of this process come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and perhaps `AWS_SESSION_TOKEN`.
    Environment,
    /// A role assumed by a token in a file: IRSA, or any other OpenID Connect issuer.
    WebIdentity {
        /// `AWS_WEB_IDENTITY_TOKEN_FILE`; read at every refresh.
        token_file: PathBuf,
        /// `AWS_ROLE_ARN`.
        role_arn: String,
        /// `AWS_ROLE_SESSION_NAME`.
        session_name: Option<String>,
    },
    /// An endpoint beside the container: EKS Pod Identity, ECS.
    Container {
        /// `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`; read at every refresh.
        token_file: Option<PathBuf>,
    },
    /// The profile that `AWS_PROFILE` names, with whatever it says (keys, a role and its source, SSO, a process).
    Profile {
        /// Its name.
        name: String,
    },
    /// Nothing is configured: the default profile, or the machine's role (IMDSv2), whichever answers first; afterwards that one only.
    Ambient,
}

const KEY: &str = "AWS_ACCESS_KEY_ID";
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
const TOKEN_FILE: &str = "AWS_WEB_IDENTITY_TOKEN_FILE";
const ROLE: &str = "AWS_ROLE_ARN";
const RELATIVE: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";

impl Source {
    /// Chooses by the variables that `get` finds. Nothing is read or asked.
    ///
    /// Web identity comes before the container's endpoint, as in AWS's own clients: a pod that is moved from IRSA to Pod Identity has both.
    ///
    /// # Errors
    /// Half of a configuration, and static keys beside an identity of the pod's own: which one is meant must not be guessed.
    pub fn choose(get: impl Fn(&str) -> Option<String>) -> Result<Self, IdentityError> {
        let set = |name: &str| get(name).filter(|value| !value.trim().is_empty());
        let wrong = |what: String| Err(IdentityError::Configuration { what });
        let keys = match (set(KEY), set(SECRET)) {
            (Some(_), Some(_)) => true,
            (None, None) => false,
            (Some(_), None) => return wrong(format!("{KEY} is set and {SECRET} is not")),
            (None, Some(_)) => return wrong(format!("{SECRET} is set and {KEY} is not")),
        };
        let web = match (set(TOKEN_FILE), set(ROLE)) {
            (Some(token_file), Some(role_arn)) => Some(Self::WebIdentity {
                token_file: token_file.into(),
                role_arn,
                session_name: set("AWS_ROLE_SESSION_NAME"),
            }),
            (None, None) => None,
            (Some(_), None) => return wrong(format!("{TOKEN_FILE} is set and {ROLE} is not")),
            (None, Some(_)) => {
                return wrong(format!(
                    "{ROLE} is set and {TOKEN_FILE} is not; for a role that is assumed from another identity, give role_arn in CNE_BUCKETS_FILE"
                ));
            }
        };
        let container = [RELATIVE, FULL].into_iter().find(|name| set(name).is_some());
        let pod = web.is_some().then_some(TOKEN_FILE).or(container);
        if let (true, Some(pod)) = (keys, pod) {
            return wrong(format!(
                "both {KEY} and {pod} are set; remove one of them, so that it is clear whose credentials count"
            ));
        }
        if keys {
            return Ok(Self::Environment);
        }
        if let Some(web) = web {
            return Ok(web);
        }
        if container.is_some() {
            return Ok(Self::Container {
                token_file: set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").map(PathBuf::from),
            });
        }
        Ok(match set("AWS_PROFILE") {
            Some(name) => Self::Profile { name },
            None => Self::Ambient,
        })
    }

    /// For messages and logs.
    pub fn describe(&self) -> String {
        match self {
            Self::Environment => format!("the keys of {KEY}"),
            Self::WebIdentity { role_arn, .. } => format!("web identity, role {role_arn}"),
            Self::Container { .. } => "the container's credentials endpoint".into(),
            Self::Profile { name } => format!("profile {name}"),
            Self::Ambient => "the default profile or the machine's role".into(),
        }
    }

    /// Whether the security token service is asked.
    pub(crate) fn asks_sts(&self) -> bool {
        matches!(self, Self::WebIdentity { .. })
    }
}
