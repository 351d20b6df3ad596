package org.apache.comet.nativeexecutors.plan

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.comet.nativeexecutors.Unsupported
import org.apache.spark.sql.comet.CometNativeScanExec

/**
 * Where a scan's files lie and how the user has told Spark to reach them. Executors have their own identity and reach
 * stores their own way; what cannot be replaced by that is refused, not dropped.
 */
private[plan] object Storage {
  private val schemes = Set("file", "s3", "s3a")

  private val callback = "comet.credential.provider.class"
  private val provider = """fs\.s3a\.(bucket\.[^.]+\.)?aws\.credentials\.provider""".r

  /** Providers of Hadoop and of the two AWS libraries: they say how the driver gets its credentials, no more. */
  private val knownPackages =
    Seq("org.apache.hadoop.fs.s3a.", "com.amazonaws.auth.", "software.amazon.awssdk.auth.credentials.")

  /** Why executors cannot read the scan's files. */
  def unsupported(scan: CometNativeScanExec): Seq[Unsupported] = {
    val common = scan.nativeOp.getNativeScan.getCommon
    val encryption =
      if (common.getEncryptionEnabled) {
        Seq(Unsupported(
          scan.nodeName,
          "encrypted Parquet files need keys from the driver's JVM",
          "unset parquet.crypto.factory.class"
        ))
      } else Nil
    val options = common.getObjectStoreOptionsMap.asScala.toSeq.sortBy(_._1)
    paths(scan) ++ encryption ++ options.flatMap { case (key, value) => credentials(scan.nodeName, key, value) }
  }

  private def paths(scan: CometNativeScanExec): Seq[Unsupported] = {
    val roots = scan.relation.location.rootPaths.map(_.toUri)
    val (read, foreign) =
      roots.filter(_.getScheme != null).partition(uri => schemes(uri.getScheme.toLowerCase(Locale.ROOT)))
    // Only there: Azure's URLs have a container in front of the host.
    read.filter(_.getUserInfo != null).take(1).map(uri =>
      Unsupported(scan.nodeName, s"the URL of ${uri.getPath} carries a user or password")
    ) ++ foreign.map(_.getScheme).distinct.map(scheme =>
      Unsupported(scan.nodeName, s"executors do not read $scheme: files", "copy the table to S3")
    )
  }

  private def credentials(node: String, key: String, value: String): Seq[Unsupported] = key match {
    case _ if key.endsWith(callback) && value.trim.nonEmpty =>
      Seq(Unsupported(
        node,
        s"$key asks the driver's JVM for credentials",
        "give executors an identity of their own and unset it"
      ))
    case provider(_) =>
      val classes = value.split(',').toSeq.map(_.trim).filter(_.nonEmpty)
      classes.filterNot(name => knownPackages.exists(name.startsWith)).map { name =>
        Unsupported(node, s"$key names $name, which executors do not have", "give executors an identity of their own")
      }
    case _ => Nil
  }
}
