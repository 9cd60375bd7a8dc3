package real

var stories = []story{
	{
		name: "files", providers: []string{"random", "local", "time"},
		steps: []step{
			{args: "init", files: map[string]string{"main.tf": filesConfig, "site/main.tf": siteModule}},
			{args: "validate"},
			{args: "plan -out=p -detailed-exitcode", code: 2, says: "Plan: 13 to add, 0 to change, 0 to destroy."},
			{args: "apply p", says: "Apply complete! Resources: 13 added, 0 changed, 0 destroyed."},
			{args: "plan -detailed-exitcode", says: "No changes."},
			{args: "apply -refresh-only -auto-approve"},
			// Change an object with dependents, an attribute that can be updated, and a key.
			{args: "plan -out=p -detailed-exitcode -var=length=3 -var=hours=2", code: 2},
			{args: "apply p"},
			{args: "plan -detailed-exitcode -var=length=3 -var=hours=2"},
			{args: "plan -out=p -detailed-exitcode -var=length=3 -var=hours=2 -replace=random_pet.name", code: 2},
			{args: "apply p"},
			{args: "taint random_id.key"},
			{args: "plan -out=p -detailed-exitcode -var=length=3 -var=hours=2", code: 2},
			{args: "apply p"},
			// Import existing objects, by block and by command.
			{args: "plan -out=p -detailed-exitcode -var=length=3 -var=hours=2", code: 2, files: map[string]string{"import.tf": importConfig}},
			{args: "apply p", says: "2 imported"},
			{args: "import -var=length=3 -var=hours=2 random_integer.late 7,1,9", files: map[string]string{"late.tf": "resource \"random_integer\" \"late\" {\n  min = 1\n  max = 9\n}\n"}},
			{args: "plan -detailed-exitcode -var=length=3 -var=hours=2"},
			// Move, forget and destroy objects.
			{args: "plan -out=p -detailed-exitcode -var=length=3 -var=hours=2", code: 2, files: map[string]string{
				"import.tf": "", "late.tf": "resource \"random_integer\" \"later\" {\n  min = 1\n  max = 9\n}\nmoved {\n  from = random_integer.late\n  to   = random_integer.later\n}\n" +
					"removed {\n  from = random_uuid.known\n  lifecycle {\n    destroy = false\n  }\n}\n",
			}},
			{args: "apply p"},
			{args: "output -json"},
			{args: "destroy -auto-approve -var=length=3 -var=hours=2"},
		},
	},
	{
		name: "certificates", providers: []string{"random", "tls", "local", "cloudinit"},
		steps: []step{
			{args: "init", files: map[string]string{"main.tf": certificatesConfig}},
			{args: "plan -out=p -detailed-exitcode", code: 2},
			{args: "apply p"},
			{args: "plan -detailed-exitcode"},
			{args: "plan -out=p -detailed-exitcode -var=host=other.example", code: 2},
			{args: "apply p"},
			{args: "plan -detailed-exitcode -var=host=other.example"},
			{args: "plan -detailed-exitcode -var=host=other.example -refresh=false"},
			{args: "plan -out=p -destroy -detailed-exitcode -var=host=other.example", code: 2},
			{args: "apply p"},
		},
	},
	{
		name: "database", providers: []string{"random", "postgresql"}, server: true,
		steps: []step{
			{args: "init", files: map[string]string{"main.tf": databaseConfig}},
			{args: "plan -out=p -detailed-exitcode", code: 2},
			{args: "apply p"},
			{args: "plan -detailed-exitcode"},
			{args: "plan -out=p -detailed-exitcode -var=round=2", code: 2},
			{args: "apply p"},
			{args: "plan -detailed-exitcode -var=round=2"},
			{args: "state rm postgresql_role.reader"},
			{args: "import -var=round=2 postgresql_role.reader reader"},
			{args: "plan -out=p -var=round=2"},
			{args: "apply p"},
			{args: "plan -detailed-exitcode -var=round=2"},
			{args: "destroy -auto-approve -var=round=2"},
		},
	},
}

const filesConfig = `terraform {
  required_providers {
    random = { source = "hashicorp/random", version = "~> 3.1" }
    local  = { source = "hashicorp/local" }
    time   = { source = "hashicorp/time" }
  }
}
variable "length" { default = 2 }
variable "hours" { default = 1 }
resource "random_pet" "name" { length = var.length }
resource "random_id" "key" {
  byte_length = 4
  keepers     = { of = random_pet.name.id }
  lifecycle { create_before_destroy = true }
}
resource "random_password" "p" {
  length      = 12
  min_special = 1
}
resource "random_shuffle" "zones" {
  input        = ["a", "b", "c"]
  result_count = 2
}
resource "time_offset" "later" { offset_hours = var.hours }
resource "time_sleep" "short" {
  create_duration = "50ms"
  triggers        = { hours = var.hours }
}
resource "local_file" "names" {
  for_each = toset(["one", "two"])
  filename = "${path.module}/out/${each.key}.txt"
  content  = "${each.key} ${random_pet.name.id} ${time_offset.later.rfc3339}"
}
resource "local_sensitive_file" "secret" {
  filename = "${path.module}/out/secret"
  content  = random_password.p.result
}
data "local_file" "back" {
  filename   = local_file.names["one"].filename
  depends_on = [local_file.names]
}
module "site" {
  source   = "./site"
  for_each = { a = 1, b = 2 }
  size     = each.value
  name     = random_pet.name.id
}
check "written" {
  assert {
    condition     = strcontains(data.local_file.back.content, "one")
    error_message = "The file has another text."
  }
}
output "pet" { value = random_pet.name.id }
output "back" { value = data.local_file.back.content }
output "sites" { value = { for k, m in module.site : k => m.id } }
output "password" {
  value     = random_password.p.result
  sensitive = true
}
`

