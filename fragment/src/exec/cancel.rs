use std::pin::Pin;
use std::task::{Context, Poll};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use futures::{FutureExt, Stream, StreamExt};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::FragmentError;

/// Put into a session's configuration as an extension, it ends a fragment's stream between two batches when its token is cancelled.
#[derive(Debug, Clone)]
pub struct TaskCancellation(pub CancellationToken);

/// Ends a stream with [`FragmentError::Cancelled`] when the token is cancelled, also while the stream waits.
pub struct Cancellable {
    inner: SendableRecordBatchStream,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Cancellable {
    /// `inner` under `token`.
    #[must_use]
    pub fn wrap(inner: SendableRecordBatchStream, token: CancellationToken) -> SendableRecordBatchStream {
        Box::pin(Self {
            inner,
            cancelled: Box::pin(token.cancelled_owned()),
        })
    }
}

impl Stream for Cancellable {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.cancelled.poll_unpin(context).is_ready() {
            return Poll::Ready(Some(Err(DataFusionError::from(FragmentError::Cancelled))));
        }
        self.inner.poll_next_unpin(context)
    }
}

impl RecordBatchStream for Cancellable {
    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }
}
