package org.apache.comet.nativeexecutors.plan

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.comet.serde.ExprOuterClass.{AggExpr, Expr, QueryContext}
import org.apache.comet.serde.OperatorOuterClass.{NativeScan, NativeScanCommon, Operator}
import org.apache.comet.shaded.protobuf.{Descriptors, Message}

/**
 * Rewrites Comet's messages before they leave the driver: subquery values become literals, the SQL text that every
 * expression repeats is kept once per block, Catalyst's ids and the scans' own data go, and so
 * do all options of the object store.
 */
object Messages {

  private val unchanged: PartialFunction[Message, Message] = PartialFunction.empty

  /** A block's operator as it is sent. `subqueries` maps expression ids to literals. */
  def block(operator: Operator, subqueries: Map[Long, Expr]): Operator = {
    val pool = new TextPool
    val sent = pool.operator(placed(inlined(operator, subqueries), None).asInstanceOf[Operator])
    sent.toBuilder.clearSqlTextPool().addAllSqlTextPool(pool.texts.asJava).build()
  }

  /**
   * A scan's common part as it is sent. Its filters only prune: they raise no error, so they need no SQL text. `readModes`
   * are settings of Spark for the reader; they travel in the place of the store's options, none of which leaves the driver:
   * how executors reach a bucket is their own configuration.
   */
  def scanCommon(bytes: Array[Byte], subqueries: Map[Long, Expr], readModes: Map[String, String]): NativeScanCommon = {
    val common = withoutContext(inlined(NativeScanCommon.parseFrom(bytes), subqueries)).asInstanceOf[NativeScanCommon]
    common.toBuilder.clearObjectStoreOptions().putAllObjectStoreOptions(readModes.asJava).build()
  }

  /** Any other message with expressions: an exchange's partitioning. Its contexts have their texts in them. */
  def plain(message: Message, subqueries: Map[Long, Expr]): Message =
    rewrite(placed(inlined(message, subqueries), None))(unchanged) { case e: Expr => e.toBuilder.clearExprId().build() }

  /** Every expression of the message for which `found` gives a value. */
  def expressions[T](message: Message)(found: PartialFunction[Expr, T]): Seq[T] = {
    val all = mutable.ArrayBuffer.empty[T]
    def walk(m: Message): Unit = {
      m match {
        case e: Expr => found.lift(e).foreach(all += _)
        case _       =>
      }
      children(m).foreach { case (_, values) => values.foreach(walk) }
    }
    walk(message)
    all.toSeq
  }

  private def inlined(message: Message, subqueries: Map[Long, Expr]): Message = rewrite(message) {
    case e: Expr if e.hasSubquery =>
      subqueries.getOrElse(
        e.getSubquery.getId,
        throw new IllegalStateException(s"the value of subquery ${e.getSubquery.getId} is not known")
      )
  }(unchanged)

  /**
   * Gives expressions that Comet has made up the place of the one that they stand for: a `div` is a cast of a division,
   * and only the cast, which is the outer one, has an id and a place.
   */
  private def placed(message: Message, outer: Option[QueryContext]): Message = message match {
    // Its data is sent beside the block.
    case scan: NativeScan => scan
    case _                =>
      val place = message match {
        case e: Expr if e.hasQueryContext => Some(e.getQueryContext)
        // A node of Spark's that has no place.
        case e: Expr if e.hasExprId => None
        case _: Operator            => None
        case _                      => outer
      }
      val builder = message.toBuilder
      children(message).foreach { case (field, values) =>
        val changed = values.map(placed(_, place))
        if (field.isRepeated) builder.setField(field, changed.asJava) else builder.setField(field, changed.head)
      }
      (builder.build(), place) match {
        case (e: Expr, Some(context)) => e.toBuilder.setQueryContext(context).build()
        case (other, _)               => other
      }
  }

  private def withoutContext(message: Message): Message = rewrite(message)(unchanged) {
    case e: Expr    => e.toBuilder.clearQueryContext().clearExprId().build()
    case a: AggExpr => a.toBuilder.clearQueryContext().clearExprId().build()
  }

  private def children(m: Message): Iterable[(Descriptors.FieldDescriptor, Seq[Message])] =
    m.getAllFields.asScala.collect {
      case (field, value) if field.getJavaType == Descriptors.FieldDescriptor.JavaType.MESSAGE && !field.isMapField =>
        val values =
          if (field.isRepeated) value.asInstanceOf[java.util.List[Message]].asScala.toSeq
          else Seq(value.asInstanceOf[Message])
        field -> values
    }

  /** Replaces by `before` on the way down (what it gives is not entered), by `after` on the way up. */
  private def rewrite(
      message: Message
  )(before: PartialFunction[Message, Message])(after: PartialFunction[Message, Message]): Message = {
    def walk(m: Message): Message = before.applyOrElse(
      m,
      { original: Message =>
        var builder: Message.Builder = null
        children(original).foreach { case (field, values) =>
          val changed = values.map(walk)
          if (changed.zip(values).exists { case (a, b) => a ne b }) {
            if (builder == null) builder = original.toBuilder
            if (field.isRepeated) builder.setField(field, changed.asJava) else builder.setField(field, changed.head)
          }
        }
        val inner = if (builder == null) original else builder.build()
        after.applyOrElse(inner, (m: Message) => m)
      }
    )
    walk(message)
  }

  /** The SQL texts of one block; a context names its text by index. */
  private final class TextPool {
    private val indexes = mutable.LinkedHashMap.empty[String, Int]

    def texts: Seq[String] = indexes.keys.toSeq

    def operator(root: Operator): Operator = walk(root, Nil).asInstanceOf[Operator]

    private def walk(message: Message, pool: Seq[String]): Message = {
      // A pool belongs to the operator that carries it and to everything below.
      val texts = message match {
        case op: Operator if op.getSqlTextPoolCount > 0 => op.getSqlTextPoolList.asScala.toSeq
        case _                                          => pool
      }
      rewriteChildren(message, texts) match {
        case e: Expr => context(e.hasQueryContext, e.getQueryContext, texts) { c =>
            val b = e.toBuilder.clearExprId()
            (if (c == null) b.clearQueryContext() else b.setQueryContext(c)).build()
          }
        case a: AggExpr => context(a.hasQueryContext, a.getQueryContext, texts) { c =>
            val b = a.toBuilder.clearExprId()
            (if (c == null) b.clearQueryContext() else b.setQueryContext(c)).build()
          }
        case op: Operator => op.toBuilder.clearSqlTextPool().build()
        // A scan's data travels beside the block.
        case scan: NativeScan => scan.toBuilder.clearCommon().clearFilePartition().build()
        case other            => other
      }
    }

    private def rewriteChildren(m: Message, texts: Seq[String]): Message = {
      val builder = m.toBuilder
      if (!m.isInstanceOf[NativeScan]) children(m).foreach { case (field, values) =>
        val changed = values.map(walk(_, texts))
        if (field.isRepeated) builder.setField(field, changed.asJava) else builder.setField(field, changed.head)
      }
      builder.build()
    }

    private def context(
        has: Boolean,
        context: QueryContext,
        texts: Seq[String]
    )(set: QueryContext => Message): Message =
      if (!has) set(null)
      else {
        val text = if (context.hasSqlTextIdx) texts.lift(context.getSqlTextIdx).getOrElse("") else context.getSqlText
        if (text.isEmpty) set(null)
        else {
          val index = indexes.getOrElseUpdate(text, indexes.size)
          set(context.toBuilder.clearSqlText().setSqlTextIdx(index).build())
        }
      }
  }
}
