package org.apache.comet.nativeexecutors.plan

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.comet.serde.{Config, ExprOuterClass, LiteralOuterClass, Metric, OperatorOuterClass}
import org.apache.comet.serde.{PartitioningOuterClass, Types}
import org.apache.comet.shaded.protobuf.DescriptorProtos.FieldDescriptorProto.{Label, Type}
import org.apache.comet.shaded.protobuf.DescriptorProtos.{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto}
import org.apache.comet.shaded.protobuf.Descriptors.FileDescriptor

/** One hash over everything that gives the bytes of the Comet jar their meaning; the pool computes the same. */
object Fingerprint {

  /** Lower-case hex SHA-256 over [[lines]], each ended by a line feed. */
  lazy val value: String = {
    val digest = MessageDigest.getInstance("SHA-256")
    lines.foreach(line => digest.update((line + "\n").getBytes(UTF_8)))
    digest.digest().map(byte => f"${byte & 0xff}%02x").mkString
  }

  /** One line per message, field, enum value and reservation, sorted. */
  def lines: Seq[String] = {
    val out = mutable.ArrayBuffer.empty[String]
    files.foreach { file =>
      val proto = file.toProto
      val scope = "." + proto.getPackage
      proto.getEnumTypeList.forEach(enumLines(scope, _, out))
      proto.getMessageTypeList.forEach(messageLines(scope, _, out))
    }
    out.sorted.toSeq
  }

  private def files: Iterable[FileDescriptor] = {
    val seen = mutable.LinkedHashMap.empty[String, FileDescriptor]
    def add(file: FileDescriptor): Unit = if (!seen.contains(file.getName) && file.getPackage.startsWith("spark.")) {
      seen(file.getName) = file
      file.getDependencies.asScala.foreach(add)
    }
    Seq(
      OperatorOuterClass.getDescriptor,
      ExprOuterClass.getDescriptor,
      PartitioningOuterClass.getDescriptor,
      Types.getDescriptor,
      LiteralOuterClass.getDescriptor,
      Config.getDescriptor,
      Metric.getDescriptor
    ).foreach(add)
    seen.values
  }

  private def enumLines(scope: String, item: EnumDescriptorProto, out: mutable.Buffer[String]): Unit =
    item.getValueList.forEach(value => out += s"enum $scope.${item.getName} ${value.getNumber} ${value.getName}")

  private def messageLines(scope: String, message: DescriptorProto, out: mutable.Buffer[String]): Unit = {
    val name = s"$scope.${message.getName}"
    out += s"message $name${if (message.getOptions.getMapEntry) " map_entry" else ""}"
    message.getFieldList.forEach(field => out += fieldLine(name, message, field))
    message.getReservedRangeList.forEach(range => out += s"reserved $name ${range.getStart}-${range.getEnd - 1}")
    message.getReservedNameList.forEach(reserved => out += s"reserved_name $name $reserved")
    message.getEnumTypeList.forEach(enumLines(name, _, out))
    message.getNestedTypeList.forEach(messageLines(name, _, out))
  }

  private def fieldLine(scope: String, message: DescriptorProto, field: FieldDescriptorProto): String = {
    val oneof =
      if (field.hasOneofIndex && !field.getProto3Optional) {
        " oneof=" + message.getOneofDecl(field.getOneofIndex).getName
      } else ""
    val kind =
      if (field.getType == Type.TYPE_MESSAGE || field.getType == Type.TYPE_ENUM) field.getTypeName
      else field.getType.name.stripPrefix("TYPE_").toLowerCase(java.util.Locale.ROOT)
    val label =
      if (field.getProto3Optional) "optional"
      else if (field.getLabel == Label.LABEL_REPEATED) "repeated"
      else "singular"
    f"field $scope ${field.getNumber}%05d ${field.getName} $label $kind$oneof"
  }
}
