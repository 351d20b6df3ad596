variable "region" {
  description = "Region of the cluster and of the shuffle bucket"
  type        = string
}

variable "cluster_name" {
  description = "Name of an EKS cluster with the Pod Identity agent and KEDA"
  type        = string
}

variable "bucket_name" {
  description = "Name for the shuffle bucket that is made"
  type        = string
}

variable "data_prefixes" {
  description = "What executors may read: s3://bucket/prefix/"
  type        = set(string)
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
  description = "Namespace of the pool; it and the Secrets comet-ticket, comet-tls and comet-tenants have to be there"
  type        = string
  default     = "comet"
}

variable "spark_namespace" {
  description = "Namespace of the Spark applications that may submit queries"
  type        = string
  default     = "spark"
}

variable "max_executors" {
  description = "Most executors"
  type        = number
  default     = 4
}
