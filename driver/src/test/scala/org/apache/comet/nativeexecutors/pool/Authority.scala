package org.apache.comet.nativeexecutors.pool

import java.io.FileInputStream
import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.{Files, Path}
import java.security.KeyStore
import java.util.Base64

import scala.util.Using

/** Certificate and private key of somebody, as files in PEM form. */
final case class Identity(certificate: Path, key: Path)

/** An authority of the tests' own, by the JDK's keytool. */
final class Authority(folder: Path, name: String) {
  private val password = "changeit"
  private val store = folder.resolve(s"$name.p12")
  private def common = Seq("-storetype", "PKCS12", "-storepass", password)

  /** Its own certificate. */
  val certificate: Path = folder.resolve(s"$name.pem")

  create("ca", store, s"CN=$name", "-ext", "bc:c", "-ext", "KeyUsage=keyCertSign")
  keytool(Seq("-exportcert", "-rfc", "-alias", "ca", "-keystore", s"$store", "-file", s"$certificate") ++ common)

  /**
   * A certificate for `subject` that it signs.
   *
   * @param names
   *   as keytool writes them, such as `dns:localhost,ip:127.0.0.1`
   * @param start
   *   of its validity of one day, such as `-3d`
   */
  def issue(subject: String, names: String, start: String = "-1H"): Identity = {
    val (keys, request) = (folder.resolve(s"$name-$subject.p12"), folder.resolve(s"$name-$subject.csr"))
    val issued = Identity(folder.resolve(s"$name-$subject.pem"), folder.resolve(s"$name-$subject.key"))
    create(subject, keys, s"CN=$subject")
    keytool(Seq("-certreq", "-alias", subject, "-keystore", s"$keys", "-file", s"$request") ++ common)
    val signed = Seq("-gencert", "-rfc", "-alias", "ca", "-keystore", s"$store", "-infile", s"$request")
    val content =
      Seq("-outfile", s"${issued.certificate}", "-ext", s"san=$names", "-startdate", start, "-validity", "1")
    keytool(signed ++ content ++ common)
    val key = Using.resource(new FileInputStream(keys.toFile)) { stream =>
      val store = KeyStore.getInstance("PKCS12")
      store.load(stream, password.toCharArray)
      store.getKey(subject, password.toCharArray).getEncoded
    }
    val lines = Base64.getMimeEncoder(64, Array('\n'.toByte)).encodeToString(key)
    Files.write(issued.key, s"-----BEGIN PRIVATE KEY-----\n$lines\n-----END PRIVATE KEY-----\n".getBytes(US_ASCII))
    issued
  }

  private def create(alias: String, into: Path, subject: String, more: String*): Unit = {
    val what = Seq("-genkeypair", "-alias", alias, "-keystore", s"$into", "-dname", subject, "-validity", "2")
    keytool(what ++ Seq("-keyalg", "EC", "-groupname", "secp256r1") ++ more ++ common)
  }

  private def keytool(arguments: Seq[String]): Unit = {
    val command = s"${System.getProperty("java.home")}/bin/keytool" +: "-J-XX:TieredStopAtLevel=1" +: arguments
    val process = new ProcessBuilder(command: _*).redirectErrorStream(true).start()
    val said = new String(process.getInputStream.readAllBytes())
    assert(process.waitFor() == 0, said)
  }
}
