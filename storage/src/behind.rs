//! Outputs that are kept on this executor, and how they get into the store behind their tasks.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cne_proto::v1::{CommitInput, CommitRecord, commit_input::Input};

use crate::kept::Publication;
use crate::peers::Sharing;
use crate::source::Source;
use crate::store::{decode_record, encode_record, lost};
use crate::upload::Upload;
use crate::{Committed, MapOutput, MapOutputId, OutputVersion, ShuffleStore, StoreError, StoredRecord};

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The store is asked for what no executor answers for, not more often than this.
const ASK_STORE: Duration = Duration::from_secs(3);
/// What no executor answers for, and is not in the store, is given up after this time: longer than an executor that lives is silent.
const NOBODY: Duration = Duration::from_secs(20);
/// An output whose inputs are not published within this time stays where it is.
const INPUTS: Duration = Duration::from_secs(600);

impl ShuffleStore {
    /// Keeps a written output on this executor, as committed as the scheduler's word makes it. With `publish`, it goes into the store behind.
    pub(crate) fn keep(&self, record: CommitRecord, publish: bool) -> Result<Committed, StoreError> {
        let (output, bytes) = (named(&record), encode_record(&record));
        let path = self.locate(&output.id.commit_key(output.version.generation)?);
        let stored = Arc::new(decode_record(
            &output.id,
            output.version.generation,
            &path,
            &bytes,
        )?);
        let committed = Committed {
            won: true,
            stored: Arc::clone(&stored),
        };
        let Some(sharing) = self.sharing() else {
            return Ok(committed);
        };
        let publication = match publish {
            true => Publication::Waiting,
            false => Publication::Local,
        };
        sharing.kept.insert(output.clone(), stored, bytes, publication);
        if publish {
            self.publish_behind(sharing, output);
        }
        Ok(committed)
    }

    /// Publishes everything that is kept here only, and waits until all that waits is in the store. It may wait for other executors, whose outputs
    /// were read: the caller sets the deadline.
    pub async fn flush(&self) {
        let Some(sharing) = self.sharing() else { return };
        for output in sharing.kept.take_local() {
            self.publish_behind(sharing, output);
        }
        sharing.kept.settled().await;
    }

    /// Outputs that wait to be published.
    pub fn waiting(&self) -> usize {
        self.sharing().map_or(0, |sharing| sharing.kept.waiting())
    }

    fn publish_behind(&self, sharing: &Arc<Sharing>, output: MapOutput) {
        let (store, sharing) = (self.clone(), Arc::clone(sharing));
        sharing.runtime.clone().spawn(async move {
            let Some(stored) = sharing.kept.stored(&output) else {
                return;
            };
            let (mut uploaded, mut pause) = (stored.record.data_key.is_empty(), FIRST_PAUSE);
            let publication = loop {
                match store.publish(&sharing, &output, &stored, &mut uploaded).await {
                    Ok(true) => break Publication::Published,
                    Ok(false) => break Publication::Refused,
                    Err(_) if sharing.kept.publication(&output).is_none() => break Publication::Refused,
                    Err(error) if error.retryable() => {
                        tracing::warn!(?output, %error, "an output is not in the store yet");
                    }
                    Err(error) => {
                        tracing::error!(?output, %error, "an output stays on its executor");
                        break Publication::Refused;
                    }
                }
                tokio::time::sleep(pause.mul_f64(0.5 + rand::random::<f64>())).await;
                pause = (pause * 2).min(LONGEST_PAUSE * 10);
            };
            if publication == Publication::Published {
                sharing.note_published(&output);
            }
            if !sharing.kept.set(&output, publication) {
                // Its query was removed meanwhile.
                store.unpublish(&output, &stored).await;
            }
        });
    }

    /// Whether the output is the published one now.
    async fn publish(
        &self,
        sharing: &Arc<Sharing>,
        output: &MapOutput,
        stored: &Arc<StoredRecord>,
        uploaded: &mut bool,
    ) -> Result<bool, StoreError> {
        let record = &stored.record;
        if !*uploaded {
            // Never closed.
            let _slot = sharing.uploads.acquire().await;
            self.upload_kept(output, stored).await?;
            *uploaded = true;
        }
        let wanted = || sharing.kept.publication(output).is_some();
        if let Some(never) = self.never_published(sharing, record, wanted).await? {
            tracing::warn!(
                ?output,
                ?never,
                "an output stays on its executor: what it was made from is not in the store"
            );
            self.delete_data(&record.data_key).await;
            return Ok(false);
        }
        let committed = self.commit(record.clone()).await?;
        if committed.won
            && let Some(local) = self.local()
        {
            local.let_go(&record.data_key);
        }
        Ok(committed.won)
    }

    /// Removes what was published for a query that is gone.
    async fn unpublish(&self, output: &MapOutput, stored: &StoredRecord) {
        let commit = output.id.commit_key(output.version.generation);
        for key in commit.into_iter().chain([stored.record.data_key.clone()]) {
            self.delete_data(&key).await;
        }
    }

    async fn upload_kept(&self, output: &MapOutput, stored: &Arc<StoredRecord>) -> Result<(), StoreError> {
        let source = Source::new(self, output, stored);
        self.note_put(&output.id.namespace, stored.record.data_key.clone());
        let path = self.locate(&stored.record.data_key);
        let mut upload = Upload::new(Arc::clone(self.object_store()), path, self.retry());
        for bucket in &stored.record.buckets {
            for block in source.blocks(bucket)? {
                upload.push(source.kept(&block).await?).await?;
            }
        }
        upload.finish().await
    }

