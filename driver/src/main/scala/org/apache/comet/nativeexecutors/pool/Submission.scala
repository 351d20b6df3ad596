package org.apache.comet.nativeexecutors.pool

import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Duration, Instant}
import java.util.Collections
import java.util.concurrent.TimeUnit

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.arrow.flight._
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.comet.nativeexecutors.{Codes, NativeExecutorsException}
import org.apache.comet.nativeexecutors.protocol.QueryProgress
import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.comet.nativeexecutors.SparkInternals

/**
 * Submits one request and waits for its end, inside a Spark task: when the task is killed, the query is cancelled on the
 * pool. A scheduler that has forgotten the query, because it was started again, gets the same request with what the one
 * before it said: it finds what the query has committed. What a query needs for that is asked for before it is submitted,
 * since the answer to its submission may be lost together with the scheduler.
 */
final class Submission(pool: PoolAddress, queryId: String, request: Array[Byte]) extends Logging {
  private val callSeconds = 30L
  private val pauseMillis = 200L
  private val submission = FlightDescriptor.command(request)

  // The last QueryProgress.resume; before the query was accepted, the answer to comet.prepare.
  private var resume: Option[String] = None
  private var submitted = false
  private var accepted = false

  /** The end of the query; does not throw for what the pool reports. */
  def run(context: TaskContext): Outcome = {
    // The other copy of a speculated task has its end already.
    val watch = TaskWatch.onKill(context)(if (!SparkInternals.isSuperseded(context)) cancel())
    try wait(context, submission, silentSince = None)
    finally watch.close()
  }

  @tailrec
  private def wait(context: TaskContext, descriptor: FlightDescriptor, silentSince: Option[Long]): Outcome = {
    SparkInternals.killIfInterrupted(context)
    poll(descriptor) match {
      case Right(info) if info.getFlightDescriptor.isPresent =>
        accepted = true
        resume = Some(progress(info.getFlightInfo).getResume)
        wait(context, info.getFlightDescriptor.get(), None)
      case Right(info)                              => succeeded(info.getFlightInfo)
      case Left(failure) if context.isInterrupted() =>
        SparkInternals.killIfInterrupted(context)
        Failed(failure)
      case Left(failure) if schedulerAway(failure) =>
        val since = silentSince.getOrElse(System.nanoTime())
        val patience = if (accepted) pool.recoveryMillis else pool.timeoutMillis
        if (TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - since) >= patience) Failed(failure)
        else {
          Thread.sleep(pauseMillis)
          // The id makes a second submission join the first, where that is known.
          wait(context, submission, Some(since))
        }
      case Left(failure) => Failed(failure)
    }
  }

  private def schedulerAway(failure: Failure): Boolean = failure.code match {
    case Codes.Unreachable  => failure.retryable
    case Codes.ShuttingDown => true
    // It was accepted, by a scheduler before this one.
    case Codes.UnknownQuery => accepted
    // It was trusted before: a certificate of one side has changed, and what fits to it is on its way.
    case Codes.Untrusted => accepted
    case _               => false
  }

  private def poll(descriptor: FlightDescriptor): Either[Failure, PollInfo] =
    try {
      val timeout = CallOptions.timeout(callSeconds, TimeUnit.SECONDS)
      Clients.call(pool.security, pool.url) { client =>
        if (descriptor eq submission) Right(client.pollInfo(descriptor, timeout, told(client, timeout)))
        else Right(client.pollInfo(descriptor, timeout))
      }
    } catch {
      case e: FlightRuntimeException   => Left(Failures.of(e, pool.url, pool.security))
      case e: NativeExecutorsException => Left(Failures.of(e))
    }

  // A query that was submitted before may have been run, whether or not there was an answer.
  private def told(client: FlightClient, timeout: CallOption): CallOption = {
    val text = resume.getOrElse {
      val answers = client.doAction(new Action("comet.prepare"), timeout)
      new String(answers.next().getBody, UTF_8)
    }
    resume = Some(text)
    val headers = new FlightCallHeaders()
    headers.insert(if (submitted) "cne-resume" else "cne-plan", text)
    submitted = true
    new HeaderCallOption(headers)
  }

  private def progress(info: FlightInfo): QueryProgress =
    QueryProgress.parseFrom(Option(info.getAppMetadata).getOrElse(Array.emptyByteArray))

  private def succeeded(info: FlightInfo): Outcome = {
    val end = progress(info)
    val endpoints = info.getEndpoints.asScala.toSeq.map(Submission.endpoint)
    Succeeded(endpoints, end.getResultRows, end.getTasksTotal.toLong, end.getExecutors.toLong)
  }

  private def cancel(): Unit =
    try {
      val descriptor = FlightDescriptor.path("query", queryId)
      val info = new FlightInfo(new Schema(Collections.emptyList()), descriptor, Collections.emptyList(), -1L, -1L)
      val timeout = CallOptions.timeout(5, TimeUnit.SECONDS)
      Clients.call(pool.security, pool.url)(_.cancelFlightInfo(new CancelFlightInfoRequest(info), timeout))
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
