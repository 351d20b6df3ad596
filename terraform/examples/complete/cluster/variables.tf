variable "region" {
  description = "Region of the cluster"
  type        = string
}

variable "cluster_name" {
  description = "Name of the cluster"
  type        = string
  default     = "comet"

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$", var.cluster_name))
    error_message = "cluster_name must be at most 30 lower-case letters, digits and hyphens, and begin with a letter."
  }
}

variable "kubernetes_version" {
  description = "Version of Kubernetes"
  type        = string
  default     = "1.34"

  validation {
    condition     = can(regex("^1\\.(3[0-9]|[4-9][0-9])$", var.kubernetes_version))
    error_message = "kubernetes_version must be 1.30 or newer, such as 1.34."
  }
}

variable "cidr" {
  description = "Addresses of the VPC"
  type        = string
  default     = "10.64.0.0/16"

  validation {
    condition     = can(cidrnetmask(var.cidr)) && tonumber(split("/", var.cidr)[1]) >= 16 && tonumber(split("/", var.cidr)[1]) <= 20
    error_message = "cidr must be an IPv4 range from /16 to /20: each executor has an address."
  }
}

variable "zones" {
  description = "Availability zones"
  type        = list(string)

  validation {
    condition     = length(var.zones) >= 2 && length(var.zones) <= 4 && length(distinct(var.zones)) == length(var.zones)
    error_message = "zones must name two to four different zones: EKS asks for two."
  }
}

variable "api_ranges" {
  description = "Who may reach the cluster's API from outside the VPC; none by default, and then it has no public endpoint"
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for r in var.api_ranges : can(cidrhost(r, 0)) && !endswith(r, "/0")])
    error_message = "api_ranges must be CIDR ranges, and not the whole Internet."
  }
}

variable "log_days" {
  description = "Days for which the logs of the control plane are kept"
  type        = number
  default     = 365

  validation {
    condition     = contains([30, 60, 90, 120, 180, 365, 731], var.log_days)
    error_message = "log_days must be one of 30, 60, 90, 120, 180, 365 and 731."
  }
}

variable "tags" {
  description = "Tags of all resources"
  type        = map(string)
  default     = {}
}
