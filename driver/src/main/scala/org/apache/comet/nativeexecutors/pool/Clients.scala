package org.apache.comet.nativeexecutors.pool

import java.io.ByteArrayInputStream
import java.nio.ByteBuffer
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.arrow.flight._
import org.apache.arrow.memory.BufferAllocator
import org.apache.comet.nativeexecutors.NativeExecutorsException
import org.apache.spark.internal.Logging
import org.apache.spark.sql.comet.nativeexecutors.SparkInternals

/**
 * One Flight client (one HTTP/2 connection) for each address, shared by all tasks of this process. When a file that it was
 * made with has changed, the next call gets a new one; the old one ends with its last call.
 */
object Clients extends Logging {
  private val connections = new ConcurrentHashMap[(String, Security), Connection]
  private lazy val allocator: BufferAllocator = SparkInternals.newAllocator("comet native executors")

  /** Makes one call at an address such as `grpc://host:port`. Connects when it is first used. */
  def call[T](security: Security, address: String)(use: FlightClient => T): T = {
    val connection = hold(security, address)
    try use(connection.client)
    finally connection.release()
  }

  /** For what outlasts a call: the connection stays until it is released. */
  private[pool] def hold(security: Security, address: String): Connection = {
    val tls = security.isTls(address)
    val token = security.token()
    val material =
      try Right(if (tls) security.material() else Material())
      catch { case e: NativeExecutorsException => Left(e) }
    val connection =
      connections.compute((address, security), (_, old) => current(security, address, material, Option(old)))
    connection.token = token
    connection
  }

  // Held by the caller: nobody else can end it in between.
  private def current(
      security: Security,
      address: String,
      material: Either[NativeExecutorsException, Material],
      old: Option[Connection]
  ): Connection = {
    val made = material.flatMap { now =>
      old.filter(_.material == now).map(Right(_)).getOrElse {
        try Right(open(security, address, now))
        catch { case NonFatal(e) => Left(now.unusable(e)) }
      }
    }
    val connection = (made, old) match {
      case (Right(connection), _) => connection
      // Files that are replaced one by one do not fit for a moment.
      case (Left(e), Some(connection)) =>
        logWarning(s"the connection to $address stays as it was: ${e.getMessage}")
        connection
      case (Left(e), None) => throw e
    }
    connection.hold()
    old.filter(_ ne connection).foreach(_.retire())
    connection
  }

  private def open(security: Security, address: String, material: Material): Connection = {
    def stream(file: ByteBuffer) = new ByteArrayInputStream(file.array)
    val builder = FlightClient.builder(allocator, new Location(address))
    if (security.serverName.nonEmpty) builder.overrideHostname(security.serverName)
    material.ca.foreach(file => builder.trustedCertificates(stream(file)))
    for (certificate <- material.certificate; key <- material.key) {
      builder.clientCertificate(stream(certificate), stream(key))
    }
    val tokens = new Tokens
    builder.intercept(tokens)
    new Connection(builder.build(), material, tokens)
  }

  /** Ends all connections. A later call opens new ones. */
  def close(): Unit = connections.keySet().forEach { key =>
    val connection = connections.remove(key)
    if (connection != null) connection.end()
  }

  /** Bytes of off-heap memory that batches of results hold now. */
  def allocatedBytes: Long = allocator.getAllocatedMemory
}

/** A client and how many use it. */
private[pool] final class Connection(val client: FlightClient, val material: Material, tokens: Tokens) {
  private var users = 0
  private var retired = false
  private var ended = false

  def token_=(token: Option[String]): Unit = tokens.current = token
  def token: Option[String] = tokens.current

  def hold(): Unit = synchronized(users += 1)

  def release(): Unit = {
    val last = synchronized {
      users -= 1
      retired && users == 0
    }
    if (last) end()
  }

  /** Nobody will hold it any more: it ends with the last that does. */
  def retire(): Unit = {
    val unused = synchronized {
      retired = true
      users == 0
    }
    if (unused) end()
  }

  def end(): Unit = {
    val first = synchronized {
      val first = !ended
      ended = true
      first
    }
    if (first) client.close()
  }
}

/** Sends the token with every call. */
private final class Tokens extends FlightClientMiddleware.Factory {
  @volatile var current: Option[String] = None

  override def onCallStarted(info: CallInfo): FlightClientMiddleware = new FlightClientMiddleware {
    override def onBeforeSendingHeaders(headers: CallHeaders): Unit =
      current.foreach(token => headers.insert("authorization", s"Bearer $token"))
    override def onHeadersReceived(headers: CallHeaders): Unit = ()
    override def onCallCompleted(status: CallStatus): Unit = ()
  }
}
