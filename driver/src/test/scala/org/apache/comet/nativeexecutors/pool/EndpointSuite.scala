package org.apache.comet.nativeexecutors.pool

import java.time.Instant

import org.apache.arrow.flight.{FlightEndpoint, Location, Ticket}
import org.scalatest.funsuite.AnyFunSuite

class EndpointSuite extends AnyFunSuite {
  test("the end of a lease survives flight-core's reading of it") {
    val end = Instant.now().plusSeconds(600)
    val sent = new FlightEndpoint(new Ticket(Array[Byte](1)), end, new Location("grpc://127.0.0.1:1"))
    val read = Submission.endpoint(FlightEndpoint.deserialize(sent.serialize()))
    assert(read.expires.contains(end))
    assert(read.locations == Seq("grpc://127.0.0.1:1") && read.ticket.sameElements(Array[Byte](1)))
  }
}
