//! What every commit relies on: of many creators of one key, a store lets exactly one win.

use std::sync::Arc;

use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use tokio::sync::Barrier;

use crate::{ClientOptions, open_store};

const CREATORS: u32 = 100;

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
                    store.put_opts(&path, payload, PutMode::Create.into()).await
                })
            })
            .collect();
        let mut winners = vec![];
        for (number, creator) in creators.into_iter().enumerate() {
            match creator.await.unwrap() {
                Ok(_) => winners.push(number),
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {}
                Err(error) => panic!("creator {number} of key {key}: {error:?}"),
            }
        }
        let [winner] = winners[..] else {
            panic!("key {key} has the winners {winners:?}");
        };
        let read = stores[0].get(&path).await.unwrap().bytes().await.unwrap();
        assert_eq!(read, winner.to_string().repeat(1000), "key {key}");
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
