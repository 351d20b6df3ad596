package org.apache.comet.nativeexecutors

import org.apache.spark.sql.internal.SQLConf

/**
 * The settings of Spark and Comet without which a query would not be native, or would be partitioned by Spark. They are
 * set while the pool is on, where the user has not set them, and taken back when it is switched off.
 */
object RequiredSettings {
  private val excludedRules = "spark.sql.optimizer.excludedRules"
  private val mergeSubqueries = "org.apache.spark.sql.catalyst.optimizer.MergeScalarSubqueries"

  /** What is set where the user has not set it. */
  val values: Seq[(String, String)] = Seq(
    // Filters from another branch of the plan arrive while Spark executes; here nothing is executed by Spark.
    "spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled" -> "false",
    // Buckets and storage partitions are distributed by Spark's tasks.
    "spark.sql.sources.bucketing.enabled" -> "false",
    "spark.sql.sources.v2.bucketing.enabled" -> "false",
    // The partitions of a union are those of its children one after the other: no partition of one is joined with one of another.
    "spark.sql.unionOutputPartitioning" -> "false",
    "spark.comet.shuffle.mode" -> "native",
    "spark.comet.shuffle.native.partitioning.roundrobin.enabled" -> "true",
    "spark.comet.exec.localTableScan.enabled" -> "true",
    "spark.comet.exec.range.enabled" -> "true",
    "spark.comet.caseConversion.enabled" -> "true",
    // What Comet calls incompatible here is its own implementation; the pool's is exact or refuses.
    "spark.comet.expression.TruncTimestamp.allowIncompatible" -> "true",
    "spark.comet.expression.TruncDate.allowIncompatible" -> "true",
    "spark.comet.expression.FromUTCTimestamp.allowIncompatible" -> "true",
    "spark.comet.expression.ToUTCTimestamp.allowIncompatible" -> "true",
    "spark.comet.expression.ConvertTimezone.allowIncompatible" -> "true",
    "spark.comet.expression.RLike.allowIncompatible" -> "true",
    "spark.comet.expression.RegExpExtract.allowIncompatible" -> "true",
    "spark.comet.expression.RegExpExtractAll.allowIncompatible" -> "true",
    "spark.comet.expression.RegExpReplace.allowIncompatible" -> "true",
    "spark.comet.expression.StringReplace.allowIncompatible" -> "true",
    "spark.comet.expression.StringSplit.allowIncompatible" -> "true",
    "spark.comet.expression.StringTranslate.allowIncompatible" -> "true",
    // The pool's reader knows unsigned columns from signed ones.
    "spark.comet.scan.unsignedSmallIntSafetyCheck" -> "false",
    // Executors have no JVM that could run generated code.
    "spark.comet.exec.scalaUDF.codegen.enabled" -> "false"
  )

  // The keys that this object has set; kept in the session, so that a clone of it knows too.
  private val record = "spark.comet.nativeExecutors.internal.applied"

  /** Sets or takes back. Cheap when there is nothing to do. */
  def sync(conf: SQLConf): Unit =
    if (Settings.Enabled.of(conf)) {
      val missing = values.exists { case (key, _) => !conf.contains(key) } || !rules(conf).contains(mergeSubqueries)
      if (missing || !conf.contains(record)) apply(conf)
    } else if (conf.contains(record)) undo(conf)

  private def applied(conf: SQLConf): Seq[String] =
    if (conf.contains(record)) conf.getConfString(record).split(',').toSeq.filter(_.nonEmpty) else Nil

  private def rules(conf: SQLConf): Seq[String] =
    if (conf.contains(excludedRules)) {
      conf.getConfString(excludedRules).split(',').toSeq.map(_.trim).filter(_.nonEmpty)
    } else Nil

  private def apply(conf: SQLConf): Unit = {
    val missing = values.filterNot { case (key, _) => conf.contains(key) }
    missing.foreach { case (key, value) => conf.setConfString(key, value) }
    val excluded = rules(conf)
    // It makes scalar subqueries of structs, which are not native.
    val ours = if (excluded.contains(mergeSubqueries)) Nil else Seq(excludedRules)
    ours.foreach(key => conf.setConfString(key, (excluded :+ mergeSubqueries).mkString(",")))
    conf.setConfString(record, (applied(conf) ++ missing.map(_._1) ++ ours).distinct.mkString(","))
  }

  private def undo(conf: SQLConf): Unit = {
    val ours = values.toMap
    applied(conf).foreach {
      case `excludedRules` =>
        val rest = rules(conf).filter(_ != mergeSubqueries)
        if (rest.isEmpty) conf.unsetConf(excludedRules) else conf.setConfString(excludedRules, rest.mkString(","))
      // What the user has changed in between stays.
      case key => if (conf.contains(key) && ours.get(key).contains(conf.getConfString(key))) conf.unsetConf(key)
    }
    conf.unsetConf(record)
  }
}
