package org.apache.comet.nativeexecutors

import java.util.{Collections, Map => JMap}

import org.apache.comet.nativeexecutors.pool.Clients
import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.comet.nativeexecutors.SparkInternals

/** What `spark.plugins` names, beside Comet's plugin: it adds the extension and ends the connections with the driver. */
class NativeExecutorsPlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new NativeExecutorsDriverPlugin
  override def executorPlugin(): ExecutorPlugin = null
}

private class NativeExecutorsDriverPlugin extends DriverPlugin with Logging {
  private val extensions = "spark.sql.extensions"

  override def init(sc: SparkContext, context: PluginContext): JMap[String, String] = {
    val ours = classOf[NativeExecutorsExtension].getName
    val set = SparkInternals.conf(sc).get(extensions, "").split(',').map(_.trim).filter(_.nonEmpty)
    if (!set.contains(ours)) SparkInternals.conf(sc).set(extensions, (set :+ ours).mkString(","))
    if (org.apache.comet.COMET_VERSION != NativeExecutorsPlugin.cometVersion) {
      logWarning(
        s"Comet ${org.apache.comet.COMET_VERSION} is on the class path; " +
          s"this jar was built for ${NativeExecutorsPlugin.cometVersion}"
      )
    }
    Collections.emptyMap()
  }

  override def shutdown(): Unit = Clients.close()
}

private object NativeExecutorsPlugin {
  val cometVersion = "1.2.0"
}
