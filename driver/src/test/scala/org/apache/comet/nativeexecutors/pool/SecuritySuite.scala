package org.apache.comet.nativeexecutors.pool

import java.nio.file.{Files, Path, StandardCopyOption}
import java.util.concurrent.CountDownLatch

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.arrow.flight.{Action, FlightRuntimeException}
import org.apache.comet.nativeexecutors.{NativeExecutorsException, Settings}
import org.apache.spark.SparkConf
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.comet.nativeexecutors.{SparkInternals, TestTasks}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.LongType
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** Connections to a real Flight server with TLS, and what is said when there is none. */
class SecuritySuite extends AnyFunSuite with BeforeAndAfterAll {
  private val secret = "hush-hush"
  private val here = "dns:localhost,ip:127.0.0.1"
  private lazy val folder = Files.createTempDirectory("cne-security")
  private lazy val allocator = SparkInternals.newAllocator("secured pool")
  private lazy val ours = new Authority(folder, "ours")
  private lazy val theirs = new Authority(folder, "theirs")
  private lazy val pool = ours.issue("pool", here)
  private lazy val application = ours.issue("application", "dns:application")
  private lazy val trusting = Security(ca = s"${ours.certificate}")
  private lazy val known = trusting.copy(certificate = s"${application.certificate}", key = s"${application.key}")

  override protected def afterAll(): Unit = {
    Clients.close()
    allocator.close()
    Files.walk(folder).iterator().asScala.toSeq.reverse.foreach(Files.delete)
    super.afterAll()
  }

  private def file(name: String, content: String): Path = Files.writeString(folder.resolve(name), content)

  private def at(url: String, security: Security) = PoolAddress(url, 2000, 2000, security, 1000)

  private def submit(url: String, security: Security): Outcome =
    new Submission(at(url, security), "q", Array[Byte](1)).run(TestTasks.context())

  /** The failure of a query, which no message of may tell a secret. */
  private def failure(url: String, security: Security): Failure = submit(url, security) match {
    case Failed(failure) =>
      assert(!failure.message.contains(secret), failure.message)
      failure
    case other => fail(s"$other")
  }

  private def refused(code: String, named: String*)(url: String, security: Security): Unit = {
    val found = failure(url, security)
    assert(found.code == code && named.forall(found.message.contains), found)
  }

  private def rows(url: String, security: Security): Iterator[Long] = submit(url, security) match {
    case Succeeded(endpoints, 3, _, _) =>
      val output = Seq(AttributeReference("a", LongType, nullable = false)())
      new ResultReader(at(url, security), endpoints, output, TestTasks.context()).rows.map(_.getLong(0))
    case other => fail(s"$other")
  }

  private def ping(url: String, security: Security): Unit =
    Clients.call(security, url)(_.doAction(new Action("comet.prepare")).forEachRemaining(_ => ()))

  test("a query and its rows come over TLS, and every call says who calls") {
    val token = file("token", s"  $secret\n")
    Using.resource(new SecuredPool(allocator, Some(pool), Some(ours), Some(secret))) { server =>
      val security = known.copy(tokenFile = s"$token")
      assert(rows(server.url, security).toSeq == Seq(0, 1, 2))
      assert(server.calls.size == 3 && server.calls.asScala.forall(_._2.contains(s"Bearer $secret")))
      // A new one counts at the next call, on the same connection.
      server.token = Some("second")
      refused("CNE-5005", Settings.TokenFile.key)(server.url, security)
      file("token", "second")
      assert(rows(server.url, security).toSeq == Seq(0, 1, 2))
    }
  }

