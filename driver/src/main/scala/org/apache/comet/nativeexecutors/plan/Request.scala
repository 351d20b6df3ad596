package org.apache.comet.nativeexecutors.plan

import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.comet.nativeexecutors.Settings
import org.apache.comet.nativeexecutors.protocol.QueryRequest
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf

/** The message that submits one execution of one plan. */
object Request {

  /** Settings of the session that the pool reads; all others stay here. */
  private val sentSettings = Seq(
    "spark.comet.batchSize",
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.session.timeZone"
  )

  def apply(
      plan: SparkPlan,
      resolved: Resolved,
      conf: SQLConf,
      sessionId: String,
      description: String
  ): QueryRequest = {
    val stages = new StageGraph(Some(resolved)).build(plan)
    val config = sentSettings.flatMap(key => value(conf, key).map(key -> _)).toMap
    QueryRequest
      .newBuilder()
      .setQueryId(UUID.randomUUID().toString)
      .setCometVersion(org.apache.comet.COMET_VERSION)
      .setSchemaFingerprint(Fingerprint.value)
      .setSparkVersion(org.apache.spark.SPARK_VERSION)
      .setDriverSessionId(sessionId)
      .putAllConfig(config.asJava)
      .addAllStages(stages.asJava)
      .setDeadlineMs(Settings.Deadline.of(conf))
      .setDescription(description)
      .build()
  }

  // The value in force, also when it is a default. A key that this version of Spark or Comet does not know has none.
  private def value(conf: SQLConf, key: String): Option[String] =
    scala.util.Try(conf.getConfString(key)).toOption.filter(text => text.nonEmpty && !text.startsWith("<"))
}
