output "bucket_name" {
  description = "Name of the bucket"
  value       = aws_s3_bucket.this.id
}

output "bucket_arn" {
  description = "ARN of the bucket, for module identity"
  value       = aws_s3_bucket.this.arn
}

output "prefix" {
  description = "Prefix of the pool in the bucket, for module identity"
  value       = var.prefix
}

output "storage_url" {
  description = "CNE_STORAGE_URL of the executors. It is known only when the bucket is ready for them"
  value       = "s3://${aws_s3_bucket.this.id}/${var.prefix}"
  depends_on = [
    aws_s3_bucket_lifecycle_configuration.this,
    aws_s3_bucket_policy.this,
    aws_s3_bucket_server_side_encryption_configuration.this,
  ]
}

output "kms_key_arn" {
  description = "ARN of the key that encrypts the bucket, for module identity"
  value       = local.kms_key_arn
}

output "gateway_endpoint_id" {
  description = "Id of the gateway endpoint, null without one"
  value       = one(aws_vpc_endpoint.s3[*].id)
}
