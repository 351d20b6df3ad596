package org.apache.comet.nativeexecutors.pool

import java.util.concurrent.{ConcurrentHashMap, ScheduledThreadPoolExecutor, ThreadFactory, TimeUnit}

import scala.util.control.NonFatal

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging

/**
 * Runs an action soon after a Spark task was killed. A task that waits for the network does not see Spark's flag itself,
 * and Spark interrupts its thread only when it was asked to.
 */
object TaskWatch extends Logging {
  private val everyMillis = 100L
  private final class Watch(val context: TaskContext, val onKill: () => Unit)
  private val watches = ConcurrentHashMap.newKeySet[Watch]()

  private lazy val timer = {
    val one = new ScheduledThreadPoolExecutor(
      1,
      { (task: Runnable) =>
        val thread = new Thread(task, "comet-native-executors-task-watch")
        thread.setDaemon(true)
        thread
      }: ThreadFactory
    )
    // There is a timeout for every batch of a result.
    one.setRemoveOnCancelPolicy(true)
    one
  }
  private lazy val started =
    timer.scheduleWithFixedDelay(() => check(), everyMillis, everyMillis, TimeUnit.MILLISECONDS)

  /**
   * Calls `onKill` once if the task is killed before the returned handle is closed. It runs on another thread: that of a
   * killed task may be interrupted, so that none of its calls would get through.
   */
  def onKill(context: TaskContext)(onKill: => Unit): AutoCloseable = {
    started
    val watch = new Watch(context, () => onKill)
    watches.add(watch)
    () => if (context.isInterrupted()) timer.execute(() => run(watch)) else watches.remove(watch)
  }

  /** Runs `check` again and again until the returned handle is closed. */
  def every(millis: Long)(check: => Unit): AutoCloseable = {
    val quiet: Runnable = () =>
      try check
      catch { case NonFatal(e) => logWarning("could not look after a job", e) }
    val running = timer.scheduleWithFixedDelay(quiet, millis, millis, TimeUnit.MILLISECONDS)
    () => running.cancel(false)
  }

  /** Runs `action`, and `onStall` on another thread when it has not ended within the time. */
  def within[T](millis: Long)(onStall: => Unit)(action: => T): T = {
    val stalled: Runnable = () =>
      try onStall
      catch { case NonFatal(e) => logWarning("could not stop what has stalled", e) }
    val timeout = timer.schedule(stalled, millis, TimeUnit.MILLISECONDS)
    try action
    finally timeout.cancel(false)
  }

  private def check(): Unit = watches.forEach(watch => if (watch.context.isInterrupted()) run(watch))

  private def run(watch: Watch): Unit = if (watches.remove(watch)) {
    try watch.onKill()
    catch { case NonFatal(e) => logWarning("could not cancel what a killed task was waiting for", e) }
  }
}
