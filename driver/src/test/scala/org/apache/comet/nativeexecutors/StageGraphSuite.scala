package org.apache.comet.nativeexecutors

import scala.jdk.CollectionConverters._

import org.apache.comet.nativeexecutors.plan.{Fingerprint, Request, Resolved}
import org.apache.comet.nativeexecutors.protocol.{QueryRequest, ShuffleOrigin, Stage, StageInput}
import org.apache.comet.serde.OperatorOuterClass.{NativeScanCommon, Operator}
import org.apache.spark.sql.internal.SQLConf

class StageGraphSuite extends CometSession {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    withConf(Settings.Enabled.key -> "false") {
      spark.sql("CREATE TABLE t (k BIGINT, v DECIMAL(12,2), s STRING, d DATE) USING parquet")
      spark.sql("INSERT INTO t VALUES (1, 1.5, 'a', DATE'2020-01-01'), (2, 2.5, 'b', DATE'2020-01-02')")
      spark.sql("CREATE TABLE u (k BIGINT, w INT) USING parquet")
      spark.sql("INSERT INTO u VALUES (1, 10), (3, 30)")
    }
  }

  private def request(sql: String): QueryRequest =
    Request(leaf(sql).inner, Resolved(Map.empty), SQLConf.get, "session", "test")

  private def kinds(stages: Seq[Stage]): Seq[String] = stages.map(_.getKindCase.name)

  private def edges(stages: Seq[Stage]): Seq[StageInput] = stages.flatMap(_.getInputsList.asScala)

  /** What every graph must be: topological, the last stage read by nobody, every other by somebody. */
  private def check(stages: Seq[Stage]): Unit = {
    stages.zipWithIndex.foreach { case (stage, index) =>
      stage.getInputsList.forEach(input => assert(input.getProducer < index, stage))
      assert(stage.getKindCase.getNumber != 0, stage)
    }
    assert(edges(stages).map(_.getProducer).toSet == (0 until stages.size - 1).toSet)
  }

  test("the fingerprint is that of Comet 1.2.0") {
    assert(Fingerprint.value == "f6ffd54cc144b7bbc9d1892db52506ecdb98365cb4ed9963c3fc728fdf720962")
  }

  for (aqe <- Seq("true", "false")) {
    def adaptive(name: String)(body: => Unit): Unit =
      test(s"$name, adaptive execution $aqe")(withConf("spark.sql.adaptive.enabled" -> aqe)(body))

    adaptive("an aggregate is two blocks with a hash edge") {
      val (_, stages) = graph("SELECT k, sum(v) FROM t GROUP BY k")
      check(stages)
      assert(kinds(stages) == Seq("BLOCK", "BLOCK"))
      val shuffle = edges(stages).head.getShuffle
      assert(shuffle.getOrigin == ShuffleOrigin.SHUFFLE_ORIGIN_ENSURE_REQUIREMENTS)
    }

    adaptive("a broadcast join is a broadcast edge") {
      val (_, stages) = graph("SELECT t.s, u.w FROM t JOIN u ON t.k = u.k")
      check(stages)
      assert(edges(stages).map(_.getExchangeCase.name) == Seq("BROADCAST"))
    }

    adaptive("a sort-merge join has two hash edges") {
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
        val (_, stages) = graph("SELECT t.s, u.w FROM t JOIN u ON t.k = u.k")
        check(stages)
        assert(edges(stages).map(_.getExchangeCase.name) == Seq("SHUFFLE", "SHUFFLE"))
      }
    }

    adaptive("the first rows of a sort are two blocks") {
      val (_, stages) = graph("SELECT k, s FROM t ORDER BY s LIMIT 3 OFFSET 1")
      check(stages)
      assert(kinds(stages) == Seq("BLOCK", "BLOCK", "BLOCK") || kinds(stages) == Seq("BLOCK", "BLOCK"))
      assert(edges(stages).last.getExchangeCase.name == "SHUFFLE")
    }

    adaptive("a user's number of partitions is marked, and an exchange at the root has a block above it") {
      val plan = spark.table("t").repartition(7).queryExecution.executedPlan
      val leaf = plan.collectFirst { case l: org.apache.spark.sql.comet.nativeexecutors.NativeExecutorsExec => l }
        .orElse(plan match {
          case a: org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec =>
            a.executedPlan.collectFirst { case l: org.apache.spark.sql.comet.nativeexecutors.NativeExecutorsExec => l }
          case _ => None
        })
      val stages = new org.apache.comet.nativeexecutors.plan.StageGraph(None).build(leaf.get.inner)
      check(stages)
      assert(kinds(stages) == Seq("BLOCK", "BLOCK"))
      assert(edges(stages).head.getShuffle.getOrigin == ShuffleOrigin.SHUFFLE_ORIGIN_REPARTITION_BY_NUM)
    }

    adaptive("a union has a stage of its own") {
      val (_, stages) = graph("SELECT k FROM t UNION ALL SELECT k FROM u")
      check(stages)
      assert(kinds(stages) == Seq("BLOCK", "BLOCK", "UNION"))
    }

    adaptive("one row, local rows and no rows travel as Arrow") {
      for (
        sql <-
          Seq("SELECT 1 AS one", "SELECT sum(x) FROM VALUES (1), (2) AS v(x)", "SELECT count(*) FROM t WHERE 1 = 0")
      ) {
        val stages = request(sql).getStagesList.asScala.toSeq
        check(stages)
        val inline = stages.filter(_.hasInlineData)
        assert(inline.size == 1 && inline.head.getInlineData.getPartitionsCount == 1, sql)
        assert(inline.head.getInlineData.getPartitions(0).size > 8, sql)
      }
    }

    adaptive("a scalar subquery is asked for once") {
      val (found, _) = graph("SELECT k FROM t WHERE k > (SELECT max(k) FROM u)")
      assert(found.subqueries.size == 1)
      // Spark would merge these into one of a struct, which is not native.
      val (both, _) = graph("SELECT k FROM t WHERE k > (SELECT max(k) FROM u) OR k < (SELECT min(k) FROM u)")
      assert(both.subqueries.size == 2)
      // One plan for it, not one for the filter and one for the scan's copy of the filter.
      assert(leaf("SELECT k FROM t WHERE k > (SELECT max(k) FROM u)").scalars.size == 1)
    }

    adaptive("what is not native is named with the reason") {
      val error = intercept[NativeExecutorsUnsupportedException] {
        planned("SELECT java_method('java.lang.Math', 'abs', CAST(k AS INT)) FROM t")
      }
      assert(error.getMessage.contains("java_method"), error.getMessage)
      assert(error.getMessage.contains("CNE-1012"))
    }
  }

  test("scan data: the common part once, one payload per partition, no second copy in the block") {
    val stages = request("SELECT sum(v) FROM t WHERE k > 0").getStagesList.asScala.toSeq
    val scan = stages.head.getBlock.getScans(0)
    val common = NativeScanCommon.parseFrom(scan.getCommon.toByteArray)
    assert(common.getDataSchemaCount == 4 && scan.getPartitionsCount >= 1)
    def scans(op: Operator): Seq[Operator] =
      if (op.hasNativeScan) Seq(op) else op.getChildrenList.asScala.toSeq.flatMap(scans)
    val inBlock = scans(Operator.parseFrom(stages.head.getBlock.getOperator.toByteArray))
    assert(inBlock.size == 1 && !inBlock.head.getNativeScan.hasCommon)
  }

  test("the SQL text is sent once per block, however many expressions repeat it") {
    val sum = (1 to 40).map(i => s"sum(v * $i + k / ($i + k))").mkString(", ")
    val sql = s"SELECT $sum FROM t"
    val block = request(sql).getStages(0).getBlock.getOperator
    val operator = Operator.parseFrom(block.toByteArray)
    assert(operator.getSqlTextPoolList.asScala == Seq(sql))
    assert(block.toStringUtf8.sliding(sql.length).count(_ == sql) == 1)
  }

  test("of a bucket nothing but its paths leaves the driver") {
    val secrets = Seq(
      "access.key",
      "secret.key",
      "session.token",
      "endpoint",
      "bucket.b.path.style.access",
      "requester.pays.enabled"
    )
      .map("fs.s3a." + _)
    val message = NativeScanCommon.newBuilder()
    secrets.foreach(message.putObjectStoreOptions(_, "XSECRETX"))
    val mode = Map("spark.sql.parquet.int96RebaseModeInRead" -> "CORRECTED")
    val sent = plan.Messages.scanCommon(message.build().toByteArray, Map.empty, mode)
    assert(sent.getObjectStoreOptionsMap.asScala == mode)
  }

  test("settings are set where the user has not set them, and taken back") {
    val key = "spark.comet.shuffle.mode"
    withConf("spark.comet.exec.range.enabled" -> "false") {
      spark.sql("SELECT 1")
      assert(spark.conf.get(key) == "native" && spark.conf.get("spark.comet.exec.range.enabled") == "false")
      withConf(Settings.Enabled.key -> "false") {
        assert(spark.sql("SELECT count(*) FROM t").head().getLong(0) == 2)
        assert(spark.conf.getOption(key).isEmpty)
        assert(spark.conf.getOption("spark.sql.optimizer.excludedRules").forall(!_.contains("MergeScalarSubqueries")))
        assert(spark.conf.get("spark.comet.exec.range.enabled") == "false")
      }
    }
  }

  test("commands and rows of the driver are Spark's") {
    assert(spark.sql("SHOW TABLES").collect().length >= 2)
    assert(spark.sql("SHOW TABLES").count() >= 2)
    assert(spark.sql("SELECT * FROM VALUES (1), (2) AS v(x)").collect().length == 2)
    assert(spark.sql("EXPLAIN SELECT sum(k) FROM t").head().getString(0).contains("CometNativeExecutors"))
  }
}
