//! The life of a credential, with a source whose answers are scripted; real services are asked by tests/e2e (`just irsa-test`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use object_store::aws::AwsCredential;
use parking_lot::Mutex;

use crate::*;

#[derive(Clone, Copy, Debug)]
enum Say {
    /// A new key that is valid for so long.
    Key(Duration),
    /// The key of before, for ever.
    Same,
    Busy,
    No(&'static str),
}

/// Answers one after the other, the last one again and again, and notes how many are asked for at one time.
#[derive(Debug)]
struct Script {
    answers: Mutex<VecDeque<Say>>,
    calls: AtomicU64,
    under_way: AtomicU64,
    most: AtomicU64,
}

impl Script {
    fn new(answers: impl IntoIterator<Item = Say>) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.into_iter().collect()),
            calls: AtomicU64::new(0),
            under_way: AtomicU64::new(0),
            most: AtomicU64::new(0),
        })
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Fetch for Script {
    async fn fetch(&self) -> Result<Issued, IdentityError> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        let say = {
            let mut answers = self.answers.lock();
            match answers.len() {
                1 => answers[0],
                _ => answers.pop_front().unwrap(),
            }
        };
        let key = |id: u64, expires| {
            Ok(Issued {
                credential: Arc::new(AwsCredential {
                    key_id: id.to_string(),
                    secret_key: "secret".into(),
                    token: None,
                }),
                expires,
            })
        };
        let identity = || "test".to_owned();
        match say {
            Say::Key(valid) => key(call, Some(SystemTime::now() + valid)),
            Say::Same => key(0, None),
            Say::Busy => Err(IdentityError::Unavailable {
                identity: identity(),
                attempts: 1,
                what: "Throttling".into(),
                source: None,
            }),
            Say::No(code) => Err(IdentityError::Refused {
                identity: identity(),
                code: code.into(),
                reason: "no".into(),
            }),
        }
    }
}

fn identity(script: &Arc<Script>) -> (Identity, Arc<IdentityCounts>) {
    let policy = RefreshPolicy {
        first_pause: Duration::from_millis(10),
        longest_pause: Duration::from_millis(40),
        give_up: Duration::from_millis(400),
        ..RefreshPolicy::default()
    };
    let counts = Arc::new(IdentityCounts::default());
    let fetch: Arc<dyn Fetch> = Arc::<Script>::clone(script);
    (
        Identity::new("test".into(), fetch, policy, Arc::clone(&counts), None),
        counts,
    )
}

const HOUR: Duration = Duration::from_secs(3600);

async fn key(identity: &Identity) -> String {
    identity.credential().await.unwrap().key_id.clone()
}

#[tokio::test]
async fn a_hundred_tasks_ask_once_and_a_busy_service_is_asked_again() {
    let script = Script::new([Say::Busy, Say::Busy, Say::Busy, Say::Key(HOUR)]);
    let (identity, counts) = identity(&script);
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let identity = identity.clone();
            tokio::spawn(async move { key(&identity).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), "3");
    }
    assert_eq!((script.calls(), script.most.load(Ordering::SeqCst)), (4, 1));
    assert_eq!(counts.snapshot().map(|(_, count)| count), [1, 3, 0]);
    // A task that is stopped while it waits stops nothing.
    let script = Script::new([Say::Key(HOUR)]);
    let (other, _) = self::identity(&script);
    let stopped = tokio::time::timeout(Duration::from_millis(1), other.credential()).await;
    assert!(stopped.is_err());
    assert_eq!((key(&other).await.as_str(), script.calls()), ("0", 1));
}

