package org.apache.comet.nativeexecutors.pool

import java.security.cert.{
  CertPathBuilderException,
  CertPathValidatorException,
  CertificateException,
  CertificateExpiredException,
  CertificateNotYetValidException
}
import javax.net.ssl.SSLException

import io.netty.handler.ssl.NotSslRecordException
import org.apache.comet.nativeexecutors.{Codes, Settings}

/** What it means that TLS with the pool fails, and which setting to look at. */
private[pool] object Handshake {
  private val alert = "Received fatal alert: "

  /** `None` when the call did not fail for that. */
  def failure(error: Throwable, peer: String): Option[Failure] = {
    val chain = causes(error)
    val certificate = s"the certificate of $peer"
    // The most telling cause is not always the last one.
    val text = chain.collectFirst { case _: CertificateExpiredException => s"$certificate has expired" }
      .orElse(chain.collectFirst { case _: CertificateNotYetValidException => s"$certificate is not valid yet" })
      .orElse(chain.collectFirst { case _: NotSslRecordException =>
        s"$peer does not speak TLS: look at ${Settings.SchedulerUrl.key} and at the pool's own settings"
      })
      .orElse(chain.collectFirst { case _: CertPathBuilderException | _: CertPathValidatorException =>
        s"$certificate is signed by no authority that is trusted here: look at ${Settings.TlsCa.key}"
      })
      .orElse(chain.collectFirst {
        case e: CertificateException if isName(e) =>
          s"$certificate has another name (${e.getMessage}): look at ${Settings.TlsServerName.key}"
      })
      .orElse(chain.collectFirst {
        case e: SSLException if message(e).contains(alert) =>
          val said = message(e).split(alert).last
          s"$peer refuses the certificate of this application ($said): look at ${Settings.TlsCert.key} and ${Settings.TlsKey.key}"
      })
      .orElse(chain.collectFirst { case e @ (_: SSLException | _: CertificateException) =>
        s"TLS with $peer fails: ${message(e)}"
      })
    text.map(Failure(Codes.Untrusted, _, retryable = false, Nil, ""))
  }

  /** What may be the reason that a connection ends without a word. */
  def hint(error: Throwable, peer: String, security: Security): String = {
    val closed = causes(error).map(message).exists { text =>
      Seq("Network closed", "Connection reset", "closed for unknown reason", "HTTP/2").exists(text.contains)
    }
    if (!closed) ""
    else if (!peer.startsWith("grpc+tls")) "; if it speaks TLS, its address is grpc+tls://"
    else if (security.certificate.isEmpty)
      s"; if it wants a certificate, set ${Settings.TlsCert.key} and ${Settings.TlsKey.key}"
    else ""
  }

  private def isName(error: CertificateException): Boolean =
    Seq("No subject alternative", "No name matching").exists(message(error).contains)

  private def message(error: Throwable): String = Option(error.getMessage).getOrElse("")

  private def causes(error: Throwable): Seq[Throwable] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(20).toSeq
}
