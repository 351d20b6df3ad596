package org.apache.comet.nativeexecutors.plan

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.google.protobuf.ByteString
import org.apache.comet.nativeexecutors.Unsupported
import org.apache.comet.nativeexecutors.protocol.ScanData
import org.apache.comet.serde.ExprOuterClass.{BoundReference, Expr}
import org.apache.comet.serde.OperatorOuterClass.{Operator, Projection, Scan}
import org.apache.comet.serde.QueryPlanSerde
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.comet._
import org.apache.spark.sql.execution.SparkPlan

/** What is inside one native block. */
private[plan] object Blocks {

  /** The native nodes of the block, root first. */
  def nodes(root: CometNativeExec): Seq[CometNativeExec] = {
    val all = mutable.ArrayBuffer.empty[CometNativeExec]
    root.foreachUntilCometInput(root) { case n: CometNativeExec => all += n; case _ => }
    def walk(plan: SparkPlan): Unit = plan match {
      case n: CometNativeExec =>
        if (!all.exists(_ eq n)) all += n
        n.children.foreach(walk)
      case _ =>
    }
    walk(root)
    all.toSeq
  }

  /** The block's message as Comet serialized it. */
  def operator(root: CometNativeExec): Operator =
    root.serializedPlanOpt.plan.map(Operator.parseFrom).getOrElse(root.nativeOp)

  /** What Comet would run in a JVM from native code, by name. */
  def unsupportedExpressions(root: CometNativeExec): Seq[Unsupported] =
    Messages.expressions(operator(root)) {
      case e if e.hasJvmScalarUdf    => Plans.jvmExpression(root)
      case e if e.hasNativeScalarUdf => Unsupported("a native user-defined function", "the pool loads no foreign code")
    }

  /** The data of the block's Parquet scans, in the order of the `native_scan` leaves. */
  def scanData(root: CometNativeExec, inside: Seq[CometNativeExec], subqueries: Map[Long, Expr]): Seq[ScanData] = {
    val waiting = mutable.ArrayBuffer.from(inside.collect { case s: CometNativeScanExec => s })
    leaves(operator(root)).map { leaf =>
      val at = waiting.indexWhere { scan =>
        scan.nativeOp.getPlanId == leaf.getPlanId &&
        scan.nativeOp.getNativeScan.getSourceKeyHash == leaf.getNativeScan.getSourceKeyHash
      }
      if (at < 0) throw new IllegalStateException(s"the block has no data for its scan ${leaf.getPlanId}")
      val scan = waiting.remove(at)
      val common = Messages.scanCommon(scan.commonData, subqueries, Calendars.modes(scan))
      val data = ScanData.newBuilder().setCommon(ByteString.copyFrom(common.toByteArray))
      scan.perPartitionData.foreach(partition => data.addPartitions(ByteString.copyFrom(partition)))
      data.build()
    }
  }

  private def leaves(operator: Operator): Seq[Operator] =
    if (operator.hasNativeScan) Seq(operator) else operator.getChildrenList.asScala.toSeq.flatMap(leaves)

  /** A block that gives its one input unchanged. */
  def passThrough(output: Seq[Attribute]): Operator = {
    val types = output.map { attribute =>
      QueryPlanSerde.serializeDataType(attribute.dataType).getOrElse {
        throw new IllegalStateException(s"Comet has no message for the type ${attribute.dataType.sql}")
      }
    }
    val scan = Scan.newBuilder().setSource("exchange")
    val projection = Projection.newBuilder()
    types.zipWithIndex.foreach { case (t, i) =>
      scan.addFields(t)
      projection.addProjectList(Expr.newBuilder().setBound(BoundReference.newBuilder().setIndex(i).setDatatype(t)))
    }
    Operator.newBuilder().addChildren(Operator.newBuilder().setScan(scan)).setProjection(projection).build()
  }
}