  test("who is not known is refused, with the setting to look at") {
    Using.resource(new SecuredPool(allocator, Some(pool), token = Some(secret))) { server =>
      refused("CNE-5005", s"set ${Settings.TokenFile.key}")(server.url, trusting)
      refused("CNE-5005", s"look at ${Settings.TlsCert.key}")(server.url, known)
    }
    Using.resource(new SecuredPool(allocator, Some(pool), Some(ours))) { server =>
      refused("CNE-5004", Settings.TlsCert.key)(server.url, trusting)
      val foreign = theirs.issue("foreign", "dns:foreign")
      val stranger = trusting.copy(certificate = s"${foreign.certificate}", key = s"${foreign.key}")
      refused("CNE-5004", Settings.TlsCert.key, Settings.TlsKey.key)(server.url, stranger)
      assert(server.calls.isEmpty, "a call came through without a certificate")
    }
  }

  test("a pool that is not the right one gets no call") {
    Using.resource(new SecuredPool(allocator, Some(pool))) { server =>
      refused("CNE-5004", Settings.TlsCa.key)(server.url, Security(ca = s"${theirs.certificate}"))
      // The JVM's own authorities.
      refused("CNE-5004", Settings.TlsCa.key)(server.url, Security())
      val plain = server.url.replace("grpc+tls", "grpc")
      refused("CNE-5001", plain, "grpc+tls://")(plain, Security())
      assert(server.calls.isEmpty)
    }
    Using.resource(new SecuredPool(allocator, Some(ours.issue("expired", here, "-3d")))) { server =>
      refused("CNE-5004", "has expired")(server.url, trusting)
    }
    Using.resource(new SecuredPool(allocator, Some(ours.issue("named", "dns:pool.example")))) { server =>
      refused("CNE-5004", Settings.TlsServerName.key, "127.0.0.1")(server.url, trusting)
      assert(rows(server.url, trusting.copy(serverName = "pool.example")).toSeq == Seq(0, 1, 2))
      assert(server.calls.asScala.forall(_._2.isEmpty))
    }
    Using.resource(new SecuredPool(allocator, None)) { server =>
      val encrypted = server.url.replace("grpc", "grpc+tls")
      refused("CNE-5004", "does not speak TLS", Settings.SchedulerUrl.key)(encrypted, trusting)
    }
  }

  test("files that cannot be used are named by their setting, without what is in them") {
    val (text, none) = (file("text", s"$secret\n$secret"), folder.resolve("none"))
    val locked =
      file("locked", s"-----BEGIN ENCRYPTED PRIVATE KEY-----\n$secret\n-----END ENCRYPTED PRIVATE KEY-----\n")
    val url = "grpc+tls://127.0.0.1:1"
    val wrong = Seq(
      Settings.TlsCa -> trusting.copy(ca = s"$text"),
      Settings.TlsCert -> known.copy(certificate = s"$text"),
      Settings.TlsKey -> known.copy(key = s"$text"),
      Settings.TlsKey -> known.copy(key = s"$locked"),
      Settings.TokenFile -> trusting.copy(tokenFile = s"$text"),
      // The secret itself in the place of its file.
      Settings.TokenFile -> trusting.copy(tokenFile = secret),
      Settings.TlsKey -> known.copy(key = s"-----BEGIN PRIVATE KEY-----\n$secret/$secret")
    )
    wrong.foreach { case (setting, security) => refused("CNE-5003", setting.key)(url, security) }
    for (setting <- Seq(Settings.TlsCa, Settings.TlsCert, Settings.TlsKey, Settings.TokenFile)) {
      val security = setting match {
        case Settings.TlsCa   => trusting.copy(ca = s"$none")
        case Settings.TlsCert => known.copy(certificate = s"$none")
        case Settings.TlsKey  => known.copy(key = s"$none")
        case _                => trusting.copy(tokenFile = s"$none")
      }
      refused("CNE-5003", setting.key, s"$none")(url, security)
    }
  }

