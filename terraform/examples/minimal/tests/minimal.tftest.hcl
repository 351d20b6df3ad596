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
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::111122223333:role/mocked" }
  }
}

mock_provider "kubernetes" {}

variables {
  region          = "eu-central-1"
  cluster_name    = "tests"
  bucket_name     = "shuffle-of-tests"
  data_prefixes   = ["s3://lake-of-tests/tables/"]
  scheduler_image = "registry.example/comet-scheduler:1.0.0"
  executor_image  = "registry.example/comet-executor:1.0.0"
}

run "plan" {
  command = plan
  assert {
    condition     = output.url == "grpc+tls://comet-scheduler.comet.svc.cluster.local:50050"
    error_message = "drivers get another URL"
  }
}
