mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_caller_identity" {
    defaults = { account_id = "111122223333" }
  }
  mock_data "aws_region" {
    defaults = { region = "eu-central-1" }
  }
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::shuffle-of-tests" }
  }
  mock_resource "aws_kms_key" {
    defaults = { arn = "arn:aws:kms:eu-central-1:111122223333:key/made-here" }
  }
  mock_data "aws_eks_cluster" {
    defaults = {
      identity = [{ oidc = [{ issuer = "https://oidc.example/id/ABC" }] }]
    }
  }
  mock_resource "aws_iam_openid_connect_provider" {
    defaults = { arn = "arn:aws:iam::111122223333:oidc-provider/oidc.example/id/ABC" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::111122223333:role/mocked" }
  }
}

mock_provider "kubernetes" {}

variables {
  region            = "eu-central-1"
  cluster_name      = "tests"
  vpc_id            = "vpc-0123456789abcdef0"
  route_table_ids   = ["rtb-1"]
  bucket_name       = "shuffle-of-tests"
  access_log_bucket = "logs-of-tests"
  data_prefixes     = ["s3://lake-of-tests/tables/"]
  partner_buckets   = { partner = { role_arn = "arn:aws:iam::444455556666:role/partner", external_id = "id" } }
  scheduler_image   = "registry.example/comet-scheduler:1.0.0"
  executor_image    = "registry.example/comet-executor:1.0.0"
  emr_ranges        = ["192.0.2.0/24"]
  monitoring        = { namespace = "monitoring" }
}

run "plan" {
  command = plan
  assert {
    condition     = output.node_pools == { spot = "comet-executor-spot", on-demand = "comet-executor-on-demand" }
    error_message = "the pool has no spot and on-demand nodes"
  }
  assert {
    condition     = output.ca == { namespace = "comet", secret_name = "comet-tls", key = "ca.crt" }
    error_message = "the CA is said to be elsewhere"
  }
}
