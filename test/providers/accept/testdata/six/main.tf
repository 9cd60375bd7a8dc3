terraform {
  required_providers {
    playground = { source = "registry.opentofu.org/lethe/playground" }
  }
  provider_meta "playground" { module_name = "root" }
}
provider "playground" {
  label = "main"
  token = "provider-canary"
}
resource "playground_thing" "a" {
  name        = "a"
  size        = var.size
  tags        = { x = "y" }
  anything    = { q = [1, "two"] }
  secret_note = "hush"
  settings    = { level = 2, inner = { text = "t" } }
  disks       = [{ name = "d1" }, { name = "d2", size = 20 }]
  rules       = [{ port = 80 }, { port = 443, proto = "udp" }, { port = 22 }]
  labels      = { one = { value = "1" }, two = { value = "2" } }
  timeouts    = { create = "10s" }
}
resource "playground_thing" "plain" { name = "plain${playground_thing.a.size}" }
resource "playground_list" "l" {
  name    = "l"
  items   = ["c"]
  numbers = [3, 1]
  members = [{ name = "m", port = 1 }, { name = "n", port = 2 }]
  matrix  = [[1, 2], []]
  lookup  = { k = ["v"] }
  pair    = { name = "p", port = 3 }
  hidden  = ["h"]
}
resource "playground_blocks" "b" {
  name = "b"
  network { cidr = "10.0.0.0/8" }
  disk { label = "x" }
  disk {
    label  = "y"
    secret = "sss"
    partition {
      name = "p1"
      mount {
        path    = "/"
        options = ["ro"]
        flag { key = "k" }
      }
      mount { path = "/home" }
    }
  }
  rule { port = 1 }
  rule { port = 3 }
}
resource "playground_secret" "s" {
  name              = "s"
  secret_wo         = ephemeral.playground_random.r.value
  secret_wo_version = var.size
  codes_wo          = ["code-canary"]
  config_wo         = { key_wo = "config-canary" }
  login             = { user = "u", password_wo = ephemeral.playground_lease.l.token }
  logins            = [{ user = "u1", password_wo = "pw" }]
  logins_by         = { k = { user = "u1", password_wo = "pw" } }
  credential {
    user        = "c"
    password_wo = "blockpw"
    rotation { next_wo = "nextpw" }
  }
  owner {
    email  = "e"
    pin_wo = "1234"
  }
}
resource "playground_password" "p" {
  username            = "joe"
  password_wo         = "x"
  password_wo_version = var.size
}
ephemeral "playground_random" "r" { length = 20 }
ephemeral "playground_lease" "l" {
  name        = "lease"
  renew_after = "1h"
}
ephemeral "playground_secret" "s" {
  name = "z"
}
ephemeral "playground_null" "n" {
  inputs = { a = "b", s = ephemeral.playground_secret.s.parts.password }
  option { name = "o" }
}
data "playground_null" "n" {
  inputs   = { a = "b" }
  anything = [1]
  filter { name = "f" }
}
data "playground_legacy" "n" {}
data "playground_thing" "t" {
  id = playground_thing.a.id
}
output "f" {
  value = [
    provider::playground::echo({ a = 1 }), provider::playground::concat("-", "a", "b"), provider::playground::secret_len("abc"),
    provider::playground::shape(["a"], { x = 1 }, { name = "n", flag = true }, null),
  ]
}
variable "size" { default = 3 }
output "t" { value = data.playground_thing.t }
