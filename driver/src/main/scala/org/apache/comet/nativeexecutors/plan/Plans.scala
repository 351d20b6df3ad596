package org.apache.comet.nativeexecutors.plan

import org.apache.comet.ExtendedExplainInfo
import org.apache.comet.nativeexecutors.Unsupported
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, PlanExpression, ToPrettyString}
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning
import org.apache.spark.sql.comet._
import org.apache.spark.sql.comet.execution.shuffle.CometShuffleExchangeExec
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.WriteFilesExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, DateType, MapType, StringType, StructType}

/** What the nodes of a converted plan are to us. */
private[plan] object Plans {

  /** The plan below the nodes that only change the form of rows. */
  def strip(plan: SparkPlan): SparkPlan = plan match {
    case c: CometColumnarToRowExec       => strip(c.child)
    case c: CometNativeColumnarToRowExec => strip(c.child)
    case c: ColumnarToRowExec            => strip(c.child)
    case w: WholeStageCodegenExec        => strip(w.child)
    case i: InputAdapter                 => strip(i.child)
    case s: CometSinkPlaceHolder         => strip(s.child)
    case other                           => other
  }

  def isExchange(plan: SparkPlan): Boolean = plan match {
    case _: CometShuffleExchangeExec | _: CometBroadcastExchangeExec | _: ReusedExchangeExec => true
    case _                                                                                   => false
  }

  /** `SELECT 1` has such a leaf: one row without columns. */
  def isOneRow(plan: SparkPlan): Boolean = plan match {
    case _: OneRowRelationExec => true
    case r: RDDScanExec        => r.output.isEmpty && r.name == "OneRowRelation"
    case _                     => false
  }

  /** A node that is not native, with what we or Comet know about it. */
  def whyUnsupported(plan: SparkPlan): Seq[Unsupported] = {
    // Comet's reasons would name settings of its own that do not help here.
    lazy val reasons = new ExtendedExplainInfo().fallbackReasons(plan).toSeq.sorted
    known(plan).map(Seq(_)).getOrElse {
      if (reasons.nonEmpty) reasons.map(reason => Unsupported(plan.nodeName, withExpressions(plan, reason)))
      else Seq(Unsupported(plan.nodeName, s"the pool has no such operator (${plan.getClass.getName})"))
    }
  }

  // "Project is not supported" is said when it is one of its expressions that has no message.
  private def withExpressions(plan: SparkPlan, reason: String): String =
    if (reason != s"${plan.nodeName} is not supported" || plan.expressions.isEmpty) reason
    else s"$reason with ${plan.expressions.map(_.sql).mkString(", ").take(200)}"

  private def known(plan: SparkPlan): Option[Unsupported] = plan match {
    case _: CometInMemoryTableScanExec | _: columnar.InMemoryTableScanExec =>
      Some(Unsupported(plan.nodeName, "cached rows are in the driver's memory", "unpersist the data frame"))
    case _: WriteFilesExec | _: command.DataWritingCommandExec | _: CometNativeWriteExec | _: CometWriteFilesExec =>
      Some(Unsupported(plan.nodeName, "the pool does not write tables"))
    case _: datasources.v2.V2TableWriteExec => Some(Unsupported(plan.nodeName, "the pool does not write tables"))
    case s: CometSparkToColumnarExec        =>
      Some(Unsupported(s"${plan.nodeName} of ${s.child.nodeName}", "its rows are made by the JVM"))
    case _ => None
  }

  /** A native node that the pool does not take although Comet converts it. */
  def whyNodeUnsupported(plan: CometNativeExec): Seq[Unsupported] = plan match {
    case s: CometNativeScanExec =>
      val bucketed = if (s.bucketedScan) {
        val reason = "a scan by buckets is partitioned by Spark's table layout"
        Seq(Unsupported(s.nodeName, reason, "SET spark.sql.sources.bucketing.enabled=false"))
      } else Nil
      bucketed ++ Storage.unsupported(s)
    case _: CometRangeExec   => Nil
    case leaf: CometLeafExec => Seq(known(leaf).getOrElse(Unsupported(leaf.nodeName, "the pool reads Parquet only")))
    case _                   => Nil
  }

  private def holdsDates(dataType: DataType): Boolean = dataType match {
    case DateType           => true
    case array: ArrayType   => holdsDates(array.elementType)
    case map: MapType       => holdsDates(map.keyType) || holdsDates(map.valueType)
    case struct: StructType => struct.exists(field => holdsDates(field.dataType))
    case _                  => false
  }

  /** Under the LEGACY policy Spark writes dates by the older calendar, and no message says so. */
  def whyTextUnsupported(plan: SparkPlan): Seq[Unsupported] = {
    val policy = SQLConf.LEGACY_TIME_PARSER_POLICY
    def writesDates(expression: Expression): Boolean = expression match {
      case _: Cast | _: ToPrettyString => expression.children.exists(child => holdsDates(child.dataType))
      case _                           => false
    }
    def writes = plan.expressions.exists(_.exists(e => writesDates(e) && e.dataType == StringType))
    if (plan.conf.getConf(policy).toString == "LEGACY" && writes) {
      Seq(Unsupported(s"${plan.nodeName}: a date as text", s"${policy.key} is LEGACY", s"SET ${policy.key}=CORRECTED"))
    } else Nil
  }

  /**
   * Spark leaves an exchange out where the children of a union are partitioned alike: then each partition of the union has
   * to hold one partition of each child.
   */
  def whyUnionUnsupported(union: CometUnionExec): Seq[Unsupported] = {
    val spark = union.originalPlan match {
      case original: UnionExec => original.outputPartitioning
      case _                   => union.outputPartitioning
    }
    spark match {
      case _: UnknownPartitioning => Nil
      case partitioning           =>
        val reason = s"it relies on its children being partitioned alike ($partitioning)".take(300)
        Seq(Unsupported(union.nodeName, reason, "SET spark.sql.unionOutputPartitioning=false"))
    }
  }

  def jvmShuffle(exchange: CometShuffleExchangeExec): Unsupported = {
    val reasons = new ExtendedExplainInfo().fallbackReasons(exchange).toSeq.sorted
    val why = if (reasons.isEmpty) "its rows would go through the JVM" else reasons.mkString("; ")
    Unsupported(s"${exchange.nodeName} (JVM shuffle)", why, "SET spark.comet.shuffle.mode=native")
  }

  def jvmExpression(root: SparkPlan): Unsupported = {
    val names = new ExtendedExplainInfo().getCodegenDispatchExpressions(root).distinct
    val what = if (names.isEmpty) s"an expression below ${root.nodeName}" else names.mkString(", ")
    Unsupported(what, "Comet runs it in the JVM, which executors do not have")
  }

  def planExpression(plan: SparkPlan, expression: PlanExpression[_]): Unsupported =
    Unsupported(s"${plan.nodeName}: ${expression.getClass.getSimpleName}", "only scalar subqueries are taken")
}
