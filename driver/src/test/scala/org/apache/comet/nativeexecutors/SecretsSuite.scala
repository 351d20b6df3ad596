package org.apache.comet.nativeexecutors

import java.io.{File, PrintWriter, StringWriter}
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.{CodegenMode, CostMode, ExtendedMode, FormattedMode, SimpleMode}

/** What Spark is told about credentials stays in the driver. */
class SecretsSuite extends CometSession {
  private val canary = "c4nary-7f3a"
  private val bucket = "fs.s3a.bucket.bucket."
  private lazy val folder = Files.createTempDirectory("cne-secrets")

  override protected def afterAll(): Unit = {
    super.afterAll()
    Files.walk(folder).iterator().asScala.toSeq.reverse.foreach(Files.delete)
  }

  // Under every name by which credentials are given, and as the content of the token's file.
  private def secrets: Seq[(String, String)] = Seq(
    "fs.s3a.access.key",
    "fs.s3a.secret.key",
    "fs.s3a.session.token",
    s"${bucket}access.key",
    s"${bucket}secret.key",
    s"${bucket}endpoint",
    "fs.s3a.proxy.password",
    "fs.s3a.encryption.key",
    "spark.hadoop.fs.s3a.secret.key",
    "javax.jdo.option.ConnectionPassword"
  ).map(_ -> canary)

  test("no secret is in a captured request, a plan, or an error") {
    val (table, requests) = (folder.resolve("t").toString, folder.resolve("requests"))
    withConf(Settings.Enabled.key -> "false")(spark.range(10).selectExpr("id AS k").write.parquet(table))
    val pool = Seq(
      "fs.s3a.impl" -> classOf[LocalS3].getName,
      Settings.CaptureDir.key -> requests.toString,
      Settings.SchedulerUrl.key -> "grpc://127.0.0.1:1",
      Settings.SchedulerTimeout.key -> "0s"
    )
    withConf(secrets ++ pool: _*) {
      val query = spark.read.parquet("s3a://bucket" + table).where("k > 3").selectExpr("sum(k)")
      val plan = query.queryExecution
      // The secrets are where Comet takes its options from.
      val hadoop = spark.sessionState.newHadoopConf()
      secrets.foreach { case (key, value) => assert(hadoop.get(key) == value) }
      val modes = Seq(SimpleMode, ExtendedMode, CodegenMode, CostMode, FormattedMode)
      val shown = modes.map(mode => plan.explainString(mode)) :+ plan.executedPlan.treeString
      assert(shown.head.contains("NativeExecutors"))
      shown.foreach(text => assert(!text.contains(canary), text))
      val error = new StringWriter
      intercept[Exception](query.collect()).printStackTrace(new PrintWriter(error))
      assert(error.toString.contains("CNE-5001") && !error.toString.contains(canary), error)
    }
    val captured = Option(requests.toFile.listFiles).toSeq.flatten
    assert(captured.size == 1)
    captured.foreach(file => assert(!content(file).contains(canary) && content(file).contains("s3a://bucket")))
  }

  private def content(file: File): String = new String(Files.readAllBytes(Path.of(file.getPath)), ISO_8859_1)
}
