use std::collections::HashMap;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use cne_proto::v1::BucketRange;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::StoreError;

/// The bytes that are fetched together with bucket `of`: the neighbouring buckets that begin in the same piece of `window` bytes of the object,
/// so that whoever asks for one of them asks for the same range. `None` when the bucket has a request of its own.
pub(crate) fn window_of(buckets: &[BucketRange], of: usize, window: u64) -> Option<Range<u64>> {
    let bucket = buckets.get(of)?;
    if window == 0 || bucket.length > window {
        return None;
    }
    let piece = bucket.offset / window;
    let joins = |other: &&BucketRange| other.offset / window == piece && other.length <= window;
    let first = buckets[..of]
        .iter()
        .rev()
        .take_while(joins)
        .last()
        .unwrap_or(bucket);
    let last = buckets[of + 1..]
        .iter()
        .take_while(joins)
        .last()
        .unwrap_or(bucket);
    let end = last.offset.checked_add(last.length)?;
    (first.offset != bucket.offset || end != bucket.offset + bucket.length).then_some(first.offset..end)
}

type Flight = Arc<OnceCell<Bytes>>;

/// Requests under way: who asks for the same range waits for the same answer. Of a request that failed or whose sender was stopped, the next
/// who waits sends another.
#[derive(Debug, Default)]
pub(crate) struct Flights(Mutex<HashMap<(String, u64), Flight>>);

impl Flights {
    pub(crate) async fn join<F, R>(&self, key: &str, start: u64, fetch: F) -> Result<Bytes, StoreError>
    where
        F: FnOnce() -> R,
        R: Future<Output = Result<Bytes, StoreError>>,
    {
        let name = (key.to_string(), start);
        let flight = Arc::clone(self.0.lock().entry(name.clone()).or_default());
        // Also when this future is dropped: the last one out removes the flight.
        let _landing = Landing {
            flights: self,
            name,
            flight: Arc::clone(&flight),
        };
        flight.get_or_try_init(fetch).await.cloned()
    }
}

struct Landing<'a> {
    flights: &'a Flights,
    name: (String, u64),
    flight: Flight,
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        let mut flights = self.flights.0.lock();
        let Some(flight) = flights
            .get(&self.name)
            .filter(|flight| Arc::ptr_eq(flight, &self.flight))
        else {
            return;
        };
        // The map's, this one's, and that of the future that ends.
        if flight.initialized() || Arc::strong_count(flight) <= 3 {
            flights.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn buckets(lengths: &[u64]) -> Vec<BucketRange> {
        let mut offset = 0;
        let of = |length: &u64| {
            let range = BucketRange {
                offset,
                length: *length,
                ..Default::default()
            };
            offset += length;
            range
        };
        lengths.iter().map(of).collect()
    }

    #[test]
    fn neighbours_have_one_window_and_every_bucket_is_in_its_own() {
        let lengths: Vec<u64> = (0..200u64)
            .map(|i| [0, 3, 40, 7, 260, 100][(i * 7 % 6) as usize])
            .collect();
        let all = buckets(&lengths);
        for window in [1, 50, 100, 1000] {
            let mut seen = vec![];
            for (number, bucket) in all.iter().enumerate() {
                let range = bucket.offset..bucket.offset + bucket.length;
                let Some(found) = window_of(&all, number, window) else {
                    continue;
                };
                assert!(found.start <= range.start && range.end <= found.end);
                assert!(found.end - found.start < 2 * window);
                if !seen.contains(&found) {
                    let apart = |other: &Range<u64>| other.end <= found.start || found.end <= other.start;
                    assert!(seen.iter().all(apart), "windows do not overlap");
                    seen.push(found);
                }
            }
            assert!(
                window < 50 || seen.len() as u64 <= 200 * 70 / window,
                "{}",
                seen.len()
            );
        }
        assert_eq!(window_of(&all, 5, 0), None);
        assert_eq!(window_of(&buckets(&[10]), 0, 1000), None, "alone");
        assert_eq!(
            window_of(&buckets(&[10, 2000, 10]), 2, 1000),
            None,
            "the neighbour is too long"
        );
    }

    #[tokio::test]
    async fn one_flies_for_all_and_another_when_it_is_stopped() {
        let flights = Arc::new(Flights::default());
        let sent = Arc::new(AtomicU32::new(0));
        let fetch = |fail: bool| {
            let (flights, sent) = (Arc::clone(&flights), Arc::clone(&sent));
            tokio::spawn(async move {
                let send = || async {
                    sent.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    match fail {
                        true => Err(StoreError::NoSuchBucket {
                            bucket: 0,
                            num_buckets: 0,
                        }),
                        false => Ok(Bytes::from_static(b"x")),
                    }
                };
                flights.join("key", 0, send).await
            })
        };
        let first = fetch(false);
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        let others: Vec<_> = (0..10).map(|_| fetch(false)).collect();
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        first.abort();
        for other in others {
            assert_eq!(other.await.unwrap().unwrap(), "x");
        }
        assert_eq!(sent.load(Ordering::SeqCst), 2);
        let failing = fetch(true);
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        assert_eq!(fetch(false).await.unwrap().unwrap(), "x");
        assert!(failing.await.unwrap().is_err());
        assert!(flights.0.lock().is_empty());
    }
}
