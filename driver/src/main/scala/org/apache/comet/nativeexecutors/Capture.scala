package org.apache.comet.nativeexecutors

import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.atomic.AtomicInteger

import org.apache.comet.nativeexecutors.protocol.QueryRequest

/** Writes requests to a directory, for bug reports and for replaying them without Spark. */
object Capture {
  private val count = new AtomicInteger

  def write(directory: String, request: QueryRequest): Path = {
    val folder = Files.createDirectories(Paths.get(directory))
    val name = request.getDescription.replaceAll("[^A-Za-z0-9_.-]+", "_").take(60)
    Files.write(folder.resolve(f"${count.incrementAndGet()}%03d-$name.pb"), request.toByteArray)
  }
}
