package org.apache.comet.nativeexecutors.pool

import scala.jdk.CollectionConverters._

import org.apache.arrow.flight.{FlightRuntimeException, FlightStatusCode}
import org.apache.comet.nativeexecutors._
import org.apache.comet.nativeexecutors.protocol.ErrorDetail
import org.apache.spark.sql.comet.nativeexecutors.SparkErrors

/** From the pool's typed errors to what a user of Spark sees. */
object Failures {
  private val trailer = "cne-error-bin"

  /** What a failed call says. `peer` is the address that was called. */
  def of(error: FlightRuntimeException, peer: String, security: Security): Failure = {
    val status = error.status()
    val refused = status.code() == FlightStatusCode.UNAUTHENTICATED
    val detail = Option(status.metadata()).filter(_.containsKey(trailer)).map(_.getByte(trailer))
    detail match {
      case Some(bytes) =>
        val said = of(ErrorDetail.parseFrom(bytes))
        if (refused) said.copy(message = s"${said.message}; ${security.identityHint}") else said
      case None if refused =>
        val text = s"$peer does not know who calls: ${security.identityHint}"
        Failure(Codes.Unauthenticated, text, retryable = false, Nil, "")
      case None =>
        Handshake.failure(error, peer).getOrElse {
          val retryable = Set(FlightStatusCode.UNAVAILABLE, FlightStatusCode.TIMED_OUT).contains(status.code())
          val text = Option(status.description()).getOrElse(error.getMessage)
          val hint = Handshake.hint(error, peer, security)
          Failure(Codes.Unreachable, s"$peer does not answer (${status.code()}): $text$hint", retryable, Nil, "")
        }
    }
  }

  /** What this driver itself has found, before or without a call. */
  def of(error: NativeExecutorsException): Failure = Failure(error.code, error.text, error.retryable, Nil, "")

  private def of(detail: ErrorDetail): Failure = {
    val rejections = detail.getRejectionsList.asScala.toSeq.map { r =>
      val where = if (r.getPath.isEmpty) "" else s" in ${r.getPath}"
      Unsupported(s"${r.getWhat}$where", r.getReason, r.getHint)
    }
    Failure(detail.getCode, detail.getMessage, detail.getRetryable, rejections, detail.getSparkErrorJson)
  }

  /** The exception for the user: Spark's own where the error is one of Spark's. */
  def exception(failure: Failure, cause: Option[Throwable] = None): Throwable =
    if (failure.sparkErrorJson.nonEmpty) {
      SparkErrors.of(failure.sparkErrorJson)
    } else if (failure.rejections.nonEmpty) {
      new NativeExecutorsUnsupportedException(failure.code, failure.rejections)
    } else {
      new NativeExecutorsException(failure.code, failure.message, failure.retryable, cause)
    }
}
