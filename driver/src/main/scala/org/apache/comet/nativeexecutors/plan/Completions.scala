package org.apache.comet.nativeexecutors.plan

import scala.annotation.tailrec

import org.apache.comet.CometExplainInfo
import org.apache.comet.rules.CometExecRule
import org.apache.comet.serde.OperatorOuterClass.{JoinType => WireJoin, Operator}
import org.apache.comet.serde.operator.CometSink
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.{Cross, ExistenceJoin, Inner, LeftSemi}
import org.apache.spark.sql.catalyst.plans.physical.IdentityBroadcastMode
import org.apache.spark.sql.comet._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins._

/**
 * Finishes the conversion of a plan where Comet 1.2.0 has left a node to Spark although its messages can say it. It runs
 * after Comet's rule, and has Comet's rule convert whatever is above a node that it has finished.
 *
 *   - `CROSS JOIN` of any algorithm: Comet knows `Inner` and not `Cross`, which differ in the SQL text alone.
 *   - `CartesianProductExec`: Comet has no such node. It is a nested loop over one side that every task has. Rows and
 *     their multiplicity are the same; a Cartesian product promises neither partitions nor an order.
 *   - An existence join (`EXISTS` under OR) that is a sort-merge, shuffled hash or nested loop join, or a broadcast hash
 *     join with a further condition or computed keys: Comet converts only the simplest broadcast hash join, for lack of
 *     such a join in the engine that it links. It is the message of the semi join of the same keys and condition under
 *     another type; all rows of the left side come out, with a column that says whether the semi join would keep them.
 */
final class Completions(session: SparkSession) {
  import Completions._

  /** The plan with every node finished that can be; the plan itself when there is none. */
  def apply(plan: SparkPlan): SparkPlan = {
    val rewritten = plan.transformUp(convertible)
    markJoins(if (rewritten eq plan) plan else converted(rewritten))
  }

  // Comet converts what is above a finished join, so that the next one's sides may have become native.
  @tailrec
  private def markJoins(plan: SparkPlan): SparkPlan = {
    val next = plan.transformUp {
      case join: BaseJoinExec if isExistence(join) && join.children.forall(isNative) => marked(join).getOrElse(join)
    }
    if (next eq plan) plan else markJoins(converted(next))
  }

  private def marked(join: BaseJoinExec): Option[SparkPlan] =
    semiJoin(join).map(converted).flatMap {
      case n: CometSortMergeJoinExec =>
        val message = n.nativeOp.getSortMergeJoin.toBuilder.setJoinType(WireJoin.Existence)
        val op = n.nativeOp.toBuilder.setSortMergeJoin(message).build()
        Some(n.copy(op, join, join.output, joinType = join.joinType, serializedPlanOpt = notSerialized))
      case n: CometHashJoinExec =>
        val op = markHashJoin(n.nativeOp)
        Some(n.copy(op, join, join.output, joinType = join.joinType, serializedPlanOpt = notSerialized))
      case n: CometBroadcastHashJoinExec =>
        val op = markHashJoin(n.nativeOp)
        Some(n.copy(op, join, join.output, joinType = join.joinType, serializedPlanOpt = notSerialized))
      case n: CometBroadcastNestedLoopJoinExec =>
        val message = n.nativeOp.getBroadcastNestedLoopJoin.toBuilder.setJoinType(WireJoin.Existence)
        val op = n.nativeOp.toBuilder.setBroadcastNestedLoopJoin(message).build()
        Some(n.copy(op, join, join.output, joinType = join.joinType, serializedPlanOpt = notSerialized))
      // Its keys or its condition are not native either; Comet's reason is on the node that it leaves.
      case left =>
        left.getTagValue(CometExplainInfo.FALLBACK_REASONS)
          .foreach(join.setTagValue(CometExplainInfo.FALLBACK_REASONS, _))
        None
    }

