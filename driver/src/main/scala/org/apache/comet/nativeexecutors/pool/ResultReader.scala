package org.apache.comet.nativeexecutors.pool

import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicReference

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.arrow.flight._
import org.apache.comet.nativeexecutors.{Codes, NativeExecutorsException}
import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.comet.nativeexecutors.SparkInternals
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarBatch}

/**
 * Streams result partitions as rows, one batch in memory at a time. A row is valid until the next one is asked for.
 *
 * Any executor can serve any partition. When one is gone, the scheduler is asked for those that are there now, and the
 * next goes on behind the last row that was given.
 *
 * @param output
 *   what Spark expects; the stream's types are checked against it before the first row
 */
final class ResultReader(
    pool: PoolAddress,
    endpoints: Seq[ResultEndpoint],
    output: Seq[Attribute],
    context: TaskContext
) extends Logging {
  private val pauseMillis = 200L
  private val open = new AtomicReference[Open]
  private val watch =
    TaskWatch.onKill(context)(Option(open.get()).foreach(_.stream.cancel("the Spark task was killed", null)))
  context.addTaskCompletionListener[Unit] { _ =>
    watch.close()
    close()
  }

  /** The rows of all endpoints, in order. */
  def rows: Iterator[InternalRow] = endpoints.iterator.flatMap { endpoint =>
    val partition = new Partition(endpoint)
    Iterator.continually(partition.next()).takeWhile(_.isDefined).flatMap { batch =>
      batch.iterator.flatMap(_.rowIterator().asScala)
    }
  }

  /** One partition, wherever it is served. */
  private final class Partition(first: ResultEndpoint) {
    private var endpoint = first
    private var locations = first.locations
    private var stream: Option[FlightStream] = None
    // Rows of the batches that were handed out already.
    private var readRows = 0L
    private var awaySince: Option[Long] = None

    /** The next batch; `None` at the end. */
    @tailrec
    def next(): Option[ColumnarBatch] = {
      SparkInternals.killIfInterrupted(context)
      read() match {
        case Right(batch) =>
          awaySince = None
          batch
        case Left((failure, cause)) =>
          close()
          stream = None
          SparkInternals.killIfInterrupted(context)
          if (!canGoOn(failure)) throw Failures.exception(failure, cause)
          logDebug(s"result goes on elsewhere after $readRows rows: ${failure.message}")
          next()
      }
    }

    private def read(): Either[(Failure, Option[Throwable]), Option[ColumnarBatch]] =
      locations.headOption match {
        case None          => Left((ResultReader.nobodyServes, None))
        case Some(address) =>
          try Right(batch(stream.getOrElse(start(address))))
          catch {
            case e: FlightRuntimeException   => Left((Failures.of(e, address, pool.security), Some(e)))
            case e: NativeExecutorsException => Left((Failures.of(e), Some(e)))
          }
      }

    private def start(address: String): FlightStream = {
      val headers = new FlightCallHeaders()
      headers.insert("cne-skip-rows", readRows.toString)
      val connection = Clients.hold(pool.security, address)
      val started =
        try connection.client.getStream(new Ticket(endpoint.ticket), new HeaderCallOption(headers))
        catch {
          case NonFatal(e) =>
            connection.release()
            throw e
        }
      open.set(Open(started, connection))
      stream = Some(started)
      TaskWatch.within(ResultReader.stallMillis)(started.cancel("no row came", null))(started.getSchema)
      check(started)
      started
    }

    private def batch(from: FlightStream): Option[ColumnarBatch] =
      if (TaskWatch.within(ResultReader.stallMillis)(from.cancel("no row came", null))(from.next())) {
        val root = from.getRoot
        readRows += root.getRowCount
        val columns: Array[ColumnVector] = root.getFieldVectors.asScala.map(new ArrowColumnVector(_)).toArray
        Some(new ColumnarBatch(columns, root.getRowCount))
      } else {
        close()
        None
      }

    /** Turns to the next executor that may serve the rest, and says whether it is worth to go on. */
    private def canGoOn(failure: Failure): Boolean = {
      val now = System.nanoTime()
      val since = awaySince.getOrElse(now)
      val first = awaySince.isEmpty
      awaySince = Some(since)
      val patient = TimeUnit.NANOSECONDS.toMillis(now - since) < pool.recoveryMillis
      val elsewhere = failure.code match {
        case Codes.Unreachable => true
        case Codes.Untrusted   => locations.size > 1
        case Codes.Storage     => failure.retryable
        case Codes.ResultGone  => failure.retryable && failure == ResultReader.nobodyServes
        case _                 => false
      }
      if (elsewhere && patient) {
        locations = locations.drop(1)
        if (locations.isEmpty) {
          if (!first) Thread.sleep(pauseMillis)
          findAgain()
        }
      }
      elsewhere && patient
    }

    private def findAgain(): Unit =
      try {
        endpoint = Leases.renewed(pool, endpoint)
        locations = endpoint.locations
      } catch {
        // Away for now; asked again after the pause.
        case e @ (_: FlightRuntimeException | _: NativeExecutorsException) =>
          logDebug(s"no executor was named: ${e.getMessage}")
      }
  }

  private def check(stream: FlightStream): Unit = {
    val got =
      try SparkInternals.types(stream.getSchema)
      catch { case NonFatal(e) => throw schemaError(s"${stream.getSchema} has a type that Spark cannot read", Some(e)) }
    val same = got.size == output.size && got.zip(output).forall { case (a, b) =>
      SparkInternals.sameShape(a, b.dataType)
    }
    if (!same) {
      val want = output.map(a => s"${a.name} ${a.dataType.sql}").mkString(", ")
      throw schemaError(s"the result has the columns (${got.map(_.sql).mkString(", ")}), Spark expects ($want)", None)
    }
  }

  private def schemaError(text: String, cause: Option[Throwable]) =
    new NativeExecutorsException(Codes.ResultSchema, text, false, cause)

  // Ends the call too when it is not at its end, so that its sender does not wait.
  private def close(): Unit = Option(open.getAndSet(null)).foreach { ended =>
    try ended.stream.close()
    catch { case _: InterruptedException => Thread.currentThread().interrupt() }
    finally ended.connection.release()
  }
}

/** A stream and the connection that it needs. */
private final case class Open(stream: FlightStream, connection: Connection)

private object ResultReader {

  /** An executor that sends nothing for so long is taken for gone: it may be paused, or its machine lost. */
  val stallMillis = 30000L

  val nobodyServes: Failure =
    Failure(Codes.ResultGone, "the pool names no executor that serves the result", retryable = true, Nil, "")
}
