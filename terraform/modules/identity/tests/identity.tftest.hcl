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
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::111122223333:role/mocked" }
  }
  mock_resource "aws_iam_openid_connect_provider" {
    defaults = { arn = "arn:aws:iam::111122223333:oidc-provider/oidc.example/id/ABC" }
  }
}

variables {
  name               = "tests"
  cluster_name       = "cluster-of-tests"
  namespace          = "comet"
  data_prefixes      = ["s3://lake-of-tests/tables/"]
  shuffle_bucket_arn = "arn:aws:s3:::shuffle-of-tests"
  shuffle_prefix     = "comet"
}

run "pod_identity" {
  assert {
    condition     = length(aws_eks_pod_identity_association.this) == 2 && length(aws_iam_openid_connect_provider.this) == 0
    error_message = "pod-identity alone is two associations and no OIDC provider"
  }
  assert {
    condition     = aws_eks_pod_identity_association.this["executor"].service_account == "comet-executor" && aws_eks_pod_identity_association.this["scheduler"].service_account == "comet-scheduler"
    error_message = "the associations are for other service accounts"
  }
  assert {
    condition = toset([for c in one(data.aws_iam_policy_document.trust["executor"].statement).condition : c.variable]) == toset([
      "aws:SourceAccount", "aws:SourceArn", "aws:RequestTag/kubernetes-namespace", "aws:RequestTag/kubernetes-service-account",
    ])
    error_message = "the trust is not bound to account, cluster, namespace and service account"
  }
  assert {
    condition     = length(output.executor_service_account.annotations) == 0
    error_message = "pod identity needs no annotation"
  }
  assert {
    condition     = one([for s in data.aws_iam_policy_document.executor.statement : s.resources if s.sid == "ReadData"]) == toset(["arn:aws:s3:::lake-of-tests/tables/*"])
    error_message = "executors read something else than the data prefix"
  }
  assert {
    condition     = one([for s in data.aws_iam_policy_document.executor.statement : s.resources if s.sid == "Shuffle"]) == toset(["arn:aws:s3:::shuffle-of-tests/comet/*"])
    error_message = "executors write something else than the shuffle prefix"
  }
  assert {
    condition = one([for s in data.aws_iam_policy_document.executor.statement : [for c in s.condition : [c.test, c.variable, tolist(c.values)]] if s.sid == "ListShuffle"]) == [
      ["StringLike", "s3:prefix", tolist(["comet/*"])],
    ]
    error_message = "executors list more than the shuffle prefix"
  }
  assert {
    condition     = length([for s in data.aws_iam_policy_document.executor.statement : s if contains(["ShuffleKey", "DataKeys", "RolesOfBuckets"], s.sid)]) == 0
    error_message = "there are rights that nobody asked for"
  }
  assert {
    condition     = alltrue([for s in data.aws_iam_policy_document.scheduler.statement : s.effect == "Deny"])
    error_message = "the scheduler may do something"
  }
}

run "irsa" {
  variables {
    methods           = ["irsa"]
    oidc_issuer_url   = "https://oidc.example/id/ABC"
    data_kms_key_arns = ["arn:aws:kms:eu-central-1:111122223333:key/d"]
    bucket_role_arns  = ["arn:aws:iam::444455556666:role/partner"]

    shuffle_kms_key_arn = "arn:aws:kms:eu-central-1:111122223333:key/s"
  }
  assert {
    condition = alltrue([
      for s in data.aws_iam_policy_document.executor.statement : [for c in s.condition : [c.test, c.variable, tolist(c.values)]] == [["StringLike", "kms:ViaService", tolist(["s3.*.amazonaws.com*"])]]
      if contains(["ShuffleKey", "DataKeys"], s.sid)
    ])
    error_message = "keys are used otherwise than through S3"
  }
  assert {
    condition     = length(aws_iam_openid_connect_provider.this) == 1 && length(aws_eks_pod_identity_association.this) == 0
    error_message = "irsa alone is an OIDC provider and no association"
  }
  assert {
    condition = { for c in one(data.aws_iam_policy_document.trust["executor"].statement).condition : c.variable => one(c.values) } == {
      "oidc.example/id/ABC:sub" = "system:serviceaccount:comet:comet-executor"
      "oidc.example/id/ABC:aud" = "sts.amazonaws.com"
    }
    error_message = "the trust is not bound to the service account and the audience"
  }
  assert {
    condition     = output.executor_service_account.annotations["eks.amazonaws.com/role-arn"] == aws_iam_role.executor.arn
    error_message = "the service account does not name the role"
  }
  assert {
    condition     = one([for s in data.aws_iam_policy_document.executor.statement : s.actions if s.sid == "DataKeys"]) == toset(["kms:Decrypt"])
    error_message = "executors may do more than decrypt with the keys of data"
  }
  assert {
    condition     = one([for s in data.aws_iam_policy_document.executor.statement : s.resources if s.sid == "RolesOfBuckets"]) == toset(["arn:aws:iam::444455556666:role/partner"])
    error_message = "the role of a bucket cannot be assumed"
  }
}

