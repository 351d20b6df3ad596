package org.apache.comet.nativeexecutors.pool

import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.arrow.flight._
import org.apache.comet.nativeexecutors.{Codes, NativeExecutorsException}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.comet.nativeexecutors.SparkInternals
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarBatch}

/**
 * Streams result partitions as rows, one batch in memory at a time. A row is valid until the next one is asked for.
 *
 * @param output
 *   what Spark expects; the stream's types are checked against it before the first row
 */
final class ResultReader(endpoints: Seq[ResultEndpoint], output: Seq[Attribute], context: TaskContext) {
  private val open = new AtomicReference[FlightStream]
  private val watch = TaskWatch.onKill(context)(Option(open.get()).foreach(_.cancel("the Spark task was killed", null)))
  context.addTaskCompletionListener[Unit] { _ =>
    watch.close()
    close()
  }

  /** The rows of all endpoints, in order. */
  def rows: Iterator[InternalRow] = endpoints.iterator.flatMap(rowsOf)

  private def rowsOf(endpoint: ResultEndpoint): Iterator[InternalRow] = {
    val stream = start(endpoint, endpoint.locations)
    check(stream)
    Iterator
      .continually(next(stream, endpoint))
      .takeWhile(identity)
      .flatMap { _ =>
        val root = stream.getRoot
        val columns: Array[ColumnVector] = root.getFieldVectors.asScala.map(new ArrowColumnVector(_)).toArray
        new ColumnarBatch(columns, root.getRowCount).rowIterator().asScala
      }
  }

  /** Any executor can serve any partition: when one does not answer, the next is asked, before the first row. */
  private def start(endpoint: ResultEndpoint, locations: Seq[String]): FlightStream = {
    SparkInternals.killIfInterrupted(context)
    val address = locations.headOption.getOrElse {
      throw new NativeExecutorsException(Codes.ResultGone, "the pool names no executor that serves the result", true)
    }
    val stream = Clients.get(address).getStream(new Ticket(endpoint.ticket))
    open.set(stream)
    try {
      stream.getSchema
      stream
    } catch {
      case e: FlightRuntimeException =>
        close()
        SparkInternals.killIfInterrupted(context)
        val failure = Failures.of(e, address)
        if (failure.code == Codes.Unreachable && failure.retryable && locations.size > 1)
          start(endpoint, locations.tail)
        else throw Failures.exception(failure, Some(e))
    }
  }

  private def next(stream: FlightStream, endpoint: ResultEndpoint): Boolean =
    try {
      val more = stream.next()
      if (!more) close()
      more
    } catch {
      case e: FlightRuntimeException =>
        SparkInternals.killIfInterrupted(context)
        throw Failures.exception(Failures.of(e, endpoint.locations.headOption.getOrElse("the pool")), Some(e))
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
  private def close(): Unit = Option(open.getAndSet(null)).foreach { stream =>
    try stream.close()
    catch { case _: InterruptedException => Thread.currentThread().interrupt() }
  }
}
