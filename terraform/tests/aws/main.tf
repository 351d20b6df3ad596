# Applied by `just terraform-test` against a local AWS API: modules storage and identity with a network, a cluster and a lake around them. It
# has no pod identity associations, since that API does not know them.

terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0"
    }
  }
}

variable "endpoint" {
  description = "URL of the local AWS API"
  type        = string
}

locals {
  region = "eu-central-1"
}

provider "aws" {
  region                      = local.region
  access_key                  = "test"
  secret_key                  = "test"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  s3_use_path_style           = true

  endpoints {
    ec2       = var.endpoint
    eks       = var.endpoint
    iam       = var.endpoint
    kms       = var.endpoint
    s3        = var.endpoint
    s3control = var.endpoint
    sts       = var.endpoint
  }
}

data "aws_iam_policy_document" "cluster" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["eks.amazonaws.com"]
    }
  }
}

resource "aws_vpc" "this" {
  cidr_block = "198.18.0.0/16"
}

resource "aws_subnet" "this" {
  for_each = { a = "198.18.0.0/20", b = "198.18.16.0/20" }

  vpc_id            = aws_vpc.this.id
  cidr_block        = each.value
  availability_zone = "${local.region}${each.key}"
}

resource "aws_route_table" "this" {
  vpc_id = aws_vpc.this.id
}

resource "aws_iam_role" "cluster" {
  name               = "cluster"
  assume_role_policy = data.aws_iam_policy_document.cluster.json
}

resource "aws_eks_cluster" "this" {
  name     = "tests"
  role_arn = aws_iam_role.cluster.arn

  vpc_config {
    subnet_ids = [for subnet in aws_subnet.this : subnet.id]
  }
}

resource "aws_s3_bucket" "lake" {
  bucket        = "lake-of-tests"
  force_destroy = true
}

module "storage" {
  source = "../../modules/storage"

  bucket_name      = "shuffle-of-tests"
  prefix           = "pools/one"
  gateway_endpoint = { vpc_id = aws_vpc.this.id, route_table_ids = [aws_route_table.this.id] }
}

module "identity" {
  source = "../../modules/identity"

  name                = "tests"
  cluster_name        = aws_eks_cluster.this.name
  namespace           = "comet"
  methods             = ["irsa"]
  oidc_issuer_url     = aws_eks_cluster.this.identity[0].oidc[0].issuer
  data_prefixes       = ["s3://${aws_s3_bucket.lake.id}/tables/"]
  shuffle_bucket_arn  = module.storage.bucket_arn
  shuffle_prefix      = module.storage.prefix
  shuffle_kms_key_arn = module.storage.kms_key_arn
}

output "storage" {
  description = "What the checks of policies need to know of the storage"
  value = {
    bucket  = module.storage.bucket_name
    prefix  = module.storage.prefix
    url     = module.storage.storage_url
    lake    = aws_s3_bucket.lake.id
    kms_key = module.storage.kms_key_arn
  }
}

output "roles" {
  description = "ARNs of the roles whose policies are checked"
  value       = { executor = module.identity.executor_role_arn, scheduler = module.identity.scheduler_role_arn }
}
