package org.apache.spark.sql.comet.nativeexecutors

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.{ExecutorAllocationClient, SparkConf, SparkContext, TaskContext}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.types.{DataType, StructField, StructType}
import org.apache.spark.sql.util.ArrowUtils

/** The members of Spark that are visible below `org.apache.spark` only. */
object SparkInternals {

  /** The live configuration: what a plugin sets in it is seen by sessions. */
  def conf(context: SparkContext): SparkConf = context.conf

  /** Ends a task that Spark has killed, the way Spark's own tasks end. */
  def killIfInterrupted(context: TaskContext): Unit = context.killTaskIfInterrupted()

  /** Whether another copy of the task has ended, and this one was killed for that. */
  def isSuperseded(context: TaskContext): Boolean = context.getKillReason().contains("another attempt succeeded")

  /** Whether the application has an executor now. */
  def hasExecutors(context: SparkContext): Boolean = context.schedulerBackend match {
    case backend: ExecutorAllocationClient => backend.getExecutorIds().nonEmpty
    // One is the driver's.
    case _ => context.getExecutorMemoryStatus.size > 1
  }

  /** The Arrow schema of the attributes; timestamps are in UTC, as in Comet's messages. */
  def arrowSchema(output: Seq[Attribute]): Schema = {
    val fields = output.zipWithIndex.map { case (a, i) => StructField(s"c$i", a.dataType, a.nullable) }
    ArrowUtils.toArrowSchema(StructType(fields), "UTC", true, false)
  }

  /** Off-heap memory that is counted on its own; closing it finds what was not released. */
  def newAllocator(name: String): BufferAllocator = ArrowUtils.rootAllocator.newChildAllocator(name, 0, Long.MaxValue)

  /** Spark's types of an Arrow schema. */
  def types(schema: Schema): Seq[DataType] = ArrowUtils.fromArrowSchema(schema).fields.map(_.dataType).toSeq

  /** Whether rows of one type can be read as the other: all but names and nullability is equal. */
  def sameShape(a: DataType, b: DataType): Boolean = DataType.equalsStructurally(a, b, ignoreNullability = true)
}
