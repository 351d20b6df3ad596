package org.apache.comet.nativeexecutors

import scala.jdk.CollectionConverters._

import org.apache.comet.nativeexecutors.plan.{Request, Resolved}
import org.apache.comet.nativeexecutors.protocol.{Stage, StageInput}
import org.apache.comet.serde.OperatorOuterClass.{BuildSide, JoinType, Operator}
import org.apache.spark.sql.internal.SQLConf

/** Nodes that Comet leaves to Spark and that are native all the same. */
class CompletionSuite extends CometSession {
  override protected def beforeAll(): Unit = {
    super.beforeAll()
    withConf(Settings.Enabled.key -> "false") {
      spark.range(100).selectExpr("id AS k", "id % 7 AS v").write.saveAsTable("big")
      spark.range(3).selectExpr("id AS k", "id AS v").write.saveAsTable("small")
    }
  }

  private def stages(sql: String): Seq[Stage] =
    Request(leaf(sql).inner, Resolved(Map.empty), SQLConf.get, "session", "test").getStagesList.asScala.toSeq

  private def operators(stages: Seq[Stage]): Seq[Operator] = {
    def all(op: Operator): Seq[Operator] = op +: op.getChildrenList.asScala.toSeq.flatMap(all)
    stages.filter(_.hasBlock).flatMap(s => all(Operator.parseFrom(s.getBlock.getOperator.toByteArray)))
  }

  private def edges(stages: Seq[Stage]): Seq[StageInput] = stages.flatMap(_.getInputsList.asScala)

  for (aqe <- Seq("true", "false")) {
    def completed(name: String, settings: (String, String)*)(body: => Unit): Unit =
      test(s"$name, adaptive execution $aqe") {
        withConf(settings :+ ("spark.sql.adaptive.enabled" -> aqe): _*)(body)
      }
    val noBroadcast = "spark.sql.autoBroadcastJoinThreshold" -> "-1"

    completed("existence joins by sort and merge, one above the other", noBroadcast) {
      val found = operators(stages {
        """SELECT count(*) FROM big WHERE EXISTS (SELECT 1 FROM small s WHERE s.k = big.k AND s.v < big.v)
          |OR EXISTS (SELECT 1 FROM small s WHERE s.v = big.v) OR big.k > 90""".stripMargin
      }).filter(_.hasSortMergeJoin).map(_.getSortMergeJoin)
      assert(found.map(_.getJoinType) == Seq(JoinType.Existence, JoinType.Existence))
      assert(found.count(_.hasCondition) == 1 && found.forall(_.getSortOptionsCount == 1))
    }

    completed("an existence join by a hash table that is sent everywhere, with a condition") {
      val all = stages("SELECT EXISTS (SELECT 1 FROM small s WHERE s.k = big.k AND s.v < big.v) FROM big")
      val join = operators(all).collectFirst { case op if op.hasHashJoin => op.getHashJoin }.get
      assert(join.getJoinType == JoinType.Existence && join.getBuildSide == BuildSide.BuildRight && join.hasCondition)
      assert(edges(all).exists(_.hasBroadcast))
    }

    completed("a Cartesian product is a nested loop over its smaller side", noBroadcast) {
      for ((sql, side) <- Seq("big, small" -> BuildSide.BuildRight, "small, big" -> BuildSide.BuildLeft)) {
        val all = stages(s"SELECT * FROM $sql")
        val join = operators(all).collectFirst { case op if op.hasBroadcastNestedLoopJoin => op }.get
        assert(join.getBroadcastNestedLoopJoin.getJoinType == JoinType.Inner)
        assert(join.getBroadcastNestedLoopJoin.getBuildSide == side, sql)
        assert(edges(all).count(_.hasBroadcast) == 1, sql)
      }
    }

    completed("what is still not native is named", noBroadcast) {
      val error = intercept[NativeExecutorsUnsupportedException] {
        planned("""SELECT * FROM big WHERE k = 1 OR EXISTS (
          |SELECT 1 FROM small s WHERE s.k = big.k AND java_method('java.lang.Math', 'abs', CAST(s.v AS INT)) < big.v)
          |""".stripMargin)
      }
      assert(error.getMessage.contains("java_method"), error.getMessage)
    }
  }

  test("a CROSS JOIN is an inner join") {
    val hashed = operators(stages("SELECT * FROM big CROSS JOIN small WHERE big.k = small.k")).filter(_.hasHashJoin)
    assert(hashed.map(_.getHashJoin.getJoinType) == Seq(JoinType.Inner))
    val looped = operators(stages("SELECT * FROM big CROSS JOIN small")).filter(_.hasBroadcastNestedLoopJoin)
    assert(looped.map(_.getBroadcastNestedLoopJoin.getJoinType) == Seq(JoinType.Inner))
  }
}
