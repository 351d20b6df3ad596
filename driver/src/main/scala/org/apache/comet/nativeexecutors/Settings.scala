package org.apache.comet.nativeexecutors

import org.apache.spark.SparkConf
import org.apache.spark.sql.internal.SQLConf

/**
 * One setting of the driver side.
 *
 * @param key
 *   Spark's key
 * @param typeName
 *   how a value is written, for people
 * @param default
 *   as text
 * @param parse
 *   `None` when the text is not a value of the type
 */
final case class Setting[T](key: String, typeName: String, default: String, doc: String, parse: String => Option[T]) {

  /** The session's value. */
  def of(conf: SQLConf): T = {
    val text = conf.getConfString(key, default)
    parse(text.trim).getOrElse {
      throw new IllegalArgumentException(s"$key must be $typeName, not '$text'")
    }
  }

  /** The application's value, which a session cannot change: who may only run queries must not say whom the application trusts, or which file it sends. */
  def atStart(application: SparkConf, session: SQLConf): T = {
    val text = application.get(key, default)
    if (session.getConfString(key, text) != text) {
      throw new IllegalArgumentException(s"$key is set when the application starts; a session cannot change it")
    }
    parse(text.trim).getOrElse(throw new IllegalArgumentException(s"$key must be $typeName"))
  }
}

/** Every `spark.comet.nativeExecutors.*` key that a user may set. */
object Settings {
  private val prefix = "spark.comet.nativeExecutors"

  private def millis(text: String): Option[Long] =
    scala.util.Try(org.apache.spark.network.util.JavaUtils.timeStringAsMs(text)).toOption.filter(_ >= 0)

  val Enabled: Setting[Boolean] = Setting(
    s"$prefix.enabled",
    "true or false",
    "false",
    "Whether queries of this session run on the pool. May be changed while the session lives.",
    _.toLowerCase(java.util.Locale.ROOT).toBooleanOption
  )

  val SchedulerUrl: Setting[String] = Setting(
    s"$prefix.scheduler.url",
    "grpc://host:port or grpc+tls://host:port",
    "grpc://127.0.0.1:50050",
    "The scheduler's Flight address. Without TLS, loopback only.",
    text => Option(text).filter(_.matches("grpc(\\+tcp|\\+tls)?://[^/@]+:[0-9]+/?")).map(_.stripSuffix("/"))
  )

  val Deadline: Setting[Long] = Setting(
    s"$prefix.deadline",
    "a duration such as 30s or 2h",
    "0",
    "How long one query may take on the pool, counted from its acceptance. 0 leaves it to the scheduler's own limit.",
    millis
  )

  val SchedulerTimeout: Setting[Long] = Setting(
    s"$prefix.scheduler.timeout",
    "a duration such as 10s",
    "10s",
    "How long the driver keeps trying while the scheduler does not answer at all, before the query fails.",
    millis
  )

  val RecoveryTimeout: Setting[Long] = Setting(
    s"$prefix.recoveryTimeout",
    "a duration such as 2m",
    "2m",
    "How long an accepted query waits for a scheduler that is started again, and a reader of its rows for an executor that serves them.",
    millis
  )

  val RowsPerTask: Setting[Long] = Setting(
    s"$prefix.result.rowsPerTask",
    "a positive number",
    "100000",
    "About how many rows of a collected result one Spark task of the driver reads.",
    _.toLongOption.filter(_ > 0)
  )

  val InlineRows: Setting[Long] = Setting(
    s"$prefix.result.inlineRows",
    "a number",
    "1000",
    "Up to how many rows of a collected result are read by the Spark task that waits for the query, without a second job.",
    _.toLongOption.filter(_ >= 0)
  )

  private val file = "a file"
  private val fileDoc = "An absolute path, or the name of a file that `spark.files` ships."

  val TlsCa: Setting[String] = Setting(
    s"$prefix.tls.ca",
    file,
    "",
    s"Certificates (PEM) of the authorities that sign the pool's; those that the JVM trusts when it is not set. $fileDoc",
    Some(_)
  )

  val TlsCert: Setting[String] = Setting(
    s"$prefix.tls.cert",
    file,
    "",
    s"Certificate chain (PEM) that the application shows to the pool, together with `$prefix.tls.key`. $fileDoc",
    Some(_)
  )

  val TlsKey: Setting[String] = Setting(
    s"$prefix.tls.key",
    file,
    "",
    s"Private key of `$prefix.tls.cert` (PEM, PKCS#8, not encrypted). $fileDoc",
    Some(_)
  )

  val TlsServerName: Setting[String] = Setting(
    s"$prefix.tls.serverName",
    "a host name",
    "",
    "The name that certificates of the pool must have, in the place of the host that is connected to: for executors that are reached by their IP addresses.",
    text => Some(text).filter(_.matches("[A-Za-z0-9._-]*"))
  )

  val TokenFile: Setting[String] = Setting(
    s"$prefix.auth.tokenFile",
    file,
    "",
    s"A file with the bearer token that names the application's tenant. It is read again for each call, so that a new token in it counts at once. $fileDoc",
    Some(_)
  )

  val AllowPlaintext: Setting[Boolean] = Setting(
    s"$prefix.allowPlaintext",
    "true or false",
    "false",
    "Whether addresses that are not loopback may be reached without TLS: everybody on the way reads queries, rows and the token.",
    _.toLowerCase(java.util.Locale.ROOT).toBooleanOption
  )

  val SparkExecutorTimeout: Setting[Long] = Setting(
    s"$prefix.sparkExecutorTimeout",
    "a duration such as 5m",
    "5m",
    "How long a query waits while the Spark application has no executor; then it fails. Not for `local[N]`, where the driver is the executor.",
    millis
  )

  val CaptureDir: Setting[String] = Setting(
    s"$prefix.captureDir",
    "a directory",
    "",
    "When set, the bytes of every request are also written there, as <number>-<description>.pb; for bug reports.",
    Some(_)
  )

  /** All of the above, in the order of the documentation. */
  val all: Seq[Setting[_]] =
    Seq(
      Enabled,
      SchedulerUrl,
      TlsCa,
      TlsCert,
      TlsKey,
      TlsServerName,
      TokenFile,
      AllowPlaintext,
      Deadline,
      SchedulerTimeout,
      RecoveryTimeout,
      SparkExecutorTimeout,
      RowsPerTask,
      InlineRows,
      CaptureDir
    )
}
