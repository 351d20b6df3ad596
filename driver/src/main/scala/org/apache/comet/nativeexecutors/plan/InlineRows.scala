package org.apache.comet.nativeexecutors.plan

import java.io.ByteArrayOutputStream
import java.nio.channels.Channels

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.arrow.vector.VectorSchemaRoot
import org.apache.arrow.vector.ipc.ArrowStreamWriter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.comet.nativeexecutors.SparkInternals
import org.apache.spark.sql.execution.arrow.ArrowWriter

/** Rows that the driver holds, as Arrow IPC streams. */
object InlineRows {
  private val batchRows = 8192

  /** One IPC stream with the rows in order; without rows it is the schema alone. */
  def stream(output: Seq[Attribute], rows: Seq[InternalRow]): Array[Byte] = {
    val schema = SparkInternals.arrowSchema(output)
    val bytes = new ByteArrayOutputStream
    Using.Manager { use =>
      val allocator = use(SparkInternals.newAllocator("inline rows"))
      val root = use(VectorSchemaRoot.create(schema, allocator))
      val out = use(new ArrowStreamWriter(root, null, Channels.newChannel(bytes)))
      val writer = if (output.isEmpty) None else Some(ArrowWriter.create(root))
      out.start()
      rows.grouped(batchRows).foreach { group =>
        writer match {
          case Some(w) =>
            w.reset()
            group.foreach(w.write)
            w.finish()
          case None => root.getFieldVectors.asScala.foreach(_.reset())
        }
        root.setRowCount(group.size)
        out.writeBatch()
      }
      out.end()
    }.get
    bytes.toByteArray
  }
}
