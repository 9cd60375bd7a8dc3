# Values whose form in memory or in files could depend on the size of integers, the order of bytes or the arithmetic of a
# processor.
terraform {
  required_providers {
    playground = { source = "lethe/playground" }
  }
}

variable "step" { type = number }

variable "secret" {
  type      = string
  ephemeral = true
}

resource "playground_thing" "first" {
  name    = "first"
  size    = 9007199254740993 + var.step
  ratio   = 0.1
  tags    = { for i in range(40) : format("tag%02d", i) => sha1(i + var.step) }
  disks   = [{ name = "a", size = -9223372036854775808 }, { name = "b", size = 9223372036854775807 }]
  rules   = [for i in range(20) : { port = 65535 - i }]
  labels  = { for i in range(9) : i => { value = md5(i) } }
  anything = {
    whole = 18446744073709551616
    limit = 4294967296
    parts = [1 / 3, -2147483649, "text", true, null]
  }
}

resource "playground_thing" "second" {
  name = "second"
  size = playground_thing.first.size - 4294967297
}

resource "playground_secret" "written" {
  name              = "written"
  secret_wo         = var.secret
  secret_wo_version = var.step
}

resource "terraform_data" "numbers" {
  input = {
    step  = var.step
    big   = 123456789012345678901234567890123
    tiny  = 1e-30
    third = 1 / 3
    sum   = sum([for i in range(1000) : i * 1234567891])
    hex   = parseint("ffffffffffffffff", 16)
    power = pow(2, 0.5)
    log   = [for i in range(2, 40) : log(i, 10)]
    floor = floor(-4294967296.5)
    mod   = -9223372036854775809 % 4294967296
  }
}

resource "terraform_data" "texts" {
  input = {
    hashes  = [md5("a"), sha1("a"), sha256("a"), sha512("a"), base64sha512(tostring(var.step))]
    id      = uuidv5("dns", "example.test")
    subnet  = cidrsubnet("fd00::/16", 48, 4294967296 + var.step)
    hosts   = cidrhost("10.0.0.0/8", -1)
    time    = timeadd("2038-01-19T03:14:07Z", "${24 * 36500}h")
    sorted  = sort([for i in range(50) : sha256(i)])
    set     = toset([for i in range(50) : md5(i)])
    format  = format("%d %x %o %.20f %e", 9223372036854775807, 4294967295, 8, 0.1, 123456789)
    zipped  = base64decode(base64encode(jsonencode({ a = [1.5, 9007199254740993] })))
    encoded = yamlencode({ n = 4294967296, f = 1.25 })
    pieces  = chunklist(range(7), 3)
    cut     = substr("äöü🙂x", -2, 1)
  }
}

output "values" {
  sensitive = true # things have a sensitive attribute
  value = [playground_thing.first, playground_thing.second, terraform_data.numbers.output, terraform_data.texts.output]
}