run "irsa_with_a_provider_that_is_there" {
  variables {
    methods           = ["irsa", "pod-identity"]
    oidc_provider_arn = "arn:aws:iam::111122223333:oidc-provider/oidc.example/id/DEF"
  }
  assert {
    condition     = length(aws_iam_openid_connect_provider.this) == 0 && output.oidc_provider_arn == "arn:aws:iam::111122223333:oidc-provider/oidc.example/id/DEF"
    error_message = "the given OIDC provider is not used"
  }
  assert {
    condition     = length(data.aws_iam_policy_document.trust["executor"].statement) == 2
    error_message = "both ways should be there"
  }
  assert {
    condition     = contains(flatten([for s in data.aws_iam_policy_document.trust["executor"].statement : [for c in s.condition : c.variable]]), "oidc.example/id/DEF:sub")
    error_message = "the issuer's name does not come from the provider's ARN"
  }
}

run "irsa_without_an_issuer" {
  command = plan
  variables { methods = ["irsa"] }
  expect_failures = [aws_iam_openid_connect_provider.this]
}

run "unknown_method" {
  command = plan
  variables { methods = ["node"] }
  expect_failures = [var.methods]
}

run "no_method" {
  command = plan
  variables { methods = [] }
  expect_failures = [var.methods]
}

run "wildcard_in_data" {
  command = plan
  variables { data_prefixes = ["s3://*/tables"] }
  expect_failures = [var.data_prefixes]
}

run "data_holds_shuffle" {
  command = plan
  variables { data_prefixes = ["s3://shuffle-of-tests/"] }
  expect_failures = [aws_iam_role.executor]
}

run "whole_bucket_for_shuffle" {
  command = plan
  variables { shuffle_prefix = "" }
  expect_failures = [var.shuffle_prefix]
}

run "path_in_bucket_arn" {
  command = plan
  variables { shuffle_bucket_arn = "arn:aws:s3:::shuffle-of-tests/comet" }
  expect_failures = [var.shuffle_bucket_arn]
}

run "pattern_for_a_namespace" {
  command = plan
  variables { namespace = "comet*" }
  expect_failures = [var.namespace]
}

run "pattern_for_service_accounts" {
  command = plan
  variables {
    executor_service_account  = "*"
    scheduler_service_account = "*"
  }
  expect_failures = [var.executor_service_account, var.scheduler_service_account]
}

run "one_service_account_for_both" {
  command = plan
  variables { scheduler_service_account = "comet-executor" }
  expect_failures = [aws_iam_role.executor]
}

run "bad_names" {
  command = plan
  variables {
    name         = "Pool_1"
    cluster_name = "a cluster"
  }
  expect_failures = [var.name, var.cluster_name]
}

run "bad_arns" {
  command = plan
  variables {
    oidc_provider_arn        = "oidc.example"
    oidc_issuer_url          = "http://oidc.example/"
    shuffle_kms_key_arn      = "alias/x"
    data_kms_key_arns        = ["*"]
    bucket_role_arns         = ["arn:aws:iam::444455556666:role/*"]
    permissions_boundary_arn = "boundary"
  }
  expect_failures = [
    var.oidc_provider_arn, var.oidc_issuer_url, var.shuffle_kms_key_arn, var.data_kms_key_arns, var.bucket_role_arns, var.permissions_boundary_arn,
  ]
}

run "session_too_long" {
  command = plan
  variables { max_session_seconds = 86400 }
  expect_failures = [var.max_session_seconds]
}
