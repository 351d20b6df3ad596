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
}

variables {
  region = "eu-central-1"
  zones  = ["eu-central-1a", "eu-central-1b", "eu-central-1c"]
}

run "private" {
  command = plan
  assert {
    condition     = !aws_eks_cluster.this.vpc_config[0].endpoint_public_access && aws_eks_cluster.this.vpc_config[0].endpoint_private_access
    error_message = "the API is public although nobody asked for it"
  }
  assert {
    condition     = length(distinct([for s in aws_subnet.private : s.cidr_block])) == 3 && !contains([for s in aws_subnet.private : s.cidr_block], aws_subnet.public.cidr_block)
    error_message = "subnets overlap"
  }
  assert {
    condition     = aws_eks_cluster.this.compute_config[0].enabled && one(aws_eks_cluster.this.encryption_config[0].resources) == "secrets"
    error_message = "the cluster is not in Auto Mode, or its Secrets are not encrypted"
  }
}

run "reached_from_an_office" {
  command = plan
  variables {
    api_ranges = ["192.0.2.0/24"]
  }
  assert {
    condition     = aws_eks_cluster.this.vpc_config[0].endpoint_public_access && aws_eks_cluster.this.vpc_config[0].public_access_cidrs == toset(["192.0.2.0/24"])
    error_message = "the API is open to others than the office"
  }
}

run "bad_values" {
  command = plan
  variables {
    cluster_name       = "Comet"
    kubernetes_version = "1.20"
    cidr               = "10.0.0.0/24"
    zones              = ["eu-central-1a"]
    api_ranges         = ["0.0.0.0/0"]
    log_days           = 1
  }
  expect_failures = [var.cluster_name, var.kubernetes_version, var.cidr, var.zones, var.api_ranges, var.log_days]
}
