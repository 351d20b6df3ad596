//go:build tools

// Package tools names the command that tools/terraform/setup builds, so that go.mod and go.sum pin what it is made of.
package tools

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