  /** Comet's conversion once more. What it found out about nodes above leaves the first time counts no longer. */
  private def converted(plan: SparkPlan): SparkPlan = {
    val ready = plan.transformUp {
      case p if !p.isInstanceOf[CometPlan] && p.children.exists(isSink) => p.withNewChildren(p.children.map(asInput))
    }
    ready.foreach(p => if (p.children.nonEmpty) verdicts.foreach(tag => p.unsetTagValue(tag)))
    CometExecRule(session).apply(ready)
  }
}

private object Completions {
  private val verdicts = Seq(
    CometExplainInfo.FALLBACK_REASONS,
    CometExecRule.COMET_UNSAFE_PARTIAL,
    CometExecRule.SKIP_COMET_SHUFFLE_TAG,
    CometExecRule.SKIP_COMET_BROADCAST_TAG
  )

  private def notSerialized = SerializedPlan(None)

  /** Nodes for which there is an equal one that Comet converts. */
  private val convertible: PartialFunction[SparkPlan, SparkPlan] = {
    case j: SortMergeJoinExec if j.joinType == Cross           => j.copy(joinType = Inner)
    case j: ShuffledHashJoinExec if j.joinType == Cross        => j.copy(joinType = Inner)
    case j: BroadcastHashJoinExec if j.joinType == Cross       => j.copy(joinType = Inner)
    case j: BroadcastNestedLoopJoinExec if j.joinType == Cross => j.copy(joinType = Inner)
    case product: CartesianProductExec                         =>
      def everywhere(side: SparkPlan) = BroadcastExchangeExec(IdentityBroadcastMode, side)
      smaller(product) match {
        case BuildLeft =>
          BroadcastNestedLoopJoinExec(everywhere(product.left), product.right, BuildLeft, Inner, product.condition)
        case BuildRight =>
          BroadcastNestedLoopJoinExec(product.left, everywhere(product.right), BuildRight, Inner, product.condition)
      }
  }

  // Every task holds that side in memory.
  private def smaller(product: CartesianProductExec): BuildSide = {
    def bytes(side: SparkPlan) = side.logicalLink.map(_.stats.sizeInBytes)
    (bytes(product.left), bytes(product.right)) match {
      case (Some(left), Some(right)) if left < right => BuildLeft
      case _                                         => BuildRight
    }
  }

  private def isExistence(join: BaseJoinExec): Boolean = join.joinType.isInstanceOf[ExistenceJoin]

  private def semiJoin(join: BaseJoinExec): Option[SparkPlan] = join match {
    case j: SortMergeJoinExec                                        => Some(j.copy(joinType = LeftSemi))
    case j: ShuffledHashJoinExec if j.buildSide == BuildRight        => Some(j.copy(joinType = LeftSemi))
    case j: BroadcastHashJoinExec if j.buildSide == BuildRight       => Some(j.copy(joinType = LeftSemi))
    case j: BroadcastNestedLoopJoinExec if j.buildSide == BuildRight => Some(j.copy(joinType = LeftSemi))
    case _                                                           => None
  }

  private def markHashJoin(op: Operator): Operator =
    op.toBuilder.setHashJoin(op.getHashJoin.toBuilder.setJoinType(WireJoin.Existence)).build()

  private def isNative(plan: SparkPlan): Boolean = plan match {
    case b: BroadcastExchangeExec => isNative(b.child)
    case _                        => plan.isInstanceOf[CometPlan]
  }

  /** A part of Comet's plan that is an input of a native block and not inside one: an exchange, a union and the like. */
  private def isSink(plan: SparkPlan): Boolean = plan.isInstanceOf[CometPlan] && !plan.isInstanceOf[CometNativeExec]

  // Comet takes its own marks of such inputs away when it has finished.
  private def asInput(plan: SparkPlan): SparkPlan =
    if (isSink(plan))
      Input.convert(plan, Operator.newBuilder().setPlanId(plan.id)).fold(plan)(Input.createExec(_, plan))
    else plan

  private object Input extends CometSink[SparkPlan] {
    override def createExec(nativeOp: Operator, op: SparkPlan): CometNativeExec = CometSinkPlaceHolder(nativeOp, op, op)
  }
}
