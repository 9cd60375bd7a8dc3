variable "region" {
  type    = string
  default = "eu-central-1"
}

variable "image" {
  type    = string
  default = "ami-0a1b2c3d4e5f60001"
}

variable "engine" {
  type    = string
  default = "15"
}

variable "password" {
  type      = string
  sensitive = true
}

locals {
  zones = [for letter in ["a", "b"] : "${var.region}${letter}"]
}

module "network" {
  source = "./network"

  name  = "shop"
  zones = local.zones
}

module "web" {
  source   = "./service"
  for_each = toset(["shop", "admin"])

  name    = each.key
  image   = var.image
  vpc     = module.network.vpc
  subnets = module.network.private
}

module "orders" {
  source = "./database"

  name     = "orders"
  family   = "postgres${var.engine}"
  password = var.password
  vpc      = module.network.vpc
}

output "servers" {
  value = { for name, web in module.web : name => web.servers }
}
