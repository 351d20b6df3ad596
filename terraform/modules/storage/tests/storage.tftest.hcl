mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
  mock_data "aws_caller_identity" {
    defaults = { account_id = "111122223333" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
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
}

variables {
  bucket_name = "shuffle-of-tests"
}

run "defaults" {
  assert {
    condition     = output.storage_url == "s3://${aws_s3_bucket.this.id}/comet"
    error_message = "storage_url is not the bucket and the prefix"
  }
  assert {
    condition = alltrue([
      aws_s3_bucket_public_access_block.this.block_public_acls,
      aws_s3_bucket_public_access_block.this.block_public_policy,
      aws_s3_bucket_public_access_block.this.ignore_public_acls,
      aws_s3_bucket_public_access_block.this.restrict_public_buckets,
    ])
    error_message = "some public access is not blocked"
  }
  assert {
    condition     = one(aws_s3_bucket_lifecycle_configuration.this.rule[*].expiration[0].days) == 2
    error_message = "leftovers do not expire after two days"
  }
  assert {
    condition     = one(aws_s3_bucket_lifecycle_configuration.this.rule[*].abort_incomplete_multipart_upload[0].days_after_initiation) == 1
    error_message = "incomplete uploads are not removed after a day"
  }
  assert {
    condition     = aws_kms_key.this[0].enable_key_rotation && output.kms_key_arn == aws_kms_key.this[0].arn
    error_message = "the module's own key is not used, or does not rotate"
  }
  assert {
    condition     = one(one(aws_s3_bucket_server_side_encryption_configuration.this.rule[*]).apply_server_side_encryption_by_default[*]).sse_algorithm == "aws:kms"
    error_message = "the bucket is not encrypted by KMS"
  }
  assert {
    condition     = length(aws_vpc_endpoint.s3) == 0 && length(aws_s3_bucket_logging.this) == 0 && output.gateway_endpoint_id == null
    error_message = "there is an endpoint or a log that nobody asked for"
  }
}

run "everything" {
  variables {
    prefix           = "pools/one"
    kms_key_arn      = "arn:aws:kms:eu-central-1:111122223333:key/abcd-1234"
    access_log       = { bucket = "logs-of-tests" }
    gateway_endpoint = { vpc_id = "vpc-0123456789abcdef0", route_table_ids = ["rtb-1", "rtb-2"] }
  }
  assert {
    condition     = length(aws_kms_key.this) == 0 && output.kms_key_arn == "arn:aws:kms:eu-central-1:111122223333:key/abcd-1234"
    error_message = "the given key is not the bucket's"
  }
  assert {
    condition     = endswith(output.storage_url, "/pools/one")
    error_message = "the prefix is not in storage_url"
  }
  assert {
    condition     = aws_vpc_endpoint.s3[0].service_name == "com.amazonaws.eu-central-1.s3" && length(aws_vpc_endpoint.s3[0].route_table_ids) == 2
    error_message = "the gateway endpoint is not for S3 of this region and both route tables"
  }
  assert {
    condition     = aws_s3_bucket_logging.this[0].target_prefix == "comet-shuffle/"
    error_message = "the access log has no prefix"
  }
}

run "bad_bucket_name" {
  command = plan
  variables { bucket_name = "Upper_Case" }
  expect_failures = [var.bucket_name]
}

run "bad_prefix" {
  command = plan
  variables { prefix = "/comet/" }
  expect_failures = [var.prefix]
}

run "expires_before_the_sweep" {
  command = plan
  variables { expiration_days = 1 }
  expect_failures = [var.expiration_days]
}

run "uploads_kept_too_long" {
  command = plan
  variables { abort_incomplete_upload_days = 8 }
  expect_failures = [var.abort_incomplete_upload_days]
}

run "alias_for_a_key" {
  command = plan
  variables { kms_key_arn = "alias/comet" }
  expect_failures = [var.kms_key_arn]
}

run "window_too_short" {
  command = plan
  variables { kms_deletion_window_days = 1 }
  expect_failures = [var.kms_deletion_window_days]
}

run "endpoint_that_nothing_takes" {
  command = plan
  variables { gateway_endpoint = { vpc_id = "vpc-0123456789abcdef0", route_table_ids = [] } }
  expect_failures = [var.gateway_endpoint]
}

run "log_into_itself" {
  command = plan
  variables { access_log = { bucket = "shuffle-of-tests" } }
  expect_failures = [aws_s3_bucket_logging.this]
}
