package org.apache.comet.nativeexecutors

import org.apache.comet.nativeexecutors.plan.{Completions, StageGraph}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.comet.CometLocalTableScanExec
import org.apache.spark.sql.comet.nativeexecutors.NativeExecutorsExec
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.command.{DataWritingCommandExec, ExecutedCommandExec}
import org.apache.spark.sql.execution.datasources.WriteFilesExec
import org.apache.spark.sql.execution.datasources.v2.{V2CommandExec, V2TableWriteExec}

/** Replaces a whole plan that Comet has converted by one leaf, or refuses it with every reason. */
final case class ReplacePlan(session: SparkSession) extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan =
    if (!Settings.Enabled.of(conf) || ReplacePlan.isDone(plan)) plan
    else plan match {
      // Rows that the driver already holds, and nothing to do with them (also the answer of SHOW and DESCRIBE).
      case local: CometLocalTableScanExec => local.originalPlan
      case _ => ReplacePlan.replaced(new Completions(session)(plan), SessionSettings.unsupported(conf))
    }
}

private object ReplacePlan {
  private def isDone(plan: SparkPlan): Boolean = plan match {
    case _: V2TableWriteExec | _: DataWritingCommandExec | _: WriteFilesExec                      => false
    case _: ExecutedCommandExec | _: V2CommandExec | _: CommandResultExec | _: LocalTableScanExec => true
    // What is asked of a command's own answer (`sql("SHOW TABLES").count()`) never leaves the driver.
    case _ if plan.collectLeaves().forall(_.isInstanceOf[CommandResultExec]) => true
    case _                                                                   =>
      plan.exists {
        case _: NativeExecutorsExec => true
        // A part of an adaptive plan, or the plan around one: the whole of it was seen before.
        case _: AdaptiveSparkPlanExec | _: QueryStageExec | _: AQEShuffleReadExec => true
        case _                                                                    => false
      }
  }

  private def replaced(plan: SparkPlan, settings: Seq[Unsupported]): SparkPlan = {
    val graph = new StageGraph(resolved = None)
    graph.build(plan)
    val problems = settings ++ graph.problems
    if (problems.nonEmpty) throw new NativeExecutorsUnsupportedException(Codes.Unsupported, problems)
    val leaf = NativeExecutorsExec(plan.output, graph.subqueries, NativeExecutorsExec.nextId())(plan)
    plan.logicalLink.foreach(leaf.setLogicalLink)
    leaf
  }
}
