package org.apache.comet.nativeexecutors

import java.nio.file.{Files, Paths}

import org.apache.spark.sql.internal.SQLConf
import org.scalatest.funsuite.AnyFunSuite

class SettingsSuite extends AnyFunSuite {
  private def conf(pairs: (String, String)*): SQLConf = {
    val conf = new SQLConf
    pairs.foreach { case (key, value) => conf.setConfString(key, value) }
    conf
  }

  test("docs/configuration.md tells what this registry says") {
    val text = Files.readString(Paths.get("../docs/configuration.md"))
    Settings.all.foreach { setting =>
      val default = if (setting.default.isEmpty) "" else s"`${setting.default}`"
      val row = text.linesIterator.find(_.startsWith(s"| `${setting.key}` |")).getOrElse(fail(setting.key))
      assert(row.contains(s"| ${setting.typeName} | $default") && row.contains(setting.doc), row)
    }
  }

  test("values are read, and what is not one is named with its key") {
    assert(!Settings.Enabled.of(conf()))
    assert(Settings.Deadline.of(conf(Settings.Deadline.key -> "2m")) == 120000)
    assert(Settings.SchedulerUrl.of(conf(Settings.SchedulerUrl.key -> "grpc://[::1]:1/")) == "grpc://[::1]:1")
    for (bad <- Seq("http://h:1", "grpc://user:secret@h:1", "grpc://h")) {
      val error = intercept[IllegalArgumentException](Settings.SchedulerUrl.of(conf(Settings.SchedulerUrl.key -> bad)))
      assert(error.getMessage.contains(Settings.SchedulerUrl.key))
    }
  }

  test("settings of others: set where missing, kept where the user's, taken back when off") {
    val session = conf(Settings.Enabled.key -> "true", "spark.comet.shuffle.mode" -> "jvm")
    RequiredSettings.sync(session)
    val dpp = "spark.sql.optimizer.dynamicPartitionPruning.enabled"
    assert(session.getConfString(dpp) == "false" && session.getConfString("spark.comet.shuffle.mode") == "jvm")
    // Unset by the user while the mode is on: it is still needed.
    session.unsetConf(dpp)
    RequiredSettings.sync(session)
    assert(session.getConfString(dpp) == "false")
    session.setConfString(Settings.Enabled.key, "false")
    RequiredSettings.sync(session)
    assert(!session.contains(dpp) && !session.contains("spark.sql.optimizer.excludedRules"))
    assert(session.getConfString("spark.comet.shuffle.mode") == "jvm")
    assert(session.getAllConfs.keySet.forall(!_.contains("internal")))
  }

  test("settings that change answers are refused away from their defaults, unless the list has them") {
    val padded = "spark.sql.legacy.truncateForEmptyRegexSplit"
    assert(SessionSettings.unsupported(conf(padded -> "FALSE", "spark.sql.mapKeyDedupPolicy" -> "EXCEPTION")).isEmpty)
    assert(SessionSettings.unsupported(conf("spark.sql.legacy.setopsPrecedence.enabled" -> "true")).isEmpty)
    val found = SessionSettings.unsupported(
      conf(padded -> "true", "spark.sql.mapKeyDedupPolicy" -> "LAST_WIN", "spark.sql.legacy.ofALaterSpark" -> "1")
    )
    val keys = Seq(
      "spark.sql.legacy.ofALaterSpark=1",
      "spark.sql.legacy.truncateForEmptyRegexSplit=true",
      "spark.sql.mapKeyDedupPolicy=LAST_WIN"
    )
    assert(found.map(_.what) == keys.map("setting " + _))
    assert(found.forall(_.hint.startsWith("RESET spark.sql.")))
  }

  test("a rule that the user excludes while the mode is on does not bring ours back") {
    val session = conf(Settings.Enabled.key -> "true")
    RequiredSettings.sync(session)
    session.setConfString("spark.sql.optimizer.excludedRules", "a.b.C")
    RequiredSettings.sync(session)
    assert(session.getConfString("spark.sql.optimizer.excludedRules").startsWith("a.b.C,org.apache.spark"))
    session.setConfString(Settings.Enabled.key, "false")
    RequiredSettings.sync(session)
    assert(session.getConfString("spark.sql.optimizer.excludedRules") == "a.b.C")
  }
}
