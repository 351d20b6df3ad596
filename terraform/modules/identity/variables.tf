# Required

variable "name" {
  description = "Name of the pool; the roles are called name-executor and name-scheduler"
  type        = string

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$", var.name))
    error_message = "name must be 1 to 40 lower-case letters, digits and hyphens, and begin with a letter."
  }
}

variable "cluster_name" {
  description = "Name of the EKS cluster"
  type        = string

  validation {
    condition     = can(regex("^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name must be the name of an EKS cluster: at most 100 letters, digits, hyphens and underscores."
  }
}

variable "namespace" {
  description = "Kubernetes namespace of the pool"
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", var.namespace))
    error_message = "namespace must be a Kubernetes name: at most 63 lower-case letters, digits and hyphens. A pattern would let other namespaces take the role."
  }
}

variable "data_prefixes" {
  description = "What executors may read: s3://bucket/prefix. Everything whose key begins with the prefix is meant: end it with a slash to mean a folder"
  type        = set(string)

  validation {
    condition     = alltrue([for p in var.data_prefixes : can(regex("^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[^*?]*$", p))])
    error_message = "data_prefixes must be s3://bucket/prefix without wildcards; s3://bucket/ is the whole bucket."
  }
}

variable "shuffle_bucket_arn" {
  description = "ARN of the bucket for shuffle and results (module storage)"
  type        = string

  validation {
    condition     = can(regex("^arn:aws[a-z-]*:s3:::[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.shuffle_bucket_arn))
    error_message = "shuffle_bucket_arn must be the ARN of a bucket, without a path."
  }
}

variable "shuffle_prefix" {
  description = "Prefix of the pool in that bucket, without slashes at its ends (module storage)"
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$", var.shuffle_prefix))
    error_message = "shuffle_prefix must be path segments without slashes at its ends: an empty one would give the whole bucket away."
  }
}

# Optional

variable "methods" {
  description = "How pods get their roles: irsa (a web identity of the service account), pod-identity (the EKS Pod Identity agent), or both while one replaces the other"
  type        = set(string)
  default     = ["pod-identity"]
  nullable    = false

  validation {
    condition     = length(var.methods) > 0 && length(setsubtract(var.methods, ["irsa", "pod-identity"])) == 0
    error_message = "methods must be irsa, pod-identity, or both."
  }
}

variable "oidc_provider_arn" {
  description = "ARN of the IAM OIDC provider of the cluster, for irsa. Without it, one is made for oidc_issuer_url"
  type        = string
  default     = null

  validation {
    condition     = var.oidc_provider_arn == null || can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:oidc-provider/.+$", var.oidc_provider_arn))
    error_message = "oidc_provider_arn must be the ARN of an IAM OIDC provider."
  }
}

variable "oidc_issuer_url" {
  description = "URL of the cluster's OIDC issuer, for irsa"
  type        = string
  default     = null

  validation {
    condition     = var.oidc_issuer_url == null || can(regex("^https://[^/?#]+(/[^?#]*[^/?#])?$", var.oidc_issuer_url))
    error_message = "oidc_issuer_url must begin with https:// and not end with a slash."
  }
}

variable "executor_service_account" {
  description = "Service account of the executors (module executor-pool)"
  type        = string
  default     = "comet-executor"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$", var.executor_service_account))
    error_message = "executor_service_account must be a Kubernetes name, no pattern."
  }
}

variable "scheduler_service_account" {
  description = "Service account of the scheduler (module scheduler)"
  type        = string
  default     = "comet-scheduler"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$", var.scheduler_service_account))
    error_message = "scheduler_service_account must be a Kubernetes name, no pattern."
  }
}

variable "shuffle_kms_key_arn" {
  description = "ARN of the key that encrypts the shuffle bucket (module storage)"
  type        = string
  default     = null

  validation {
    condition     = var.shuffle_kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$", var.shuffle_kms_key_arn))
    error_message = "shuffle_kms_key_arn must be the ARN of a key, not an id or an alias."
  }
}

variable "data_kms_key_arns" {
  description = "ARNs of the keys that encrypt the data"
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for arn in var.data_kms_key_arns : can(regex("^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$", arn))])
    error_message = "data_kms_key_arns must be ARNs of keys, not ids or aliases."
  }
}

variable "bucket_role_arns" {
  description = "Roles that executors may assume for single buckets, as role_arn in the file of buckets (CNE_BUCKETS_FILE) names them"
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for arn in var.bucket_role_arns : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:role/[^*?]+$", arn))])
    error_message = "bucket_role_arns must be ARNs of single roles, without wildcards."
  }
}

variable "permissions_boundary_arn" {
  description = "Permissions boundary of both roles"
  type        = string
  default     = null

  validation {
    condition     = var.permissions_boundary_arn == null || can(regex("^arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/.+$", var.permissions_boundary_arn))
    error_message = "permissions_boundary_arn must be the ARN of a policy."
  }
}

variable "max_session_seconds" {
  description = "Longest session of the executors' role; credentials are renewed well before their end"
  type        = number
  default     = 3600
  nullable    = false

  validation {
    condition     = var.max_session_seconds >= 3600 && var.max_session_seconds <= 43200
    error_message = "max_session_seconds must be from 3600 to 43200, as IAM asks for."
  }
}

variable "tags" {
  description = "Tags of all resources"
  type        = map(string)
  default     = {}
  nullable    = false
}
