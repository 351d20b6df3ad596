package org.apache.comet.nativeexecutors.pool

import java.io.{ByteArrayInputStream, File, FileInputStream, IOException}
import java.net.{InetAddress, URI}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.security.cert.CertificateFactory

import scala.util.{Failure => Bad, Success, Try, Using}
import scala.util.control.NonFatal

import org.apache.comet.nativeexecutors.{Codes, NativeExecutorsException, Setting, Settings}
import org.apache.spark.{SparkConf, SparkEnv, SparkFiles}
import org.apache.spark.sql.internal.SQLConf

/**
 * How connections to the pool are secured. It travels with Spark's tasks and therefore names files only: each process
 * reads them where it runs. What is empty is not set.
 */
final case class Security(
    ca: String = "",
    certificate: String = "",
    key: String = "",
    serverName: String = "",
    tokenFile: String = "",
    allowPlaintext: Boolean = false
) {

  /** Refuses an address that would carry a query or a token unprotected; says whether it is one with TLS. */
  private[pool] def isTls(address: String): Boolean = {
    val uri = Try(new URI(address)).toOption
    uri.flatMap(u => Option(u.getScheme)) match {
      case Some("grpc+tls")                                                                               => true
      case Some("grpc" | "grpc+tcp") if allowPlaintext || uri.exists(u => Security.isLoopback(u.getHost)) => false
      case Some("grpc" | "grpc+tcp") => throw Security.error(
          s"$address is not loopback and has no TLS: use grpc+tls://, or set ${Settings.AllowPlaintext.key}=true where " +
            "everybody on the network may read queries and rows"
        )
      case _ => throw Security.error(s"$address is not an address of a pool, such as grpc+tls://host:port")
    }
  }

  /** The token as of now. */
  private[pool] def token(): Option[String] = Security.read(Settings.TokenFile, tokenFile).map { bytes =>
    val text = new String(bytes.array, ISO_8859_1).trim
    if (text.isEmpty || !text.forall(c => c > ' ' && c < 127)) {
      throw Security.error(s"${Settings.TokenFile.key}: the file does not hold a token (one line of visible ASCII)")
    }
    text
  }

  /** What a TLS connection is made with, as of now. */
  private[pool] def material(): Material = Material(
    Security.read(Settings.TlsCa, ca),
    Security.read(Settings.TlsCert, certificate),
    Security.read(Settings.TlsKey, key)
  )

  /** What the pool refuses when it refuses who calls. */
  private[pool] def identityHint: String =
    if (tokenFile.nonEmpty) s"look at ${Settings.TokenFile.key}"
    else if (certificate.nonEmpty) s"look at ${Settings.TlsCert.key}"
    else s"set ${Settings.TokenFile.key}, or ${Settings.TlsCert.key} and ${Settings.TlsKey.key}"
}

object Security {

  /** The application's, which no session can change. Where it has something to prove who it is, neither can the scheduler's address be changed. */
  def of(application: SparkConf, session: SQLConf): Security = {
    def at[T](setting: Setting[T]): T = setting.atStart(application, session)
    val found = Security(
      at(Settings.TlsCa),
      at(Settings.TlsCert),
      at(Settings.TlsKey),
      at(Settings.TlsServerName),
      at(Settings.TokenFile),
      at(Settings.AllowPlaintext)
    )
    if (found.certificate.isEmpty != found.key.isEmpty) {
      throw error(s"${Settings.TlsCert.key} and ${Settings.TlsKey.key} belong together: set both or none")
    }
    if (found.tokenFile.nonEmpty || found.certificate.nonEmpty) at(Settings.SchedulerUrl)
    found
  }

  private[pool] def error(text: String, cause: Option[Throwable] = None) =
    new NativeExecutorsException(Codes.Connection, text, retryable = false, cause)

  /** Without asking any name server. */
  private[pool] def isLoopback(host: String): Boolean = Option(host).map(_.stripPrefix("[").stripSuffix("]")).exists {
    case name if name.equalsIgnoreCase("localhost")                   => true
    case ip if ip.contains(':') || ip.matches("[0-9]+(\\.[0-9]+){3}") =>
      Try(InetAddress.getByName(ip)).toOption.exists(_.isLoopbackAddress)
    case _ => false
  }

  private def read(setting: Setting[String], name: String): Option[ByteBuffer] =
    Some(name).filter(_.nonEmpty).map { name =>
      // Not through a channel: that of a killed task's thread would be closed at once.
      Using(new FileInputStream(located(setting, name)))(_.readAllBytes()) match {
        case Success(bytes) => ByteBuffer.wrap(bytes)
        // The exception names the file; what is no path may be a secret in the wrong place.
        case Bad(e: IOException) if name.startsWith("/") => throw error(s"${setting.key}: ${e.getMessage}", Some(e))
        case Bad(_: IOException)                         => throw error(
            s"${setting.key} names no file that can be read: it takes an absolute path, or the name of a file of spark.files"
          )
        case Bad(e) => throw e
      }
    }

  // Where Spark has put a file of spark.files: its own folder, or the working directory (YARN).
  private def located(setting: Setting[String], name: String): File =
    if (name.startsWith("/")) new File(name)
    else if (name.contains('/') || name.contains('\n')) {
      throw error(s"${setting.key} takes an absolute path, or the name of a file of spark.files")
    } else {
      val shipped = if (SparkEnv.get == null) None else Some(new File(SparkFiles.get(name)))
      shipped.filter(_.isFile).getOrElse(new File(name))
    }
}

/** Contents of files, compared by their bytes. Never shown: a buffer prints its size only. */
private[pool] final case class Material(
    ca: Option[ByteBuffer] = None,
    certificate: Option[ByteBuffer] = None,
    key: Option[ByteBuffer] = None
) {

  /** Says which file is not what it should be; `cause` is what the TLS library says of all of them together. */
  def unusable(cause: Throwable): NativeExecutorsException = {
    val certificates = Seq(Settings.TlsCa -> ca, Settings.TlsCert -> certificate)
    val bad = certificates.collectFirst { case (setting, Some(file)) if !Material.hasCertificates(file) => setting }
    bad match {
      case Some(setting) => Security.error(s"${setting.key}: the file holds no certificate in PEM form", Some(cause))
      case None if key.isDefined =>
        val form = "a private key in PEM form (PKCS#8: BEGIN PRIVATE KEY), without a password"
        Security.error(s"${Settings.TlsKey.key}: the file does not hold $form", Some(cause))
      case None => Security.error(s"TLS cannot be set up: ${cause.getMessage}", Some(cause))
    }
  }
}

private object Material {
  private def hasCertificates(file: ByteBuffer): Boolean =
    try !CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(file.array)).isEmpty
    catch { case NonFatal(_) => false }
}
