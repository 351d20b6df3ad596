variable "region" {
  description = "Region of the cluster and of the shuffle bucket"
  type        = string
}

variable "cluster_name" {
  description = "Name of the cluster (output of cluster/)"
  type        = string
}

variable "vpc_id" {
  description = "VPC of the cluster (output of cluster/)"
  type        = string
}

variable "route_table_ids" {
  description = "Route tables of the cluster's private subnets (output of cluster/)"
  type        = set(string)
}

variable "bucket_name" {
  description = "Name for the shuffle bucket that is made"
  type        = string
}

variable "access_log_bucket" {
  description = "Bucket for the access log of the shuffle bucket, none by default"
  type        = string
  default     = null
}

variable "data_prefixes" {
  description = "What executors may read: s3://bucket/prefix/"
  type        = set(string)
}

variable "data_kms_key_arns" {
  description = "Keys that the data is encrypted with"
  type        = set(string)
  default     = []
}

variable "partner_buckets" {
  description = "Buckets of other accounts, each read by a role of theirs"
  type = map(object({
    role_arn    = string
    external_id = optional(string)
    region      = optional(string)
  }))
  default = {}
}

variable "scheduler_image" {
  description = "Image of comet-scheduler"
  type        = string
}

variable "executor_image" {
  description = "Image of comet-executor"
  type        = string
}

variable "namespace" {
  description = "Namespace of the pool; it, the Secrets comet-ticket, comet-tls and comet-tenants, and the ConfigMap comet-drivers-ca have to be there"
  type        = string
  default     = "comet"
}

variable "spark_namespaces" {
  description = "Namespaces of the Spark applications that may submit queries"
  type        = set(string)
  default     = ["spark"]
}

variable "emr_ranges" {
  description = "Addresses of EMR on EC2 clusters, which come by an internal load balancer; none by default"
  type        = set(string)
  default     = []
}

variable "architectures" {
  description = "Kinds of processors, as the executor's image has them"
  type        = set(string)
  default     = ["amd64"]
}

variable "monitoring" {
  description = "Namespace of Prometheus and the labels by which its operator chooses monitors; null: no monitors"
  type = object({
    namespace = string
    labels    = optional(map(string), {})
  })
  default = null
}

variable "tags" {
  description = "Tags of all resources in AWS"
  type        = map(string)
  default     = {}
}
