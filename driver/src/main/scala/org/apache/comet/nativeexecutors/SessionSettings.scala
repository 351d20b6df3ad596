package org.apache.comet.nativeexecutors

import scala.io.{Codec, Source}
import scala.util.{Try, Using}

import org.apache.spark.sql.internal.SQLConf

/**
 * Spark's settings that change answers without a trace in the plan. One that is away from its default is refused by its
 * name, unless `session-settings.tsv` says why its value is right.
 */
object SessionSettings {
  private val legacy = "spark.sql.legacy."
  private val any = "any"

  /** Accepted values by key: those of the list, from which docs/compatibility.md is made. */
  private lazy val accepted: Map[String, String] = {
    val lines = Using.resource(getClass.getResourceAsStream("session-settings.tsv")) { stream =>
      Source.fromInputStream(stream)(Codec.UTF8).getLines().toList
    }
    lines.filterNot(_.startsWith("#")).map(_.split('\t')).map(cells => cells(0) -> cells(1)).toMap
  }

  /** What of the session's settings is not executed. */
  def unsupported(conf: SQLConf): Seq[Unsupported] =
    conf.getAllConfs.filter { case (key, value) => isWatched(key) && !isRight(key, value) }.toSeq.sorted.map {
      case (key, value) =>
        Unsupported(s"setting $key=$value", "its effect on answers is not known to the pool", s"RESET $key")
    }

  private def isWatched(key: String): Boolean = key.startsWith(legacy) || accepted.contains(key)

  private def isRight(key: String, value: String): Boolean =
    accepted.get(key).exists(values => values == any || values.equalsIgnoreCase(value)) ||
      defaultOf(key).exists(_.equalsIgnoreCase(value))

  // A key that Spark does not know has none.
  private def defaultOf(key: String): Option[String] = Try(new SQLConf().getConfString(key)).toOption
}