    /// Commits in the store at once what may also be written behind, after everything that it was made from. [`StoreError::LostOutput`] when that
    /// cannot be.
    pub(crate) async fn commit_after_inputs(&self, record: CommitRecord) -> Result<Committed, StoreError> {
        if let Some(sharing) = self.sharing()
            && let Some(never) = self.never_published(sharing, &record, || true).await?
        {
            self.delete_data(&record.data_key).await;
            return Err(lost(&never.id, "nobody can publish it", false));
        }
        self.commit(record).await
    }

    /// Waits, as long as `wanted`, until everything that an output was made from is in the store, so that what is in the store never depends on
    /// what is lost. Gives an input for which that will not be.
    async fn never_published(
        &self,
        sharing: &Arc<Sharing>,
        record: &CommitRecord,
        wanted: impl Fn() -> bool,
    ) -> Result<Option<MapOutput>, StoreError> {
        let of = |input: &CommitInput| match &input.input {
            Some(Input::MapOutput(input)) => {
                let id = MapOutputId::new(record.namespace.as_str(), input.stage_id, input.map_partition);
                Some(id.written_by(OutputVersion {
                    generation: input.generation,
                    attempt: input.attempt,
                }))
            }
            _ => None,
        };
        let mut missing: Vec<MapOutput> = record.inputs.iter().filter_map(of).collect();
        let (begun, mut pause) = (Instant::now(), FIRST_PAUSE);
        let mut asked = None::<Instant>;
        let mut answered = Instant::now();
        loop {
            missing.retain(|input| !sharing.is_published(input) && !self.is_cached(input));
            let Some(first) = missing.first() else {
                return Ok(None);
            };
            if begun.elapsed() > INPUTS || answered.elapsed() > NOBODY || !wanted() {
                return Ok(Some(first.clone()));
            }
            let unanswered = match self.ask_holders(sharing, &missing).await {
                Ok(unanswered) => unanswered,
                Err(never) => return Ok(Some(never)),
            };
            if unanswered.is_empty() {
                answered = Instant::now();
            }
            if !unanswered.is_empty() && asked.is_none_or(|asked| asked.elapsed() >= ASK_STORE) {
                asked = Some(Instant::now());
                for input in unanswered {
                    let version = input.version;
                    let published = self.published(&input.id, version.generation).await?;
                    if published.is_some_and(|found| found.record.attempt == version.attempt) {
                        sharing.note_published(&input);
                    }
                }
                continue;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Notes what its holders say is published; gives those that no executor answers for.
    ///
    /// # Errors
    /// One that will never be published.
    async fn ask_holders(
        &self,
        sharing: &Arc<Sharing>,
        outputs: &[MapOutput],
    ) -> Result<Vec<MapOutput>, MapOutput> {
        let mut unanswered = vec![];
        let mut by_holder = HashMap::<Arc<str>, Vec<MapOutput>>::new();
        for output in outputs {
            match (self.want_publication(output), sharing.holder(output)) {
                (Some(Publication::Published), _) => sharing.note_published(output),
                (Some(Publication::Refused), _) => return Err(output.clone()),
                (Some(_), _) => {}
                (None, Some(holder)) => by_holder.entry(holder).or_default().push(output.clone()),
                (None, None) => unanswered.push(output.clone()),
            }
        }
        for (holder, outputs) in by_holder {
            let answers = async { sharing.peers.publications(&holder, &outputs).await.map(Some) };
            match sharing.ask(&holder, answers).await {
                Some(answers) => {
                    for (output, answer) in outputs.into_iter().zip(answers) {
                        match answer {
                            Some(Publication::Published) => sharing.note_published(&output),
                            Some(Publication::Refused) => return Err(output),
                            Some(_) => {}
                            None => unanswered.push(output),
                        }
                    }
                }
                None => unanswered.extend(outputs),
            }
        }
        Ok(unanswered)
    }

    /// How far an output is that is kept here. When it is kept here only, it goes into the store from now on: somebody waits for it.
    pub fn want_publication(&self, output: &MapOutput) -> Option<Publication> {
        let sharing = self.sharing()?;
        let publication = sharing.kept.publication(output)?;
        if publication == Publication::Local && sharing.kept.start(output) {
            self.publish_behind(sharing, output.clone());
            return Some(Publication::Waiting);
        }
        Some(publication)
    }

    /// The record of an output that is kept here, as it is sent to another executor.
    pub fn kept_record(&self, output: &MapOutput) -> Option<Bytes> {
        self.sharing()?.kept.record(output)
    }

    /// Bytes of a data object that is kept here, as they lie on the disk: whoever gets them checks them.
    pub async fn kept_range(&self, key: &str, range: std::ops::Range<u64>) -> Option<Bytes> {
        self.local()?.get(key, range).await
    }

    /// How far an output is that is kept here.
    pub fn publication(&self, output: &MapOutput) -> Option<Publication> {
        self.sharing()?.kept.publication(output)
    }
}

fn named(record: &CommitRecord) -> MapOutput {
    MapOutputId::new(record.namespace.as_str(), record.stage_id, record.map_partition).written_by(
        OutputVersion {
            generation: record.generation,
            attempt: record.attempt,
        },
    )
}
