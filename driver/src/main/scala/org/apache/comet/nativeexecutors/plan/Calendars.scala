package org.apache.comet.nativeexecutors.plan

import org.apache.spark.sql.comet.CometNativeScanExec
import org.apache.spark.sql.execution.datasources.parquet.ParquetOptions

/** What the session and the read say of old dates and timestamps in Parquet files, which Comet's message does not carry. */
private[plan] object Calendars {
  private val datetime = "spark.sql.parquet.datetimeRebaseModeInRead"
  private val int96 = "spark.sql.parquet.int96RebaseModeInRead"

  /** For files that do not say which calendar they are of; a mode that is not here is CORRECTED. */
  def modes(scan: CometNativeScanExec): Map[String, String] = {
    val options = new ParquetOptions(scan.relation.options, scan.conf)
    Map(datetime -> options.datetimeRebaseModeInRead, int96 -> options.int96RebaseModeInRead)
      .filter { case (_, mode) => mode != "CORRECTED" }
  }
}
