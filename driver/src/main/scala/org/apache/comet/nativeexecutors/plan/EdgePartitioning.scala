package org.apache.comet.nativeexecutors.plan

import org.apache.comet.nativeexecutors.Unsupported
import org.apache.comet.nativeexecutors.protocol.ShuffleOrigin
import org.apache.comet.serde.{PartitioningOuterClass => P}
import org.apache.comet.serde.ExprOuterClass.Expr
import org.apache.comet.serde.QueryPlanSerde
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution.exchange._

/** How an exchange distributes rows, as Comet's message bound to the producer's columns. */
object EdgePartitioning {

  /** The message, or why there is none. Keys may be any expression that Comet can serialize. */
  def message(partitioning: Partitioning, input: Seq[Attribute]): Either[Unsupported, P.Partitioning] = {
    def bound(keys: Seq[Expression]): Either[Unsupported, Seq[Expr]] = {
      val pairs = keys.map(key => key -> QueryPlanSerde.exprToProto(key, input))
      pairs.collectFirst { case (key, None) =>
        Unsupported(s"exchange key ${key.sql}", "Comet cannot serialize it")
      } match {
        case Some(problem) => Left(problem)
        case None          => Right(pairs.flatMap(_._2))
      }
    }
    val builder = P.Partitioning.newBuilder()
    partitioning match {
      case SinglePartition     => Right(builder.setSinglePartition(P.SinglePartition.newBuilder()).build())
      case h: HashPartitioning =>
        bound(h.expressions).map { keys =>
          val hash = P.HashPartition.newBuilder().setNumPartitions(h.numPartitions)
          keys.foreach(hash.addHashExpression)
          builder.setHashPartition(hash).build()
        }
      case r: RangePartitioning =>
        bound(r.ordering).map { keys =>
          val range = P.RangePartition.newBuilder().setNumPartitions(r.numPartitions)
          keys.foreach(range.addSortOrders)
          builder.setRangePartition(range).build()
        }
      case RoundRobinPartitioning(n) =>
        Right(builder.setRoundRobinPartition(P.RoundRobinPartition.newBuilder().setNumPartitions(n)).build())
      case other => Left(Unsupported(s"partitioning ${other.getClass.getSimpleName}", "the pool has no such exchange"))
    }
  }

  /** Who asked for the number of partitions. */
  def origin(origin: org.apache.spark.sql.execution.exchange.ShuffleOrigin): ShuffleOrigin = origin match {
    case ENSURE_REQUIREMENTS                                        => ShuffleOrigin.SHUFFLE_ORIGIN_ENSURE_REQUIREMENTS
    case REPARTITION_BY_COL                                         => ShuffleOrigin.SHUFFLE_ORIGIN_REPARTITION_BY_COL
    case REBALANCE_PARTITIONS_BY_NONE | REBALANCE_PARTITIONS_BY_COL => ShuffleOrigin.SHUFFLE_ORIGIN_REBALANCE
    // By number; of what this version does not know, the number is kept too.
    case _ => ShuffleOrigin.SHUFFLE_ORIGIN_REPARTITION_BY_NUM
  }
}
