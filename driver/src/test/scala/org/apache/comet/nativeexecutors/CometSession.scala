package org.apache.comet.nativeexecutors

import org.apache.comet.nativeexecutors.plan.StageGraph
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.comet.nativeexecutors.NativeExecutorsExec
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** A real Spark with the real Comet and our plugin; nothing is submitted, so no pool is needed. */
abstract class CometSession extends AnyFunSuite with BeforeAndAfterAll {
  protected lazy val spark: SparkSession = SparkSession
    .builder()
    .master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .config(
      "spark.sql.warehouse.dir",
      System.getProperty("java.io.tmpdir") + "/cne-driver-test-" + ProcessHandle.current.pid
    )
    .config("spark.plugins", s"org.apache.spark.CometPlugin,${classOf[NativeExecutorsPlugin].getName}")
    .config("spark.shuffle.manager", "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager")
    .config("spark.memory.offHeap.enabled", "true")
    .config("spark.memory.offHeap.size", "512m")
    .config(Settings.Enabled.key, "true")
    .getOrCreate()

  override protected def afterAll(): Unit = {
    spark.stop()
    super.afterAll()
  }

  /** Runs with settings that are taken back afterwards. */
  protected def withConf[T](settings: (String, String)*)(body: => T): T = {
    val before = settings.map { case (key, _) => key -> spark.conf.getOption(key) }
    settings.foreach { case (key, value) => spark.conf.set(key, value) }
    try body
    finally before.foreach {
        case (key, Some(value)) => spark.conf.set(key, value)
        case (key, None)        => spark.conf.unset(key)
      }
  }

  /** The physical plan, without adaptive execution's wrapper. */
  protected def planned(sql: String): SparkPlan =
    spark.sql(sql).queryExecution.executedPlan match {
      case adaptive: AdaptiveSparkPlanExec => adaptive.executedPlan
      case other                           => other
    }

  /** The one leaf that the query has become. */
  protected def leaf(sql: String): NativeExecutorsExec = planned(sql) match {
    case leaf: NativeExecutorsExec => leaf
    case other                     => fail(s"not one leaf:\n$other")
  }

  /** The checked stage graph of a query. */
  protected def graph(sql: String): (StageGraph, Seq[protocol.Stage]) = {
    val graph = new StageGraph(None)
    val stages = graph.build(leaf(sql).inner)
    (graph, stages)
  }
}
