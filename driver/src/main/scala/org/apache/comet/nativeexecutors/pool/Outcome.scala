package org.apache.comet.nativeexecutors.pool

import java.time.Instant

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * The pool as one query sees it.
 *
 * @param url
 *   the scheduler
 * @param timeoutMillis
 *   how long the scheduler may fail to answer at all before it has accepted the query
 * @param recoveryMillis
 *   how long the pool may be away afterwards: a scheduler that is started again, or no executor that serves rows
 * @param security
 *   for every connection, also to executors
 * @param sparkExecutorMillis
 *   how long the application may have no executor of Spark while the query waits
 */
final case class PoolAddress(
    url: String,
    timeoutMillis: Long,
    recoveryMillis: Long,
    security: Security,
    sparkExecutorMillis: Long
)

/**
 * One partition of a result. Serialized into Spark's tasks.
 *
 * @param ticket
 *   opaque; signed by the pool
 * @param locations
 *   executors, each of which can serve it
 * @param expires
 *   when the pool forgets it unless it is renewed
 */
final case class ResultEndpoint(ticket: Array[Byte], locations: Seq[String], expires: Option[Instant])

/** How a query ended on the pool: what the task that waited for it gives back to the driver. */
sealed trait Outcome extends Serializable

/** Every result partition is stored. `rows` is negative when it is not known. */
final case class Succeeded(endpoints: Seq[ResultEndpoint], rows: Long, tasks: Long, executors: Long) extends Outcome

/** It succeeded with so few rows that the task which waited has read them. */
final case class Collected(rows: Array[UnsafeRow], tasks: Long, executors: Long) extends Outcome

/** It did not succeed; the fields are those of the pool's ErrorDetail. */
final case class Failed(failure: Failure) extends Outcome

/** Why. */
final case class Failure(
    code: String,
    message: String,
    retryable: Boolean,
    rejections: Seq[org.apache.comet.nativeexecutors.Unsupported],
    sparkErrorJson: String
)
