package org.apache.comet.nativeexecutors.pool

import java.time.{Duration, Instant}
import java.util.Collections
import java.util.concurrent.TimeUnit

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.arrow.flight._
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.comet.nativeexecutors.Codes
import org.apache.comet.nativeexecutors.protocol.QueryProgress
import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.comet.nativeexecutors.SparkInternals

/**
 * Submits one request and waits for its end, inside a Spark task: when the task is killed, the query is cancelled on the
 * pool.
 *
 * @param url
 *   the scheduler
 * @param patienceMillis
 *   how long it may fail to answer at all
 */
final class Submission(url: String, queryId: String, request: Array[Byte], patienceMillis: Long) extends Logging {
  private val callSeconds = 30L

  /** The end of the query; does not throw for what the pool reports. */
  def run(context: TaskContext): Outcome = {
    val watch = TaskWatch.onKill(context)(cancel())
    try wait(context, FlightDescriptor.command(request), silentSince = None)
    finally watch.close()
  }

  @tailrec
  private def wait(context: TaskContext, descriptor: FlightDescriptor, silentSince: Option[Long]): Outcome = {
    SparkInternals.killIfInterrupted(context)
    poll(descriptor) match {
      case Right(info) if info.getFlightDescriptor.isPresent =>
        wait(context, info.getFlightDescriptor.get(), None)
      case Right(info)                              => succeeded(info.getFlightInfo)
      case Left(failure) if context.isInterrupted() =>
        SparkInternals.killIfInterrupted(context)
        Failed(failure)
      case Left(failure) if failure.code == Codes.Unreachable && failure.retryable =>
        val since = silentSince.getOrElse(System.nanoTime())
        if (TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - since) >= patienceMillis) Failed(failure)
        else {
          Thread.sleep(200)
          // The id makes a second submission join the first.
          wait(context, FlightDescriptor.command(request), Some(since))
        }
      case Left(failure) => Failed(failure)
    }
  }

  private def poll(descriptor: FlightDescriptor): Either[Failure, PollInfo] =
    try Right(Clients.get(url).pollInfo(descriptor, CallOptions.timeout(callSeconds, TimeUnit.SECONDS)))
    catch { case e: FlightRuntimeException => Left(Failures.of(e, url)) }

  private def succeeded(info: FlightInfo): Outcome = {
    val progress = QueryProgress.parseFrom(Option(info.getAppMetadata).getOrElse(Array.emptyByteArray))
    val endpoints = info.getEndpoints.asScala.toSeq.map(Submission.endpoint)
    Succeeded(endpoints, progress.getResultRows, progress.getTasksTotal.toLong, progress.getExecutors.toLong)
  }

  private def cancel(): Unit =
    try {
      val descriptor = FlightDescriptor.path("query", queryId)
      val info = new FlightInfo(new Schema(Collections.emptyList()), descriptor, Collections.emptyList(), -1L, -1L)
      Clients.get(url).cancelFlightInfo(new CancelFlightInfoRequest(info), CallOptions.timeout(5, TimeUnit.SECONDS))
    } catch {
      // The scheduler ends the query itself when nobody asks for it any more.
      case NonFatal(e) => logWarning(s"query $queryId could not be cancelled: ${e.getMessage}")
    }
}

object Submission {
  private[pool] def endpoint(e: FlightEndpoint): ResultEndpoint = ResultEndpoint(
    e.getTicket.getBytes,
    e.getLocations.asScala.toSeq.map(_.getUri.toString),
    Option(e.getExpirationTime.orElse(null)).map(corrected(_, Instant.now()))
  )

  /**
   * flight-core 18.3.0 adds the whole time since 1970 once more as nanoseconds, so that it reads twice the seconds. No
   * lease lasts for years.
   */
  private[pool] def corrected(read: Instant, now: Instant): Instant =
    if (read.isAfter(now.plus(Duration.ofDays(3650))))
      Instant.ofEpochSecond(read.getEpochSecond / 2, read.getNano.toLong)
    else read
}
