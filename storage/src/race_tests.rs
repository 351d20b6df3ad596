//! What every commit relies on: of many creators of one key, a store lets exactly one win.

use std::sync::Arc;

use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use tokio::sync::Barrier;

use crate::{ClientOptions, open_store};

const CREATORS: u32 = 100;

/// What a creator is told.
#[derive(Debug, PartialEq)]
enum Outcome {
    Won,
    Lost,
    /// A request had no answer: it may have won.
    Unknown,
}

/// Several clients, as in several processes: connections and their order are not shared.
async fn race(stores: &[Arc<dyn ObjectStore>], directory: &Path, keys: u32) {
    for key in 0..keys {
        let path = directory.clone().join(format!("race-{key}"));
        let start = Arc::new(Barrier::new(CREATORS as usize));
        let creators: Vec<_> = (0..CREATORS)
            .map(|number| {
                let store = Arc::clone(&stores[number as usize % stores.len()]);
                let (path, start) = (path.clone(), Arc::clone(&start));
                tokio::spawn(async move {
                    let payload = PutPayload::from(number.to_string().repeat(1000));
                    start.wait().await;
                    let mut unanswered = false;
                    for _ in 0..5 {
                        let create = store.put_opts(&path, payload.clone(), PutMode::Create.into());
                        match create.await {
                            Ok(_) => return Outcome::Won,
                            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) if unanswered => {
                                return Outcome::Unknown;
                            }
                            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                                return Outcome::Lost;
                            }
                            // A timeout, or an error of the server under this load.
                            Err(Error::Generic { .. }) => unanswered = true,
                            Err(error) => panic!("creator {number}: {error:?}"),
                        }
                    }
                    Outcome::Unknown
                })
            })
            .collect();
        let mut outcomes = vec![];
        for creator in creators {
            outcomes.push(creator.await.unwrap());
        }
        let read = stores[0].get(&path).await.unwrap().bytes().await.unwrap();
        let created = |number: &usize| read == number.to_string().repeat(1000);
        let winner = (0..outcomes.len()).find(created).unwrap();
        let others = |(number, outcome): &(usize, &Outcome)| *number != winner && **outcome == Outcome::Won;
        assert_eq!(
            outcomes.iter().enumerate().filter(others).count(),
            0,
            "key {key}: {outcomes:?}"
        );
        assert_ne!(outcomes[winner], Outcome::Lost, "key {key}");
        // A late one loses too, and changes nothing.
        let late = stores[0]
            .put_opts(&path, "late".into(), PutMode::Create.into())
            .await;
        assert!(matches!(late, Err(Error::AlreadyExists { .. })), "{late:?}");
        let again = stores[0].get(&path).await.unwrap().bytes().await.unwrap();
        assert_eq!(again, read);
        stores[0].delete(&path).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_hundred_creators_on_a_local_directory_one_wins() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("file://{}", directory.path().display());
    let stores: Vec<_> = (0..4)
        .map(|_| open_store(&url, &ClientOptions::default()).unwrap().0)
        .collect();
    race(&stores, &Path::default(), 20).await;
}

/// Run by `just test-s3`, or with `CNE_TEST_S3_URL=s3://bucket/prefix` and the `AWS_*` variables of a server.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs an S3 server"]
async fn of_a_hundred_creators_on_an_s3_server_one_wins() {
    let url = std::env::var("CNE_TEST_S3_URL").unwrap();
    let stores: Vec<_> = (0..4)
        .map(|_| open_store(&url, &ClientOptions::default()).unwrap().0)
        .collect();
    let prefix = open_store(&url, &ClientOptions::default()).unwrap().1;
    race(&stores, &prefix, 20).await;
}
