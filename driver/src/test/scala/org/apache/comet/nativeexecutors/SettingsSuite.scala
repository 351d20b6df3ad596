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
}
