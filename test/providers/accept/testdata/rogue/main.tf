terraform {
  required_providers {
    rogue = { source = "registry.opentofu.org/lethe/rogue" }
  }
}
variable "mis" { default = null }
variable "lmis" { default = null }
variable "size" { default = 1 }
provider "rogue" { label = "r" }
resource "rogue_thing" "a" {
  name              = "a"
  misbehave         = var.mis
  size              = var.size
  members           = [{ name = "m", port = 1 }]
  words             = ["w"]
  secret_wo         = ephemeral.rogue_lease.l.token
  secret_wo_version = 1
  codes_wo          = ["code"]
  disk {
    label  = "d"
    pin_wo = "0000"
  }
  login = { user = "u", password_wo = "loginpw" }
}
resource "rogue_nesting" "n" {
  name = "n"
  single { a = "1" }
  group { a = "g" }
  list {
    a    = "l"
    c_wo = "listwo"
    deep { x = "y" }
  }
  set { a = "s" }
  map "k" {
    a    = "m"
    c_wo = "mapwo"
  }
  few { a = "1" }
  one  = { a = "o" }
  many = [{ a = "m" }]
  bag  = [{ a = "b" }]
  by   = { k = { a = "v" } }
}
ephemeral "rogue_lease" "l" {
  name      = "l"
  misbehave = var.lmis
}
data "rogue_thing" "d" { name = "d" }
output "f" { value = provider::rogue::echo("x") }