#[tokio::test]
async fn an_old_credential_serves_until_its_end_and_no_longer() {
    // Refreshed after a second at the earliest, and useless after 1.9 seconds.
    let script = Script::new([Say::Key(Duration::from_secs(2)), Say::No("AccessDenied")]);
    let (identity, _) = identity(&script);
    let begun = std::time::Instant::now();
    assert_eq!(key(&identity).await, "0");
    while begun.elapsed() < Duration::from_millis(1750) {
        assert_eq!(key(&identity).await, "0");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(script.calls() > 1, "nothing was asked ahead of the end");
    tokio::time::sleep(Duration::from_millis(300)).await;
    let error = identity.credential().await.unwrap_err();
    assert_eq!((error.code(), error.retryable()), (Some("AccessDenied"), false));
    *script.answers.lock() = [Say::Key(HOUR)].into();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_ne!(key(&identity).await, "0");
}

#[tokio::test]
async fn errors_say_whether_to_come_again_and_a_refusal_stands_for_a_moment() {
    for (say, again) in [
        (Say::Busy, true),
        (Say::No("ExpiredTokenException"), true),
        (Say::No("InvalidIdentityToken"), false),
    ] {
        let script = Script::new([say]);
        let (identity, _) = identity(&script);
        let error = identity.credential().await.unwrap_err();
        assert_eq!(error.retryable(), again, "{error}");
        let sent: object_store::Error = error.into();
        assert_eq!(matches!(sent, object_store::Error::Generic { .. }), again);
        assert!(IdentityError::find(&sent).is_some());
    }
    let script = Script::new([Say::No("AccessDenied")]);
    let (identity, _) = identity(&script);
    let begun = std::time::Instant::now();
    let mut asked = 0;
    while begun.elapsed() < Duration::from_millis(300) {
        assert!(identity.credential().await.is_err());
        asked += 1;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // Pauses grow to 40 ms and are 20 ms on average.
    assert!(script.calls() < asked / 2, "{} of {asked}", script.calls());
}

#[tokio::test]
async fn a_refused_credential_is_replaced_once() {
    let script = Script::new([Say::Key(HOUR)]);
    let (identity, counts) = identity(&script);
    let first = key(&identity).await;
    let generation = identity.generation();
    // It is too new to be the reason.
    assert!(!identity.renew(generation, Doubt::Invalid).await.unwrap());
    identity.age_for_tests(Duration::from_secs(10));
    assert!(!identity.renew(generation, Doubt::Denied).await.unwrap());
    let (one, other) = tokio::join!(
        identity.renew(generation, Doubt::Invalid),
        identity.renew(generation, Doubt::Invalid)
    );
    assert!(one.unwrap() && other.unwrap());
    assert!(identity.renew(generation, Doubt::Invalid).await.unwrap());
    assert_ne!(key(&identity).await, first);
    assert_eq!((script.calls(), counts.renewed()), (2, 1));
    // The same key again helps nobody.
    let script = Script::new([Say::Same]);
    let (fixed, _) = self::identity(&script);
    key(&fixed).await;
    fixed.age_for_tests(Duration::from_secs(10));
    let generation = fixed.generation();
    assert!(!fixed.renew(generation, Doubt::Invalid).await.unwrap());
}

fn chosen(variables: &[(&str, &str)]) -> Result<Source, String> {
    let get = |name: &str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.to_string())
    };
    Source::choose(get).map_err(|error| error.to_string())
}

#[test]
fn one_source_is_chosen_and_contradictions_are_named() {
    let web = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/t"),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"),
    ];
    let keys = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")];
    let pod = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1"),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/p"),
    ];
    let task = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2")];
    let profile = [("AWS_PROFILE", "p")];
    let with = |parts: &[&[(&'static str, &'static str)]]| chosen(&parts.concat());
    assert_eq!(with(&[]), Ok(Source::Ambient));
    assert_eq!(with(&[&keys, &profile]), Ok(Source::Environment));
    assert!(matches!(
        with(&[&web, &pod, &profile]),
        Ok(Source::WebIdentity { .. })
    ));
    assert_eq!(
        with(&[&pod]),
        Ok(Source::Container {
            token_file: Some("/p".into())
        })
    );
    assert_eq!(with(&[&task]), Ok(Source::Container { token_file: None }));
    assert_eq!(with(&[&profile]), Ok(Source::Profile { name: "p".into() }));
    for (wrong, named) in [
        (with(&[&keys, &web]), "AWS_WEB_IDENTITY_TOKEN_FILE"),
        (with(&[&keys, &pod]), "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
        (with(&[&keys, &task]), "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
        (with(&[&web[..1]]), "AWS_ROLE_ARN is not"),
        (with(&[&web[1..]]), "AWS_WEB_IDENTITY_TOKEN_FILE is not"),
        (with(&[&keys[..1]]), "AWS_SECRET_ACCESS_KEY is not"),
        (with(&[&keys[1..]]), "AWS_ACCESS_KEY_ID is not"),
    ] {
        assert!(wrong.clone().unwrap_err().contains(named), "{wrong:?}");
    }
}
