use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::{Fetch, IdentityCounts, IdentityError, Issued};

/// When a credential is replaced, and how patiently.
#[derive(Clone, Copy, Debug)]
pub struct RefreshPolicy {
    /// The next credential is asked for when between so much...
    pub ahead_least: f64,
    /// ...and so much of the lifetime is left: another part in each process, so that processes that started together do not ask together.
    pub ahead_most: f64,
    /// Upper bound of the first pause after an answer of "not now"; doubles each time.
    pub first_pause: Duration,
    /// Upper bound of a pause.
    pub longest_pause: Duration,
    /// Who waits for a credential waits so long; then the task fails, and may be tried again.
    pub give_up: Duration,
    /// Longest time of one request, also where the client has no limit of its own.
    pub request: Duration,
}

impl Default for RefreshPolicy {
    fn default() -> Self {
        Self {
            ahead_least: 0.15,
            ahead_most: 0.3,
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(3),
            give_up: Duration::from_secs(30),
            request: Duration::from_secs(20),
        }
    }
}

impl RefreshPolicy {
    /// Full jitter.
    fn pause(&self, failures: u32) -> Duration {
        let bound = self
            .first_pause
            .saturating_mul(1 << failures.saturating_sub(1).min(16));
        bound.min(self.longest_pause).mul_f64(rand::random::<f64>())
    }
}

/// Why a store's refusal may be the credential's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It said so: the credential is expired, revoked or unknown.
    Invalid,
    /// It only said no.
    Denied,
}

/// A credential younger than this is not the reason of a refusal that names no reason.
const YOUNG: Duration = Duration::from_secs(60);
/// And a new one is not asked for more often than this.
const NEW: Duration = Duration::from_secs(5);
/// Before its expiry, a credential is not given out for so long: requests take time. At most a twentieth of its lifetime.
const MARGIN: Duration = Duration::from_secs(5);

type Answer = Result<Arc<AwsCredential>, IdentityError>;
type Pending = Shared<BoxFuture<'static, Answer>>;

/// One identity: its credential, kept and replaced. Clones are the same identity.
#[derive(Clone)]
pub struct Identity(Arc<Inner>);

struct Inner {
    name: String,
    fetch: Arc<dyn Fetch>,
    policy: RefreshPolicy,
    counts: Arc<IdentityCounts>,
    runtime: Option<Handle>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Current>,
    /// The one of before, when a store has refused it.
    dropped: Option<Arc<AwsCredential>>,
    /// Of the credential that was issued last.
    generation: u64,
    /// The request that is under way.
    pending: Option<Pending>,
    /// Requests without a success, in a row.
    failures: u32,
    /// No request before.
    not_before: Option<Instant>,
    /// The last answer, if it was a refusal; it stands until `not_before`.
    refused: Option<IdentityError>,
}

struct Current {
    credential: Arc<AwsCredential>,
    since: Instant,
    refresh_at: Option<SystemTime>,
    useless_at: Option<SystemTime>,
}

impl Current {
    fn new(issued: Issued, policy: &RefreshPolicy) -> Self {
        let now = SystemTime::now();
        let left = issued
            .expires
            .map(|expires| expires.duration_since(now).unwrap_or_default());
        let ahead = |left: Duration| {
            let part = policy.ahead_least + (policy.ahead_most - policy.ahead_least) * rand::random::<f64>();
            // A source that gives the same credential until shortly before its end is not asked in a loop.
            let ahead = left.mul_f64(part);
            now + (left - ahead).max(Duration::from_secs(1))
        };
        Self {
            credential: issued.credential,
            since: Instant::now(),
            refresh_at: left.map(ahead),
            useless_at: left.map(|left| now + left - MARGIN.min(left / 20)),
        }
    }

    fn usable(&self, now: SystemTime) -> bool {
        self.useless_at.is_none_or(|end| now < end)
    }

    fn old(&self, now: SystemTime) -> bool {
        self.refresh_at.is_some_and(|time| now >= time)
    }
}

impl State {
    fn paused(&self) -> Duration {
        self.not_before.map_or(Duration::ZERO, |time| {
            time.saturating_duration_since(Instant::now())
        })
    }

    fn standing_refusal(&self) -> Option<IdentityError> {
        self.refused.clone().filter(|_| !self.paused().is_zero())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("name", &self.0.name)
            .finish_non_exhaustive()
    }
}

impl Identity {
    /// An identity whose credentials `fetch` issues. `runtime` runs the requests, wherever they are asked for.
    pub fn new(
        name: String,
        fetch: Arc<dyn Fetch>,
        policy: RefreshPolicy,
        counts: Arc<IdentityCounts>,
        runtime: Option<Handle>,
    ) -> Self {
        Self(Arc::new(Inner {
            name,
            fetch,
            policy,
            counts,
            runtime,
            state: Mutex::default(),
        }))
    }

    /// What it is, for messages.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The number of the credential that is given out now; see [`Self::renew`].
    pub fn generation(&self) -> u64 {
        self.0.state.lock().generation
    }

    /// A credential that is valid now. One that grows old is given out while the next one is asked for; nobody waits before it has ended.
    ///
    /// # Errors
    /// A refusal, which stands for a moment; or no answer for as long as the policy says.
    pub async fn credential(&self) -> Answer {
        let waiting = {
            let mut state = self.0.state.lock();
            let now = SystemTime::now();
            match state.current.as_ref().filter(|current| current.usable(now)) {
                Some(current) => {
                    let credential = Arc::clone(&current.credential);
                    if current.old(now) && state.paused().is_zero() {
                        // It runs by itself; nobody waits for it.
                        drop(self.begin(&mut state));
                    }
                    return Ok(credential);
                }
                None => match state.standing_refusal() {
                    Some(refused) if state.pending.is_none() => return Err(refused),
                    _ => self.begin(&mut state),
                },
            }
        };
        waiting.await
    }

