# A VPC and an EKS cluster in Auto Mode: nodes (Karpenter), network policies, the Pod Identity agent and load balancers are EKS's own. For
# somebody who has no cluster yet; who has one needs only ../.

data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}

locals {
  arn    = "arn:${data.aws_partition.current.partition}"
  policy = "${local.arn}:iam::aws:policy"
  tags   = merge(var.tags, { "comet-native-executors/cluster" = var.cluster_name })
  zones  = { for i, zone in var.zones : zone => i }
}

# Network: a private subnet per zone for nodes and pods, one small public subnet for the NAT gateway.

resource "aws_vpc" "this" {
  #checkov:skip=CKV2_AWS_11:flow logs are the account's choice; nothing here needs them
  cidr_block           = var.cidr
  enable_dns_hostnames = true
  enable_dns_support   = true
  tags                 = merge(local.tags, { Name = var.cluster_name })
}

resource "aws_default_security_group" "this" {
  vpc_id = aws_vpc.this.id
  tags   = local.tags
}

resource "aws_subnet" "private" {
  for_each = local.zones

  vpc_id            = aws_vpc.this.id
  availability_zone = each.key
  cidr_block        = cidrsubnet(var.cidr, 3, each.value)
  tags = merge(local.tags, {
    Name                              = "${var.cluster_name}-${each.key}"
    "kubernetes.io/role/internal-elb" = "1"
  })
}

resource "aws_subnet" "public" {
  vpc_id            = aws_vpc.this.id
  availability_zone = var.zones[0]
  cidr_block        = cidrsubnet(var.cidr, 8, 255)
  tags              = merge(local.tags, { Name = "${var.cluster_name}-public" })
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id
  tags   = merge(local.tags, { Name = var.cluster_name })
}

resource "aws_eip" "nat" {
  domain     = "vpc"
  tags       = merge(local.tags, { Name = "${var.cluster_name}-nat" })
  depends_on = [aws_internet_gateway.this]
}

# For images and the APIs of EKS and STS; shuffle and data take the gateway endpoint of module storage.
resource "aws_nat_gateway" "this" {
  allocation_id = aws_eip.nat.id
  subnet_id     = aws_subnet.public.id
  tags          = merge(local.tags, { Name = var.cluster_name })
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.this.id
  tags   = merge(local.tags, { Name = "${var.cluster_name}-public" })

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.this.id
  }
}

resource "aws_route_table_association" "public" {
  subnet_id      = aws_subnet.public.id
  route_table_id = aws_route_table.public.id
}

resource "aws_route_table" "private" {
  vpc_id = aws_vpc.this.id
  tags   = merge(local.tags, { Name = "${var.cluster_name}-private" })

  route {
    cidr_block     = "0.0.0.0/0"
    nat_gateway_id = aws_nat_gateway.this.id
  }
}

resource "aws_route_table_association" "private" {
  for_each = aws_subnet.private

  subnet_id      = each.value.id
  route_table_id = aws_route_table.private.id
}

# Encryption of the cluster's Secrets and logs.

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
      identifiers = ["${local.arn}:iam::${data.aws_caller_identity.current.account_id}:root"]
    }
  }

  statement {
    sid       = "Logs"
    actions   = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"]
    resources = ["*"]

    principals {
      type        = "Service"
      identifiers = ["logs.${var.region}.amazonaws.com"]
    }

    condition {
      test     = "ArnEquals"
      variable = "kms:EncryptionContext:aws:logs:arn"
      values   = ["${local.arn}:logs:${var.region}:${data.aws_caller_identity.current.account_id}:log-group:/aws/eks/${var.cluster_name}/cluster"]
    }
  }
}

resource "aws_kms_key" "this" {
  description             = "Secrets and logs of the EKS cluster ${var.cluster_name}"
  deletion_window_in_days = 7
  enable_key_rotation     = true
  policy                  = data.aws_iam_policy_document.key.json
  tags                    = local.tags
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/aws/eks/${var.cluster_name}/cluster"
  retention_in_days = var.log_days
  kms_key_id        = aws_kms_key.this.arn
  tags              = local.tags
}

# Roles of the cluster and of its nodes.

data "aws_iam_policy_document" "trust" {
  for_each = {
    cluster = { service = "eks.amazonaws.com", actions = ["sts:AssumeRole", "sts:TagSession"] }
    node    = { service = "ec2.amazonaws.com", actions = ["sts:AssumeRole"] }
  }

  statement {
    actions = each.value.actions

    principals {
      type        = "Service"
      identifiers = [each.value.service]
    }
  }
}

resource "aws_iam_role" "cluster" {
  name               = "${var.cluster_name}-cluster"
  assume_role_policy = data.aws_iam_policy_document.trust["cluster"].json
  tags               = local.tags
}

resource "aws_iam_role_policy_attachment" "cluster" {
  for_each = toset([
    "AmazonEKSBlockStoragePolicy",
    "AmazonEKSClusterPolicy",
    "AmazonEKSComputePolicy",
    "AmazonEKSLoadBalancingPolicy",
    "AmazonEKSNetworkingPolicy",
  ])

  role       = aws_iam_role.cluster.name
  policy_arn = "${local.policy}/${each.value}"
}

resource "aws_iam_role" "node" {
  name               = "${var.cluster_name}-node"
  assume_role_policy = data.aws_iam_policy_document.trust["node"].json
  tags               = local.tags
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = toset(["AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodeMinimalPolicy"])

  role       = aws_iam_role.node.name
  policy_arn = "${local.policy}/${each.value}"
}

resource "aws_eks_cluster" "this" {
  #checkov:skip=CKV_AWS_39:the public endpoint is there for api_ranges only, and not without them
  name     = var.cluster_name
  role_arn = aws_iam_role.cluster.arn
  version  = var.kubernetes_version
  tags     = local.tags

  bootstrap_self_managed_addons = false
  enabled_cluster_log_types     = ["api", "audit", "authenticator", "controllerManager", "scheduler"]

  access_config {
    authentication_mode                         = "API"
    bootstrap_cluster_creator_admin_permissions = true
  }

  vpc_config {
    subnet_ids              = [for subnet in aws_subnet.private : subnet.id]
    endpoint_private_access = true
    endpoint_public_access  = length(var.api_ranges) > 0
    public_access_cidrs     = length(var.api_ranges) > 0 ? var.api_ranges : null
  }

  encryption_config {
    resources = ["secrets"]

    provider {
      key_arn = aws_kms_key.this.arn
    }
  }

  compute_config {
    enabled       = true
    node_pools    = ["general-purpose", "system"]
    node_role_arn = aws_iam_role.node.arn
  }

  kubernetes_network_config {
    elastic_load_balancing {
      enabled = true
    }
  }

  storage_config {
    block_storage {
      enabled = true
    }
  }

  depends_on = [
    aws_cloudwatch_log_group.this,
    aws_iam_role_policy_attachment.cluster,
    aws_iam_role_policy_attachment.node,
    aws_route_table_association.private,
  ]
}
