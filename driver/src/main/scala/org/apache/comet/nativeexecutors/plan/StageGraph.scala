package org.apache.comet.nativeexecutors.plan

import java.util.IdentityHashMap

import scala.collection.mutable

import com.google.protobuf.ByteString
import org.apache.comet.nativeexecutors.Unsupported
import org.apache.comet.nativeexecutors.protocol._
import org.apache.comet.serde.ExprOuterClass.Expr
import org.apache.comet.serde.OperatorOuterClass.Operator
import org.apache.spark.sql.catalyst.expressions.{Attribute, PlanExpression}
import org.apache.spark.sql.comet._
import org.apache.spark.sql.comet.execution.shuffle.{CometNativeShuffle, CometShuffleExchangeExec}
import org.apache.spark.sql.execution.{ScalarSubquery, SparkPlan}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/** Values that are known only when the query is executed. */
final case class Resolved(subqueries: Map[Long, Expr])

/**
 * Cuts a plan that Comet has converted into the stages of a `QueryRequest`.
 *
 * Without `resolved` it only checks: it collects every reason for a refusal and every scalar subquery, and reads no
 * scan data (reading it would run subqueries in the middle of planning).
 */
final class StageGraph(resolved: Option[Resolved]) {
  private val stages = mutable.ArrayBuffer.empty[Stage]
  private val found = mutable.LinkedHashSet.empty[Unsupported]
  private val byExprId = mutable.LinkedHashMap.empty[Long, ScalarSubquery]
  // One stage for one plan object. What is equal but not the same object is for the scheduler to find out.
  private val built = new IdentityHashMap[SparkPlan, Integer]

  /** Why the plan cannot run on the pool; empty when it can. */
  def problems: Seq[Unsupported] = found.toSeq

  /** The scalar subqueries whose values the stages need, one for each expression id. */
  def subqueries: Seq[ScalarSubquery] = byExprId.values.toSeq

  /** The stages in topological order for the plan's root. */
  def build(plan: SparkPlan): Seq[Stage] = {
    val root = Plans.strip(plan)
    if (Plans.isExchange(root)) passThrough(root) else stage(root)
    stages.toSeq
  }

  private def add(label: String, inputs: Seq[StageInput])(set: Stage.Builder => Stage.Builder): Int = {
    val builder = Stage.newBuilder().setLabel(label)
    inputs.foreach(builder.addInputs)
    stages += set(builder).build()
    stages.size - 1
  }

  private def addBlock(label: String, inputs: Seq[StageInput], operator: Operator, scans: Seq[ScanData] = Nil): Int = {
    val block = Block.newBuilder()
    resolved.foreach { values =>
      val sent = Messages.block(operator, values.subqueries)
      block.setOperator(ByteString.copyFrom(sent.toByteArray))
    }
    scans.foreach(block.addScans)
    add(label, inputs)(_.setBlock(block))
  }

  private def refuse(plan: SparkPlan): Int = {
    found ++= Plans.whyUnsupported(plan)
    // What is below may have reasons of its own.
    plan.children.foreach(child => edge(child))
    add(plan.nodeName, Nil)(identity)
  }

  private def stage(stripped: SparkPlan): Int = {
    val plan = Plans.strip(stripped)
    Option(built.get(plan)).map(_.intValue).getOrElse {
      val index = create(plan)
      built.put(plan, index)
      index
    }
  }

  private def create(plan: SparkPlan): Int = plan match {
    case n: CometNativeExec if n.serializedPlanOpt.isDefined => block(n)
    case u: CometUnionExec                                   =>
      found ++= Plans.whyUnionUnsupported(u)
      add(u.nodeName, u.children.map(forward))(_.setUnion(Union.getDefaultInstance))
    case c: CometCoalesceExec =>
      add(c.nodeName, Seq(forward(c.child)))(_.setCoalesce(Coalesce.newBuilder().setNumPartitions(c.numPartitions)))
    case t: CometTakeOrderedAndProjectExec                          => topK(t)
    case l: CometCollectLimitExec                                   => limit(l)
    case l: CometLocalTableScanExec                                 => inline(l, l.output, l.rows)
    case e: CometEmptyRelationExec                                  => inline(e, e.output, Nil)
    case one: CometSparkToColumnarExec if Plans.isOneRow(one.child) =>
      inline(one, one.output, Seq(org.apache.spark.sql.catalyst.InternalRow.empty))
    case other => refuse(other)
  }

  private def inline(
      plan: SparkPlan,
      output: Seq[Attribute],
      rows: Seq[org.apache.spark.sql.catalyst.InternalRow]
  ): Int = {
    val data = InlineData.newBuilder()
    if (resolved.isDefined) data.addPartitions(ByteString.copyFrom(InlineRows.stream(output, rows)))
    add(plan.nodeName, Nil)(_.setInlineData(data))
  }

