package org.apache.comet.nativeexecutors.pool

import org.apache.comet.nativeexecutors.protocol.QueryRequest
import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.metric.SQLMetric

/** The one partition of a waiting job. */
private case object WaitPartition extends Partition { override def index: Int = 0 }

/** A job with one task that submits a request and waits for the end of the query; up to `few` rows it reads too. */
private final class WaitRDD(
    sc: SparkContext,
    pool: PoolAddress,
    queryId: String,
    request: Array[Byte],
    output: Seq[Attribute],
    rowsRead: SQLMetric,
    few: Long
) extends RDD[Outcome](sc, Nil) {
  override protected def getPartitions: Array[Partition] = Array(WaitPartition)
  override def compute(split: Partition, context: TaskContext): Iterator[Outcome] =
    Iterator.single(new Submission(pool, queryId, request).run(context) match {
      case Succeeded(endpoints, rows, tasks, executors) if rows >= 0 && rows <= few =>
        val read = ResultRows(pool, endpoints, output, split.index, context, rowsRead)
        Collected(read.map(_.copy()).toArray, tasks, executors)
      case other => other
    })
}

private object ResultRows {

  /** Rows of some result partitions, in order. A row is valid until the next one is asked for. */
  def apply(
      pool: PoolAddress,
      endpoints: Seq[ResultEndpoint],
      output: Seq[Attribute],
      index: Int,
      context: TaskContext,
      rowsRead: SQLMetric
  ): Iterator[UnsafeRow] = {
    val project = UnsafeProjection.create(output, output)
    project.initialize(index)
    new ResultReader(pool, endpoints, output, context).rows.map { row =>
      rowsRead += 1
      project(row)
    }
  }
}

/** Some neighbouring partitions of a result, read by one task. Renewing a lease replaces the endpoints. */
final class ResultPartition(override val index: Int, @volatile var endpoints: Seq[ResultEndpoint]) extends Partition

/** What a result has to tell besides its rows. */
final case class ResultMetrics(rows: SQLMetric, tasks: SQLMetric, executors: SQLMetric, publish: () => Unit)

/**
 * The rows of one query. Its partitions are known when the query has ended, so the first to ask for them waits; Spark
 * asks on the thread of the action, before it starts the action's job.
 *
 * @param request
 *   called once
 * @param rowsPerTask
 *   joins neighbouring partitions up to about so many rows; `None` keeps each partition, where the user can see them
 */
final class ResultRDD(
    sc: SparkContext,
    output: Seq[Attribute],
    rowsRead: SQLMetric,
    pool: PoolAddress,
    @transient private val request: () => QueryRequest,
    @transient private val rowsPerTask: Option[Long],
    @transient private val metrics: ResultMetrics
) extends RDD[InternalRow](sc, Nil) {

  @transient private var waited: Option[Succeeded] = None

  /** All rows, if there are at most `few`. Otherwise they are read as those of any RDD, without a further execution. */
  def collectFew(few: Long): Option[Array[InternalRow]] = run(few) match {
    case Collected(rows, _, _) => Some(rows.toArray[InternalRow])
    case succeeded: Succeeded  =>
      waited = Some(succeeded)
      None
    case Failed(failure) => throw Failures.exception(failure)
  }

  override protected def getPartitions: Array[Partition] =
    waited.getOrElse(run(few = -1)) match {
      case Succeeded(endpoints, rows, _, _) =>
        val partitions = grouped(endpoints, rows)
        Leases.keep(this, pool, partitions)
        partitions.asInstanceOf[Array[Partition]]
      case Failed(failure) => throw Failures.exception(failure)
      case _: Collected    => throw new IllegalStateException("rows were read that nobody asked for")
    }

  private def run(few: Long): Outcome = {
    val message = request()
    val (id, bytes) = (message.getQueryId, message.toByteArray)
    val waiting = new WaitRDD(sparkContext, pool, id, bytes, output, rowsRead, few)
    waiting.setName(s"waits for query $id on the pool")
    val outcome = SparkExecutors.run(sparkContext, pool.sparkExecutorMillis) {
      sparkContext.runJob(waiting, (outcomes: Iterator[Outcome]) => outcomes.next()).head
    }
    outcome match {
      case Succeeded(_, _, tasks, executors) => publish(tasks, executors)
      case Collected(_, tasks, executors)    => publish(tasks, executors)
      case _: Failed                         =>
    }
    outcome
  }

  private def publish(tasks: Long, executors: Long): Unit = {
    metrics.tasks.set(tasks)
    metrics.executors.set(executors)
    metrics.publish()
  }

  // A task for every few rows would cost more than the rows.
  private def grouped(endpoints: Seq[ResultEndpoint], rows: Long): Array[ResultPartition] = {
    val wanted = rowsPerTask match {
      case Some(perTask) if rows >= 0 => math.max(1L, (rows + perTask - 1) / perTask)
      case _                          => endpoints.size.toLong
    }
    val count = math.min(endpoints.size.toLong, wanted).toInt
    Array.tabulate(count) { i =>
      val from = (i.toLong * endpoints.size / count).toInt
      val until = ((i + 1).toLong * endpoints.size / count).toInt
      new ResultPartition(i, endpoints.slice(from, until))
    }
  }

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    ResultRows(pool, split.asInstanceOf[ResultPartition].endpoints, output, split.index, context, rowsRead)
}