const siteModule = `terraform {
  required_providers {
    random = { source = "hashicorp/random" }
  }
}
variable "size" {}
variable "name" {}
resource "random_string" "s" {
  length  = 4 + var.size
  special = false
  keepers = { name = var.name }
}
resource "terraform_data" "d" {
  input            = random_string.s.result
  triggers_replace = var.size
}
output "id" { value = terraform_data.d.output }
`

const importConfig = `import {
  to = random_uuid.known
  id = "aabbccdd-eeff-0011-2233-445566778899"
}
import {
  to = random_integer.known
  id = "5,1,9"
}
resource "random_uuid" "known" {}
resource "random_integer" "known" {
  min = 1
  max = 9
}
`

const certificatesConfig = `variable "host" { default = "www.example" }
variable "token" {
  default   = "canary-of-a-token"
  ephemeral = true
}
ephemeral "random_password" "proxy" { length = 16 }
ephemeral "tls_private_key" "key" { algorithm = "ED25519" }
provider "tls" {
  alias = "proxied"
  proxy {
    url      = "http://localhost:1"
    username = "someone"
    password = "${ephemeral.random_password.proxy.result}${var.token}"
  }
}
resource "tls_private_key" "ca" { algorithm = "ED25519" }
resource "tls_self_signed_cert" "ca" {
  private_key_pem       = tls_private_key.ca.private_key_pem
  validity_period_hours = 24
  is_ca_certificate     = true
  allowed_uses          = ["cert_signing"]
  subject { common_name = "ca" }
}
resource "tls_private_key" "host" {
  provider  = tls.proxied
  algorithm = "ECDSA"
}
resource "tls_cert_request" "host" {
  private_key_pem = tls_private_key.host.private_key_pem
  dns_names       = [var.host]
  subject { common_name = var.host }
}
resource "tls_locally_signed_cert" "host" {
  cert_request_pem      = tls_cert_request.host.cert_request_pem
  ca_private_key_pem    = tls_private_key.ca.private_key_pem
  ca_cert_pem           = tls_self_signed_cert.ca.cert_pem
  validity_period_hours = 12
  allowed_uses          = ["server_auth"]
  lifecycle { create_before_destroy = true }
}
data "tls_public_key" "host" { private_key_pem = tls_private_key.host.private_key_pem }
data "tls_certificate" "host" { content = tls_locally_signed_cert.host.cert_pem }
data "cloudinit_config" "boot" {
  gzip          = false
  base64_encode = false
  part {
    content_type = "text/cloud-config"
    content      = yamlencode({ write_files = [{ path = "/cert", content = tls_locally_signed_cert.host.cert_pem }] })
  }
  dynamic "part" {
    for_each = ["a", "b"]
    content {
      filename = part.value
      content  = "echo ${part.value}"
    }
  }
}
resource "local_file" "boot" {
  filename = "${path.module}/boot"
  content  = data.cloudinit_config.boot.rendered
}
resource "terraform_data" "told" {
  triggers_replace = var.host
  provisioner "local-exec" {
    command     = "test -n \"$KEY\" && test -n \"$TOKEN\" && echo told"
    environment = { KEY = ephemeral.tls_private_key.key.private_key_pem, TOKEN = var.token }
  }
}
output "subjects" { value = data.tls_certificate.host.certificates[*].subject }
output "fingerprint" { value = data.tls_public_key.host.public_key_fingerprint_sha256 }
`

const databaseConfig = `terraform {
  required_providers {
    postgresql = { source = "cyrilgdn/postgresql" }
  }
}
variable "round" { default = 1 }
provider "postgresql" { superuser = true }
ephemeral "random_password" "owner" { length = 20 }
resource "random_password" "reader" { length = 20 }
resource "postgresql_role" "owner" {
  name                = "owner"
  login               = true
  password_wo         = "${ephemeral.random_password.owner.result}-canary"
  password_wo_version = var.round
}
resource "postgresql_role" "reader" {
  name             = "reader"
  login            = true
  password         = random_password.reader.result
  connection_limit = var.round
}
resource "postgresql_database" "app" {
  name              = "app"
  owner             = postgresql_role.owner.name
  connection_limit  = -1
  allow_connections = true
}
resource "postgresql_schema" "s" {
  for_each = toset(["a", "b"])
  name     = each.key
  database = postgresql_database.app.name
  owner    = postgresql_role.owner.name
}
resource "postgresql_grant" "read" {
  database    = postgresql_database.app.name
  role        = postgresql_role.reader.name
  schema      = postgresql_schema.s["a"].name
  object_type = "schema"
  privileges  = var.round > 1 ? ["USAGE", "CREATE"] : ["USAGE"]
}
data "postgresql_schemas" "all" {
  database   = postgresql_database.app.name
  depends_on = [postgresql_schema.s]
}
output "schemas" { value = sort(tolist(data.postgresql_schemas.all.schemas)) }
`
