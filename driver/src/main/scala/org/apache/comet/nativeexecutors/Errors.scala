package org.apache.comet.nativeexecutors

import org.apache.spark.{SparkException, SparkThrowable}

/** A part of a plan that does not run on the pool. */
final case class Unsupported(what: String, reason: String, hint: String = "") {
  override def toString: String = {
    val why = if (reason.isEmpty) "" else s": $reason"
    if (hint.isEmpty) s"$what$why" else s"$what$why ($hint)"
  }
}

/**
 * The query as a whole is refused, before anything was executed: every reason is named. PySpark shows it as its own
 * `UnsupportedOperationException`.
 */
final class NativeExecutorsUnsupportedException(val code: String, val reasons: Seq[Unsupported])
    extends UnsupportedOperationException(NativeExecutorsUnsupportedException.text(code, reasons))
    with SparkThrowable {
  // Spark's own list of conditions does not have it.
  override def getCondition: String = null
}

object NativeExecutorsUnsupportedException {
  private val shown = 20

  private def text(code: String, reasons: Seq[Unsupported]): String = {
    val lines = reasons.distinct.map(reason => s"\n  - $reason")
    val more = if (lines.size > shown) s"\n  - and ${lines.size - shown} more" else ""
    s"[$code] Comet Native Executors do not run this query:${lines.take(shown).mkString}$more\n" +
      s"SET ${Settings.Enabled.key}=false runs it in Spark."
  }
}

/**
 * A query failed for a reason that is not Spark's own.
 *
 * @param code
 *   `CNE-nnnn`, see docs/errors.md
 * @param retryable
 *   whether the same query may succeed when it is run again
 */
final class NativeExecutorsException(
    val code: String,
    val text: String,
    val retryable: Boolean,
    cause: Option[Throwable] = None
) extends SparkException(s"[$code] $text", cause.orNull)

/** Codes that the driver itself raises. */
object Codes {
  val Unsupported = "CNE-1012"
  val Unreachable = "CNE-5001"
  val ResultSchema = "CNE-5002"
  val Connection = "CNE-5003"
  val Untrusted = "CNE-5004"
  val Unauthenticated = "CNE-5005"
  val NoSparkExecutor = "CNE-5006"
  val ResultGone = "CNE-4004"
  // Of the scheduler and the executors.
  val UnknownQuery = "CNE-1014"
  val Storage = "CNE-2007"
  val ShuttingDown = "CNE-3006"
}