  test("new files count for new connections, and streams on the old one go on") {
    val current = known.copy(ca = s"${folder.resolve("current")}")
    def trust(authority: Authority): Unit =
      Files.copy(authority.certificate, Path.of(current.ca), StandardCopyOption.REPLACE_EXISTING)
    trust(ours)
    Using.resources(
      new SecuredPool(allocator, Some(pool), Some(ours)),
      new SecuredPool(allocator, Some(theirs.issue("pool", here)))
    ) { (first, second) =>
      val rotated = new CountDownLatch(1)
      first.beforeSecondBatch = () => rotated.await()
      val stream = rows(first.url, current)
      assert(stream.next() == 0)
      refused("CNE-5004", Settings.TlsCa.key)(second.url, current)
      trust(theirs)
      ping(second.url, current)
      // The connection that the stream uses is not the next call's.
      refused("CNE-5004", Settings.TlsCa.key)(first.url, current)
      rotated.countDown()
      assert(stream.toSeq == Seq(1, 2))
      // Half of a replacement: what was there before stays.
      Files.writeString(Path.of(current.ca), "")
      ping(second.url, current)
      Files.delete(Path.of(current.ca))
      ping(second.url, current)
    }
  }

  test("plaintext leaves the machine only when that is allowed") {
    for (local <- Seq("grpc://127.0.0.1:1", "grpc+tcp://127.8.9.1:1", "grpc://[::1]:1", "grpc://localhost:1")) {
      assert(!Security().isTls(local))
    }
    for (
      far <- Seq(
        "grpc://10.0.0.1:1",
        "grpc://pool.example:1",
        "grpc://localhost.example:1",
        "grpc://[2001:db8::1]:1",
        "grpc://0.0.0.0:1"
      )
    ) {
      val error = intercept[NativeExecutorsException](ping(far, Security()))
      assert(error.code == "CNE-5003" && error.getMessage.contains(far) && error.getMessage.contains(
        Settings.AllowPlaintext.key
      ))
      assert(!Security(allowPlaintext = true).isTls(far))
      assert(Security().isTls(far.replaceFirst("grpc(\\+tcp)?:", "grpc+tls:")))
    }
    for (none <- Seq("http://127.0.0.1:1", "nothing", "grpc://"))
      intercept[NativeExecutorsException](Security().isTls(none))
  }

  test("a session cannot change whom the application trusts and where its token goes") {
    def of(application: (String, String)*)(session: (String, String)*) = {
      val conf = new SQLConf
      (application ++ session).foreach { case (key, value) => conf.setConfString(key, value) }
      Security.of(new SparkConf(false).setAll(application), conf)
    }
    val token = Settings.TokenFile.key -> "/t"
    assert(of(token, Settings.TlsCa.key -> "/ca")() == Security(ca = "/ca", tokenFile = "/t"))
    val changes =
      Seq(Settings.TlsCa, Settings.TlsServerName, Settings.TokenFile, Settings.SchedulerUrl).map(_.key -> secret)
    for (change <- changes :+ (Settings.AllowPlaintext.key -> "true")) {
      val error = intercept[IllegalArgumentException](of(token)(change))
      assert(error.getMessage.contains(change._1) && !error.getMessage.contains(secret))
    }
    // Without anything to give away, a session may use another pool.
    assert(of()(Settings.SchedulerUrl.key -> "grpc://127.0.0.1:1") == Security())
    val half = intercept[NativeExecutorsException](of(Settings.TlsCert.key -> "/c")())
    assert(half.code == "CNE-5003" && half.getMessage.contains(Settings.TlsKey.key))
  }

  test("what travels with tasks, and what is shown, has no secret") {
    val security = known.copy(tokenFile = s"${file("canary", secret)}")
    val shown = s"${at("grpc+tls://127.0.0.1:1", security)} ${security.material()}"
    assert(!shown.contains(secret) && !shown.contains("BEGIN"), shown)
    // Spark's own rule for what its UI shows.
    assert("(?i)secret|password|token|access[.]?key".r.findFirstIn(Settings.TokenFile.key).isDefined)
    intercept[FlightRuntimeException](ping("grpc+tls://127.0.0.1:1", security))
  }
}