    /// A store has refused a request although the credential of `generation` was thought valid. Asks for another credential, once for all requests
    /// that were refused together, and says whether it is worth sending the request again: there is another one.
    ///
    /// # Errors
    /// As [`Self::credential`].
    pub async fn renew(&self, generation: u64, doubt: Doubt) -> Result<bool, IdentityError> {
        let (before, waiting) = {
            let mut state = self.0.state.lock();
            if state.generation != generation {
                return Ok(true);
            }
            if let Some(refused) = state.standing_refusal() {
                return Err(refused);
            }
            let before = match (&state.current, &state.dropped) {
                (Some(current), _) => {
                    let least = match doubt {
                        Doubt::Invalid => NEW,
                        Doubt::Denied => YOUNG,
                    };
                    if current.since.elapsed() < least {
                        return Ok(false);
                    }
                    Arc::clone(&current.credential)
                }
                // Another request was refused before this one.
                (None, Some(dropped)) => Arc::clone(dropped),
                (None, None) => return Ok(false),
            };
            if doubt == Doubt::Invalid && state.current.take().is_some() {
                state.dropped = Some(Arc::clone(&before));
                tracing::warn!(identity = %self.0.name, "the store does not accept the credential any more: another one is asked for");
            }
            (before, self.begin(&mut state))
        };
        let other = waiting.await?;
        let changed = *other != *before;
        Ok(changed)
    }

    /// The request that is under way, or a new one. It runs to its end, whoever waits.
    fn begin(&self, state: &mut State) -> Pending {
        if let Some(pending) = &state.pending {
            return pending.clone();
        }
        let inner = Arc::clone(&self.0);
        let work = async move { inner.refresh().await };
        let task = match &self.0.runtime {
            Some(runtime) => runtime.spawn(work),
            None => tokio::spawn(work),
        };
        let (inner, name) = (Arc::clone(&self.0), self.0.name.clone());
        let pending = async move {
            match task.await {
                Ok(answer) => answer,
                Err(error) => {
                    // Nobody else would take it away.
                    inner.state.lock().pending = None;
                    Err(IdentityError::Unavailable {
                        identity: name,
                        attempts: 1,
                        what: "the request was stopped".into(),
                        source: Some(Arc::new(error)),
                    })
                }
            }
        };
        let pending = pending.boxed().shared();
        state.pending = Some(pending.clone());
        pending
    }
}

impl Inner {
    /// Asks until there is an answer, one request after the other.
    async fn refresh(&self) -> Answer {
        let begun = Instant::now();
        loop {
            let pause = self.state.lock().paused();
            tokio::time::sleep(pause).await;
            let answer = match tokio::time::timeout(self.policy.request, self.fetch.fetch()).await {
                Ok(answer) => answer,
                Err(_) => Err(IdentityError::Unavailable {
                    identity: self.name.clone(),
                    attempts: 1,
                    what: format!("no answer within {:?}", self.policy.request),
                    source: None,
                }),
            };
            let mut state = self.state.lock();
            match answer {
                Ok(issued) => return Ok(self.accept(&mut state, issued)),
                Err(error) => {
                    let again = self.note(&mut state, &error);
                    let error = with_attempts(error, state.failures);
                    let late = begun.elapsed() + state.paused() >= self.policy.give_up;
                    if !again || late {
                        self.give_up(&mut state, &error);
                        return Err(error);
                    }
                }
            }
        }
    }

    fn accept(&self, state: &mut State, issued: Issued) -> Arc<AwsCredential> {
        IdentityCounts::add(&self.counts.issued);
        let (credential, attempts) = (Arc::clone(&issued.credential), state.failures + 1);
        if state
            .dropped
            .as_ref()
            .is_some_and(|dropped| **dropped != *credential)
        {
            IdentityCounts::add(&self.counts.renewed);
        }
        let lifetime = issued
            .expires
            .and_then(|end| end.duration_since(SystemTime::now()).ok());
        tracing::info!(
            identity = %self.name, attempts, valid_for_seconds = lifetime.map(|left| left.as_secs()), "a credential was issued"
        );
        *state = State {
            current: Some(Current::new(issued, &self.policy)),
            generation: state.generation + 1,
            ..State::default()
        };
        credential
    }

    /// Counts a failure and says whether to ask again by ourselves.
    fn note(&self, state: &mut State, error: &IdentityError) -> bool {
        let again = matches!(error, IdentityError::Unavailable { .. });
        IdentityCounts::add(if again {
            &self.counts.unavailable
        } else {
            &self.counts.refused
        });
        state.failures = state.failures.saturating_add(1);
        state.not_before = Some(Instant::now() + self.policy.pause(state.failures));
        state.refused = (!again).then(|| error.clone());
        again
    }

    fn give_up(&self, state: &mut State, error: &IdentityError) {
        state.pending = None;
        let now = SystemTime::now();
        let valid = state.current.as_ref().is_some_and(|current| current.usable(now));
        tracing::warn!(%error, still_valid = valid, "no new credential");
    }
}

fn with_attempts(error: IdentityError, failures: u32) -> IdentityError {
    match error {
        IdentityError::Unavailable {
            identity,
            what,
            source,
            ..
        } => IdentityError::Unavailable {
            identity,
            attempts: failures,
            what,
            source,
        },
        other => other,
    }
}

#[async_trait]
impl CredentialProvider for Identity {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        Ok(self.credential().await?)
    }
}

#[cfg(test)]
impl Identity {
    /// As if the credential had been issued so much earlier.
    pub(crate) fn age_for_tests(&self, by: Duration) {
        if let Some(current) = &mut self.0.state.lock().current {
            current.since -= by;
        }
    }
}
