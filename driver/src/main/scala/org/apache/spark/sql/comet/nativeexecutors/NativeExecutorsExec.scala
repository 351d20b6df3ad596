package org.apache.spark.sql.comet.nativeexecutors

import java.util.concurrent.atomic.AtomicLong

import org.apache.comet.nativeexecutors.{Capture, Settings}
import org.apache.comet.nativeexecutors.plan.{Request, Resolved}
import org.apache.comet.nativeexecutors.pool.{PoolAddress, ResultMetrics, ResultRDD, Security}
import org.apache.comet.nativeexecutors.protocol.QueryRequest
import org.apache.comet.serde.ExprOuterClass.Expr
import org.apache.comet.serde.QueryPlanSerde
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Literal}
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{LeafExecNode, SQLExecution, ScalarSubquery, SparkPlan}
import org.apache.spark.sql.execution.metric.SQLMetrics

/**
 * A whole query that runs on the pool: the only node of its plan. Spark runs its scalar subqueries first (each is such a
 * node again); their values are literals in the request.
 *
 * @param scalars
 *   one for each expression id
 * @param identity
 *   no two of these nodes are equal: that Comet calls two plans equal does not make their rows so
 * @param inner
 *   the plan as Comet has converted it
 */
final case class NativeExecutorsExec(output: Seq[Attribute], scalars: Seq[ScalarSubquery], identity: Long)(
    @transient val inner: SparkPlan
) extends LeafExecNode {

  override lazy val metrics = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "numTasks" -> SQLMetrics.createMetric(sparkContext, "tasks on the pool"),
    "numExecutors" -> SQLMetrics.createMetric(sparkContext, "executors of the pool")
  )

  override def nodeName: String = "CometNativeExecutors"
  override def outputPartitioning: Partitioning = UnknownPartitioning(0)
  override def innerChildren: Seq[QueryPlan[_]] = Option(inner).toSeq
  override def stringArgs: Iterator[Any] = Iterator(output)
  override protected def otherCopyArgs: Seq[AnyRef] = Seq(inner)
  override protected def doCanonicalize(): SparkPlan =
    NativeExecutorsExec(output.map(QueryPlan.normalizeExpressions(_, output)), Nil, identity)(null)

  // Every action is an execution of its own, with rows as of now; what is below does the collecting and counts its bytes.
  override def executeCollect(): Array[InternalRow] = fresh(all => all)(_.executeCollect())
  override def executeTake(n: Int): Array[InternalRow] = fresh(_.take(n))(_.executeTake(n))
  override def executeTail(n: Int): Array[InternalRow] = fresh(_.takeRight(n))(_.executeTail(n))
  override def executeToIterator(): Iterator[InternalRow] = fresh(_.iterator)(_.executeToIterator())
  override protected def doExecute(): RDD[InternalRow] = rows(rowsPerTask = None)

  private def fresh[T](few: Array[InternalRow] => T)(many: SparkPlan => T): T = executeQuery {
    val result = rows(Some(Settings.RowsPerTask.of(conf)))
    result.collectFew(Settings.InlineRows.of(conf)) match {
      case Some(all) => few(all)
      case None      => many(ResultExec(output)(result))
    }
  }

  private def rows(rowsPerTask: Option[Long]): ResultRDD = {
    val pool = PoolAddress(
      Settings.SchedulerUrl.of(conf),
      Settings.SchedulerTimeout.of(conf),
      Settings.RecoveryTimeout.of(conf),
      Security.of(SparkInternals.conf(sparkContext), conf),
      Settings.SparkExecutorTimeout.of(conf)
    )
    val executionId = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    def publish(): Unit = SQLMetrics.postDriverMetricUpdates(
      sparkContext,
      executionId,
      Seq(longMetric("numTasks"), longMetric("numExecutors"))
    )
    val counted =
      ResultMetrics(longMetric("numOutputRows"), longMetric("numTasks"), longMetric("numExecutors"), () => publish())
    // Built here, where the session is active, and not when somebody asks for the partitions.
    val message = request()
    val rdd = new ResultRDD(sparkContext, output, counted.rows, pool, () => message, rowsPerTask, counted)
    rdd.setName(nodeName)
  }

  private def request(): QueryRequest = {
    val description =
      Option(sparkContext.getLocalProperty("spark.job.description")).getOrElse(output.map(_.name).mkString(","))
    val built = Request(inner, Resolved(literals), conf, session.sessionUUID, description.take(200))
    val directory = Settings.CaptureDir.of(conf)
    if (directory.nonEmpty) Capture.write(directory, built)
    built
  }

  private def literals: Map[Long, Expr] = scalars.map { subquery =>
    // In Catalyst's own form already: Literal.create would convert dates and timestamps a second time.
    val literal = Literal(subquery.eval(), subquery.dataType)
    val message = QueryPlanSerde.exprToProto(literal, Nil).getOrElse {
      throw new IllegalStateException(s"Comet has no message for a value of type ${subquery.dataType.sql}")
    }
    subquery.exprId.id -> message
  }.toMap
}

object NativeExecutorsExec {
  private val ids = new AtomicLong

  def nextId(): Long = ids.incrementAndGet()
}

/** Rows of one execution, for Spark's own ways to collect them. Never part of a plan. */
private final case class ResultExec(output: Seq[Attribute])(@transient val rows: RDD[InternalRow])
    extends LeafExecNode {
  override protected def otherCopyArgs: Seq[AnyRef] = Seq(rows)
  override protected def doExecute(): RDD[InternalRow] = rows
}
