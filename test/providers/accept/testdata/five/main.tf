terraform {
  required_providers {
    playground5 = { source = "registry.opentofu.org/lethe/playground5" }
  }
}
provider "playground5" {
  label = "five"
  token = ephemeral.playground5_random.r.value
}
provider "playground5" {
  alias = "base"
}
ephemeral "playground5_random" "r" {
  length   = 12
  provider = playground5.base
}
ephemeral "playground5_lease" "l" {
  name = "l5"
}
resource "playground5_thing" "a" {
  name                = "a"
  shout               = "loud"
  email               = var.email
  tags                = { a = "b" }
  password_wo         = ephemeral.playground5_lease.l.token
  password_wo_version = 1
  generation          = var.generation
  network {
    cidr   = "10.0.0.0/8"
    labels = ["x", "y"]
    peer { name = "p" }
    peer {
      name = "q"
      port = 9
    }
  }
  network { cidr = "11.0.0.0/8" }
  settings { secret_wo = "nested-canary" }
  timeouts { create = "5s" }
}
resource "playground5_thing" "min" {
  name = "min"
  rule = [{ port = 1, proto = null }]
}
resource "playground5_thing" "empty" {
  name = "empty"
  rule = []
  settings {}
}
resource "playground5_old_thing" "o" { name = "old" }
resource "playground5_legacy" "l" {
  name   = "leg"
  chosen = "mine"
}
data "playground5_null" "n" { inputs = { a = "b" } }
data "playground5_thing" "t" { thing_id = playground5_thing.a.id }
output "n" { value = data.playground5_null.n.outputs }
output "f" { value = provider::playground5::concat("/", "a", "b") }
variable "generation" { default = 3 }
variable "email" { default = "A@b.c" }
