package org.apache.spark.sql.comet.nativeexecutors

import org.apache.spark.TaskContext

/** What only Spark can make. */
object TestTasks {

  /** A task's context without a task. */
  def context(): TaskContext = TaskContext.empty()
}
