package org.apache.comet.nativeexecutors.pool

import java.lang.ref.WeakReference
import java.time.{Duration, Instant}
import java.util.concurrent.{ConcurrentHashMap, Executors, TimeUnit}

import scala.util.control.NonFatal

import org.apache.arrow.flight.{CallOptions, FlightEndpoint, Location, RenewFlightEndpointRequest, Ticket}
import org.apache.spark.internal.Logging

/**
 * Renews the leases of results for as long as somebody can still read them: while the RDD is reachable. So a slow
 * iterator and a second action on the same RDD find the same rows.
 */
object Leases extends Logging {
  private val everySeconds = 2L
  // The RDD itself is held weakly; its partitions do not refer to it.
  private final class Lease(
      val rdd: WeakReference[AnyRef],
      val pool: PoolAddress,
      val partitions: Array[ResultPartition]
  ) {
    @volatile var next: Instant = renewal(partitions)
  }
  private val leases = ConcurrentHashMap.newKeySet[Lease]()

  private lazy val timer = Executors.newSingleThreadScheduledExecutor { (task: Runnable) =>
    val thread = new Thread(task, "comet-native-executors-leases")
    thread.setDaemon(true)
    thread
  }
  private lazy val started = timer.scheduleWithFixedDelay(() => check(), everySeconds, everySeconds, TimeUnit.SECONDS)

  /** Keeps what the partitions name on the pool. */
  private[pool] def keep(rdd: AnyRef, pool: PoolAddress, partitions: Array[ResultPartition]): Unit = {
    started
    if (partitions.exists(_.endpoints.exists(_.expires.isDefined))) {
      leases.add(new Lease(new WeakReference(rdd), pool, partitions))
    }
  }

  // Half of the time that is left.
  private def renewal(partitions: Array[ResultPartition]): Instant = {
    val now = Instant.now()
    val ends = partitions.toSeq.flatMap(_.endpoints).flatMap(_.expires)
    if (ends.isEmpty) Instant.MAX else now.plus(Duration.between(now, ends.min).dividedBy(2))
  }

  private def check(): Unit = leases.forEach { lease =>
    if (lease.rdd.get() == null) leases.remove(lease)
    else if (Instant.now().isAfter(lease.next)) {
      try {
        lease.partitions.foreach(p => p.endpoints = p.endpoints.map(renewed(lease.pool, _)))
        lease.next = renewal(lease.partitions)
      } catch {
        // Gone or not reachable: the reader gets the error, if anybody reads it.
        case NonFatal(e) =>
          logDebug("a lease was not renewed", e)
          lease.next = Instant.now().plusSeconds(everySeconds)
      }
    }
  }

  /** The endpoint with a new lease, and the executors that serve it now. */
  private[pool] def renewed(pool: PoolAddress, endpoint: ResultEndpoint): ResultEndpoint = {
    val locations = endpoint.locations.map(new Location(_))
    val asked = endpoint.expires match {
      case Some(end) => new FlightEndpoint(new Ticket(endpoint.ticket), end, locations: _*)
      case None      => new FlightEndpoint(new Ticket(endpoint.ticket), locations: _*)
    }
    val options = CallOptions.timeout(10, TimeUnit.SECONDS)
    Submission.endpoint(Clients.call(pool.security, pool.url) { client =>
      client.renewFlightEndpoint(new RenewFlightEndpointRequest(asked), options)
    })
  }
}
