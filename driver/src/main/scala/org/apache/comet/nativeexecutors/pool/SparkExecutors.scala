package org.apache.comet.nativeexecutors.pool

import java.util.UUID
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean

import scala.util.control.NonFatal

import org.apache.comet.nativeexecutors.{Codes, NativeExecutorsException, Settings}
import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.comet.nativeexecutors.SparkInternals

/**
 * Queries are waited for by tasks of the Spark application. Spark itself would wait for an executor for ever; this waits
 * for a time: with dynamic allocation the first executor is asked for only when there is a task for it.
 */
private[pool] object SparkExecutors extends Logging {
  private val everyMillis = 500L
  private val warnMillis = 30000L

  /** Runs a job of this thread, and cancels it when the application is without executors for so long. */
  def run[T](sc: SparkContext, patienceMillis: Long)(job: => T): T =
    if (sc.isLocal) job
    else {
      val tag = s"comet-native-executors-${UUID.randomUUID()}"
      val starved = new AtomicBoolean
      val executors = new Watch(sc, patienceMillis, tag, starved)
      val watch = TaskWatch.every(everyMillis)(executors.check())
      sc.addJobTag(tag)
      try job
      catch {
        case NonFatal(e) if starved.get() =>
          val text =
            s"the Spark application had no executor for $patienceMillis ms: one of them has to wait for the query " +
              s"and read its rows. Look at the cluster manager's workers and at ${Settings.SparkExecutorTimeout.key}, or use a local[N] driver"
          throw new NativeExecutorsException(Codes.NoSparkExecutor, text, retryable = true, Some(e))
      } finally {
        sc.removeJobTag(tag)
        watch.close()
      }
    }

  private final class Watch(sc: SparkContext, patienceMillis: Long, tag: String, starved: AtomicBoolean) {
    private var since = System.nanoTime()
    private var warned = 0L

    def check(): Unit = {
      val now = System.nanoTime()
      if (SparkInternals.hasExecutors(sc)) since = now
      val away = TimeUnit.NANOSECONDS.toMillis(now - since)
      if (away >= patienceMillis) {
        starved.set(true)
        // Again and again: the job may not have been submitted yet.
        sc.cancelJobsWithTag(tag, "the application has no executor")
      } else if (away / warnMillis > warned) {
        warned = away / warnMillis
        logWarning(
          s"a query waits for an executor of this Spark application: none for ${away / 1000} s, at most ${patienceMillis / 1000} s"
        )
      }
    }
  }
}
