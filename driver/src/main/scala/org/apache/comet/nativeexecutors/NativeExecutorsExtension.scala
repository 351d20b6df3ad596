package org.apache.comet.nativeexecutors

import org.apache.comet.CometSparkSessionExtensions
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}

/**
 * What `spark.sql.extensions` names. Comet's own extension is applied first (a second time is without effect), so the
 * order of the two in that setting does not matter.
 */
class NativeExecutorsExtension extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    new CometSparkSessionExtensions().apply(extensions)
    // Both run before the rules whose settings they change: the first when a query is analyzed, the second when a data
    // frame that was analyzed earlier is executed.
    extensions.injectResolutionRule(SyncSettings.apply)
    extensions.injectOptimizerRule(SyncSettings.apply)
    // With adaptive execution, this rule sees the whole plan.
    extensions.injectQueryStagePrepRule(ReplacePlan.apply)
    // Without it, or for a plan that needs no exchange, this one does.
    extensions.injectColumnar(session =>
      new ColumnarRule {
        override def preColumnarTransitions: Rule[SparkPlan] = ReplacePlan(session)
      }
    )
  }
}

/** Keeps the session's other settings in line with whether the pool is on; changes no plan. */
final case class SyncSettings(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    RequiredSettings.sync(conf)
    plan
  }
}
