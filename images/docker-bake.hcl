# Images for both architectures with BuildKit: `docker buildx bake -f images/docker-bake.hcl`, with SOURCE_DATE_EPOCH, REVISION and VERSION in the
# environment (`python -m cne_images.pins` prints them). docs/images.md says what of this was run.

variable "REPOSITORY" {
  default = "comet-native-executors"
}

variable "VERSION" {
  default = ""
}

variable "REVISION" {
  default = ""
}

variable "CREATED" {
  default = ""
}

# Seconds since 1970 of the commit: the time of every file in the images.
variable "SOURCE_DATE_EPOCH" {
  default = ""
}

# With a digest (name@sha256:...) a build uses the same compiler and C library for ever.
variable "BUILD_BASE" {
  default = "rust:1.95.0-slim-bookworm"
}

group "default" {
  targets = ["scheduler", "executor"]
}

target "common" {
  context    = "."
  dockerfile = "images/Dockerfile"
  platforms  = ["linux/amd64", "linux/arm64"]
  args = {
    BINARIES          = "compiled"
    BUILD_BASE        = BUILD_BASE
    VERSION           = VERSION
    REVISION          = REVISION
    CREATED           = CREATED
    SOURCE_DATE_EPOCH = SOURCE_DATE_EPOCH
  }
  # BuildKit's own provenance and bill of materials beside the image.
  attest = ["type=provenance,mode=max", "type=sbom"]
  output = ["type=oci,rewrite-timestamp=true"]
}

target "scheduler" {
  inherits = ["common"]
  target   = "scheduler"
  tags     = ["${REPOSITORY}/comet-scheduler:${VERSION}"]
  output   = ["type=oci,dest=comet-scheduler.oci.tar,rewrite-timestamp=true"]
}

target "executor" {
  inherits = ["common"]
  target   = "executor"
  tags     = ["${REPOSITORY}/comet-executor:${VERSION}"]
  output   = ["type=oci,dest=comet-executor.oci.tar,rewrite-timestamp=true"]
}
