package org.apache.comet.nativeexecutors.pool

import java.util.Collections
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.arrow.flight._
import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.{BigIntVector, VectorSchemaRoot}
import org.apache.arrow.vector.types.pojo.{ArrowType, Field, FieldType, Schema}
import org.apache.comet.nativeexecutors.protocol.QueryProgress

/**
 * A real Flight server that answers like a scheduler and like an executor: one query with three batches of one row. It
 * wants the token `token`, if there is one, and notes with which each call came.
 *
 * @param clients
 *   the authority whose clients it takes; without one it asks for no certificate
 */
final class SecuredPool(
    allocator: BufferAllocator,
    identity: Option[Identity],
    clients: Option[Authority] = None,
    @volatile var token: Option[String] = None
) extends AutoCloseable {

  /** The header of each call, by its method. */
  val calls = new ConcurrentLinkedQueue[(FlightMethod, Option[String])]

  /** What the second batch of a result waits for. */
  @volatile var beforeSecondBatch: () => Unit = () => ()

  private val schema =
    new Schema(Collections.singletonList(new Field("c0", FieldType.notNullable(new ArrowType.Int(64, true)), null)))

  private val server = {
    val location =
      if (identity.isDefined) Location.forGrpcTls("127.0.0.1", 0) else Location.forGrpcInsecure("127.0.0.1", 0)
    val builder = FlightServer.builder(allocator, location, Producer)
    identity.foreach(own => builder.useTls(own.certificate.toFile, own.key.toFile))
    clients.foreach(authority => builder.useMTlsClientVerification(authority.certificate.toFile))
    builder.middleware(
      FlightServerMiddleware.Key.of[FlightServerMiddleware]("who"),
      (info, headers, _) => admit(info, headers)
    )
    builder.build().start()
  }

  /** Its address. */
  val url: String = s"${if (identity.isDefined) "grpc+tls" else "grpc"}://127.0.0.1:${server.getPort}"

  override def close(): Unit = server.close()

  private def admit(info: CallInfo, headers: CallHeaders): FlightServerMiddleware = {
    val came = Option(headers.get("authorization"))
    calls.add(info.method() -> came)
    if (token.exists(wanted => !came.contains(s"Bearer $wanted"))) throw CallStatus.UNAUTHENTICATED.toRuntimeException
    new FlightServerMiddleware {
      override def onBeforeSendingHeaders(headers: CallHeaders): Unit = ()
      override def onCallCompleted(status: CallStatus): Unit = ()
      override def onCallErrored(error: Throwable): Unit = ()
    }
  }

  private object Producer extends NoOpFlightProducer {
    override def doAction(
        context: FlightProducer.CallContext,
        action: Action,
        listener: FlightProducer.StreamListener[Result]
    ): Unit = {
      listener.onNext(new Result("plan".getBytes))
      listener.onCompleted()
    }

    override def pollFlightInfo(context: FlightProducer.CallContext, descriptor: FlightDescriptor): PollInfo = {
      val endpoint = new FlightEndpoint(new Ticket("t".getBytes), new Location(url))
      val end = QueryProgress.newBuilder().setResultRows(3).build().toByteArray
      val info = FlightInfo.builder(schema, descriptor, Seq(endpoint).asJava).setAppMetadata(end).build()
      new PollInfo(info, null, 1.0, null)
    }

    override def getStream(
        context: FlightProducer.CallContext,
        ticket: Ticket,
        listener: FlightProducer.ServerStreamListener
    ): Unit = {
      val root = VectorSchemaRoot.create(schema, allocator)
      try {
        listener.start(root)
        for (i <- 0L until 3L) {
          if (i == 1) beforeSecondBatch()
          root.getVector(0).asInstanceOf[BigIntVector].setSafe(0, i)
          root.setRowCount(1)
          listener.putNext()
        }
        listener.completed()
      } finally root.close()
    }
  }
}
