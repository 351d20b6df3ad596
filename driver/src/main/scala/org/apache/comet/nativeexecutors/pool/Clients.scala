package org.apache.comet.nativeexecutors.pool

import java.util.concurrent.ConcurrentHashMap

import org.apache.arrow.flight.{FlightClient, Location}
import org.apache.arrow.memory.BufferAllocator
import org.apache.spark.sql.comet.nativeexecutors.SparkInternals

/** One Flight client (one HTTP/2 connection) for each address, shared by all tasks of this process. */
object Clients {
  private val clients = new ConcurrentHashMap[String, FlightClient]
  private lazy val allocator: BufferAllocator = SparkInternals.newAllocator("comet native executors")

  /** The client of an address such as `grpc://host:port`. Connects when it is first used. */
  def get(address: String): FlightClient = clients.computeIfAbsent(
    address,
    _ => FlightClient.builder(allocator, new Location(address)).build()
  )

  /** Ends all connections. A later call opens new ones. */
  def close(): Unit = clients.keySet().forEach { address =>
    val client = clients.remove(address)
    if (client != null) client.close()
  }

  /** Bytes of off-heap memory that batches of results hold now. */
  def allocatedBytes: Long = allocator.getAllocatedMemory
}
