package org.apache.comet.nativeexecutors

import java.io.File
import java.net.URI
import java.nio.file.Files

import org.apache.hadoop.fs.{FileStatus, Path, RawLocalFileSystem}
import org.apache.spark.sql.{DataFrame, Encoder, Encoders, Row}
import org.apache.spark.sql.expressions.Aggregator
import org.apache.spark.sql.functions.udaf
import org.apache.spark.sql.types.StructType

/** What only the driver can see of a plan: each is refused by name, before anything is submitted. */
class RefusalSuite extends CometSession {
  private lazy val folder = Files.createTempDirectory("cne-refusals").toFile

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    withConf(Settings.Enabled.key -> "false") {
      spark.range(10).selectExpr("id AS k").write.parquet(at("t"))
      spark.range(3).write.csv(at("csv"))
    }
    spark.read.parquet(at("t")).createOrReplaceTempView("t")
    spark.udf.register("twice", (x: Long) => x * 2)
    spark.udf.register("total", udaf(Total))
  }

  override protected def afterAll(): Unit = {
    super.afterAll()
    def remove(file: File): Unit = {
      Option(file.listFiles).toSeq.flatten.foreach(remove)
      file.delete()
    }
    remove(folder)
  }

  private def at(name: String): String = new File(folder, name).toString

  private def refused(named: String*)(query: => DataFrame): Unit = {
    val error = intercept[NativeExecutorsUnsupportedException](query.queryExecution.executedPlan)
    assert(error.code == "CNE-1012")
    named.foreach(name => assert(error.getMessage.contains(name), error.getMessage))
  }

  private def sql(text: String): DataFrame = spark.sql(text)

  test("JVM functions, whether Comet would call back for them or not") {
    refused("twice", "codegen")(sql("SELECT twice(k) FROM t"))
    withConf("spark.comet.exec.scalaUDF.codegen.enabled" -> "true") {
      refused("twice", "JVM")(sql("SELECT twice(k) FROM t"))
      refused("JVM")(sql("SELECT months_between(DATE'2020-01-01', date_add(DATE'2020-01-01', CAST(k AS INT))) FROM t"))
    }
    refused("total")(sql("SELECT total(k) FROM t"))
    refused("MapElements")(spark.table("t").map((row: Row) => row.getLong(0))(Encoders.scalaLong).toDF())
  }

  test("an expression without a message is named") {
    refused("Project is not supported with", "rand")(sql("SELECT rand(1) FROM t"))
  }

  test("exchanges whose rows go through the JVM") {
    withConf("spark.comet.shuffle.mode" -> "jvm") {
      refused("JVM shuffle", "spark.comet.shuffle.mode=native")(sql("SELECT k, count(*) FROM t GROUP BY k"))
    }
  }

  test("rows that the JVM makes") {
    val schema = new StructType().add("id", "bigint")
    def rdd = spark.createDataFrame(spark.sparkContext.parallelize(Seq(Row(1L))), schema).selectExpr("sum(id)")
    refused("Scan ExistingRDD")(rdd)
    withConf("spark.comet.convert.rdd.enabled" -> "true") {
      refused("CometSparkRowToColumnar of Scan ExistingRDD", "made by the JVM")(rdd)
    }
    def csv = spark.read.schema(schema).csv(at("csv")).selectExpr("sum(id)")
    refused("CSV")(csv)
    withConf("spark.comet.scan.csv.v2.enabled" -> "true", "spark.sql.sources.useV1SourceList" -> "") {
      refused("CometCsvNativeScan", "Parquet only")(csv)
    }
    val cached = withConf(Settings.Enabled.key -> "false")(spark.table("t").selectExpr("k + 1 AS k").cache())
    try {
      refused("cached rows")(cached.selectExpr("sum(k)"))
      withConf("spark.comet.convert.inMemoryCache.enabled" -> "true") {
        refused("cached rows", "unpersist")(cached.selectExpr("sum(k)"))
      }
    } finally cached.unpersist()
  }

  test("writes, also with Comet's own writer") {
    val native = Seq(
      "spark.comet.write.parquet.enabled" -> "true",
      "spark.comet.operator.WriteFilesExec.allowIncompatible" -> "true"
    )
    for (settings <- Seq(Nil, native)) withConf(settings: _*) {
      val error = intercept[NativeExecutorsUnsupportedException](spark.table("t").write.parquet(at("written")))
      assert(error.getMessage.contains("the pool does not write tables"), error.getMessage)
      assert(!error.getMessage.contains("spark.comet.write.parquet.enabled"), "a setting that does not help")
    }
    assert(!new File(at("written")).exists)
  }

  test("encrypted files") {
    withConf("parquet.crypto.factory.class" -> "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory") {
      refused("encrypted", "parquet.crypto.factory.class") {
        spark.read.schema("k BIGINT").parquet(at("t")).selectExpr("sum(k)")
      }
    }
  }

  test("files in HDFS, also where Comet would read them") {
    withConf("fs.hdfs.impl" -> classOf[LocalHdfs].getName) {
      def query = spark.read.parquet("hdfs://namenode" + at("t")).selectExpr("sum(k)")
      refused("hdfs")(query)
      withConf("fs.comet.libhdfs.schemes" -> "hdfs")(refused("executors do not read hdfs: files")(query))
    }
  }

  test("credentials that come out of the driver's JVM") {
    def query = spark.read.parquet("s3a://bucket" + at("t")).selectExpr("sum(k)")
    withConf("fs.s3a.impl" -> classOf[LocalS3].getName) {
      // What says only how the driver itself gets in, is dropped.
      withConf("fs.s3a.aws.credentials.provider" -> "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider") {
        query.queryExecution.executedPlan
      }
      for (key <- Seq("fs.s3a.aws.credentials.provider", "fs.s3a.bucket.bucket.aws.credentials.provider")) {
        withConf(key -> "com.amazonaws.auth.EnvironmentVariableCredentialsProvider, org.acme.Vault") {
          refused(key, "org.acme.Vault")(query)
        }
      }
      for (prefix <- Seq("fs.s3a.", "fs.s3a.bucket.bucket.")) {
        withConf(prefix + "comet.credential.provider.class" -> "org.acme.Vault") {
          refused(prefix + "comet.credential.provider.class", "JVM for credentials")(query)
        }
      }
    }
  }
}

/** A sum by Spark's aggregator interface. */
object Total extends Aggregator[Long, Long, Long] {
  override def zero: Long = 0
  override def reduce(sum: Long, value: Long): Long = sum + value
  override def merge(a: Long, b: Long): Long = a + b
  override def finish(sum: Long): Long = sum
  override def bufferEncoder: Encoder[Long] = Encoders.scalaLong
  override def outputEncoder: Encoder[Long] = Encoders.scalaLong
}

/** The local disk under another scheme. */
abstract class Renamed(scheme: String, host: String) extends RawLocalFileSystem {
  override def getScheme: String = scheme
  override def getUri: URI = URI.create(s"$scheme://$host")
  override def getFileStatus(path: Path): FileStatus = plain(super.getFileStatus(path))
  override def listStatus(path: Path): Array[FileStatus] = super.listStatus(path).map(plain)

  // Without the permissions, which the local file system asks the local path for.
  private def plain(s: FileStatus): FileStatus =
    new FileStatus(s.getLen, s.isDirectory, 1, s.getBlockSize, s.getModificationTime, s.getPath)
}

class LocalHdfs extends Renamed("hdfs", "namenode")
class LocalS3 extends Renamed("s3a", "bucket")
