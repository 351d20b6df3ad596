output "cluster_name" {
  description = "Name of the cluster"
  value       = aws_eks_cluster.this.name
}

output "vpc_id" {
  description = "VPC of the cluster, for module storage's gateway endpoint"
  value       = aws_vpc.this.id
}

output "route_table_ids" {
  description = "Route tables of the private subnets, for the same"
  value       = [aws_route_table.private.id]
}

output "oidc_issuer_url" {
  description = "The cluster's OIDC issuer, for IRSA"
  value       = aws_eks_cluster.this.identity[0].oidc[0].issuer
}

output "kubeconfig_command" {
  description = "Gives kubectl access to the cluster"
  value       = "aws eks update-kubeconfig --name ${aws_eks_cluster.this.name} --region ${var.region}"
}
