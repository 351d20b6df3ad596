package org.apache.spark.sql.comet.nativeexecutors

import org.apache.comet.SparkErrorConverter
import org.apache.comet.exceptions.CometQueryExecutionException
import org.apache.spark.{QueryContext, SparkArithmeticException}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.trees.SQLQueryContext
import org.apache.spark.sql.errors.{DataTypeErrors, QueryCompilationErrors, QueryExecutionErrors}
import org.apache.spark.sql.types.{BooleanType, Decimal}
import org.apache.spark.unsafe.types.UTF8String
import org.json4s._
import org.json4s.jackson.JsonMethods

/**
 * Spark's exceptions of the pool's errors, made by the functions that Spark's own expressions call: class, SQLSTATE,
 * parameters and place in the query are those of Spark without the pool.
 *
 * Comet's converter has the same task and does it differently in places: another class for a remainder by zero, no hint
 * for an overflow, a context that is null where there is none. It is asked for the errors that are not among these.
 */
object SparkErrors {
  private implicit val formats: Formats = DefaultFormats

  /** @param json `{"errorType", "errorClass", "params", "context"?}` */
  def of(json: String): Throwable = {
    val error = JsonMethods.parse(json)
    val params = (error \ "params").extractOpt[Map[String, JValue]].getOrElse(Map.empty).collect {
      case (key, value) if value != JNull =>
        key -> (value match {
          case JString(text) => text
          case other         => JsonMethods.compact(JsonMethods.render(other))
        })
    }
    known((error \ "errorType").extract[String], params, context(error \ "context")).getOrElse {
      SparkErrorConverter.convertToSparkException(new CometQueryExecutionException(json), Nil)
    }
  }

  // Spark's functions take null for an expression without a place.
  private def known(kind: String, params: Map[String, String], context: QueryContext): Option[Throwable] = {
    def text(name: String) = UTF8String.fromString(params(name))
    def dataType(name: String) = CatalystSqlParser.parseDataType(params(name))
    val errors = QueryExecutionErrors
    Option(kind match {
      case "DivideByZero"           => errors.divideByZeroError(context)
      case "RemainderByZero"        => errors.remainderByZeroError(context)
      case "IntegralDivideOverflow" => errors.overflowInIntegralDivideError(context)
      case "ArithmeticOverflow"     => errors.arithmeticOverflowError(s"${params("fromType")} overflow", "", context)
      case "MathOverflow"           =>
        errors.arithmeticOverflowError(params("message"), params("functionName"), context)
      case "DecimalSumOverflow"     => errors.overflowInSumOfDecimalError(context, params("functionName"))
      case "NumericValueOutOfRange" =>
        val value = Decimal(new java.math.BigDecimal(params("value")))
        errors.cannotChangeDecimalPrecisionError(value, params("precision").toInt, params("scale").toInt, context)
      case "NumericOutOfRange" => DataTypeErrors.outOfDecimalTypeRangeError(text("value"))
      case "CastInvalidValue" if dataType("toType") == BooleanType =>
        errors.invalidInputSyntaxForBooleanError(text("value"), context)
      case "CastInvalidValue" => errors.invalidInputInCastToNumberError(dataType("toType"), text("value"), context)
      case "InvalidInputInCastToDatetime" if params.get("fromType").contains("STRING") =>
        errors.invalidInputInCastToDatetimeError(text("value"), dataType("toType"), context)
      case "InvalidInputInCastToDatetime" if params.get("fromType").contains("DOUBLE") =>
        errors.invalidInputInCastToDatetimeError(params("value").toDouble, dataType("toType"), context)
      case "DecimalRounded" =>
        val rounded =
          new java.math.BigDecimal(new java.math.BigInteger(params("unscaled")), params("unscaledScale").toInt)
        val shown = Map(
          "roundedValue" -> rounded.setScale(params("scale").toInt).toPlainString,
          "originalValue" -> rounded.toString,
          "precision" -> params("precision"),
          "scale" -> params("scale")
        )
        new SparkArithmeticException("NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION", shown, Array.empty, "")
      case "CastOverFlow" =>
        DataTypeErrors.castingCauseOverflowError(params("value"), dataType("fromType"), dataType("toType"))
      case "InvalidLikePattern" => params.get("char") match {
          case Some(char) => QueryCompilationErrors.escapeCharacterInTheMiddleError(params("format"), char)
          case None       => QueryCompilationErrors.escapeCharacterAtTheEndError(params("format"))
        }
      case _ => null
    })
  }

  private def context(json: JValue): QueryContext = json match {
    case _: JObject =>
      def text(name: String) = (json \ name).extractOpt[String].filter(_.nonEmpty)
      // What Spark has made itself stands nowhere in a text.
      def number(name: String) = text("sqlText").flatMap(_ => (json \ name).extractOpt[Int])
      SQLQueryContext(
        number("line"),
        number("startPosition"),
        number("startIndex"),
        number("stopIndex"),
        text("sqlText"),
        text("objectType"),
        text("objectName")
      )
    case _ => null
  }
}