  private def block(root: CometNativeExec): Int = {
    val inputs = mutable.ArrayBuffer.empty[SparkPlan]
    root.foreachUntilCometInput(root) {
      case _: CometNativeExec =>
      case input              => inputs += input
    }
    val inside = Blocks.nodes(root)
    inside.foreach(collectSubqueries)
    found ++= inside.flatMap(node => Plans.whyNodeUnsupported(node) ++ Plans.whyTextUnsupported(node))
    found ++= Blocks.unsupportedExpressions(root)
    val edges = inputs.map(edge).toSeq
    val scans = resolved.toSeq.flatMap(values => Blocks.scanData(root, inside, values.subqueries))
    addBlock(root.nodeName, edges, Blocks.operator(root), scans)
  }

  private def topK(t: CometTakeOrderedAndProjectExec): Int = {
    collectSubqueries(t)
    found ++= Plans.whyTextUnsupported(t)
    val input = t.child.output
    val all = for {
      local <- CometExecUtils.getTopKNativePlan(input, t.sortOrder, t.child, t.limit, 0)
      global <- CometExecUtils.getTopKNativePlan(input, t.sortOrder, t.child, t.limit, t.offset)
      projected <- CometExecUtils.getProjectionNativePlan(t.projectList, input, global)
    } yield (local, projected)
    all match {
      case Some((local, projected)) =>
        val first = addBlock(t.nodeName + " (each partition)", Seq(edge(t.child)), local)
        addBlock(t.nodeName, Seq(single(first)), projected)
      case None => refuse(t)
    }
  }

  private def limit(l: CometCollectLimitExec): Int = {
    val input = l.child.output
    val local = if (l.limit < 0) None else CometExecUtils.getLimitNativePlan(input, l.limit, 0)
    CometExecUtils.getLimitNativePlan(input, l.limit, l.offset) match {
      case Some(global) if l.limit < 0 || local.isDefined =>
        // Without a limit there is only an offset: every row goes to the one partition.
        val first = local match {
          case Some(operator) => addBlock(l.nodeName + " (each partition)", Seq(edge(l.child)), operator)
          case None           => unexchanged(l.child)
        }
        addBlock(l.nodeName, Seq(single(first)), global)
      case _ => refuse(l)
    }
  }

  private def single(producer: Int): StageInput = {
    val one = EdgePartitioning.message(org.apache.spark.sql.catalyst.plans.physical.SinglePartition, Nil)
    val shuffle = Shuffle.newBuilder().setOrigin(ShuffleOrigin.SHUFFLE_ORIGIN_ENSURE_REQUIREMENTS)
    one.foreach(message => shuffle.setPartitioning(ByteString.copyFrom(message.toByteArray)))
    StageInput.newBuilder().setProducer(producer).setShuffle(shuffle).build()
  }

  // A stage whose rows are those of an exchange: it copies its input.
  private def passThrough(exchange: SparkPlan): Int =
    addBlock(exchange.nodeName, Seq(edge(exchange)), Blocks.passThrough(exchange.output))

  private def unexchanged(plan: SparkPlan): Int = {
    val child = Plans.strip(plan)
    if (Plans.isExchange(child)) passThrough(child) else stage(child)
  }

  private def forward(plan: SparkPlan): StageInput =
    StageInput.newBuilder().setProducer(unexchanged(plan)).setForward(Forward.getDefaultInstance).build()

  private def edge(plan: SparkPlan): StageInput = Plans.strip(plan) match {
    case r: ReusedExchangeExec       => edge(r.child)
    case s: CometShuffleExchangeExec =>
      collectSubqueries(s)
      if (s.shuffleType != CometNativeShuffle) found += Plans.jvmShuffle(s)
      val shuffle = Shuffle.newBuilder().setOrigin(EdgePartitioning.origin(s.shuffleOrigin))
      EdgePartitioning.message(s.outputPartitioning, s.child.output) match {
        case Right(message) =>
          resolved.foreach { values =>
            shuffle.setPartitioning(ByteString.copyFrom(Messages.plain(message, values.subqueries).toByteArray))
          }
        case Left(problem) => found += problem
      }
      StageInput.newBuilder().setProducer(unexchanged(s.child)).setShuffle(shuffle).build()
    case b: CometBroadcastExchangeExec =>
      StageInput.newBuilder().setProducer(unexchanged(b.child)).setBroadcast(Broadcast.getDefaultInstance).build()
    case other => StageInput.newBuilder().setProducer(stage(other)).setForward(Forward.getDefaultInstance).build()
  }

  private def collectSubqueries(plan: SparkPlan): Unit = plan.expressions.foreach(_.foreach {
    case s: ScalarSubquery        => byExprId.getOrElseUpdate(s.exprId.id, s)
    case other: PlanExpression[_] => found += Plans.planExpression(plan, other)
    case _                        =>
  })
}
