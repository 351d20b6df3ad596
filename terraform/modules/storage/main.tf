data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

locals {
  make_key    = var.kms_key_arn == null
  kms_key_arn = local.make_key ? aws_kms_key.this[0].arn : var.kms_key_arn
}

data "aws_iam_policy_document" "key" {
  #checkov:skip=CKV_AWS_109:a key's policy names no resource but the key itself, and leaves it to the account's IAM policies who may use it
  #checkov:skip=CKV_AWS_111:as above
  #checkov:skip=CKV_AWS_356:as above
  statement {
    sid       = "AccountDecidesByIam"
    actions   = ["kms:*"]
    resources = ["*"]

    principals {
      type        = "AWS"
      identifiers = ["arn:${data.aws_partition.current.partition}:iam::${data.aws_caller_identity.current.account_id}:root"]
    }
  }
}

resource "aws_kms_key" "this" {
  count = local.make_key ? 1 : 0

  description             = "Shuffle and results of Comet Native Executors in ${var.bucket_name}"
  deletion_window_in_days = var.kms_deletion_window_days
  enable_key_rotation     = true
  policy                  = data.aws_iam_policy_document.key.json
  tags                    = var.tags
}

resource "aws_s3_bucket" "this" {
  #checkov:skip=CKV_AWS_21:no versions: objects are immutable, live as long as a query, and each version would be paid for
  #checkov:skip=CKV_AWS_144:no replication: what is lost is computed again
  #checkov:skip=CKV_AWS_18:an access log is the caller's choice (access_log): a pool makes thousands of requests per query
  #checkov:skip=CKV2_AWS_62:nobody waits for events of shuffle objects
  bucket        = var.bucket_name
  force_destroy = var.force_destroy
  tags          = var.tags
}

resource "aws_s3_bucket_ownership_controls" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_public_access_block" "this" {
  bucket                  = aws_s3_bucket.this.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    # With a bucket key, KMS is asked once in a while and not for each of thousands of objects.
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = local.kms_key_arn
    }
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  # The whole bucket: what lies beside the prefix has no business here.
  rule {
    id     = "leftovers"
    status = "Enabled"

    filter {}

    expiration {
      days = var.expiration_days
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = var.abort_incomplete_upload_days
    }
  }
}

data "aws_iam_policy_document" "bucket" {
  statement {
    sid       = "TlsOnly"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.this.arn, "${aws_s3_bucket.this.arn}/*"]

    principals {
      type        = "*"
      identifiers = ["*"]
    }

    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }

  # The bucket encrypts by itself; a writer that asks for another key, or for none, is refused.
  statement {
    sid       = "ThisKeyOnly"
    effect    = "Deny"
    actions   = ["s3:PutObject"]
    resources = ["${aws_s3_bucket.this.arn}/*"]

    principals {
      type        = "*"
      identifiers = ["*"]
    }

    condition {
      test     = "StringNotEqualsIfExists"
      variable = "s3:x-amz-server-side-encryption-aws-kms-key-id"
      values   = [local.kms_key_arn]
    }

    condition {
      test     = "Null"
      variable = "s3:x-amz-server-side-encryption-aws-kms-key-id"
      values   = ["false"]
    }
  }
}

resource "aws_s3_bucket_policy" "this" {
  bucket = aws_s3_bucket.this.id
  policy = data.aws_iam_policy_document.bucket.json

  # S3 refuses two changes of one bucket's access at a time.
  depends_on = [aws_s3_bucket_public_access_block.this]
}

resource "aws_s3_bucket_logging" "this" {
  count = var.access_log == null ? 0 : 1

  bucket        = aws_s3_bucket.this.id
  target_bucket = var.access_log.bucket
  target_prefix = var.access_log.prefix

  lifecycle {
    precondition {
      condition     = var.access_log.bucket != var.bucket_name
      error_message = "access_log.bucket must be another bucket: a log of itself makes entries for its own entries."
    }
  }
}

resource "aws_vpc_endpoint" "s3" {
  count = var.gateway_endpoint == null ? 0 : 1

  vpc_id            = var.gateway_endpoint.vpc_id
  service_name      = "com.amazonaws.${data.aws_region.current.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = var.gateway_endpoint.route_table_ids
  tags              = merge(var.tags, { Name = "${var.bucket_name}-s3" })
}
