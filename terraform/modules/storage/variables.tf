# Required

variable "bucket_name" {
  description = "Name of the bucket for shuffle and results. It is made by this module and belongs to one pool, or to several with prefixes of their own"
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.bucket_name)) && !can(regex("\\.\\.|^xn--|-s3alias$", var.bucket_name))
    error_message = "bucket_name must be 3 to 63 lower-case letters, digits, dots and hyphens, as S3 asks for."
  }
}

# Optional

variable "prefix" {
  description = "Prefix of the pool in the bucket, without slashes at its ends; CNE_STORAGE_URL is s3://bucket_name/prefix"
  type        = string
  default     = "comet"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$", var.prefix)) && length(var.prefix) <= 200
    error_message = "prefix must be one or more path segments of letters, digits, dots, underscores and hyphens, at most 200 characters, without slashes at its ends."
  }
}

variable "expiration_days" {
  description = "Days after which objects are removed that nobody removed: longer than CNE_SWEEP_AGE (25 hours), which executors sweep by themselves"
  type        = number
  default     = 2
  nullable    = false

  validation {
    condition     = var.expiration_days >= 2 && var.expiration_days <= 30 && floor(var.expiration_days) == var.expiration_days
    error_message = "expiration_days must be a whole number from 2 to 30: one day is shorter than the sweep's own age, and what is older than a query is rubbish."
  }
}

variable "abort_incomplete_upload_days" {
  description = "Days after which parts of uploads are removed whose process died; they are in no listing and are paid for"
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.abort_incomplete_upload_days >= 1 && var.abort_incomplete_upload_days <= 7 && floor(var.abort_incomplete_upload_days) == var.abort_incomplete_upload_days
    error_message = "abort_incomplete_upload_days must be a whole number from 1 to 7."
  }
}

variable "kms_key_arn" {
  description = "ARN of an existing KMS key that encrypts the bucket; without it this module makes one. The key's own policy has to let this account's IAM policies decide"
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$", var.kms_key_arn))
    error_message = "kms_key_arn must be the ARN of a key (arn:aws:kms:region:account:key/id), not an id or an alias."
  }
}

variable "kms_deletion_window_days" {
  description = "Days from the deletion of this module's key until it is gone"
  type        = number
  default     = 7
  nullable    = false

  validation {
    condition     = var.kms_deletion_window_days >= 7 && var.kms_deletion_window_days <= 30
    error_message = "kms_deletion_window_days must be from 7 to 30, as KMS asks for."
  }
}

variable "force_destroy" {
  description = "Whether the bucket may be destroyed while there are objects in it. Nothing in it outlives a query"
  type        = bool
  default     = true
  nullable    = false
}

variable "access_log" {
  description = "Bucket (and prefix) that gets the access log of this one; its policy has to let logging.s3.amazonaws.com write. None by default: a pool makes thousands of requests per query"
  type = object({
    bucket = string
    prefix = optional(string, "comet-shuffle/")
  })
  default = null
}

variable "gateway_endpoint" {
  description = "Makes a gateway endpoint for S3 in this VPC and these route tables, so that no byte of shuffle goes through a NAT gateway and is paid for there. Leave it out where the VPC has one"
  type = object({
    vpc_id          = string
    route_table_ids = set(string)
  })
  default = null

  validation {
    condition     = var.gateway_endpoint == null || can(regex("^vpc-[0-9a-f]{8,17}$", var.gateway_endpoint.vpc_id))
    error_message = "gateway_endpoint.vpc_id must be the id of a VPC (vpc-...)."
  }

  validation {
    condition     = var.gateway_endpoint == null || try(length(var.gateway_endpoint.route_table_ids) > 0, false)
    error_message = "gateway_endpoint.route_table_ids must name at least one route table: without one, nothing takes the endpoint."
  }
}

variable "tags" {
  description = "Tags of all resources"
  type        = map(string)
  default     = {}
  nullable    = false
}
