//! Requests of a real driver give plain Spark's rows or error.
#![allow(clippy::unwrap_used, clippy::panic)]

use cne_semantics::corpus;

#[tokio::test]
async fn requests_of_the_corpus_give_sparks_answers() {
    let requests = corpus::requests();
    assert!(requests.len() >= 100, "only {} requests", requests.len());
    let mut wrong = vec![];
    for path in &requests {
        for batch_size in [2, 8192] {
            if let Err(difference) = corpus::check(path, batch_size).await {
                wrong.push(format!(
                    "{}, batches of {batch_size}: {difference}",
                    path.display()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
