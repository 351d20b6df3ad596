data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

locals {
  partition    = data.aws_partition.current.partition
  account      = data.aws_caller_identity.current.account_id
  region       = data.aws_region.current.region
  irsa         = contains(var.methods, "irsa")
  pod_identity = contains(var.methods, "pod-identity")
  make_oidc    = local.irsa && var.oidc_provider_arn == null
  oidc_arn     = local.make_oidc ? one(aws_iam_openid_connect_provider.this[*].arn) : var.oidc_provider_arn
  # The name under which IAM knows the issuer: its URL without the scheme.
  oidc_name = var.oidc_issuer_url != null ? trimprefix(var.oidc_issuer_url, "https://") : try(regex("oidc-provider/(.+)$", var.oidc_provider_arn)[0], "")
  accounts = {
    executor  = var.executor_service_account
    scheduler = var.scheduler_service_account
  }
  data_objects = [for p in var.data_prefixes : "arn:${local.partition}:s3:::${trimprefix(p, "s3://")}*"]
  shuffle_all  = "${var.shuffle_bucket_arn}/${var.shuffle_prefix}/*"
}

resource "aws_iam_openid_connect_provider" "this" {
  count = local.make_oidc ? 1 : 0

  url            = var.oidc_issuer_url
  client_id_list = ["sts.amazonaws.com"]
  tags           = var.tags

  lifecycle {
    precondition {
      condition     = var.oidc_issuer_url != null
      error_message = "methods has irsa: give oidc_provider_arn, or oidc_issuer_url for a provider to be made."
    }
  }
}

# Who may take a role: this service account of this cluster, by the ways of var.methods, and nobody else.
data "aws_iam_policy_document" "trust" {
  for_each = local.accounts

  dynamic "statement" {
    for_each = local.irsa ? [1] : []

    content {
      sid     = "WebIdentity"
      actions = ["sts:AssumeRoleWithWebIdentity"]

      principals {
        type        = "Federated"
        identifiers = [local.oidc_arn]
      }

      condition {
        test     = "StringEquals"
        variable = "${local.oidc_name}:sub"
        values   = ["system:serviceaccount:${var.namespace}:${each.value}"]
      }

      condition {
        test     = "StringEquals"
        variable = "${local.oidc_name}:aud"
        values   = ["sts.amazonaws.com"]
      }
    }
  }

  dynamic "statement" {
    for_each = local.pod_identity ? [1] : []

    content {
      sid     = "PodIdentity"
      actions = ["sts:AssumeRole", "sts:TagSession"]

      principals {
        type        = "Service"
        identifiers = ["pods.eks.amazonaws.com"]
      }

      condition {
        test     = "StringEquals"
        variable = "aws:SourceAccount"
        values   = [local.account]
      }

      condition {
        test     = "ArnEquals"
        variable = "aws:SourceArn"
        values   = ["arn:${local.partition}:eks:${local.region}:${local.account}:cluster/${var.cluster_name}"]
      }

      condition {
        test     = "StringEquals"
        variable = "aws:RequestTag/kubernetes-namespace"
        values   = [var.namespace]
      }

      condition {
        test     = "StringEquals"
        variable = "aws:RequestTag/kubernetes-service-account"
        values   = [each.value]
      }
    }
  }
}

data "aws_iam_policy_document" "executor" {
  # Files of tables. Executors are told each path; they list none.
  dynamic "statement" {
    for_each = length(local.data_objects) > 0 ? [1] : []

    content {
      sid       = "ReadData"
      actions   = ["s3:GetObject"]
      resources = local.data_objects
    }
  }

  statement {
    sid = "Shuffle"
    actions = [
      "s3:AbortMultipartUpload",
      "s3:DeleteObject",
      "s3:GetObject",
      "s3:ListMultipartUploadParts",
      "s3:PutObject",
    ]
    resources = [local.shuffle_all]
  }

  statement {
    sid       = "ListShuffle"
    actions   = ["s3:ListBucket"]
    resources = [var.shuffle_bucket_arn]

    condition {
      test     = "StringLike"
      variable = "s3:prefix"
      values   = ["${var.shuffle_prefix}/*"]
    }
  }

  dynamic "statement" {
    for_each = var.shuffle_kms_key_arn == null ? [] : [1]

    content {
      sid       = "ShuffleKey"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = [var.shuffle_kms_key_arn]

      condition {
        test     = "StringLike"
        variable = "kms:ViaService"
        values   = ["s3.*.amazonaws.com*"]
      }
    }
  }

  dynamic "statement" {
    for_each = length(var.data_kms_key_arns) > 0 ? [1] : []

    content {
      sid       = "DataKeys"
      actions   = ["kms:Decrypt"]
      resources = var.data_kms_key_arns

      condition {
        test     = "StringLike"
        variable = "kms:ViaService"
        values   = ["s3.*.amazonaws.com*"]
      }
    }
  }

  dynamic "statement" {
    for_each = length(var.bucket_role_arns) > 0 ? [1] : []

    content {
      sid       = "RolesOfBuckets"
      actions   = ["sts:AssumeRole"]
      resources = var.bucket_role_arns
    }
  }
}

# The scheduler reads no data. A role that may do nothing keeps its pod from falling back to the role of the node.
data "aws_iam_policy_document" "scheduler" {
  statement {
    sid       = "Nothing"
    effect    = "Deny"
    actions   = ["*"]
    resources = ["*"]
  }
}

resource "aws_iam_role" "executor" {
  name                 = "${var.name}-executor"
  description          = "Executors of the Comet pool ${var.name}: read data, write shuffle"
  assume_role_policy   = data.aws_iam_policy_document.trust["executor"].json
  max_session_duration = var.max_session_seconds
  permissions_boundary = var.permissions_boundary_arn
  tags                 = var.tags

  lifecycle {
    precondition {
      condition     = !anytrue([for p in var.data_prefixes : startswith("${var.shuffle_bucket_arn}/${var.shuffle_prefix}/", "arn:${local.partition}:s3:::${trimprefix(p, "s3://")}")])
      error_message = "data_prefixes holds the shuffle prefix: tables and shuffle have to lie apart, since executors sweep what is old below shuffle_prefix."
    }

    precondition {
      condition     = var.executor_service_account != var.scheduler_service_account
      error_message = "executor_service_account and scheduler_service_account must differ: the scheduler would have the executors' access to data."
    }
  }
}

resource "aws_iam_role_policy" "executor" {
  name   = "data-and-shuffle"
  role   = aws_iam_role.executor.id
  policy = data.aws_iam_policy_document.executor.json
}

resource "aws_iam_role" "scheduler" {
  name                 = "${var.name}-scheduler"
  description          = "Scheduler of the Comet pool ${var.name}: nothing"
  assume_role_policy   = data.aws_iam_policy_document.trust["scheduler"].json
  permissions_boundary = var.permissions_boundary_arn
  tags                 = var.tags
}

resource "aws_iam_role_policy" "scheduler" {
  name   = "nothing"
  role   = aws_iam_role.scheduler.id
  policy = data.aws_iam_policy_document.scheduler.json
}

resource "aws_eks_pod_identity_association" "this" {
  for_each = local.pod_identity ? { executor = aws_iam_role.executor.arn, scheduler = aws_iam_role.scheduler.arn } : {}

  cluster_name    = var.cluster_name
  namespace       = var.namespace
  service_account = local.accounts[each.key]
  role_arn        = each.value
  tags            = var.tags
}
